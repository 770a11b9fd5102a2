// What the generated argument structs are made of: members that have no default, so that a front end that forgets an
// argument doesn't compile, and the way from a tensor view to the values that dispatch takes.
#pragma once

#include "dispatch/kernel.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace aotriton::dispatch {

// A number of this type. Narrowing conversions don't compile.
template <typename T>
class Scalar {
 public:
  template <typename From>
    requires requires(From from) { T{from}; }
  Scalar(From value) : value_(value) {}

  T value() const { return value_; }

 private:
  T value_;
};

// A tensor of this rank, of which the last `Dense` dimensions must be contiguous; or null. The view is the caller's.
template <int Rank, int Dense = 0>
class Tensor {
 public:
  Tensor(const aotriton_tensor& view) : view_(view.data == nullptr ? nullptr : &view) {}
  Tensor(const aotriton_tensor&&) = delete;  // it would be gone before it is read
  Tensor(std::nullptr_t) : view_(nullptr) {}

  const aotriton_tensor* view() const { return view_; }

 private:
  const aotriton_tensor* view_;
};

template <typename T>
Value value_of(Scalar<T> scalar) {
  Value value;
  value.given = true;
  if constexpr (std::is_floating_point_v<T>) {
    value.real = scalar.value();
    value.bits = std::bit_cast<std::uint64_t>(value.real);
  } else {
    value.bits = static_cast<std::uint64_t>(scalar.value());  // two's complement
  }
  return value;
}

template <int Rank, int Dense>
Value value_of(Tensor<Rank, Dense> tensor) {
  Value value;
  value.given = true;
  if (const aotriton_tensor* view = tensor.view()) {
    value.bits = std::bit_cast<std::uintptr_t>(view->data);
    value.dtype = static_cast<aotriton_dtype>(view->dtype);
    value.view = view;
  }
  return value;
}

// The stride of one dimension. Where a dimension has one element or none, nothing is reached through its stride, so
// what the caller left there doesn't matter: the unit stride is 1, others are 0.
template <int Rank, int Dense>
Value stride_of(Tensor<Rank, Dense> tensor, int dimension, bool unit) {
  Value value;
  value.given = true;
  const aotriton_tensor* view = tensor.view();
  const bool reached = view != nullptr && view->sizes[dimension] > 1;
  value.bits = reached ? static_cast<std::uint64_t>(view->strides[dimension]) : (unit ? 1 : 0);
  return value;
}

// The stride that a contiguous view has in one dimension.
inline std::int64_t contiguous_stride(const aotriton_tensor& view, int dimension) {
  std::int64_t stride = 1;
  for (int inner = view.rank - 1; inner > dimension; --inner) stride *= view.sizes[inner];
  return stride;
}

// The dimension among the last ones that breaks the contiguity that the kernel takes for granted, or -1.
template <int Rank, int Dense>
int broken_dimension(const aotriton_tensor& view) {
  for (int dimension = Rank - 1; dimension >= Rank - Dense; --dimension) {
    if (view.sizes[dimension] > 1 && view.strides[dimension] != contiguous_stride(view, dimension)) return dimension;
  }
  return -1;
}

// Whether the view has the rank and the contiguous dimensions that the kernel takes for granted; null always fits.
template <int Rank, int Dense>
bool fits(Tensor<Rank, Dense> tensor) {
  const aotriton_tensor* view = tensor.view();
  return view == nullptr || (view->rank == Rank && broken_dimension<Rank, Dense>(*view) < 0);
}

// Why it doesn't.
template <int Rank, int Dense>
core::Status misfit(const char* name, Tensor<Rank, Dense> tensor) {
  const aotriton_tensor& view = *tensor.view();
  std::string text = name;
  if (view.rank != Rank) {
    text += " has rank " + std::to_string(view.rank) + "; the kernel takes rank " + std::to_string(Rank);
  } else {
    const int dimension = std::max(0, broken_dimension<Rank, Dense>(view));  // there is one: the view doesn't fit
    text += " has stride " + std::to_string(view.strides[dimension]) + " in dimension " + std::to_string(dimension) +
            ", where the kernel takes it as contiguous with stride " +
            std::to_string(contiguous_stride(view, dimension)) + "; make it contiguous";
  }
  return {AOTRITON_INVALID_ARGUMENT, std::move(text)};
}

}  // namespace aotriton::dispatch
