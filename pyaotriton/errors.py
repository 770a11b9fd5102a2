"""HIP's error codes under their names, and what the library's statuses become among them."""

from __future__ import annotations

import enum
import threading

from aotriton.runtime import library
from aotriton.runtime.abi import Status

__all__ = ["hip_error_of", "hipError_t", "last_error", "refused"]

_own = threading.local()  # .text: what this package refused itself, in this thread's last call


class hipError_t(enum.IntEnum):
    """`hipError_t`."""

    __str__ = enum.Enum.__str__

    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorOutOfMemory = 2
    hipErrorMemoryAllocation = 2
    hipErrorNotInitialized = 3
    hipErrorInitializationError = 3
    hipErrorDeinitialized = 4
    hipErrorProfilerDisabled = 5
    hipErrorProfilerNotInitialized = 6
    hipErrorProfilerAlreadyStarted = 7
    hipErrorProfilerAlreadyStopped = 8
    hipErrorInvalidConfiguration = 9
    hipErrorInvalidPitchValue = 12
    hipErrorInvalidSymbol = 13
    hipErrorInvalidDevicePointer = 17
    hipErrorInvalidMemcpyDirection = 21
    hipErrorInsufficientDriver = 35
    hipErrorMissingConfiguration = 52
    hipErrorPriorLaunchFailure = 53
    hipErrorInvalidDeviceFunction = 98
    hipErrorNoDevice = 100
    hipErrorInvalidDevice = 101
    hipErrorInvalidImage = 200
    hipErrorInvalidContext = 201
    hipErrorContextAlreadyCurrent = 202
    hipErrorMapFailed = 205
    hipErrorMapBufferObjectFailed = 205
    hipErrorUnmapFailed = 206
    hipErrorArrayIsMapped = 207
    hipErrorAlreadyMapped = 208
    hipErrorNoBinaryForGpu = 209
    hipErrorAlreadyAcquired = 210
    hipErrorNotMapped = 211
    hipErrorNotMappedAsArray = 212
    hipErrorNotMappedAsPointer = 213
    hipErrorECCNotCorrectable = 214
    hipErrorUnsupportedLimit = 215
    hipErrorContextAlreadyInUse = 216
    hipErrorPeerAccessUnsupported = 217
    hipErrorInvalidKernelFile = 218
    hipErrorInvalidGraphicsContext = 219
    hipErrorInvalidSource = 300
    hipErrorFileNotFound = 301
    hipErrorSharedObjectSymbolNotFound = 302
    hipErrorSharedObjectInitFailed = 303
    hipErrorOperatingSystem = 304
    hipErrorInvalidHandle = 400
    hipErrorInvalidResourceHandle = 400
    hipErrorIllegalState = 401
    hipErrorNotFound = 500
    hipErrorNotReady = 600
    hipErrorIllegalAddress = 700
    hipErrorLaunchOutOfResources = 701
    hipErrorLaunchTimeOut = 702
    hipErrorPeerAccessAlreadyEnabled = 704
    hipErrorPeerAccessNotEnabled = 705
    hipErrorSetOnActiveProcess = 708
    hipErrorContextIsDestroyed = 709
    hipErrorAssert = 710
    hipErrorHostMemoryAlreadyRegistered = 712
    hipErrorHostMemoryNotRegistered = 713
    hipErrorLaunchFailure = 719
    hipErrorCooperativeLaunchTooLarge = 720
    hipErrorNotSupported = 801
    hipErrorStreamCaptureUnsupported = 900
    hipErrorStreamCaptureInvalidated = 901
    hipErrorStreamCaptureMerge = 902
    hipErrorStreamCaptureUnmatched = 903
    hipErrorStreamCaptureUnjoined = 904
    hipErrorStreamCaptureIsolation = 905
    hipErrorStreamCaptureImplicit = 906
    hipErrorCapturedEvent = 907
    hipErrorStreamCaptureWrongThread = 908
    hipErrorGraphExecUpdateFailure = 910
    hipErrorUnknown = 999
    hipErrorRuntimeMemory = 1052
    hipErrorRuntimeOther = 1053
    hipErrorTbd = 1054


_SUCCESS = hipError_t.hipSuccess
_OF_STATUS = {
    Status.SUCCESS: hipError_t.hipSuccess,
    Status.INVALID_ARGUMENT: hipError_t.hipErrorInvalidValue,
    Status.INVALID_VERSION: hipError_t.hipErrorInvalidSymbol,
    Status.NO_DEVICE: hipError_t.hipErrorNoDevice,
    Status.NO_PACK: hipError_t.hipErrorNoBinaryForGpu,
    Status.BAD_PACK: hipError_t.hipErrorInvalidImage,
    Status.UNSUPPORTED: hipError_t.hipErrorNotSupported,
    Status.NOT_BUILT: hipError_t.hipErrorProfilerNotInitialized,  # the original's code for an empty slot of a table
    Status.DRIVER_ERROR: hipError_t.hipErrorLaunchFailure,
    Status.OUT_OF_MEMORY: hipError_t.hipErrorOutOfMemory,
    Status.INTERNAL_ERROR: hipError_t.hipErrorUnknown,
}


def hip_error_of(status: int) -> hipError_t:
    """The code that the C++ API returns for the status that a call of the C API has just given."""
    _own.text = ""
    if status == 0:  # nearly always, and making an enumeration's member of it takes its time
        return _SUCCESS
    return _OF_STATUS.get(Status(status), hipError_t.hipErrorUnknown)


def refused(code: hipError_t, text: str) -> hipError_t:
    """A call that didn't come to the library: keeps the text for `last_error`, gives the code back."""
    _own.text = text
    return code


def last_error() -> str:
    """What the last call of this thread failed with, in words: asked, found, what to do. Empty after a success."""
    return getattr(_own, "text", "") or library.last_error()
