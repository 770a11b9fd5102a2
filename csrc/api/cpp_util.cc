// The C++ API's views and questions about devices.
#include "core/guarded.h"
#include "core/log.h"
#include "drivers/devices.h"

#include <aotriton/util.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>

// The ELF section .comment says what this is.
__asm__(".ident \"AOTriton " AOTRITON_VERSION_STRING "\"");

namespace AOTRITON_NS {

template class TensorView<1>;
template class TensorView<2>;
template class TensorView<3>;
template class TensorView<4>;

namespace {

constexpr Gpu kGpus[] = {
    GPU_AMD_ARCH_GFX90A_MOD0,  GPU_AMD_ARCH_GFX942_MOD0,  GPU_AMD_ARCH_GFX950_MOD0,  GPU_AMD_ARCH_GFX1100_MOD0,
    GPU_AMD_ARCH_GFX1101_MOD0, GPU_AMD_ARCH_GFX1102_MOD0, GPU_AMD_ARCH_GFX1103_MOD0, GPU_AMD_ARCH_GFX1150_MOD0,
    GPU_AMD_ARCH_GFX1151_MOD0, GPU_AMD_ARCH_GFX1152_MOD0, GPU_AMD_ARCH_GFX1153_MOD0, GPU_AMD_ARCH_GFX1200_MOD0,
    GPU_AMD_ARCH_GFX1201_MOD0, GPU_AMD_ARCH_GFX1250_MOD0, GPU_NVIDIA_ARCH_SM80_MOD0, GPU_NVIDIA_ARCH_SM86_MOD0,
    GPU_NVIDIA_ARCH_SM89_MOD0, GPU_NVIDIA_ARCH_SM90_MOD0, GPU_NVIDIA_ARCH_SM100_MOD0, GPU_NVIDIA_ARCH_SM120_MOD0,
};

// A target's digits are its number in hexadecimal: gfx90a, sm_120.
Gpu gpu_of(std::string_view target) {
  const GpuVendor vendor = target.starts_with("gfx") ? kAMD : kNVIDIA;
  if (vendor == kNVIDIA && !target.starts_with("sm_")) return GPU_ARCH_UNKNOWN;
  std::uint16_t number = 0;
  const char* const end = target.data() + target.size();
  const auto parsed = std::from_chars(target.data() + 3, end, number, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return GPU_ARCH_UNKNOWN;
  const auto gpu = static_cast<Gpu>(TRICAT(vendor, number, 0));
  return std::find(std::begin(kGpus), std::end(kGpus), gpu) != std::end(kGpus) ? gpu : GPU_ARCH_UNKNOWN;
}

// Null, with the reason in aotriton_last_error(), where there is none.
const aotriton_device* device_of(hipStream_t stream) {
  aotriton_device* device = nullptr;
  (void)::aotriton::core::guarded([&]() -> ::aotriton::core::Status {
    ::aotriton::core::Result<aotriton_device*> found = ::aotriton::drivers::device_of_stream(stream);
    if (!found.ok()) {
      AOTRITON_LOG(warning, found.status().text());
      return found.status();
    }
    device = *found;
    return {};
  });
  return device;
}

bool is_one_of(hipStream_t stream, std::initializer_list<std::string_view> targets) {
  const aotriton_device* device = device_of(stream);
  return device != nullptr && std::find(targets.begin(), targets.end(), device->machine.target) != targets.end();
}

}  // namespace

Gpu getGpuFromStream(hipStream_t stream) {
  const aotriton_device* device = device_of(stream);
  return device != nullptr ? gpu_of(device->machine.target) : GPU_ARCH_UNKNOWN;
}

bool isArchExperimentallySupported(hipStream_t stream) {
  return is_one_of(stream, {"gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1152", "gfx1153", "gfx1200"});
}

bool isArchTechPreview(hipStream_t stream) { return is_one_of(stream, {"gfx1250"}); }

int getMultiProcessorCount(hipStream_t stream) {
  constexpr int kUnknown = 40;
  const aotriton_device* device = device_of(stream);
  return device != nullptr ? device->machine.compute_units : kUnknown;
}

}  // namespace AOTRITON_NS
