/* Launches rms_norm from C: open a kernel by pack, family and name; launch it with arguments and a stream.
 *
 *     cc launch.c -I<prefix>/include -L<prefix>/lib -laotriton_v2 -o launch && ./launch FOLDER_OF_PACKS [DEVICE]
 *
 * On a GPU, memory must be the device's: take hipMalloc or cudaMalloc where this takes calloc. The recording driver
 * (DEVICE record:gfx942, record:sm_90, …) looks at no memory. */
#include <aotriton/aotriton.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 37, COLUMNS = 1000 };

static int check(aotriton_status status) {
  if (status != AOTRITON_SUCCESS) fprintf(stderr, "error: %s\n", aotriton_last_error());
  return status == AOTRITON_SUCCESS;
}

static aotriton_argument matrix(const char* name, void* data, int64_t rows) {
  aotriton_argument argument = {.name = name, .kind = AOTRITON_ARGUMENT_TENSOR};
  argument.tensor = (aotriton_tensor){data, AOTRITON_FP16, 2, {rows, COLUMNS}, {COLUMNS, 1}};
  if (rows == 1) argument.tensor = (aotriton_tensor){data, AOTRITON_FP16, 1, {COLUMNS}, {1}};
  return argument;
}

int main(int count, char** values) {
  const char* packs = count > 1 ? values[1] : NULL;
  const char* name = count > 2 ? values[2] : NULL;
  void* memory[3];
  for (int i = 0; i < 3; ++i) memory[i] = calloc(ROWS * COLUMNS, 2);

  aotriton_device* device;
  aotriton_kernel* kernel;
  if (!check(aotriton_device_open(name, &device))) return 1;
  if (!check(aotriton_kernel_open(packs, "norm", "rms_norm", device, &kernel))) return 1;

  const aotriton_argument arguments[] = {
      matrix("X", memory[0], ROWS),
      matrix("W", memory[1], 1),
      matrix("Y", memory[2], ROWS),
      {.name = "Rows", .kind = AOTRITON_ARGUMENT_INTEGER, .integer = ROWS},
      {.name = "Columns", .kind = AOTRITON_ARGUMENT_INTEGER, .integer = COLUMNS},
      {.name = "Epsilon", .kind = AOTRITON_ARGUMENT_REAL, .real = 1e-6},
  };
  const size_t given = sizeof arguments / sizeof *arguments;
  char* trace;
  if (!check(aotriton_kernel_launch(kernel, arguments, given, NULL, NULL))) return 1;
  if (!check(aotriton_kernel_explain(kernel, arguments, given, NULL, &trace))) return 1;
  puts(trace);

  aotriton_free_string(trace);
  aotriton_kernel_close(kernel);
  for (int i = 0; i < 3; ++i) free(memory[i]);
  return 0;
}
