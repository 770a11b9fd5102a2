// hipStream_t and hipError_t: HIP's own where its headers are found, else declarations that are compatible with them,
// so that the library and its users build with no SDK. AOTRITON_NO_HIP_HEADERS asks for the latter.
#ifndef AOTRITON_HIP_TYPES_H
#define AOTRITON_HIP_TYPES_H

#if !defined(AOTRITON_NO_HIP_HEADERS) && defined(__has_include)
#if __has_include(<hip/hip_runtime_api.h>)
#define AOTRITON_HAS_HIP_HEADERS 1
#endif
#endif

#ifdef AOTRITON_HAS_HIP_HEADERS

// HIP's header takes no answer but one of the two; on a machine that has it, AMD is what an unset one means.
#if !defined(__HIP_PLATFORM_AMD__) && !defined(__HIP_PLATFORM_NVIDIA__)
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>

#else

struct ihipStream_t;
typedef struct ihipStream_t* hipStream_t;

// The values are HIP's; those that the library returns, and those that a driver may.
typedef enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorNotInitialized = 3,
  hipErrorDeinitialized = 4,
  hipErrorProfilerDisabled = 5,
  hipErrorProfilerNotInitialized = 6,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidSymbol = 13,
  hipErrorInvalidDevicePointer = 17,
  hipErrorInsufficientDriver = 35,
  hipErrorMissingConfiguration = 52,
  hipErrorPriorLaunchFailure = 53,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidImage = 200,
  hipErrorInvalidContext = 201,
  hipErrorMapFailed = 205,
  hipErrorNoBinaryForGpu = 209,
  hipErrorPeerAccessUnsupported = 217,
  hipErrorInvalidKernelFile = 218,
  hipErrorInvalidSource = 300,
  hipErrorFileNotFound = 301,
  hipErrorSharedObjectSymbolNotFound = 302,
  hipErrorSharedObjectInitFailed = 303,
  hipErrorOperatingSystem = 304,
  hipErrorInvalidHandle = 400,
  hipErrorIllegalState = 401,
  hipErrorNotFound = 500,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchOutOfResources = 701,
  hipErrorLaunchTimeOut = 702,
  hipErrorContextIsDestroyed = 709,
  hipErrorAssert = 710,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
  hipErrorStreamCaptureUnsupported = 900,
  hipErrorStreamCaptureInvalidated = 901,
  hipErrorUnknown = 999,
} hipError_t;

#endif

#endif
