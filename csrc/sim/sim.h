/* The simulator by itself, beside HIP's face: a C interface for tests and tools. Sizes are in bytes. A function that can
 * fail returns 0, or null, and writes what is wrong into `error`, cut to `error_size`. */
#ifndef AOTRITON_SIM_H
#define AOTRITON_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_API __attribute__((visibility("default")))

typedef struct sim_module sim_module;

/* The first instruction's size, with its text in `text`; 0 where it is none, with the reason there. */
SIM_API int sim_disassemble(const char* arch, const void* code, size_t size, uint64_t address, char* text, size_t text_size);

/* Loads a code object; its architecture is what the file says. */
SIM_API sim_module* sim_load(const void* image, size_t size, char* error, size_t error_size);
SIM_API void sim_unload(sim_module* module);

/* The architecture's name, such as `gfx942`. */
SIM_API const char* sim_arch(const sim_module* module);

/* Runs a kernel to its end. `grid` counts blocks, `block` threads, `args` are the explicit arguments as they lie in memory.
 * Returns 1 where all is well. */
SIM_API int sim_launch(sim_module* module, const char* kernel, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_lds,
               const void* args, size_t args_size, char* error, size_t error_size);

/* What a wave has, for tests of single instructions: v0 to v255 and a0 to a255 over 64 lanes; scalars by their codes, as
 * s0 to s101, vcc at 106, m0 at 124, exec at 126. */
typedef struct sim_state {
  uint32_t vgpr[512][64], sgpr[128], scc;
} sim_state;

/* Runs code to its end in one wave that starts with `state`, and writes back what it left there. The workgroup's LDS is
 * `lds`; each lane has 256 bytes of scratch, zero at first. The code need not end in s_endpgm. Returns 1 where all is well. */
SIM_API int sim_execute(const char* arch, const void* code, size_t size, sim_state* state, void* lds, size_t lds_size, char* error,
                size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
