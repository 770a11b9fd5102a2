// A stream as the API takes it.
#ifndef AOTRITON_RUNTIME_H
#define AOTRITON_RUNTIME_H

#include <aotriton/config.h>
#include <aotriton/hip_types.h>

namespace AOTRITON_NS {

// Carries a native stream handle; creates and destroys none. A CUstream is passed as hipStream_t by reinterpret_cast.
template <typename DeviceStreamType>
class StreamTemplate {
 public:
  StreamTemplate() : stream_(nullptr) {}
  StreamTemplate(DeviceStreamType stream) : stream_(stream) {}

  DeviceStreamType native() const { return stream_; }

 private:
  DeviceStreamType stream_;
};

using Stream = StreamTemplate<hipStream_t>;

}  // namespace AOTRITON_NS

#endif
