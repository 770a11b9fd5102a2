#include "dispatch/expression.h"

#include <algorithm>

namespace aotriton::dispatch {
namespace {

using index::Operation;
using Item = Evaluation;

Item number(std::int64_t value) { return {value, Fault::none, 0}; }
Item fault(Fault which) { return {0, which, 0}; }

struct Divided {
  std::int64_t quotient, remainder;  // rounded down; the remainder has the divisor's sign
};

// The divisor is neither 0, nor -1 for the least number.
Divided divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b, remainder = a % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) return {quotient - 1, remainder + b};
  return {quotient, remainder};
}

Item division(Operation operation, std::int64_t a, std::int64_t b) {
  if (b == 0) return fault(Fault::division_by_zero);
  if (a == INT64_MIN && b == -1) return operation == Operation::modulo ? number(0) : fault(Fault::overflow);
  const Divided parts = divide(a, b);
  if (operation == Operation::modulo) return number(parts.remainder);
  if (operation == Operation::floordiv) return number(parts.quotient);
  return number(parts.quotient + (parts.remainder != 0 ? 1 : 0));  // cdiv
}

// By reference: the call that says whether it overflows also writes the value, and arguments are evaluated in any order.
Item checked(bool overflows, const std::int64_t& value) { return overflows ? fault(Fault::overflow) : number(value); }

Item arithmetic(Operation operation, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  switch (operation) {
    case Operation::add: return checked(__builtin_add_overflow(a, b, &r), r);
    case Operation::subtract: return checked(__builtin_sub_overflow(a, b, &r), r);
    case Operation::multiply: return checked(__builtin_mul_overflow(a, b, &r), r);
    case Operation::minimum: return number(std::min(a, b));
    case Operation::maximum: return number(std::max(a, b));
    case Operation::equal: return number(a == b);
    case Operation::not_equal: return number(a != b);
    case Operation::less: return number(a < b);
    case Operation::less_equal: return number(a <= b);
    case Operation::greater: return number(a > b);
    case Operation::greater_equal: return number(a >= b);
    default: return division(operation, a, b);
  }
}

// `or` and `and` take their right side only where the left one leaves it open.
Item logical(Operation operation, const Item& a, const Item& b) {
  if (a.fault != Fault::none) return a;
  const bool decided = (a.value != 0) == (operation == Operation::logical_or);
  if (decided) return number(a.value != 0);
  return b.fault != Fault::none ? b : number(b.value != 0);
}

Item binary(Operation operation, const Item& a, const Item& b) {
  if (operation == Operation::logical_and || operation == Operation::logical_or) return logical(operation, a, b);
  if (a.fault != Fault::none) return a;
  if (b.fault != Fault::none) return b;
  return arithmetic(operation, a.value, b.value);
}

Item select(const Item& condition, const Item& then, const Item& otherwise) {
  if (condition.fault != Fault::none) return condition;
  return condition.value != 0 ? then : otherwise;
}

}  // namespace

Evaluation evaluate(const index::Expression& expression, const Numbers& numbers) {
  Item stack[pack::kMaxStack];
  std::size_t depth = 0;
  for (const index::Step* step : *expression.steps()) {
    const auto argument = static_cast<std::size_t>(step->value());
    switch (step->operation()) {
      case Operation::constant: stack[depth++] = number(step->value()); break;
      case Operation::argument:
        stack[depth++] = numbers.known[argument]
                             ? number(numbers.value[argument])
                             : Item{0, Fault::unknown_argument, static_cast<std::uint16_t>(argument)};
        break;
      case Operation::logical_not:
        if (stack[depth - 1].fault == Fault::none) stack[depth - 1] = number(stack[depth - 1].value == 0);
        break;
      case Operation::select:
        depth -= 2;
        stack[depth - 1] = select(stack[depth - 1], stack[depth], stack[depth + 1]);
        break;
      default:
        depth -= 1;
        stack[depth - 1] = binary(step->operation(), stack[depth - 1], stack[depth]);
    }
  }
  return stack[0];
}

}  // namespace aotriton::dispatch
