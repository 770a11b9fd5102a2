// Modules, functions, launches.
#include "sim/hip.h"
#include "sim/settings.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace sim::hip {
namespace {

void load(void** module, const void* image) {
  if (module == nullptr || image == nullptr) wrong(invalid_value, "no code object");
  Arch arch;
  {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    const auto& found = devices(all);
    if (static_cast<std::size_t>(current_ordinal()) >= found.size()) wrong(invalid_device);
    arch = found[static_cast<std::size_t>(current_ordinal())].facts->arch;
  }
  auto loaded = std::make_unique<LoadedModule>();
  std::string error;
  loaded->code.object = read_code_object(image_for(image, arch), error);
  if (loaded->code.object == nullptr) wrong(invalid_image, error);
  if (loaded->code.object->arch != arch) {
    wrong(no_binary_for_gpu, "the code object is for " + std::string(arch_name(loaded->code.object->arch)) + ", the device is a " +
                                 std::string(arch_name(arch)));
  }
  loaded->code.program = make_program(*loaded->code.object);
  State& all = state();
  const std::lock_guard lock(all.mutex);
  *module = loaded.get();
  all.modules.emplace(*module, std::move(loaded));
}

LoadedModule& module_at(State& all, const void* module) {
  const auto found = all.modules.find(module);
  if (found == all.modules.end()) wrong(invalid_handle, "the module is not loaded");
  return *found->second;
}

const Function& function_at(State& all, const void* function) {
  if (!all.functions.contains(function)) wrong(invalid_handle, "the function is of no module that is loaded");
  return *static_cast<const Function*>(function);
}

std::string names(const CodeObject& object) {
  std::string text;
  for (const Kernel& kernel : object.kernels) text += (text.empty() ? "" : ", ") + kernel.name;
  return text.empty() ? "none" : text;
}

void find(void** function, const void* module, const char* name) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  LoadedModule& loaded = module_at(all, module);
  if (function == nullptr || name == nullptr) wrong(invalid_value, "no name");
  const Kernel* kernel = loaded.code.object->find(name);
  if (kernel == nullptr) wrong(not_found, std::string("there is no kernel `") + name + "`; there are: " + names(*loaded.code.object));
  auto& place = loaded.functions[name];
  if (place == nullptr) place = std::make_unique<Function>(Function{&loaded, kernel});
  all.functions.insert(place.get());
  *function = place.get();
}

void unload(const void* module) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  for (const auto& [name, function] : module_at(all, module).functions) all.functions.erase(function.get());
  all.modules.erase(module);
}

// ---- arguments ----

std::vector<std::uint8_t> gathered(const Kernel& kernel, void** parameters) {
  std::vector<std::uint8_t> bytes(explicit_size(kernel));
  std::size_t i = 0;
  for (const Argument& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    if (parameters[i] == nullptr) wrong(invalid_value, "argument " + std::to_string(i) + " of `" + kernel.name + "` is given by a null pointer");
    std::memcpy(bytes.data() + argument.offset, parameters[i++], argument.size);
  }
  return bytes;
}

// A list of keys and values: 1 and the buffer, 2 and a pointer to its size, 3 at the end.
std::vector<std::uint8_t> packed(const Kernel& kernel, void** extra) {
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (int i = 0; i < 16; i += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[i]);
    if (key == 3 || key == 0) break;
    if (key == 1) buffer = extra[i + 1];
    else if (key == 2) size = *static_cast<const std::size_t*>(extra[i + 1]);
    else wrong(invalid_value, "`extra` has an unknown key");
  }
  const std::size_t wanted = explicit_size(kernel);
  // A struct may be padded behind its last member, and some hold the hidden arguments, which the launch fills itself.
  const std::size_t most = std::max<std::size_t>((wanted + 15) / 16 * 16, kernel.kernarg_size);
  if ((buffer == nullptr && wanted != 0) || size < wanted || size > most) {
    wrong(invalid_value, "the packed arguments of `" + kernel.name + "` have " + std::to_string(size) + " bytes, the kernel takes " +
                             std::to_string(wanted));
  }
  const auto* bytes = static_cast<const std::uint8_t*>(buffer);
  return {bytes, bytes + wanted};
}

std::vector<std::uint8_t> arguments(const Kernel& kernel, void** parameters, void** extra) {
  if (parameters != nullptr && extra != nullptr) wrong(invalid_value, "both kernelParams and extra are given");
  if (extra != nullptr) return packed(kernel, extra);
  if (parameters == nullptr && explicit_size(kernel) != 0) wrong(invalid_value, "`" + kernel.name + "` has arguments, and none are given");
  return gathered(kernel, parameters);
}

// ---- launches ----

Error code_of(const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::limit: return launch_timeout;
    case Fault::Kind::memory: return illegal_address;
    default: return launch_failure;
  }
}

struct Size {
  unsigned x, y, z;
};

void launch(const void* handle, Size grid, Size block, unsigned lds, const void* stream, void** parameters, void** extra) {
  Launch launch;
  {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    check_stream(all, stream);
    const Function& function = function_at(all, handle);
    launch.module = &function.module->code;
    launch.kernel = function.kernel;
    const Arch arch = function.module->code.object->arch;
    for (const Device& device : devices(all)) {
      if (device.facts->arch == arch && launch.kernel->lds_size + std::uint64_t{lds} > static_cast<unsigned>(device.facts->lds)) {
        wrong(invalid_configuration, "`" + launch.kernel->name + "` wants " + std::to_string(launch.kernel->lds_size + std::uint64_t{lds}) +
                                         " bytes of LDS, and a workgroup has " + std::to_string(device.facts->lds));
      }
    }
  }
  launch.grid = {grid.x, grid.y, grid.z};
  launch.block = {block.x, block.y, block.z};
  launch.dynamic_lds = lds;
  const std::vector<std::uint8_t> bytes = arguments(*launch.kernel, parameters, extra);
  launch.arguments = bytes;
  try {
    apply_environment(launch);
  } catch (const std::runtime_error& error) {
    wrong(invalid_value, error.what());
  }
  if (const std::string what = why_not(launch); !what.empty()) wrong(invalid_configuration, what);
  // What this thread was told of its next launch is of this one only.
  struct Forget {
    ~Forget() { launch_extents().clear(); }
  } const forget;
  try {
    run_and_report(launch);
  } catch (const Fault& fault) {
    wrong(code_of(fault), fault.what());
  } catch (const std::runtime_error& error) {
    wrong(launch_failure, error.what());
  }
}

// Work-items to workgroups.
unsigned groups(unsigned items, unsigned block) {
  if (block == 0 || items % block != 0) wrong(invalid_configuration, "the global size is no multiple of the workgroup's");
  return items / block;
}

} // namespace
} // namespace sim::hip

using namespace sim::hip;

HIP_API int hipModuleLoadData(void** module, const void* image) {
  return call([&] { load(module, image); });
}
HIP_API int hipModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) { return hipModuleLoadData(module, image); }
HIP_API int hipModuleLoad(void** module, const char* path) {
  return call([&] {
    std::ifstream file(path, std::ios::binary);
    if (!file) wrong(file_not_found, std::string("there is no file ") + path);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    bytes.resize(bytes.size() + 64); // so that no header is read beyond a short file
    load(module, bytes.data());
  });
}
HIP_API int hipModuleUnload(void* module) {
  return call([&] { unload(module); });
}
HIP_API int hipModuleGetFunction(void** function, void* module, const char* name) {
  return call([&] { find(function, module, name); });
}

// Numbers of hipFunction_attribute, which CUDA shares.
HIP_API int hipFuncGetAttribute(int* value, int attribute, void* function) {
  return locked([&](State& all) {
    const sim::Kernel& kernel = *function_at(all, function).kernel;
    switch (attribute) {
      case 0: *value = static_cast<int>(kernel.max_threads); break;
      case 1: *value = static_cast<int>(kernel.lds_size); break;
      case 2: *value = 0; break;
      case 3: *value = static_cast<int>(kernel.private_size); break;
      case 4: *value = static_cast<int>(kernel.vgpr_count); break;
      case 8: *value = 65536 - static_cast<int>(kernel.lds_size); break;
      default: wrong(invalid_value, "the simulator doesn't know the function attribute " + std::to_string(attribute));
    }
  });
}
// A hint to real devices: every launch may have all of LDS.
HIP_API int hipFuncSetAttribute(const void*, int, int) { return success; }
HIP_API int hipFuncSetCacheConfig(const void*, int) { return success; }
HIP_API int hipFuncSetSharedMemConfig(const void*, int) { return success; }

HIP_API int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                  unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** parameters,
                                  void** extra) {
  return call([&] { launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, parameters, extra); });
}

// This one counts work-items, and records events around the launch.
HIP_API int hipEventRecord(void* event, void* stream);
HIP_API int hipExtModuleLaunchKernel(void* function, unsigned items_x, unsigned items_y, unsigned items_z, unsigned block_x,
                                     unsigned block_y, unsigned block_z, std::size_t shared, void* stream, void** parameters,
                                     void** extra, void* start, void* stop, unsigned) {
  if (start != nullptr && hipEventRecord(start, stream) != success) return invalid_handle;
  const int error = call([&] {
    if (shared > 0xffffffff) wrong(invalid_configuration, "more LDS than there is");
    launch(function, {groups(items_x, block_x), groups(items_y, block_y), groups(items_z, block_z)}, {block_x, block_y, block_z},
           static_cast<unsigned>(shared), stream, parameters, extra);
  });
  if (error != success || stop == nullptr) return error;
  return hipEventRecord(stop, stream);
}
HIP_API int hipHccModuleLaunchKernel(void* function, unsigned items_x, unsigned items_y, unsigned items_z, unsigned block_x,
                                     unsigned block_y, unsigned block_z, std::size_t shared, void* stream, void** parameters,
                                     void** extra, void* start, void* stop) {
  return hipExtModuleLaunchKernel(function, items_x, items_y, items_z, block_x, block_y, block_z, shared, stream, parameters, extra,
                                  start, stop, 0);
}
HIP_API int hipModuleLaunchCooperativeKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**) {
  return call([] { wrong(not_supported, "the simulator doesn't run all workgroups of a launch at the same time"); });
}
