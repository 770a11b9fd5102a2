// A kernel of a pack, opened for one device: the one path from arguments to a launch that every front end takes.
#pragma once

#include "core/status.h"
#include "dispatch/prepared.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aotriton::dispatch {

// The value of one argument, in the kernel's own order. What it is (a pointer, a stride, a number) the index says.
// A tensor with no address and no dtype is null; with a dtype it is one without elements.
struct Value {
  std::uint64_t bits = 0;     // pointer, or the integer in two's complement, or the bits of `real`
  double real = 0;            // of a floating-point scalar
  aotriton_dtype dtype = AOTRITON_NONE;  // of a tensor
  bool given = false;
  const aotriton_tensor* view = nullptr;  // of a tensor that is there: the caller's, for as long as the call lasts
};

struct Options {
  const std::uint32_t* grid = nullptr;  // null: as the description declares
  int config = -1;                      // -1: the look-up table decides
  bool load = true;                     // decode and load the code object
  bool launch = true;
  const char* operation = nullptr;      // the operator that calls, for the trace
};

class Kernel {
 public:
  // Finds the pack that holds family/name for this device and verifies its index. `folder` "" is the search path. The
  // same question gives the same kernel while somebody holds it, until the file or the search path changes. Whoever is the
  // last to let go of it unloads its code: no call of it may run then, nor anything that it enqueued.
  static core::Result<std::shared_ptr<Kernel>> open(std::string_view folder, std::string_view family,
                                                    std::string_view name, aotriton_device& device);
  // Holds it as long as the process.
  static void keep_loaded(std::shared_ptr<Kernel> kernel);
  virtual ~Kernel() = default;
  // Of all kernels that this process ever opened, this one's: never another's, not even after it is gone.
  std::uint64_t number() const { return number_; }

  // Names of the arguments in order, and the position of one by name (-1: none): for callers by name.
  virtual std::span<const std::string> argument_names() const = 0;
  virtual int position(std::string_view name) const = 0;
  // Fails unless the kernel's arguments are these, in this order: a front end's typed struct was generated for them.
  virtual core::Status expect_arguments(std::span<const char* const> names) const = 0;
  // Arguments by name as values in order: strides out of tensors, ranks and names checked.
  virtual core::Status resolve(std::span<const aotriton_argument> arguments, std::span<Value> values) const = 0;

  // The trace of a call that was refused before any choice.
  virtual std::string refusal(const core::Status& status, const Options& options) const = 0;

  // values.size() == argument_names().size(). The trace is written whether or not the call succeeds. `prepared` becomes
  // the launch that the same call with other addresses comes to (memo.h); its function is null where there is none: the
  // call failed, loaded nothing, or is not to be kept.
  virtual core::Status run(std::span<const Value> values, aotriton_stream stream, const Options& options,
                           std::string* trace_json, Prepared* prepared = nullptr) = 0;

  // Code of the pack was found to be damaged: whoever keeps the kernel asks `open` again, since the file may be mended.
  virtual bool stale() const = 0;

 private:
  const std::uint64_t number_ = next_number();

  static std::uint64_t next_number();
};

}  // namespace aotriton::dispatch
