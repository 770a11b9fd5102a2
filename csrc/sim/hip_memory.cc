// Memory: the host's own. What is allocated or registered is known to the memory check.
#include "sim/hip.h"

#include <cstdlib>

namespace sim::hip {
namespace {

constexpr std::size_t alignment = 256; // as HIP gives it

std::uint64_t number(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

void allocate(void** memory, std::size_t bytes, Extent::Kind kind) {
  if (memory == nullptr) wrong(invalid_value, "no place for the address");
  *memory = nullptr;
  if (bytes == 0) return;
  if (bytes > ~std::size_t{0} - alignment) wrong(out_of_memory);
  void* found = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (found == nullptr) wrong(out_of_memory, std::to_string(bytes) + " bytes were asked for");
  known_extents().add({kind, number(found), bytes});
  *memory = found;
}

void release(void* memory, Extent::Kind kind) {
  if (memory == nullptr) return;
  if (!known_extents().remove(number(memory), kind)) wrong(invalid_value, "no memory was allocated there by such a function");
  std::free(memory);
}

// Nothing is known of memory that the program has from elsewhere; of ours, how far it reaches.
void check(const void* memory, std::size_t bytes, const char* what) {
  if (bytes != 0 && memory == nullptr) wrong(invalid_value, std::string("the ") + what + " is null");
  const auto extent = known_extents().find(number(memory));
  if (!extent || extent->kind == Extent::Kind::registered || extent->holds(number(memory), bytes)) return;
  wrong(invalid_value, std::string("the ") + what + " has " + std::to_string(extent->address + extent->size - number(memory)) +
                           " bytes from there to the end of its allocation, and " + std::to_string(bytes) + " were asked for");
}

int copy(void* to, const void* from, std::size_t bytes) {
  return call([&] {
    check(to, bytes, "destination");
    check(from, bytes, "source");
    if (bytes != 0) std::memmove(to, from, bytes);
  });
}

int copy_on(void* to, const void* from, std::size_t bytes, const void* stream) {
  const int error = locked([&](State& all) { check_stream(all, stream); });
  return error != success ? error : copy(to, from, bytes);
}

int copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height) {
  return call([&] {
    if (height > 1 && (width > to_pitch || width > from_pitch)) wrong(invalid_value, "the rows are wider than their pitch");
    for (std::size_t row = 0; row < height; ++row) {
      const int error = copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
      if (error != success) wrong(static_cast<Error>(error), "row " + std::to_string(row) + " of the copy lies outside of its allocation");
    }
  });
}

template <typename T>
int set(void* memory, int value, std::size_t count) {
  return call([&] {
    check(memory, count * sizeof(T), "destination");
    std::fill_n(static_cast<T*>(memory), count, static_cast<T>(value));
  });
}

template <typename T>
int set_on(void* memory, int value, std::size_t count, const void* stream) {
  const int error = locked([&](State& all) { check_stream(all, stream); });
  return error != success ? error : set<T>(memory, value, count);
}

} // namespace
} // namespace sim::hip

using namespace sim::hip;
using sim::Extent;
using sim::known_extents;

HIP_API int hipMalloc(void** memory, std::size_t bytes) {
  return call([&] { allocate(memory, bytes, Extent::Kind::device); });
}
HIP_API int hipMallocAsync(void** memory, std::size_t bytes, void*) { return hipMalloc(memory, bytes); }
HIP_API int hipMallocManaged(void** memory, std::size_t bytes, unsigned) { return hipMalloc(memory, bytes); }
HIP_API int hipExtMallocWithFlags(void** memory, std::size_t bytes, unsigned) { return hipMalloc(memory, bytes); }
HIP_API int hipFree(void* memory) {
  return call([&] { release(memory, Extent::Kind::device); });
}
HIP_API int hipFreeAsync(void* memory, void*) { return hipFree(memory); }
HIP_API int hipHostMalloc(void** memory, std::size_t bytes, unsigned) {
  return call([&] { allocate(memory, bytes, Extent::Kind::host); });
}
HIP_API int hipHostAlloc(void** memory, std::size_t bytes, unsigned flags) { return hipHostMalloc(memory, bytes, flags); }
HIP_API int hipMallocHost(void** memory, std::size_t bytes) { return hipHostMalloc(memory, bytes, 0); }
HIP_API int hipHostFree(void* memory) {
  return call([&] { release(memory, Extent::Kind::host); });
}
HIP_API int hipFreeHost(void* memory) { return hipHostFree(memory); }

HIP_API int hipHostRegister(void* memory, std::size_t bytes, unsigned) {
  return call([&] {
    if (memory == nullptr || bytes == 0) wrong(invalid_value, "nothing to register");
    if (!known_extents().add({Extent::Kind::registered, number(memory), bytes})) wrong(already_registered);
  });
}
HIP_API int hipHostUnregister(void* memory) {
  return call([&] {
    if (!known_extents().remove(number(memory), Extent::Kind::registered)) wrong(not_registered);
  });
}
HIP_API int hipHostGetDevicePointer(void** device, void* host, unsigned) { return *device = host, success; }
// What the next launch of this thread may touch, beside memory that is known already; for callers that hold tensors in any
// memory of the process.
HIP_API void aotriton_sim_launch_extents(const void* const* addresses, const std::size_t* sizes, std::size_t count) {
  auto& extents = sim::launch_extents();
  extents.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (sizes[i] != 0) extents.push_back({Extent::Kind::launch, number(addresses[i]), sizes[i]});
  }
}

// Two int, two pointers, two int, since ROCm 6 with hipMemoryType's host at 1 and device at 2 (0 and 1 before).
HIP_API int hipPointerGetAttributes(void* attributes, const void* pointer) {
  return call([&] {
    const auto extent = known_extents().find(number(pointer));
    if (!extent) wrong(invalid_value, "the pointer is to no memory of HIP's");
    struct { int type, device; const void *on_device, *on_host; int managed; unsigned flags; } values{};
    values.type = extent->kind == Extent::Kind::device ? 2 : 1;
    values.on_device = values.on_host = pointer;
    std::memcpy(attributes, &values, sizeof values);
  });
}
HIP_API int hipMemGetAddressRange(void** base, std::size_t* bytes, void* pointer) {
  return call([&] {
    const auto extent = known_extents().find(number(pointer));
    if (!extent) wrong(not_found, "the pointer is to no memory of HIP's");
    if (base != nullptr) *base = reinterpret_cast<void*>(extent->address);
    if (bytes != nullptr) *bytes = extent->size;
  });
}

HIP_API int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  if (kind < 0 || (kind > 4 && kind != 1024)) return note(invalid_direction, {});
  return copy(to, from, bytes);
}
HIP_API int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  if (kind < 0 || (kind > 4 && kind != 1024)) return note(invalid_direction, {});
  return copy_on(to, from, bytes, stream);
}
HIP_API int hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return hipMemcpyAsync(to, from, bytes, kind, stream);
}
HIP_API int hipMemcpyHtoD(void* to, void* from, std::size_t bytes) { return copy(to, from, bytes); }
HIP_API int hipMemcpyDtoH(void* to, void* from, std::size_t bytes) { return copy(to, from, bytes); }
HIP_API int hipMemcpyDtoD(void* to, void* from, std::size_t bytes) { return copy(to, from, bytes); }
HIP_API int hipMemcpyHtoDAsync(void* to, const void* from, std::size_t bytes, void* s) { return copy_on(to, from, bytes, s); }
HIP_API int hipMemcpyDtoHAsync(void* to, void* from, std::size_t bytes, void* s) { return copy_on(to, from, bytes, s); }
HIP_API int hipMemcpyDtoDAsync(void* to, void* from, std::size_t bytes, void* s) { return copy_on(to, from, bytes, s); }
HIP_API int hipMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) { return copy(to, from, bytes); }
HIP_API int hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                        std::size_t height, int) {
  return copy_2d(to, to_pitch, from, from_pitch, width, height);
}
HIP_API int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                             std::size_t height, int, void* stream) {
  const int error = copy_on(to, from, 0, stream);
  return error != success ? error : copy_2d(to, to_pitch, from, from_pitch, width, height);
}
HIP_API int hipMemset(void* memory, int value, std::size_t bytes) { return set<std::uint8_t>(memory, value, bytes); }
HIP_API int hipMemsetAsync(void* m, int value, std::size_t bytes, void* s) { return set_on<std::uint8_t>(m, value, bytes, s); }
HIP_API int hipMemsetD8(void* m, unsigned char value, std::size_t n) { return set<std::uint8_t>(m, value, n); }
HIP_API int hipMemsetD16(void* m, unsigned short value, std::size_t n) { return set<std::uint16_t>(m, value, n); }
HIP_API int hipMemsetD32(void* m, int value, std::size_t n) { return set<std::uint32_t>(m, value, n); }
HIP_API int hipMemsetD8Async(void* m, unsigned char value, std::size_t n, void* s) { return set_on<std::uint8_t>(m, value, n, s); }
HIP_API int hipMemsetD16Async(void* m, unsigned short value, std::size_t n, void* s) { return set_on<std::uint16_t>(m, value, n, s); }
HIP_API int hipMemsetD32Async(void* m, int value, std::size_t n, void* s) { return set_on<std::uint32_t>(m, value, n, s); }
