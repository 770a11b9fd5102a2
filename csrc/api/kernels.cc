// The C API's functions of kernels: arguments by name, then the path that every front end takes.
#include "api/c_strings.h"
#include "api/sized_struct.h"
#include "core/guarded.h"
#include "core/text.h"
#include "dispatch/run_by_name.h"

#include <memory>

using aotriton::api::check_size;
using aotriton::api::give;
using aotriton::api::null_argument;
using aotriton::core::guarded;
using aotriton::core::Status;
namespace dispatch = aotriton::dispatch;

struct aotriton_kernel {
  std::shared_ptr<dispatch::Kernel> kernel;
};

namespace {

Status read_options(const aotriton_launch_options* given, dispatch::Options& options) {
  if (given == nullptr) return {};
  if (Status status = check_size("options", *given); !status.ok()) return status;
  if (given->config < -1) {
    return Status(AOTRITON_INVALID_ARGUMENT,
                  aotriton::core::cat("options.config is ", given->config,
                                      "; it is the position of a config, or -1 for the look-up table's choice"));
  }
  options.grid = given->grid;
  options.config = given->config;
  options.load = options.load && given->query_only == 0;
  options.launch = options.launch && given->query_only == 0;
  return {};
}

Status run(aotriton_kernel* kernel, const aotriton_argument* arguments, std::size_t count, aotriton_stream stream,
           const aotriton_launch_options* given, dispatch::Options options, std::string* trace) {
  if (kernel == nullptr) return null_argument("kernel");
  if (arguments == nullptr && count != 0) return null_argument("arguments");
  if (Status status = read_options(given, options); !status.ok()) return status;
  return dispatch::run_by_name(*kernel->kernel, {arguments, count}, stream, options, trace);
}

}  // namespace

aotriton_status aotriton_kernel_open(const char* folder, const char* family, const char* kernel,
                                     aotriton_device* device, aotriton_kernel** out) {
  return guarded([&]() -> Status {
    if (out == nullptr) return null_argument("out");
    *out = nullptr;
    if (family == nullptr) return null_argument("family");
    if (kernel == nullptr) return null_argument("kernel");
    if (device == nullptr) return null_argument("device");
    auto opened = dispatch::Kernel::open(folder == nullptr ? "" : folder, family, kernel, *device);
    if (!opened.ok()) return opened.status();
    *out = new aotriton_kernel{std::move(*opened)};
    return {};
  });
}

void aotriton_kernel_close(aotriton_kernel* kernel) { delete kernel; }

aotriton_status aotriton_kernel_keep_loaded(aotriton_kernel* kernel) {
  return guarded([&]() -> Status {
    if (kernel == nullptr) return null_argument("kernel");
    dispatch::Kernel::keep_loaded(kernel->kernel);
    return {};
  });
}

aotriton_status aotriton_kernel_launch(aotriton_kernel* kernel, const aotriton_argument* arguments, size_t count,
                                       aotriton_stream stream, const aotriton_launch_options* options) {
  return guarded([&] { return run(kernel, arguments, count, stream, options, {}, nullptr); });
}

aotriton_status aotriton_kernel_load(aotriton_kernel* kernel, const aotriton_argument* arguments, size_t count,
                                     const aotriton_launch_options* options) {
  dispatch::Options load_only;
  load_only.launch = false;
  return guarded([&] { return run(kernel, arguments, count, nullptr, options, load_only, nullptr); });
}

aotriton_status aotriton_kernel_explain(aotriton_kernel* kernel, const aotriton_argument* arguments, size_t count,
                                        const aotriton_launch_options* options, char** trace) {
  return guarded([&]() -> Status {
    if (trace == nullptr) return null_argument("trace");
    *trace = nullptr;
    dispatch::Options query;
    query.load = query.launch = false;
    std::string text;
    Status status = run(kernel, arguments, count, nullptr, options, query, &text);
    if (text.empty()) return status;  // the kernel, the arguments or the options were no such thing
    Status given = give(text, trace);
    return given.ok() ? status : given;
  });
}
