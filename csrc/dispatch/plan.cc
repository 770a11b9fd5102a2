#include "dispatch/plan.h"

#include "core/text.h"
#include "dispatch/memo.h"

#include <algorithm>
#include <limits>

namespace aotriton::dispatch {
namespace {

using index::Type;

template <typename Integer>
void set_range(ParameterFacts& facts) {
  facts.least = std::numeric_limits<Integer>::min();
  facts.most = static_cast<std::int64_t>(std::numeric_limits<Integer>::max());
}

void set_range_of(ParameterFacts& facts) {
  switch (facts.type) {
    case Type::i1: facts.least = 0, facts.most = 1; break;
    case Type::i8: set_range<std::int8_t>(facts); break;
    case Type::i16: set_range<std::int16_t>(facts); break;
    case Type::i32: set_range<std::int32_t>(facts); break;
    case Type::u8: set_range<std::uint8_t>(facts); break;
    case Type::u16: set_range<std::uint16_t>(facts); break;
    case Type::u32: set_range<std::uint32_t>(facts); break;
    case Type::i64:
    case Type::u64: set_range<std::int64_t>(facts); break;  // any 64 bits: a u64 comes as the same bits
    case Type::fp16: case Type::bf16: case Type::fp32: case Type::fp64: facts.real = true; break;
    case Type::none: break;
  }
}

ArgumentFacts argument_facts(const index::Argument& argument) {
  ArgumentFacts facts;
  facts.name = argument.name()->string_view();
  facts.role = argument.role();
  facts.type = argument.type();
  facts.tensor = argument.role() == index::Role::stride ? argument.tensor() : std::int16_t{-1};
  facts.dimension = argument.dimension();
  facts.rank = argument.rank();
  facts.dense = argument.dense();
  facts.optional = argument.optional();
  return facts;
}

AxisFacts axis_facts(const index::Axis& axis) {
  AxisFacts facts;
  facts.label = axis.label()->string_view();
  facts.arguments.assign(axis.arguments()->begin(), axis.arguments()->end());
  facts.weight = axis.radix_stride();
  facts.rule = axis.rule();
  facts.request = axis.request();
  for (const index::Choice* one : *axis.choices()) {
    facts.choices.push_back({one->text()->string_view(), one->kind(), one->type(), one->alignment(), one->integer(),
                             one->real()});
    facts.tensors = facts.tensors || one->kind() == index::ChoiceKind::pointer;
  }
  for (unsigned i = 0; axis.substitutes() != nullptr && i < axis.substitutes()->size(); ++i) {
    const auto* const instead = axis.substitutes()->Get(i)->choices();
    auto& list = facts.substitutes.emplace_back();
    if (instead != nullptr) list.assign(instead->begin(), instead->end());
  }
  return facts;
}

SignatureFacts signature_facts(const index::Index& index, const index::Signature& signature) {
  SignatureFacts facts;
  for (const index::Parameter* one : *signature.parameters()) {
    ParameterFacts parameter;
    parameter.argument = one->argument();
    parameter.alignment = one->alignment() == 0 ? std::uint16_t{1} : one->alignment();
    parameter.type = one->type();
    parameter.pointer = one->pointer();
    parameter.bytes = static_cast<std::uint8_t>(pack::type_bytes(one->type()));
    const index::Argument& argument = *index.arguments()->Get(one->argument());
    parameter.descriptor = argument.role() == index::Role::descriptor;
    parameter.fills_nan = argument.fills_nan();
    facts.descriptors += parameter.descriptor ? 1u : 0u;
    if (!parameter.pointer) set_range_of(parameter);
    facts.parameters.push_back(parameter);
  }
  for (unsigned i = 0; signature.fixed() != nullptr && i < signature.fixed()->size(); ++i) {
    facts.fixed.push_back({signature.fixed()->Get(i)->argument(), signature.fixed()->Get(i)->value()});
  }
  return facts;
}

// The scalars that `cdiv` divides in the grid: -1 of them would round up to no blocks, and look like an empty problem.
void add_divided(const index::Expression& expression, Plan& plan) {
  constexpr int kOther = -1;
  std::vector<int> stack;  // the argument that stands there by itself, or kOther
  for (const index::Step* step : *expression.steps()) {
    const index::Operation operation = step->operation();
    if (operation == index::Operation::constant || operation == index::Operation::argument) {
      stack.push_back(operation == index::Operation::argument ? static_cast<int>(step->value()) : kOther);
      continue;
    }
    const bool unary = operation == index::Operation::logical_not, ternary = operation == index::Operation::select;
    const std::size_t operands = unary ? 1 : ternary ? 3 : 2;
    const int first = stack[stack.size() - operands];
    stack.resize(stack.size() - operands);
    stack.push_back(kOther);
    if (operation != index::Operation::cdiv || first == kOther) continue;
    const auto argument = static_cast<std::uint16_t>(first);
    const bool scalar = plan.arguments[argument].role == index::Role::scalar;
    if (scalar && std::ranges::count(plan.divided, argument) == 0) plan.divided.push_back(argument);
  }
}

}  // namespace

Plan make_plan(pack::Located located) {
  Plan plan;
  plan.located = std::move(located);
  const index::Index& index = plan.index();
  for (const index::Argument* one : *index.arguments()) {
    plan.names.push_back(one->name()->str());
    plan.arguments.push_back(argument_facts(*one));
    // A null tensor counts as 0, and what a config decides is not the caller's to say.
    const bool never = one->role() == index::Role::performance, always = is_tensor(one->role());
    plan.known.push_back(never ? Plan::kNeverKnown : always ? Plan::kAlwaysKnown : Plan::kKnownIfGiven);
  }
  for (const index::Expression* one : *index.grid()) add_divided(*one, plan);
  for (const index::Axis* one : *index.axes()) {
    for (const unsigned argument : *one->arguments()) {
      plan.arguments[argument].axis = static_cast<std::int16_t>(plan.axes.size());
    }
    plan.axes.push_back(axis_facts(*one));
  }
  for (const index::Signature* one : *index.signatures()) {
    plan.signatures.push_back(signature_facts(index, *one));
    for (const ParameterFacts& parameter : plan.signatures.back().parameters) {
      const bool little = !parameter.pointer || parameter.alignment <= Key::kAlignment;
      plan.sees_little_of_addresses = plan.sees_little_of_addresses && little;
    }
  }
  for (const index::Functional* one : *plan.target().functionals()) {
    plan.numbers.push_back(one->number());
    plan.functionals.push_back(one);
    plan.first_image.push_back(plan.images);
    plan.images += one->images()->size();
  }
  return plan;
}

std::string Plan::signature_text(std::uint32_t number) const {
  std::string text;
  for (const AxisFacts& axis : axes) {
    const ChoiceFacts& choice = axis.choices[number / axis.weight % axis.choices.size()];
    text += core::cat(text.empty() ? "" : ";", axis.label, "=", choice.text);
  }
  return text;
}

}  // namespace aotriton::dispatch
