#include "record/code_object.h"

#include "record/elf.h"
#include "record/message_pack.h"

#include <algorithm>
#include <array>
#include <utility>

namespace aotriton::record {
namespace {

constexpr std::uint16_t kAmdGpu = 224;
constexpr std::uint16_t kCuda = 190;
constexpr std::uint32_t kNote = 7;
constexpr std::uint32_t kAmdMetadata = 32;  // NT_AMDGPU_METADATA

// EF_AMDGPU_MACH of the LLVM AMDGPU documentation, "ELF Header".
constexpr std::array<std::pair<std::uint8_t, const char*>, 14> kAmdMachines{{
    {0x3f, "gfx90a"},  {0x4c, "gfx942"},  {0x4f, "gfx950"},  {0x41, "gfx1100"}, {0x46, "gfx1101"},
    {0x47, "gfx1102"}, {0x44, "gfx1103"}, {0x43, "gfx1150"}, {0x4a, "gfx1151"}, {0x55, "gfx1152"},
    {0x58, "gfx1153"}, {0x48, "gfx1200"}, {0x4e, "gfx1201"}, {0x49, "gfx1250"},
}};

// ---- AMD: a note with the kernels' metadata ----

void read_amd_parameters(MessagePack& metadata, KernelCode& kernel) {
  metadata.array([&] {
    Parameter parameter{};
    bool hidden = false;
    metadata.map([&](std::string_view key) {
      if (key == ".offset") {
        parameter.offset = static_cast<std::uint32_t>(metadata.number());
      } else if (key == ".size") {
        parameter.size = static_cast<std::uint32_t>(metadata.number());
      } else if (key == ".value_kind") {
        hidden = metadata.text().starts_with("hidden_");  // filled by the driver, not by the launch
      } else {
        metadata.skip();
      }
    });
    if (!hidden) kernel.parameters.push_back(parameter);
  });
}

KernelCode read_amd_kernel(MessagePack& metadata) {
  KernelCode kernel;
  metadata.map([&](std::string_view key) {
    if (key == ".name") {
      kernel.name = metadata.text();
    } else if (key == ".args") {
      read_amd_parameters(metadata, kernel);
    } else if (key == ".max_flat_workgroup_size") {
      kernel.most_threads = static_cast<std::uint32_t>(metadata.number());
    } else if (key == ".group_segment_fixed_size") {
      kernel.static_shared = static_cast<std::uint32_t>(metadata.number());
    } else {
      metadata.skip();
    }
  });
  return kernel;
}

// The metadata's note among those of a section: lengths of name and description, type, then both padded to 4 bytes.
Bytes metadata_of_notes(Bytes notes) {
  const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  while (notes.size() >= 12) {
    const auto name = padded(number_at<std::uint32_t>(notes, 0));
    const auto description = number_at<std::uint32_t>(notes, 4);
    if (number_at<std::uint32_t>(notes, 8) == kAmdMetadata) return part(notes, 12 + name, description);
    notes = part(notes, 12 + name + padded(description), notes.size());
  }
  return {};
}

std::optional<CodeObject> read_amd(const Elf& elf) {
  CodeObject code{true, {}, {}};
  for (const auto& [number, name] : kAmdMachines) {
    if ((elf.flags & 0xff) == number) code.target = name;
  }
  for (const Section& section : elf.sections) {
    if (section.type != kNote) continue;
    const Bytes bytes = metadata_of_notes(section.data);
    if (bytes.empty()) continue;
    MessagePack metadata(bytes);
    metadata.map([&](std::string_view key) {
      if (key == "amdhsa.kernels") {
        metadata.array([&] { code.kernels.push_back(read_amd_kernel(metadata)); });
      } else {
        metadata.skip();
      }
    });
    if (!metadata.ok()) return std::nullopt;
  }
  return code;
}

// ---- NVIDIA: a section of attributes for each kernel ----

constexpr std::uint8_t kSized = 4;              // the attribute's two bytes are the length of what follows
constexpr std::uint8_t kRequiredThreads = 0x10;  // EIATTR_REQNTID: three numbers
constexpr std::uint8_t kParameterInfo = 0x17;    // EIATTR_KPARAM_INFO: index, ordinal, offset, and bits with the size

void read_cuda_attributes(Bytes bytes, KernelCode& kernel) {
  std::vector<std::pair<std::uint16_t, Parameter>> parameters;
  while (bytes.size() >= 4) {
    const std::uint8_t format = bytes[0];
    const std::uint8_t attribute = bytes[1];
    const std::uint64_t size = format == kSized ? number_at<std::uint16_t>(bytes, 2) : 0;
    const Bytes value = part(bytes, 4, size);
    if (attribute == kParameterInfo) {
      const auto bits = number_at<std::uint32_t>(value, 8);
      parameters.emplace_back(number_at<std::uint16_t>(value, 4), Parameter{number_at<std::uint16_t>(value, 6), bits >> 18});
    } else if (attribute == kRequiredThreads) {
      kernel.exact_threads = number_at<std::uint32_t>(value, 0) * number_at<std::uint32_t>(value, 4) *
                             number_at<std::uint32_t>(value, 8);
    }
    bytes = part(bytes, 4 + size, bytes.size());
  }
  std::sort(parameters.begin(), parameters.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [ordinal, parameter] : parameters) kernel.parameters.push_back(parameter);
}

std::optional<CodeObject> read_cuda(const Elf& elf) {
  // The compute capability stands in the second byte of the flags since version 8 of the ABI, in the first before.
  const unsigned capability = elf.abi_version >= 8 ? elf.flags >> 8 & 0xff : elf.flags & 0xff;
  CodeObject code{false, "sm_" + std::to_string(capability), {}};
  constexpr std::string_view kPrefix = ".nv.info.";
  for (const Section& section : elf.sections) {
    if (!section.name.starts_with(kPrefix)) continue;
    KernelCode kernel;
    kernel.name = section.name.substr(kPrefix.size());
    read_cuda_attributes(section.data, kernel);
    if (const Section* shared = elf.find(".nv.shared." + kernel.name)) {
      kernel.static_shared = static_cast<std::uint32_t>(shared->size);
    }
    code.kernels.push_back(std::move(kernel));
  }
  return code;
}

}  // namespace

std::optional<CodeObject> read_code_object(const void* image) {
  const std::optional<Elf> elf = read_elf(image);
  if (!elf) return std::nullopt;
  std::optional<CodeObject> code;
  if (elf->machine == kAmdGpu) code = read_amd(*elf);
  if (elf->machine == kCuda) code = read_cuda(*elf);
  if (!code || code->kernels.empty()) return std::nullopt;
  return code;
}

bool runs_on(const CodeObject& code, const std::string& device_target) {
  if (code.target == device_target) return true;
  // Code of compute capability 8.x runs on the same and later ones of its major version; ours of later ones is of the
  // kind that runs on its own only.
  const auto number = [](const std::string& target) { return std::stoi(target.substr(3)); };
  if (code.amd || !device_target.starts_with("sm_")) return false;
  const int built = number(code.target);
  const int device = number(device_target);
  return built / 10 == 8 && device / 10 == 8 && built <= device;
}

}  // namespace aotriton::record
