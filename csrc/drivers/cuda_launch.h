// What not every launch needs of CUDA: tensor maps, and attributes of launches.
#pragma once

#include "drivers/cuda_api.h"
#include "drivers/driver.h"

namespace aotriton::drivers::cuda {

// A context must be current.
Status encode(const Api& api, const TensorMapRequest& request, TensorMap& map);

inline bool has_attributes(const Launch& launch) {
  return launch.cluster > 1 || launch.dependent || launch.cooperative;
}
// Launches with clusters and the like; CUDA's error. `launch` counts clusters, CUDA blocks.
int launch_with_attributes(const Api& api, const Launch& launch, aotriton_stream stream);

}  // namespace aotriton::drivers::cuda
