#include "core/status_name.h"

namespace aotriton::core {

const char* status_name(aotriton_status status) {
  switch (status) {
    case AOTRITON_SUCCESS: return "success";
    case AOTRITON_INVALID_ARGUMENT: return "invalid_argument";
    case AOTRITON_INVALID_VERSION: return "invalid_version";
    case AOTRITON_NO_DEVICE: return "no_device";
    case AOTRITON_NO_PACK: return "no_pack";
    case AOTRITON_BAD_PACK: return "bad_pack";
    case AOTRITON_UNSUPPORTED: return "unsupported";
    case AOTRITON_NOT_BUILT: return "not_built";
    case AOTRITON_DRIVER_ERROR: return "driver_error";
    case AOTRITON_OUT_OF_MEMORY: return "out_of_memory";
    case AOTRITON_INTERNAL_ERROR: break;
  }
  return "internal_error";
}

}  // namespace aotriton::core
