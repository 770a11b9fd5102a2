#include "dispatch/run_by_name.h"

#include "dispatch/memo.h"
#include "pack/index.h"

#include <array>
#include <bit>
#include <memory>

namespace aotriton::dispatch {
namespace {

using core::Status;

constexpr unsigned kFrontEnd = 2;
constexpr std::size_t kMostArguments = pack::kMaxArguments;

// Values of a kernel's arguments, on the stack: only as many as there are get written.
class Values {
 public:
  explicit Values(std::size_t count) : count_(count) { std::uninitialized_value_construct_n(values_, count); }
  std::span<Value> span() { return {values_, count_}; }

 private:
  union {
    Value values_[kMostArguments];
  };
  std::size_t count_;
};

// The whole call but its addresses, names included.
Key key_of(const Kernel& kernel, std::span<const aotriton_argument> arguments, const Options& options) {
  Key key(kFrontEnd, kernel.number());
  key.add(std::uint64_t{static_cast<std::uint32_t>(options.config)} << 32 | std::uint64_t{options.grid != nullptr} << 31 |
          arguments.size());
  for (int i = 0; options.grid != nullptr && i < 3; ++i) key.add(options.grid[i]);
  for (const aotriton_argument& argument : arguments) {
    if (argument.name == nullptr || argument.reserved != 0) {
      key.refuse();
      return key;
    }
    key.add(std::string_view(argument.name));
    key.add(static_cast<std::uint64_t>(argument.kind));
    switch (argument.kind) {
      case AOTRITON_ARGUMENT_TENSOR: key.add(argument.tensor); break;
      case AOTRITON_ARGUMENT_INTEGER: key.add(static_cast<std::uint64_t>(argument.integer)); break;
      case AOTRITON_ARGUMENT_REAL: key.add(std::bit_cast<std::uint64_t>(argument.real)); break;
      default: key.refuse(); return key;
    }
  }
  return key;
}

// Addresses come from the caller's arguments, which have an order of their own.
void keep(const Key& key, const Kernel& kernel, std::span<const aotriton_argument> arguments, Prepared& prepared) {
  for (std::size_t i = 0; i < prepared.addresses; ++i) {
    const int wanted = prepared.address[i].from;
    std::size_t from = 0;
    while (from < arguments.size() && kernel.position(arguments[from].name) != wanted) ++from;
    if (from > UINT8_MAX || from == arguments.size()) return;
    prepared.address[i].from = static_cast<std::uint8_t>(from);
  }
  Memo::of_this_thread().keep(key, prepared);
}

}  // namespace

Status run_by_name(Kernel& kernel, std::span<const aotriton_argument> arguments, aotriton_stream stream,
                   const Options& options, std::string* trace) {
  const Key key = key_of(kernel, arguments, options);
  if (trace == nullptr) {
    if (const Prepared* const prepared = Memo::of_this_thread().find(key)) {
      if (!options.launch) return {};
      return prepared->launch(stream, [&](std::uint8_t from) {
        return std::bit_cast<std::uint64_t>(arguments[from].tensor.data);
      });
    }
  }
  Values values(kernel.argument_names().size());
  if (Status status = kernel.resolve(arguments, values.span()); !status.ok()) {
    if (trace != nullptr) *trace = kernel.refusal(status, options);
    return status;
  }
  Prepared prepared;
  Status status = kernel.run(values.span(), stream, options, trace, &prepared);
  if (prepared.ready()) keep(key, kernel, arguments, prepared);
  return status;
}

}  // namespace aotriton::dispatch
