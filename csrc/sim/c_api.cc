// The C interface of sim.h.
#include "sim/sim.h"

#include "sim/decode.h"

#include <algorithm>
#include <cstring>

namespace {

// Copies a text, cut to what fits.
void put(const std::string& text, char* to, std::size_t size) {
  if (to == nullptr || size == 0) return;
  const std::size_t count = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
}

} // namespace

extern "C" int sim_disassemble(const char* arch, const void* code, size_t size, uint64_t address, char* text,
                               size_t text_size) {
  const auto known = sim::arch_of(arch == nullptr ? "" : arch);
  if (!known) {
    put("the simulator knows no `" + std::string(arch == nullptr ? "" : arch) + "`; it knows gfx90a, gfx942 and gfx950", text,
        text_size);
    return 0;
  }
  std::string error;
  const auto found = sim::decode(*known, {static_cast<const std::uint8_t*>(code), size}, address, error);
  put(found ? sim::to_text(*found) : error, text, text_size);
  return found ? found->size : 0;
}
