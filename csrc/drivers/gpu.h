// Drivers that have devices of their own: HIP and CUDA, and the libraries that present their faces.
#pragma once

#include "drivers/driver.h"
#include "drivers/library.h"

#include <memory>
#include <string>

namespace aotriton::drivers {

class GpuDriver : public Driver {
 public:
  // At least 1; no device is a failure of opening.
  virtual core::Result<int> device_count() = 0;
  virtual core::Result<Machine> describe(int ordinal) = 0;
  // The device of a stream; of the null stream, the thread's current device. Cheap.
  virtual core::Result<int> device_of_stream(aotriton_stream stream) = 0;

  const char* name() const final { return name_; }
  const Library& library() const { return library_; }

 protected:
  GpuDriver(const char* name, Library library) : name_(name), library_(std::move(library)) {}

 private:
  const char* name_;
  Library library_;
};

// Drivers on a library that presents the face; `name` is what they are called: hip, cuda, sim, record.
core::Result<std::unique_ptr<GpuDriver>> open_hip(const char* name, Library library);
core::Result<std::unique_ptr<GpuDriver>> open_cuda(const char* name, Library library);

// The driver that runs kernel sources by the callbacks of aotriton_set_host_driver.
Driver& host_driver();

}  // namespace aotriton::drivers
