// What the recording library reads of a code object: for whom it is, and the arguments of its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aotriton::record {

struct Parameter {
  std::uint32_t offset;
  std::uint32_t size;
};

struct KernelCode {
  std::string name;
  std::vector<Parameter> parameters;   // in the order in which a launch gives them
  std::uint32_t most_threads = 1024;   // of a block
  std::uint32_t exact_threads = 0;     // where the code takes no other number
  std::uint32_t static_shared = 0;
};

struct CodeObject {
  bool amd = false;
  std::string target;  // gfx942, sm_90
  std::vector<KernelCode> kernels;
};

// Reads an ELF file of AMD's or NVIDIA's in memory, whose length only itself tells, as drivers do. Nothing: it is none.
std::optional<CodeObject> read_code_object(const void* image);

// Whether code for one target runs on a device of another.
bool runs_on(const CodeObject& code, const std::string& device_target);

}  // namespace aotriton::record
