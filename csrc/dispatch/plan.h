// A kernel's index for one target, laid out for dispatch: built once when the kernel is opened, never changed.
#pragma once

#include "dispatch/kernel.h"
#include "pack/search.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aotriton::dispatch {

struct ArgumentFacts {
  std::string_view name;
  index::Role role = index::Role::scalar;
  index::Type type = index::Type::none;
  std::int16_t tensor = -1;  // of a stride
  std::int8_t dimension = 0;
  std::int8_t rank = 0;
  std::int8_t dense = 0;
  bool optional = false;
  std::int16_t axis = -1;  // that decides the argument
};

struct ChoiceFacts {
  std::string_view text;
  index::ChoiceKind kind = index::ChoiceKind::integer;
  index::Type type = index::Type::none;
  std::uint16_t alignment = 0;
  std::int64_t integer = 0;
  double real = 0;
};

struct AxisFacts {
  std::string_view label;
  std::vector<std::uint16_t> arguments;
  std::vector<ChoiceFacts> choices;
  std::vector<std::vector<std::uint8_t>> substitutes;  // empty, or by choice
  std::uint32_t weight = 1;
  index::Rule rule = index::Rule::exact;
  const index::Expression* request = nullptr;
  bool tensors = false;  // decides element types
};

struct ParameterFacts {
  std::uint16_t argument = 0;
  std::uint16_t alignment = 1;
  index::Type type = index::Type::none;
  bool pointer = false;
  bool descriptor = false;
  bool fills_nan = false;               // of a descriptor
  bool real = false;
  std::uint8_t bytes = 0;               // of an element or of the number
  std::int64_t least = 0, most = 0;     // of an integer
};

// Whether the caller gives a tensor for it.
inline bool is_tensor(index::Role role) { return role == index::Role::tensor || role == index::Role::descriptor; }

struct FixedFacts {
  std::uint16_t argument = 0;
  std::int64_t value = 0;
};

struct SignatureFacts {
  std::vector<ParameterFacts> parameters;
  std::vector<FixedFacts> fixed;
  std::size_t descriptors = 0;  // among the parameters
};

struct Plan {
  pack::Located located;
  std::vector<std::string> names;  // of the arguments
  std::vector<ArgumentFacts> arguments;
  static constexpr std::uint8_t kNeverKnown = 0, kKnownIfGiven = 1, kAlwaysKnown = 2;  // the last are the tensors
  std::vector<std::uint8_t> known;  // by argument: has a number before any choice
  std::vector<std::uint16_t> divided;  // scalars that the grid's expressions divide, rounding up: counts of something
  // Whether, of an address that isn't null, no decision sees more than how it is aligned up to Key::kAlignment.
  bool sees_little_of_addresses = true;
  std::vector<AxisFacts> axes;
  std::vector<SignatureFacts> signatures;
  std::vector<std::uint32_t> numbers;                    // of the target's functionals, ascending
  std::vector<const index::Functional*> functionals;     // in that order
  std::vector<std::uint32_t> first_image;                // by functional: its images are numbered from here
  std::uint32_t images = 0;                              // of all of them

  const index::Index& index() const { return located.file->index(); }
  const index::Target& target() const { return *located.target; }
  std::string signature_text(std::uint32_t number) const;  // of any functional in the choice space
};

Plan make_plan(pack::Located located);

}  // namespace aotriton::dispatch
