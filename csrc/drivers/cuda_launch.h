// What not every launch needs of CUDA: tensor maps, and attributes of launches.
#pragma once

#include "drivers/cuda_api.h"
#include "drivers/driver.h"

namespace aotriton::drivers::cuda {

bool has_tensor_map(aotriton_dtype type);
// A context must be current, and the type one that has tensor maps.
Failed encode(const Api& api, const TensorMapRequest& request, TensorMap& map, std::string& detail);

// Launches with clusters and the like. `launch` counts clusters, CUDA blocks.
Failed enqueue_with_attributes(const Api& api, void* function, const Launch& launch, aotriton_stream stream);

// Launches a function, which `launch.function` is not.
inline Failed enqueue(const Api& api, void* function, const Launch& launch, aotriton_stream stream) {
  if (launch.cluster > 1 || launch.dependent || launch.cooperative) {
    return enqueue_with_attributes(api, function, launch, stream);
  }
  const auto& [x, y, z] = launch.grid;
  return {"cuLaunchKernel", api.launch(function, x, y, z, launch.threads, 1, 1, launch.shared, stream,
                                       const_cast<void**>(launch.parameters), nullptr)};
}

}  // namespace aotriton::drivers::cuda
