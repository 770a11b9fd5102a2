// What can be said of tensor views alone: whether they are sound, and whether their memory overlaps.
#pragma once

#include "core/status.h"

#include <cstdint>
#include <string>

namespace aotriton::flash {

// `fp16`; the number itself where it is no type. To stand behind the word "type".
std::string dtype_name(std::int32_t dtype);
// 0: not a type that the family takes.
int element_bytes(std::int32_t dtype);
// `(1, 2, 31, 16)`
std::string shape_text(const aotriton_tensor& view);

// Of a view that has elements, and of one that is empty: a null address means absence only for the former.
bool is_empty(const aotriton_tensor& view);

// That a view has the rank, sizes from 0 to 2^31 - 1, strides that aren't negative, no element beyond 2^62 bytes, an
// address, and that this is a multiple of the element's size. The type is checked before.
core::Status check_view(const char* name, const aotriton_tensor& view, int rank);

enum class Overlap { none, some, untold };

// Whether two indices of one view are the same place in memory.
Overlap overlaps_itself(const aotriton_tensor& view);
// The memory from a view's first byte to behind its last; of an empty one, nothing.
struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
};
Range range_of(const aotriton_tensor& view);
// Whether two views have a place in common. Ranges that don't meet answer it at once.
Overlap overlap(const aotriton_tensor& a, const aotriton_tensor& b);

}  // namespace aotriton::flash
