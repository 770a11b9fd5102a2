// Launches rms_norm from C++ by the same path as launch.c, with a grid of its own.
//
//     c++ -std=c++20 launch.cpp -I<prefix>/include -L<prefix>/lib -laotriton_v2 -o launch && ./launch FOLDER [DEVICE]
// On a GPU, memory must be the device's: take hipMalloc or cudaMalloc where this takes std::vector.
#include <aotriton/aotriton.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <vector>

namespace {

void check(aotriton_status status) {
  if (status != AOTRITON_SUCCESS) throw std::runtime_error(aotriton_last_error());
}

aotriton_argument tensor(const char* name, std::vector<float>& data, std::vector<std::int64_t> sizes) {
  aotriton_argument argument{};
  argument.name = name;
  argument.kind = AOTRITON_ARGUMENT_TENSOR;
  argument.tensor = {data.data(), AOTRITON_FP32, static_cast<std::int32_t>(sizes.size()), {}, {}};
  for (std::int64_t i = std::ssize(sizes) - 1, stride = 1; i >= 0; stride *= sizes[i--]) {
    argument.tensor.sizes[i] = sizes[i];
    argument.tensor.strides[i] = stride;
  }
  return argument;
}

}  // namespace

int main(int count, char** values) try {
  constexpr std::int64_t rows = 64, columns = 4096;
  std::vector<float> x(rows * columns, 1.0f), w(columns, 1.0f), y(rows * columns);

  aotriton_device* device = nullptr;
  aotriton_kernel* kernel = nullptr;
  check(aotriton_device_open(count > 2 ? values[2] : nullptr, &device));
  check(aotriton_kernel_open(count > 1 ? values[1] : nullptr, "norm", "rms_norm", device, &kernel));

  const std::array arguments{
      tensor("X", x, {rows, columns}),
      tensor("W", w, {columns}),
      tensor("Y", y, {rows, columns}),
      aotriton_argument{"Rows", AOTRITON_ARGUMENT_INTEGER, 0, rows, 0, {}},
      aotriton_argument{"Columns", AOTRITON_ARGUMENT_INTEGER, 0, columns, 0, {}},
      aotriton_argument{"Epsilon", AOTRITON_ARGUMENT_REAL, 0, 0, 1e-6, {}},
  };
  const std::uint32_t grid[] = {rows, 1, 1};  // enough for every BLOCK_M; without it, as the description declares
  aotriton_launch_options options = AOTRITON_LAUNCH_OPTIONS_INIT;
  options.grid = grid;
  check(aotriton_kernel_launch(kernel, arguments.data(), arguments.size(), nullptr, &options));
  aotriton_kernel_close(kernel);
  std::cout << "launched\n";
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
