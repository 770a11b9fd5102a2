// A code object: what its ELF file and its metadata say of its kernels, read whole and checked before anything runs.
#pragma once

#include "sim/tables.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sim {

struct Argument {
  std::string name, kind; // kind: `global_buffer`, `by_value`, `hidden_block_count_x`, …
  std::uint32_t offset = 0, size = 0;
};

struct Kernel {
  std::string name;
  std::uint64_t entry = 0;      // virtual addresses
  std::uint64_t descriptor = 0;
  std::uint32_t lds_size = 0, private_size = 0, kernarg_size = 0;
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint16_t properties = 0, kernarg_preload = 0;
  std::uint32_t vgpr_count = 0, agpr_count = 0, sgpr_count = 0; // as the metadata say
  std::uint32_t max_threads = 1024;
  std::vector<Argument> arguments;
};

// A load segment. The file has the first `file_size` bytes of it; zeros follow, and no code.
struct Segment {
  std::uint64_t address = 0, size = 0, file_size = 0;
  bool executable = false, writable = false;
};

struct CodeObject {
  Arch arch{};
  std::vector<Kernel> kernels;
  std::vector<Segment> segments;
  // The segments in one piece, from `base` on; relocated to lie where `memory` lies.
  std::uint64_t base = 0;
  std::vector<std::uint8_t> memory;

  const Kernel* find(std::string_view name) const;
  std::uint64_t loaded(std::uint64_t address) const { // where an address of the file lies in this process
    return reinterpret_cast<std::uint64_t>(memory.data()) + (address - base);
  }
};

// Reads a file; null, with what is wrong in `error`, where it can't be run. The file isn't needed afterwards.
std::unique_ptr<CodeObject> read_code_object(std::span<const std::uint8_t> file, std::string& error);

} // namespace sim
