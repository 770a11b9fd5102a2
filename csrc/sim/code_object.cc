#include "sim/code_object.h"

#include "sim/msgpack.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace sim {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint64_t most_memory = 1ull << 28;
constexpr std::uint32_t type_load = 1, type_dynamic = 2, type_note = 4, relocation_relative = 13;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("not a code object that can be run: " + what); }

Bytes part(Bytes bytes, std::uint64_t offset, std::uint64_t size, const char* what) {
  if (offset > bytes.size() || size > bytes.size() - offset) fail(std::string(what) + " lies outside the file");
  return bytes.subspan(offset, size);
}

template <typename T>
T read(Bytes bytes, std::uint64_t offset, const char* what) {
  T value;
  std::memcpy(&value, part(bytes, offset, sizeof(T), what).data(), sizeof(T));
  return value;
}

struct ProgramHeader {
  std::uint32_t type, flags;
  std::uint64_t offset, address, physical, file_size, memory_size, alignment;
};

struct Symbol {
  std::uint32_t name;
  std::uint8_t info, other;
  std::uint16_t section;
  std::uint64_t value, size;
};

class Loader {
 public:
  explicit Loader(Bytes file) : file_(file), out_(std::make_unique<CodeObject>()) {}

  std::unique_ptr<CodeObject> run() {
    header();
    place_segments();
    relocate();
    metadata();
    return std::move(out_);
  }

 private:
  void header() {
    if (file_.size() < 64 || std::memcmp(file_.data(), "\177ELF\2\1", 6) != 0) fail("it is no 64-bit little-endian ELF file");
    const auto machine = read<std::uint16_t>(file_, 18, "the header");
    if (machine != 224) fail("it is for another machine (ELF machine " + std::to_string(machine) + ", not 224, which is amdgpu)");
    const auto flags = read<std::uint32_t>(file_, 48, "the header");
    switch (flags & 0xff) {
      case 0x3f: out_->arch = Arch::gfx90a; break;
      case 0x4c: out_->arch = Arch::gfx942; break;
      case 0x4f: out_->arch = Arch::gfx950; break;
      default:
        fail("it is for an AMD architecture that the simulator doesn't have (number " + std::to_string(flags & 0xff) +
             " in the ELF flags); it has gfx90a, gfx942 and gfx950");
    }
    const auto offset = read<std::uint64_t>(file_, 32, "the header");
    const auto size = read<std::uint16_t>(file_, 54, "the header"), count = read<std::uint16_t>(file_, 56, "the header");
    if (count != 0 && size != sizeof(ProgramHeader)) fail("its program headers have an unknown size");
    for (std::uint64_t i = 0; i < count; ++i) {
      if (offset > file_.size()) fail("a program header lies outside the file");
      headers_.push_back(read<ProgramHeader>(file_, offset + i * size, "a program header"));
    }
  }

  void place_segments() {
    std::uint64_t low = ~0ull, high = 0;
    for (const ProgramHeader& h : headers_) {
      if (h.type != type_load || h.memory_size == 0) continue;
      part(file_, h.offset, h.file_size, "a segment");
      if (h.file_size > h.memory_size || h.address + h.memory_size < h.address) fail("a segment has sizes of no sense");
      low = std::min(low, h.address);
      high = std::max(high, h.address + h.memory_size);
    }
    if (low >= high) fail("it has no segment to load");
    if (high - low > most_memory) fail("its segments span more than 256 MiB");
    out_->base = low;
    out_->memory.resize(high - low);
    for (const ProgramHeader& h : headers_) {
      if (h.type != type_load || h.memory_size == 0) continue;
      if (h.file_size != 0) std::memcpy(out_->memory.data() + (h.address - low), file_.data() + h.offset, h.file_size);
      out_->segments.push_back({h.address, h.memory_size, h.file_size, (h.flags & 1) != 0, (h.flags & 2) != 0});
    }
  }

  // A part of the loaded memory, by virtual address.
  Bytes at(std::uint64_t address, std::uint64_t size, const char* what) const {
    const std::uint64_t offset = address - out_->base;
    if (address < out_->base || offset > out_->memory.size() || size > out_->memory.size() - offset) {
      fail(std::string(what) + " points outside the loaded segments");
    }
    return Bytes(out_->memory).subspan(offset, size);
  }

  std::uint64_t dynamic(std::uint64_t tag) const {
    for (const ProgramHeader& h : headers_) {
      if (h.type != type_dynamic) continue;
      const Bytes table = part(file_, h.offset, h.file_size, "the dynamic table");
      for (std::uint64_t i = 0; i + 16 <= table.size(); i += 16) {
        const auto found = read<std::uint64_t>(table, i, "the dynamic table");
        if (found == 0) break;
        if (found == tag) return read<std::uint64_t>(table, i + 8, "the dynamic table");
      }
    }
    return 0;
  }

  void relocate() {
    const std::uint64_t table = dynamic(7), size = dynamic(8), step = dynamic(9);
    if (dynamic(17) != 0 || dynamic(23) != 0) fail("it has relocations of a kind that isn't known (REL or PLT)");
    if (table == 0 || size == 0) return;
    if (step != 24) fail("its relocations have an unknown size");
    for (std::uint64_t i = 0; i + 24 <= size; i += 24) {
      const Bytes entry = at(table + i, 24, "a relocation");
      const auto where = read<std::uint64_t>(entry, 0, "a relocation"), info = read<std::uint64_t>(entry, 8, "a relocation");
      const auto addend = read<std::uint64_t>(entry, 16, "a relocation");
      if ((info & 0xffffffff) != relocation_relative) {
        fail("it has a relocation of the unknown type " + std::to_string(info & 0xffffffff));
      }
      const std::uint64_t target = out_->loaded(addend), offset = where - out_->base;
      at(where, 8, "a relocation");
      at(addend, 0, "a relocation");
      std::memcpy(out_->memory.data() + offset, &target, 8);
    }
  }

  void metadata() {
    for (const ProgramHeader& h : headers_) {
      if (h.type != type_note) continue;
      Bytes notes = part(file_, h.offset, h.file_size, "a note");
      while (notes.size() >= 12) {
        const auto name_size = read<std::uint32_t>(notes, 0, "a note"), size = read<std::uint32_t>(notes, 4, "a note");
        const auto type = read<std::uint32_t>(notes, 8, "a note");
        const std::uint64_t start = 12 + ((std::uint64_t{name_size} + 3) & ~3ull);
        const Bytes name = part(notes, 12, name_size, "a note"), body = part(notes, start, size, "a note");
        if (type == 32 && name_size == 7 && std::memcmp(name.data(), "AMDGPU", 7) == 0) {
          kernels(read_msgpack(body));
          return;
        }
        const std::uint64_t next = start + ((std::uint64_t{size} + 3) & ~3ull);
        if (next >= notes.size()) break;
        notes = notes.subspan(next);
      }
    }
    fail("it has no AMDGPU metadata");
  }

  static std::uint32_t small(const Value& map, const char* key, std::uint32_t otherwise = 0) {
    const Value& value = map[key];
    if (value.kind != Value::Kind::integer) return otherwise;
    if (value.integer < 0 || value.integer > 0xffffffffll) fail(std::string("the metadata's ") + key + " is out of range");
    return static_cast<std::uint32_t>(value.integer);
  }

  void kernels(const Value& all) {
    for (const Value& entry : all["amdhsa.kernels"].items) {
      Kernel kernel;
      kernel.name = entry[".name"].text;
      kernel.vgpr_count = small(entry, ".vgpr_count");
      kernel.agpr_count = small(entry, ".agpr_count");
      kernel.sgpr_count = small(entry, ".sgpr_count");
      kernel.max_threads = small(entry, ".max_flat_workgroup_size", 1024);
      for (const Value& argument : entry[".args"].items) {
        kernel.arguments.push_back({argument[".name"].text, argument[".value_kind"].text, small(argument, ".offset"),
                                    small(argument, ".size")});
      }
      describe(kernel, entry[".symbol"].text.empty() ? kernel.name + ".kd" : entry[".symbol"].text);
      for (const Argument& argument : kernel.arguments) {
        if (std::uint64_t{argument.offset} + argument.size > kernel.kernarg_size) {
          fail("an argument of `" + kernel.name + "` lies outside its argument segment");
        }
      }
      out_->kernels.push_back(std::move(kernel));
    }
    if (out_->kernels.empty()) fail("its metadata name no kernel");
  }

  // Fills in what the kernel's descriptor says.
  void describe(Kernel& kernel, const std::string& symbol) {
    kernel.descriptor = find_symbol(symbol);
    const Bytes d = at(kernel.descriptor, 64, "a kernel descriptor");
    kernel.lds_size = read<std::uint32_t>(d, 0, "a descriptor");
    kernel.private_size = read<std::uint32_t>(d, 4, "a descriptor");
    kernel.kernarg_size = read<std::uint32_t>(d, 8, "a descriptor");
    kernel.entry = kernel.descriptor + read<std::uint64_t>(d, 16, "a descriptor");
    kernel.rsrc3 = read<std::uint32_t>(d, 44, "a descriptor");
    kernel.rsrc1 = read<std::uint32_t>(d, 48, "a descriptor");
    kernel.rsrc2 = read<std::uint32_t>(d, 52, "a descriptor");
    kernel.properties = read<std::uint16_t>(d, 56, "a descriptor");
    kernel.kernarg_preload = read<std::uint16_t>(d, 58, "a descriptor");
    at(kernel.entry, 4, "a kernel's entry");
    if ((kernel.properties >> 10 & 1) != 0) fail("`" + kernel.name + "` is for waves of 32 lanes, which this family doesn't have");
    if (kernel.lds_size > 160 * 1024) fail("`" + kernel.name + "` asks for more LDS than there is");
    if (kernel.private_size > 1 << 20) fail("`" + kernel.name + "` asks for more than a megabyte of scratch for each lane");
    if (kernel.kernarg_size > 1 << 16) fail("`" + kernel.name + "` asks for more than 64 KiB of arguments");
  }

  std::uint64_t find_symbol(const std::string& name) const {
    const std::uint64_t symbols = dynamic(6), strings = dynamic(5), string_size = dynamic(10), hash = dynamic(4);
    if (symbols == 0 || strings == 0) fail("it has no dynamic symbols");
    std::uint32_t count = 0; // the number of symbols is that of the hash table's chains
    if (hash != 0) count = read<std::uint32_t>(at(hash, 8, "the hash table"), 4, "the hash table");
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto symbol = read<Symbol>(at(symbols + 24ull * i, 24, "a symbol"), 0, "a symbol");
      if (symbol.name >= string_size || string_size - symbol.name <= name.size()) continue;
      const Bytes text = at(strings + symbol.name, name.size() + 1, "a symbol's name");
      if (std::memcmp(text.data(), name.c_str(), name.size() + 1) == 0) return symbol.value;
    }
    fail("it has no symbol `" + name + "`");
  }

  Bytes file_;
  std::vector<ProgramHeader> headers_;
  std::unique_ptr<CodeObject> out_;
};

} // namespace

const Kernel* CodeObject::find(std::string_view name) const {
  for (const Kernel& kernel : kernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

std::unique_ptr<CodeObject> read_code_object(std::span<const std::uint8_t> file, std::string& error) {
  try {
    return Loader(file).run();
  } catch (const std::runtime_error& wrong) {
    error = wrong.what();
    return nullptr;
  }
}

} // namespace sim
