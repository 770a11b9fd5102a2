#include "dispatch/extents.h"

namespace aotriton::dispatch {
namespace {

// From the lowest element to the end of the highest; strides may be negative.
drivers::Extent extent_of(const aotriton_tensor& view, std::int64_t element_bytes) {
  std::int64_t first = 0, last = 0;
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] == 0) return {view.data, 0};
    const std::int64_t reach = (view.sizes[i] - 1) * view.strides[i];
    (reach < 0 ? first : last) += reach;
  }
  return {static_cast<const char*>(view.data) + first * element_bytes,
          static_cast<std::size_t>((last - first + 1) * element_bytes)};
}

}  // namespace

Extents::Extents(const SignatureFacts& signature, std::span<const Value> values) {
  for (const ParameterFacts& parameter : signature.parameters) {
    const Value& value = values[parameter.argument];
    if ((!parameter.pointer && !parameter.descriptor) || value.bits == 0) continue;
    if (value.view == nullptr) {
      count_ = 0;
      return;
    }
    extents_[count_++] = extent_of(*value.view, parameter.bytes);
  }
}

}  // namespace aotriton::dispatch
