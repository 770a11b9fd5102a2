/* The C API of aotriton: devices, kernels in packs, launches, and flash attention.
 *
 * It carries everything: the C++ headers and the Python package sit on the same core. Structs that callers fill start
 * with their own size, so that later versions can add fields at the end: set `size` by the *_INIT macros. Every
 * function that returns an aotriton_status leaves a text for this thread in aotriton_last_error() when it fails: what
 * was asked, what was found, what to do. No function throws, and none prints. All are safe to call from any thread. */
#ifndef AOTRITON_AOTRITON_H
#define AOTRITON_AOTRITON_H

#include <stddef.h>
#include <stdint.h>

#include <aotriton/config.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AOTRITON_C_API_VERSION 1
#define AOTRITON_MAX_RANK 8

typedef enum aotriton_status {
  AOTRITON_SUCCESS = 0,
  AOTRITON_INVALID_ARGUMENT = 1, /* an argument is not what the operation takes */
  AOTRITON_INVALID_VERSION = 2,  /* a struct of another version */
  AOTRITON_NO_DEVICE = 3,        /* no such device, or nothing on this machine can run code */
  AOTRITON_NO_PACK = 4,          /* no pack with this kernel for this device */
  AOTRITON_BAD_PACK = 5,         /* a file of the pack is damaged, truncated or foreign */
  AOTRITON_UNSUPPORTED = 6,      /* the kernel does not cover the problem: excluded, or not in the choice space */
  AOTRITON_NOT_BUILT = 7,        /* covered by the kernel, but this pack has no code object for it */
  AOTRITON_DRIVER_ERROR = 8,     /* the driver refused; its own code and text are in the message */
  AOTRITON_OUT_OF_MEMORY = 9,
  AOTRITON_INTERNAL_ERROR = 10   /* please report */
} aotriton_status;

/* Element types; the values are those of aotriton::DType (dtypes.h). fp64 and bool exist for users' own kernels. */
typedef enum aotriton_dtype {
  AOTRITON_NONE = 0,
  AOTRITON_FP32 = 1, AOTRITON_FP16 = 2, AOTRITON_BF16 = 3, AOTRITON_FP64 = 4,
  AOTRITON_I8 = 10, AOTRITON_I16 = 11, AOTRITON_I32 = 12, AOTRITON_I64 = 13, AOTRITON_BOOL = 14,
  AOTRITON_U8 = 20, AOTRITON_U16 = 21, AOTRITON_U32 = 22, AOTRITON_U64 = 23
} aotriton_dtype;

/* A view of memory that the caller owns. Strides are in elements; a null `data` is an absent tensor. */
typedef struct aotriton_tensor {
  void* data;
  int32_t dtype; /* aotriton_dtype */
  int32_t rank;
  int64_t sizes[AOTRITON_MAX_RANK];
  int64_t strides[AOTRITON_MAX_RANK];
} aotriton_tensor;

typedef struct aotriton_device aotriton_device; /* lives as long as the process; never freed */
typedef struct aotriton_kernel aotriton_kernel;
typedef void* aotriton_stream; /* hipStream_t or CUstream; null: the device's default stream */

AOTRITON_API const char* aotriton_last_error(void); /* of this thread; "" after a success; valid until its next call */
AOTRITON_API const char* aotriton_version(void);    /* "0.1.0" */
AOTRITON_API void aotriton_free_string(char* text); /* frees what the functions below return through char** */

/* ---- packs ---- */

/* Searches `folder` (a folder of packs, such as aotriton.images) before all others from now on: AOTRITON_PACK_PATH, then
 * `aotriton.images` beside the library. */
AOTRITON_API aotriton_status aotriton_add_pack_path(const char* folder);
/* The folders that are searched, as a JSON array of strings, first one first. */
AOTRITON_API aotriton_status aotriton_pack_paths(char** json);
/* Verifies the index of one kernel's ZIP (path of the file) and prints it as JSON. */
AOTRITON_API aotriton_status aotriton_index_to_json(const char* zip_path, char** json);
/* Checks one kernel's ZIP whole: directory, CRCs, index, every cluster decoded, every image's hash. `report` is JSON:
 * {"file", "entries", "functionals", "images", "bytes", "problems": [text, …]}; problems make it AOTRITON_BAD_PACK. */
AOTRITON_API aotriton_status aotriton_verify_zip(const char* zip_path, char** report);

/* ---- devices ---- */

/* Opens a device by name: `hip:0`, `cuda:1`, `sim:gfx942`, `host`, `record:gfx942` (`record:gfx942:1` for its second
 * device), or `target:gfx942`, which can be asked but not launched on. NULL or "": what AOTRITON_DEVICE names, else the
 * current HIP device, else the current CUDA device. The same name gives the same handle. */
AOTRITON_API aotriton_status aotriton_device_open(const char* name, aotriton_device** device);
/* The device behind a stream, as the C++ API takes it: AOTRITON_DEVICE where set, else the stream's device, HIP before
 * CUDA. */
AOTRITON_API aotriton_status aotriton_device_of_stream(aotriton_stream stream, aotriton_device** device);
/* {"name", "driver", "target", "compute_units", "warp_size", "shared_memory", "ordinal", "description", "driver_library"} */
AOTRITON_API aotriton_status aotriton_device_to_json(aotriton_device* device, char** json);
/* What this machine can run and why not: an array of {"driver", "available", "reason", "library", "devices": [name, …]}. */
AOTRITON_API aotriton_status aotriton_drivers_to_json(char** json);

/* The host device runs kernel sources in Python: these callbacks are its driver. `load` gets a code object of target
 * `host` (UTF-8 JSON, see docs/concepts) and gives a handle; `launch` gets one pointer per launched parameter, as HIP
 * and CUDA do. They return 0 or fail with a text that they copied into `message` (NUL-terminated, `capacity` bytes). */
typedef struct aotriton_host_driver {
  size_t size;
  int32_t (*load)(const void* image, size_t bytes, const char* symbol, uint64_t* handle, char* message, size_t capacity);
  int32_t (*launch)(uint64_t handle, const uint32_t grid[3], void* const* parameters, size_t count, char* message,
                    size_t capacity);
  void (*unload)(uint64_t handle);
} aotriton_host_driver;
AOTRITON_API aotriton_status aotriton_set_host_driver(const aotriton_host_driver* driver);

/* ---- kernels ---- */

/* Opens `family`/`kernel` for a device: finds the pack, verifies its index. `folder` is a folder of packs, or NULL for
 * the search path. Loads no code. Handles of the same kernel on the same device share what they load. */
AOTRITON_API aotriton_status aotriton_kernel_open(const char* folder, const char* family, const char* kernel,
                                                  aotriton_device* device, aotriton_kernel** out);
/* Closes a handle, NULL too; no other call may be using it. Closing a kernel's last handle unloads its code. Then all
 * that was launched from it must have ended (synchronise first), and no graph that captured a launch may be replayed
 * any more: as long as one may be, keep a handle open, or call aotriton_kernel_keep_loaded. Handles that other threads
 * have are not affected. What aotriton_attn_fwd loaded stays. */
AOTRITON_API void aotriton_kernel_close(aotriton_kernel* kernel);
/* Keeps what the kernel has loaded, and will load, as long as the process, whatever is closed: for graphs, and where
 * nobody knows when the last launch ends. */
AOTRITON_API aotriton_status aotriton_kernel_keep_loaded(aotriton_kernel* kernel);

typedef enum aotriton_argument_kind {
  AOTRITON_ARGUMENT_TENSOR = 1,
  AOTRITON_ARGUMENT_INTEGER = 2, /* booleans too */
  AOTRITON_ARGUMENT_REAL = 3
} aotriton_argument_kind;

/* An argument by the name that the Triton function gives it. Strides are taken from the tensors, performance arguments
 * from the tables; a tensor that is not given is null, any other that is missing is an error. */
typedef struct aotriton_argument {
  const char* name;
  int32_t kind;
  int32_t reserved; /* 0 */
  int64_t integer;
  double real;
  aotriton_tensor tensor;
} aotriton_argument;

typedef struct aotriton_launch_options {
  size_t size;
  const uint32_t* grid; /* three numbers, or NULL for the grid that the description declares */
  int32_t config;       /* position of the functional's config to force, or -1 for the look-up table's choice */
  int32_t query_only;   /* do all but load and launch */
} aotriton_launch_options;
#define AOTRITON_LAUNCH_OPTIONS_INIT {sizeof(aotriton_launch_options), NULL, -1, 0}

AOTRITON_API aotriton_status aotriton_kernel_launch(aotriton_kernel* kernel, const aotriton_argument* arguments,
                                                    size_t count, aotriton_stream stream,
                                                    const aotriton_launch_options* options);
/* Decodes and loads the code object that these arguments choose, so that the first launch finds it there. */
AOTRITON_API aotriton_status aotriton_kernel_load(aotriton_kernel* kernel, const aotriton_argument* arguments,
                                                  size_t count, const aotriton_launch_options* options);
/* The trace of the choice as JSON (docs/reference/trace): the same function that a launch calls. The status is that of
 * the launch that would follow; `trace` is written in every case but AOTRITON_INTERNAL_ERROR. */
AOTRITON_API aotriton_status aotriton_kernel_explain(aotriton_kernel* kernel, const aotriton_argument* arguments,
                                                     size_t count, const aotriton_launch_options* options,
                                                     char** trace);

/* ---- flash attention, forward ---- */

#define AOTRITON_CAUSAL_NONE 0
#define AOTRITON_CAUSAL_WINDOWED 3
#define AOTRITON_WINDOW_TOP_LEFT (-2147483647)
#define AOTRITON_WINDOW_BOTTOM_RIGHT (-2147483646)

/* out = softmax(scale * q kᵀ + bias) v over the visible keys; lse is the natural logarithm of the sums.
 * Shapes: q (B, Hq, Sq, Dqk), k (B, Hk, Sk, Dqk), v (B, Hk, Sk, Dvo), out (B, Hq, Sq, Dvo), lse (B·Hq, Sq) or
 * (B, Hq, Sq) in fp32, contiguous, or null. Element (m, n) is visible iff m - window_left <= n <= m + window_right;
 * the constants above resolve as in the original. Fields that later features use are null or zero until then. */
typedef struct aotriton_attn_fwd_params {
  size_t size;
  aotriton_tensor q, k, v, bias, alibi_slopes, lse, out;
  aotriton_tensor cu_seqlens_q, cu_seqlens_k, seq_strides_q, seq_strides_k;
  aotriton_tensor philox_seed, philox_offset1, philox_seed_output, philox_offset_output;
  aotriton_tensor encoded_softmax, persistent_atomic_counter;
  uint64_t philox_offset2;
  float scale;
  float dropout_p;
  int32_t max_seqlen_q, max_seqlen_k;
  int32_t causal_type, varlen_type;
  int32_t window_left, window_right;
} aotriton_attn_fwd_params;

typedef struct aotriton_attn_options {
  size_t size;
  int32_t force_backend; /* -1: the operator's table decides */
  int32_t deterministic;
  int32_t query_only; /* do all but load and launch */
  int32_t load_only;  /* do all but launch */
} aotriton_attn_options;
#define AOTRITON_ATTN_OPTIONS_INIT {sizeof(aotriton_attn_options), -1, 0, 0, 0}

/* `device` NULL: aotriton_device_of_stream(stream). `options` may be NULL. With `trace` not NULL the choice is explained
 * as by aotriton_kernel_explain, and the launch follows unless options say otherwise. */
AOTRITON_API aotriton_status aotriton_attn_fwd(const aotriton_attn_fwd_params* params, aotriton_device* device,
                                               aotriton_stream stream, const aotriton_attn_options* options,
                                               char** trace);

/* ---- Python ---- */

/* For bindings, whose calls they make cheap: functions that take Python's objects as they are, as an array of PyMethodDef
 * up to one without a name. They are METH_FASTCALL, take all arguments by position and are called with the interpreter
 * held; csrc/api/c_python.cc has their arguments, which belong to no version of this API. NULL where the process has no
 * Python: the library is linked to none. */
AOTRITON_API const void* aotriton_python_methods(void);

#ifdef __cplusplus
}
#endif
#endif
