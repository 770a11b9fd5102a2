#include "dispatch/parameters.h"

#include "core/text.h"
#include "dispatch/descriptors.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace aotriton::dispatch {
namespace {

static_assert(std::endian::native == std::endian::little);

// Rounds to a binary format of 16 bits with that many bits of exponent and mantissa; straight from the double, since
// rounding twice could end beside the nearest.
std::uint64_t narrow(double real, int exponent_bits, int mantissa_bits) {
  const std::uint64_t sign = std::signbit(real) ? 0x8000 : 0;
  const std::uint64_t infinity = ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  if (std::isnan(real)) return sign | infinity | std::uint64_t{1} << (mantissa_bits - 1);
  const double magnitude = std::fabs(real);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | infinity;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  // The unit of the last place: of the number's own binade, or of the subnormal numbers.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const auto units = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent)));
  // A mantissa that rounded up to the next power of two carries into the exponent by itself.
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent + bias - 1) << mantissa_bits) + units;
  return sign | std::min(bits, infinity);
}

}  // namespace

std::uint64_t bits_of_real(double real, index::Type type) {
  switch (type) {
    case index::Type::fp16: return narrow(real, 5, 10);
    case index::Type::bf16: return narrow(real, 8, 7);
    case index::Type::fp32: return std::bit_cast<std::uint32_t>(static_cast<float>(real));
    default: return std::bit_cast<std::uint64_t>(real);
  }
}

Parameters::Parameters(const SignatureFacts& signature, std::span<const Value> values, std::size_t scratch, bool maps) {
  for (const ParameterFacts& parameter : signature.parameters) {
    const Value& value = values[parameter.argument];
    if (parameter.descriptor) add_descriptor(parameter, value, maps);
    else add(parameter.real ? bits_of_real(value.real, parameter.type) : value.bits);
  }
  for (std::size_t i = 0; i < scratch; ++i) add(0);
}

// The order is Triton's, for every target: what stands for the tensor, then its sizes and strides, which code may read.
void Parameters::add_descriptor(const ParameterFacts& parameter, const Value& value, bool maps) {
  const aotriton_tensor& view = *value.view;
  if (maps) {
    pointers_[size_++] = &maps_[map_count_++];
  } else {
    add(value.bits);
    add_shape(view, parameter.bytes);
    add(parameter.fills_nan ? 1 : 0);
    add(0);  // whether fp32 is rounded to tf32
  }
  add_shape(view, parameter.bytes);
}

void Parameters::add_shape(const aotriton_tensor& view, std::int64_t element_bytes) {
  for (int i = 0; i < view.rank; ++i) add(static_cast<std::uint64_t>(view.sizes[i]));
  for (int i = 0; i < view.rank; ++i) {
    add(static_cast<std::uint64_t>(stride_bytes(view, i, element_bytes) / element_bytes));
  }
}

core::Status Parameters::encode(drivers::Driver& driver, int ordinal, const Plan& plan, const SignatureFacts& signature,
                                const index::Image& image, std::span<const Value> values) {
  unsigned at = 0;
  for (const ParameterFacts& parameter : signature.parameters) {
    if (!parameter.descriptor) continue;
    const drivers::TensorMapRequest request =
        map_request(parameter, *image.tensor_maps()->Get(at), *values[parameter.argument].view);
    if (core::Status status = driver.encode(ordinal, request, maps_[at++]); !status.ok()) {
      return {status.code(), core::cat("argument '", plan.names[parameter.argument], "': ", status.text())};
    }
  }
  return {};
}

}  // namespace aotriton::dispatch
