#include "dispatch/descriptors.h"

#include <algorithm>
#include <limits>

namespace aotriton::dispatch {
namespace {

// CUDA driver API, cuTensorMapEncodeTiled.
constexpr std::int64_t kGranularity = 16;
constexpr std::int64_t kStrideLimit = std::int64_t{1} << 40;
// Code takes sizes as 32-bit integers.
constexpr std::int64_t kLargestSize = std::numeric_limits<std::int32_t>::max();

Problem of_view(Reason reason, std::uint16_t argument, std::int64_t asked = 0, std::int64_t dimension = 0) {
  Problem problem;
  problem.reason = reason;
  problem.argument = argument;
  problem.asked = asked;
  problem.found = dimension;
  return problem;
}

Problem check_view(const ParameterFacts& parameter, const aotriton_tensor& view) {
  const std::uint16_t argument = parameter.argument;
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  if (address % kGranularity != 0) return of_view(Reason::descriptor_address, argument, 0, kGranularity);
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] < 1 || view.sizes[i] > kLargestSize) {
      return of_view(Reason::descriptor_size, argument, view.sizes[i], i);
    }
    const bool last = i == view.rank - 1;
    if (last && view.sizes[i] > 1 && view.strides[i] != 1) {
      return of_view(Reason::descriptor_last, argument, view.strides[i], i);
    }
    if (last) continue;
    std::int64_t bytes = 0;
    const bool overflow = view.sizes[i] > 1 && __builtin_mul_overflow(view.strides[i], parameter.bytes, &bytes);
    if (overflow || bytes % kGranularity != 0 || bytes < 0 || bytes >= kStrideLimit) {
      return of_view(Reason::descriptor_stride, argument, view.strides[i], i);
    }
  }
  return {};
}

}  // namespace

Problem check_descriptors(const Plan& plan, const SignatureFacts& signature, std::span<const Value> values) {
  if (signature.descriptors == 0) return {};
  for (const ParameterFacts& parameter : signature.parameters) {
    if (plan.arguments[parameter.argument].role != index::Role::descriptor) continue;
    const aotriton_tensor* const view = values[parameter.argument].view;
    if (view == nullptr) return of_view(Reason::null_tensor, parameter.argument);
    // A front end may be of another version than the pack.
    const int rank = plan.arguments[parameter.argument].rank;
    if (view->rank != rank) return of_view(Reason::descriptor_rank, parameter.argument, view->rank, rank);
    if (Problem problem = check_view(parameter, *view); problem.reason != Reason::none) return problem;
  }
  return {};
}

std::int64_t stride_bytes(const aotriton_tensor& view, int dimension, std::int64_t element_bytes) {
  if (view.sizes[dimension] > 1) return view.strides[dimension] * element_bytes;
  std::int64_t bytes = element_bytes;
  for (int inner = dimension + 1; inner < view.rank; ++inner) {
    if (view.sizes[inner] > 1) bytes = std::max(bytes, view.strides[inner] * element_bytes * view.sizes[inner]);
  }
  if (dimension < view.rank - 1) bytes = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  return bytes < kStrideLimit ? bytes : kGranularity;
}

drivers::TensorMapRequest map_request(const ParameterFacts& parameter, const index::TensorMap& map,
                                      const aotriton_tensor& view) {
  drivers::TensorMapRequest request;
  request.address = view.data;
  request.type = static_cast<aotriton_dtype>(parameter.type);
  request.rank = view.rank;
  for (int i = 0; i < view.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    request.sizes[at] = static_cast<std::uint64_t>(view.sizes[i]);
    request.strides[at] = static_cast<std::uint64_t>(stride_bytes(view, i, parameter.bytes));
    request.block[at] = map.block()->Get(static_cast<unsigned>(i));
  }
  request.swizzle = map.swizzle();
  request.fills_nan = parameter.fills_nan;
  return request;
}

}  // namespace aotriton::dispatch
