// The C interface of sim.h.
#include "sim/sim.h"

#include "sim/launch.h"
#include "sim/settings.h"

#include <algorithm>
#include <cstring>

namespace {

constexpr std::uint32_t scratch_size = 256; // for each lane of a wave by itself

// Code by itself as a module, s_endpgm behind it.
sim::Module module_of(sim::Arch arch, std::span<const std::uint8_t> code) {
  constexpr std::uint32_t end = 0xbf810000;
  sim::Module module;
  module.object = std::make_unique<sim::CodeObject>();
  module.object->arch = arch;
  module.object->memory.assign(code.begin(), code.end());
  module.object->memory.resize(code.size() + sizeof end);
  std::memcpy(module.object->memory.data() + code.size(), &end, sizeof end);
  const std::uint64_t size = module.object->memory.size();
  module.object->segments.push_back({0, size, size, true, false});
  module.program = sim::make_program(*module.object);
  return module;
}

// Copies a text, cut to what fits.
void put(const std::string& text, char* to, std::size_t size) {
  if (to == nullptr || size == 0) return;
  const std::size_t count = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
}

} // namespace

struct sim_module {
  sim::Module module;
};

extern "C" sim_module* sim_load(const void* image, size_t size, char* error, size_t error_size) {
  std::string wrong;
  auto object = sim::read_code_object({static_cast<const std::uint8_t*>(image), size}, wrong);
  if (!object) {
    put(wrong, error, error_size);
    return nullptr;
  }
  auto module = std::make_unique<sim_module>();
  module->module.program = sim::make_program(*object);
  module->module.object = std::move(object);
  return module.release();
}

extern "C" void sim_unload(sim_module* module) { delete module; }

extern "C" const char* sim_arch(const sim_module* module) { return sim::arch_name(module->module.object->arch).data(); }

extern "C" int sim_launch(sim_module* module, const char* kernel, const uint32_t grid[3], const uint32_t block[3],
                          uint32_t dynamic_lds, const void* args, size_t args_size, char* error, size_t error_size) {
  sim::Launch launch;
  launch.module = &module->module;
  launch.kernel = module->module.object->find(kernel);
  if (launch.kernel == nullptr) {
    put("the code object has no kernel `" + std::string(kernel) + "`", error, error_size);
    return 0;
  }
  std::copy_n(grid, 3, launch.grid.begin());
  std::copy_n(block, 3, launch.block.begin());
  launch.dynamic_lds = dynamic_lds;
  launch.arguments = {static_cast<const std::uint8_t*>(args), args_size};
  try {
    sim::apply_environment(launch);
    sim::run_and_report(launch);
    return 1;
  } catch (const std::exception& wrong) {
    put(wrong.what(), error, error_size);
    return 0;
  }
}

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

extern "C" int sim_execute(const char* arch, const void* code, size_t size, sim_state* state, void* lds, size_t lds_size, char* error,
                           size_t error_size) {
  const auto known = sim::arch_of(arch == nullptr ? "" : arch);
  if (!known) {
    put("the simulator knows no such architecture", error, error_size);
    return 0;
  }
  try {
    const sim::Module module = module_of(*known, {static_cast<const std::uint8_t*>(code), size});
    sim::Workgroup group;
    group.lds.resize((lds_size + 3) / 4);
    if (lds_size != 0) std::memcpy(group.lds.data(), lds, lds_size);
    auto wave = std::make_unique<sim::Wave>();
    std::memcpy(wave->vgpr, state->vgpr, sizeof state->vgpr);
    std::memcpy(wave->sgpr, state->sgpr, sizeof state->sgpr);
    wave->scc = state->scc != 0;
    wave->group = &group;
    std::vector<std::uint8_t> scratch(std::size_t{scratch_size} * sim::lane_count);
    wave->scratch = scratch.data();
    wave->scratch_size = scratch_size;
    wave->next = module.program->entry(0);
    sim::run_alone(*wave);
    std::memcpy(state->vgpr, wave->vgpr, sizeof state->vgpr);
    std::memcpy(state->sgpr, wave->sgpr, sizeof state->sgpr);
    state->scc = wave->scc;
    if (lds_size != 0) std::memcpy(lds, group.lds.data(), lds_size);
    return 1;
  } catch (const std::exception& wrong) {
    put(wrong.what(), error, error_size);
    return 0;
  }
}
