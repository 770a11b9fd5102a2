// Arguments by name as values in the kernel's order.
#include "core/text.h"
#include "dispatch/packed_kernel.h"

#include <bit>

namespace aotriton::dispatch {
namespace {

using core::cat;
using core::Status;
using index::Role;

Status invalid(std::string text) { return Status(AOTRITON_INVALID_ARGUMENT, std::move(text)); }

bool has_elements(const aotriton_tensor& view) {
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] == 0) return false;
  }
  return true;
}

// The last dimensions, which have no stride arguments, are taken for contiguous.
Status check_dense(const aotriton_tensor& view, const ArgumentFacts& facts) {
  std::int64_t dense = 1;
  for (int i = view.rank - 1; i >= view.rank - facts.dense; --i) {
    if (view.sizes[i] > 1 && view.strides[i] != dense) {
      return invalid(cat("tensor '", facts.name, "' has stride ", view.strides[i], " in dimension ", i,
                         "; the kernel takes it for contiguous, with ", dense));
    }
    if (__builtin_mul_overflow(dense, view.sizes[i], &dense)) {
      return invalid(cat("tensor '", facts.name, "' has more elements than 64 bits count"));
    }
  }
  return {};
}

// What a view must be by itself, and its rank.
Status check_view(const aotriton_tensor& view, const ArgumentFacts& facts) {
  const bool known = view.dtype > 0 && view.dtype < 256 && pack::type_bytes(static_cast<index::Type>(view.dtype)) != 0;
  if (!known) return invalid(cat("tensor '", facts.name, "' has dtype ", view.dtype, ", which is none"));
  if (view.rank != facts.rank) {
    return invalid(cat("tensor '", facts.name, "' has rank ", view.rank, "; the kernel takes rank ", int{facts.rank}));
  }
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] >= 0) continue;
    return invalid(cat("tensor '", facts.name, "' has size ", view.sizes[i], " in dimension ", i));
  }
  return check_dense(view, facts);
}

bool is_real(index::Type type) {
  using index::Type;
  return type == Type::fp16 || type == Type::bf16 || type == Type::fp32 || type == Type::fp64;
}

// Whether a real number may be given: the type is one, or the axis has such choices.
bool takes_real(const ArgumentFacts& facts, const Plan& plan) {
  if (is_real(facts.type)) return true;
  if (facts.axis < 0) return false;
  for (const ChoiceFacts& choice : plan.axes[static_cast<std::size_t>(facts.axis)].choices) {
    if (choice.kind == index::ChoiceKind::real || is_real(choice.type)) return true;
  }
  return false;
}

Status set_number(const aotriton_argument& argument, const ArgumentFacts& facts, const Plan& plan, Value& value) {
  value.given = true;
  if (argument.kind == AOTRITON_ARGUMENT_INTEGER) {
    value.real = static_cast<double>(argument.integer);
    value.bits = is_real(facts.type) ? std::bit_cast<std::uint64_t>(value.real)
                                     : static_cast<std::uint64_t>(argument.integer);
    return {};
  }
  if (argument.kind != AOTRITON_ARGUMENT_REAL) return invalid(cat("argument '", facts.name, "' takes a number"));
  if (!takes_real(facts, plan)) {
    return invalid(cat("argument '", facts.name, "' takes a whole number, not a real one"));
  }
  value.real = argument.real;
  value.bits = std::bit_cast<std::uint64_t>(argument.real);
  return {};
}

// Leaves `value` as it is, null, where the view is of no memory.
Status set_tensor(const aotriton_argument& argument, const ArgumentFacts& facts, Value& value) {
  const aotriton_tensor& view = argument.tensor;
  if (argument.kind != AOTRITON_ARGUMENT_TENSOR) return invalid(cat("argument '", facts.name, "' takes a tensor"));
  if (view.data == nullptr && view.dtype == AOTRITON_NONE) return {};
  if (Status status = check_view(view, facts); !status.ok()) return status;
  if (view.data == nullptr && has_elements(view)) return {};
  value.given = true;
  value.bits = reinterpret_cast<std::uintptr_t>(view.data);
  value.dtype = static_cast<aotriton_dtype>(view.dtype);
  value.view = &view;
  return {};
}

// One argument that isn't unknown: what the caller may not give, or its value.
Status set(const aotriton_argument& argument, const ArgumentFacts& facts, const Plan& plan, Value& value) {
  const auto wrong = [&](std::string_view what) { return invalid(cat("argument '", facts.name, "' ", what)); };
  if (facts.role == Role::stride) return wrong("is a stride: it is taken from its tensor");
  if (facts.role == Role::performance) return wrong("is a performance choice: the look-up table decides it");
  if (value.given) return wrong("is given twice");
  if (argument.reserved != 0) return wrong(cat("has ", argument.reserved, " for `reserved`, which takes 0"));
  return is_tensor(facts.role) ? set_tensor(argument, facts, value) : set_number(argument, facts, plan, value);
}

// A dimension of one element has any stride, so none is given for it: the code may take it for what it likes.
void set_strides(const Plan& plan, std::span<const aotriton_tensor* const> views, std::span<Value> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ArgumentFacts& facts = plan.arguments[i];
    if (facts.role != Role::stride) continue;
    const aotriton_tensor* const view = views[static_cast<std::size_t>(facts.tensor)];
    if (view == nullptr || facts.dimension >= view->rank || view->sizes[facts.dimension] <= 1) continue;
    values[i].given = true;
    values[i].bits = static_cast<std::uint64_t>(view->strides[facts.dimension]);
  }
}

Status unknown(const Plan& plan, const std::string& names) {
  std::string takes;
  for (const ArgumentFacts& facts : plan.arguments) {
    if (facts.role == Role::stride || facts.role == Role::performance) continue;
    takes += cat(takes.empty() ? "" : ", ", facts.name);
  }
  return invalid(cat("unknown argument(s) ", names, "; the kernel takes ", takes));
}

}  // namespace

Status PackedKernel::resolve(std::span<const aotriton_argument> arguments, std::span<Value> values) const {
  std::array<const aotriton_tensor*, pack::kMaxArguments> views{};
  std::string strangers;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const aotriton_argument& argument = arguments[i];
    if (argument.name == nullptr) return invalid(cat("argument ", i, " has no name"));
    const int at = position(argument.name);
    if (at < 0) {
      strangers += cat(strangers.empty() ? "'" : ", '", core::utf8(argument.name), "'");
      continue;
    }
    const auto place = static_cast<std::size_t>(at);
    if (Status status = set(argument, plan_.arguments[place], plan_, values[place]); !status.ok()) return status;
    if (values[place].given && is_tensor(plan_.arguments[place].role)) views[place] = &argument.tensor;
  }
  if (!strangers.empty()) return unknown(plan_, strangers);
  set_strides(plan_, {views.data(), plan_.arguments.size()}, values);
  return {};
}

}  // namespace aotriton::dispatch
