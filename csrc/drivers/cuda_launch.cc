#include "drivers/cuda_launch.h"

#include <array>
#include <cstring>

namespace aotriton::drivers::cuda {
namespace {

// CUtensorMapDataType, CUtensorMapL2promotion, CUlaunchAttributeID, CUclusterSchedulingPolicy: numbers of
// CUDA's ABI.
constexpr int kNoMapType = -1;
constexpr int kInterleaveNone = 0, kPromote128Bytes = 2;
constexpr unsigned kCooperative = 2, kClusterDimension = 4, kClusterScheduling = 5, kStreamSerialization = 6;
constexpr unsigned kSpread = 1;

int map_type(aotriton_dtype type) {
  switch (type) {
    case AOTRITON_I8: case AOTRITON_U8: return 0;
    case AOTRITON_I16: case AOTRITON_U16: return 1;
    case AOTRITON_U32: return 2;
    case AOTRITON_I32: return 3;
    case AOTRITON_U64: return 4;
    case AOTRITON_I64: return 5;
    case AOTRITON_FP16: return 6;
    case AOTRITON_FP32: return 7;
    case AOTRITON_FP64: return 8;
    case AOTRITON_BF16: return 9;
    default: return kNoMapType;
  }
}

int swizzle_mode(std::uint32_t bytes) { return bytes == 32 ? 1 : bytes == 64 ? 2 : bytes == 128 ? 3 : 0; }

struct Attribute {
  unsigned id;
  unsigned padding;
  std::array<unsigned, 16> value;  // a union of 64 bytes
};
static_assert(sizeof(Attribute) == 72);

struct Configuration {
  std::array<unsigned, 3> grid, block;
  unsigned shared;
  void* stream;
  Attribute* attributes;
  unsigned count;
};
static_assert(sizeof(Configuration) == 56);

}  // namespace

bool has_tensor_map(aotriton_dtype type) { return map_type(type) != kNoMapType; }

Failed encode(const Api& api, const TensorMapRequest& request, TensorMap& map, std::string& detail) {
  const int type = map_type(request.type);
  const auto rank = static_cast<std::size_t>(request.rank);
  std::array<std::uint64_t, kMostMapDimensions> sizes{}, strides{};
  std::array<std::uint32_t, kMostMapDimensions> block{}, steps{1, 1, 1, 1, 1};
  for (std::size_t i = 0; i < rank; ++i) {  // CUDA counts dimensions from the innermost one, whose stride it knows
    const std::size_t from = rank - 1 - i;
    sizes[i] = request.sizes[from];
    block[i] = request.block[from];
    if (i > 0) strides[i - 1] = request.strides[from];
  }
  const int error = api.encode_tiled(&map, type, static_cast<std::uint32_t>(rank), request.address, sizes.data(),
                                     strides.data(), block.data(), steps.data(), kInterleaveNone,
                                     swizzle_mode(request.swizzle), kPromote128Bytes, request.fills_nan ? 1 : 0);
  if (error == kSuccess) return {};
  detail = cat("; a tensor of dtype ", int{request.type}, " at ", reinterpret_cast<std::uintptr_t>(request.address),
               ", sizes, strides in bytes and block by dimension");
  for (std::size_t i = 0; i < rank; ++i) {
    detail += cat(i == 0 ? ": " : "; ", request.sizes[i], ", ", request.strides[i], ", ", request.block[i]);
  }
  detail += cat("; swizzle ", request.swizzle);
  return {"cuTensorMapEncodeTiled", error};
}

Failed enqueue_with_attributes(const Api& api, void* function, const Launch& launch, aotriton_stream stream) {
  std::array<Attribute, 4> attributes{};
  unsigned count = 0;
  const auto add = [&](unsigned id, unsigned x, unsigned y = 0, unsigned z = 0) {
    attributes[count].id = id;
    attributes[count].value = {x, y, z};
    count += 1;
  };
  if (launch.dependent) add(kStreamSerialization, 1);
  if (launch.cooperative) add(kCooperative, 1);
  if (launch.cluster > 1) {
    add(kClusterDimension, launch.cluster, 1, 1);
    add(kClusterScheduling, kSpread);
  }
  const auto& [x, y, z] = launch.grid;
  const Configuration configuration{{x * launch.cluster, y, z}, {launch.threads, 1, 1}, launch.shared, stream,
                                    attributes.data(), count};
  return {"cuLaunchKernelEx", api.launch_ex(&configuration, function, const_cast<void**>(launch.parameters), nullptr)};
}

}  // namespace aotriton::drivers::cuda
