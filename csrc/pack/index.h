// The dispatch table of one kernel in one pack (schema/index.fbs), verified once so that it can be read in place.
#pragma once

#include "core/status.h"

#include <index_generated.h>

#include <cstdint>
#include <span>
#include <string>

namespace aotriton::pack {

// What a verified index never exceeds: dispatch sizes its buffers by these.
inline constexpr std::size_t kMaxArguments = 256;
inline constexpr std::size_t kMaxDescriptors = 16;  // of a signature
inline constexpr std::size_t kMaxAxes = 32;
inline constexpr std::size_t kMaxChoices = 255;
inline constexpr std::size_t kMaxKeys = 8;
inline constexpr std::size_t kMaxScratchParameters = 8;
inline constexpr std::size_t kMaxSteps = 1024;  // of an expression
inline constexpr std::size_t kMaxStack = 32;    // that an expression needs
inline constexpr std::int8_t kMaxDescriptorRank = 5;

// Checks `bytes` (16-byte aligned) as a FlatBuffer, then all that it means: every position, length, order and
// expression. After that no reader of the index needs to check anything. Texts don't name the file, callers do.
core::Result<const index::Index*> verify_index(std::span<const std::uint8_t> bytes);

// The meaning alone, of what is a well-formed FlatBuffer.
core::Status check_index(const index::Index& index);

// The bytes of one element; 0 for `none` and for what is no type.
unsigned type_bytes(index::Type type);

// The index as JSON: all of it, in the schema's order, the same bytes for the same index.
std::string index_to_json(const index::Index& index);

}  // namespace aotriton::pack
