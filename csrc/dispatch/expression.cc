#include "dispatch/expression.h"

#include <algorithm>

namespace aotriton::dispatch {
namespace {

using index::Operation;
using Item = Evaluation;

Item number(std::int64_t value) { return {value, Fault::none, 0}; }

// Rounded down; the remainder has the divisor's sign, as in Python.
Fault divide(Operation operation, std::int64_t a, std::int64_t b, std::int64_t& result) {
  if (b == 0) return Fault::division_by_zero;
  result = 0;
  if (a == INT64_MIN && b == -1) return operation == Operation::modulo ? Fault::none : Fault::overflow;
  std::int64_t quotient = a / b, remainder = a % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) quotient -= 1, remainder += b;
  result = operation == Operation::modulo     ? remainder
           : operation == Operation::floordiv ? quotient
                                              : quotient + (remainder != 0 ? 1 : 0);  // cdiv
  return Fault::none;
}

Fault of(bool overflows) { return overflows ? Fault::overflow : Fault::none; }

inline Fault arithmetic(Operation operation, std::int64_t a, std::int64_t b, std::int64_t& r) {
  switch (operation) {
    case Operation::add: return of(__builtin_add_overflow(a, b, &r));
    case Operation::subtract: return of(__builtin_sub_overflow(a, b, &r));
    case Operation::multiply: return of(__builtin_mul_overflow(a, b, &r));
    case Operation::minimum: r = std::min(a, b); break;
    case Operation::maximum: r = std::max(a, b); break;
    case Operation::equal: r = a == b; break;
    case Operation::not_equal: r = a != b; break;
    case Operation::less: r = a < b; break;
    case Operation::less_equal: r = a <= b; break;
    case Operation::greater: r = a > b; break;
    case Operation::greater_equal: r = a >= b; break;
    case Operation::logical_and: r = a != 0 && b != 0; break;
    case Operation::logical_or: r = a != 0 || b != 0; break;
    default: return divide(operation, a, b, r);
  }
  return Fault::none;
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
  Item result = number(0);
  result.fault = arithmetic(operation, a.value, b.value, result.value);
  return result;
}

Item select(const Item& condition, const Item& then, const Item& otherwise) {
  if (condition.fault != Fault::none) return condition;
  return condition.value != 0 ? then : otherwise;
}

// The whole with nothing but numbers: what nearly every expression of every launch comes to. False: a step is at fault.
bool evaluate_sound(const index::Expression& expression, const Numbers& numbers, std::int64_t& result) {
  std::int64_t stack[pack::kMaxStack];
  std::int64_t* top = stack;  // the next free place
  for (const index::Step* step : *expression.steps()) {
    const std::int64_t value = step->value();
    const Operation operation = step->operation();
    if (operation == Operation::constant) {
      *top++ = value;
    } else if (operation == Operation::argument) {
      if (!numbers.known[static_cast<std::size_t>(value)]) return false;
      *top++ = numbers.value[static_cast<std::size_t>(value)];
    } else if (operation == Operation::logical_not) {
      top[-1] = top[-1] == 0;
    } else if (operation == Operation::select) {
      top -= 2;
      top[-1] = top[-1] != 0 ? top[0] : top[1];
    } else {
      top -= 1;
      if (arithmetic(operation, top[-1], top[0], top[-1]) != Fault::none) return false;
    }
  }
  result = stack[0];
  return true;
}

Evaluation evaluate_with_faults(const index::Expression& expression, const Numbers& numbers) {
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

}  // namespace

Evaluation evaluate(const index::Expression& expression, const Numbers& numbers) {
  Evaluation result = number(0);
  return evaluate_sound(expression, numbers, result.value) ? result : evaluate_with_faults(expression, numbers);
}

}  // namespace aotriton::dispatch
