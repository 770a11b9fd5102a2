"""Kernels of any pack, by family and name: open, ask, load, launch."""

from __future__ import annotations

import contextlib
import ctypes
import json
import numbers
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import Any, Self

from aotriton.errors import AotritonError, ArgumentError
from aotriton.runtime import host, objects
from aotriton.runtime.abi import DTYPES, MAX_RANK, Argument, ArgumentKind, LaunchOptions, Tensor, write_tensor
from aotriton.runtime.device import Device, device_for, open_device, stream_address, stream_handle
from aotriton.runtime.library import check, library, take_text
from aotriton.runtime.tensors import view_of
from aotriton.runtime.view import TensorSpec, View
from aotriton.runtime.wide import check_wide

__all__ = ["Kernel", "add_pack_path", "open_kernel", "pack_paths"]

_TENSOR = Argument.tensor.offset


def add_pack_path(folder: str | os.PathLike[str]) -> None:
    """Searches a folder of packs before all others from now on.

    Parameters
    ----------
    folder : path
        A folder such as `aotriton.images`, with one folder per pack. It need not be there yet.
    """
    check(library().aotriton_add_pack_path(os.fsencode(folder)))


def pack_paths() -> list[str]:
    """The folders of packs that are searched, first one first."""
    text = ctypes.c_void_p()
    check(library().aotriton_pack_paths(ctypes.byref(text)))
    return [str(path) for path in json.loads(take_text(text))]


class _Arguments:
    """Named arguments as the C API takes them."""

    __slots__ = ("array", "first", "views", "wide")

    def __init__(self, arguments: dict[str, Any], may_ask: bool) -> None:
        given = {name: value for name, value in arguments.items() if value is not None}
        self.array = (Argument * len(given))()
        self.views: list[tuple[str, View]] = []
        self.first: Any = None
        self.wide: dict[str, int] = {}
        for position, (name, value) in enumerate(given.items()):
            slot = self.array[position]
            slot.name = _encoded(name, "an argument")
            if isinstance(value, numbers.Integral):
                slot.kind, slot.integer = ArgumentKind.INTEGER, self._signed(int(value), name)
            elif isinstance(value, numbers.Real):
                slot.kind, slot.real = ArgumentKind.REAL, float(value)
            else:
                self._tensor(position, name, value, may_ask)

    def _tensor(self, position: int, name: str, value: Any, may_ask: bool) -> None:
        if isinstance(value, TensorSpec) and not may_ask:
            raise ArgumentError(f"{name} is a TensorSpec, which has no memory; it can only be asked about")
        view = view_of(value, name, position)
        offset = position * ctypes.sizeof(Argument) + _TENSOR
        self.array[position].kind = ArgumentKind.TENSOR
        write_tensor(self.array, offset, view.data, DTYPES[view.dtype][0], view.shape, view.strides, name)
        if not self.views:
            self.first = value
        self.views.append((name, view))

    def _signed(self, value: int, name: str) -> int:
        """An integer as the 64 bits that the C API takes, in two's complement."""
        if not -(1 << 63) <= value < 1 << 64:
            raise ArgumentError(f"{name} is {_shown(value)}, which 64 bits don't hold")
        if value < 1 << 63:
            return value
        self.wide[name] = value
        return value - (1 << 64)


def _shown(value: int) -> str:
    """An integer for a message: Python writes none of many thousand digits."""
    return str(value) if value.bit_length() <= 256 else f"an integer of {value.bit_length()} bits"


def _encoded(name: str, what: str) -> bytes:
    """A name as the C API takes it."""
    try:
        text = name.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{name!r} names {what}, and is no text that UTF-8 can hold") from None
    if b"\0" in text:
        raise ArgumentError(f"{name!r} names {what}, and holds a NUL character, which no name does")
    return text


def _config_number(config: Any) -> int:
    """A forced config as the C API takes it, -1 for none."""
    if config is None:
        return -1
    takes = "it is the position of a config, or None for the look-up table's choice"
    try:
        number = index(config)
    except TypeError:
        raise ArgumentError(f"config is {config!r}; {takes}") from None
    if not -(1 << 31) <= number < 1 << 31:
        raise ArgumentError(f"config is {_shown(number)}; {takes}")
    return number


def _merged(more: Mapping[str, Any] | None, arguments: dict[str, Any]) -> dict[str, Any]:
    """All arguments, given as a mapping or by name."""
    if more is None:
        return arguments
    try:
        return dict(**more, **arguments)
    except TypeError:
        raise _not_named(more, arguments) from None


def _not_named(more: Any, arguments: dict[str, Any]) -> ArgumentError:
    """Why these are no arguments by name."""
    if isinstance(more, Mapping) and all(isinstance(name, str) for name in more):
        twice = ", ".join(sorted(set(more) & set(arguments)))
        return ArgumentError(f"{twice} is given twice: in the mapping and by name")
    return ArgumentError(f"arguments are given by name, or as a mapping from names; {more!r} is neither")


def _leave(handle: ctypes.c_void_p) -> None:
    """Ends a handle that nobody closed; the code stays, since launches or graphs of it may be left."""
    library().aotriton_kernel_keep_loaded(handle)
    library().aotriton_kernel_close(handle)


class Kernel:
    """A kernel of a pack, opened for one device; `open_kernel` gives it.

    Its code is loaded as it is launched, and stays for the process: an object that is merely dropped unloads nothing,
    so launches that haven't ended and captured graphs are safe. To unload the code, `close` it, or leave its `with`
    block.

    Attributes
    ----------
    family, name : str
        Its family and name.
    device : Device
        Where its launches go.
    """

    def __init__(self, family: str, name: str, device: Device, handle: ctypes.c_void_p) -> None:
        self.family = family
        self.name = name
        self.device = device
        self._handle = handle
        self._addresses = handle.value, device.handle.value
        self._dropped = weakref.finalize(self, _leave, handle)
        self._dropped.atexit = False  # the process takes it along

    def __repr__(self) -> str:
        return f"Kernel({self.family}/{self.name} on {self.device.name})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the kernel; the last to be closed of those that share its code unloads it. Again does nothing.

        All its launches must have ended: synchronise the device or stream first. A graph that captured one must not be
        replayed any more. The code stays where `attn_fwd` uses it, or where a `Kernel` of it was dropped unclosed. No
        other thread may be using this object.
        """
        if self._dropped.detach() is not None:
            handle, self._handle = self._handle, ctypes.c_void_p()
            self._addresses = 0, 0  # which the short way of `launch` declines
            library().aotriton_kernel_close(handle)

    def launch(
        self,
        more: Mapping[str, Any] | None = None,
        /,
        *,
        grid: Sequence[int] | None = None,
        stream: Any = None,
        config: int | None = None,
        **arguments: Any,
    ) -> None:
        """Enqueues one launch, with arguments by the names that the Triton function gives them.

        Strides are taken from the tensors, performance arguments from the tables. A tensor that is None or not given is
        null; any other argument that is missing is an error.

        Parameters
        ----------
        more : mapping of str to value, optional
            Arguments by name, beside those of `**arguments`: those that are called `grid`, `stream` or `config` too.
        grid : sequence of int, optional
            One to three sizes, in place of the grid that the description declares.
        stream : int or object, optional
            As in `attn_fwd`.
        config : int, optional
            Position of the config to force, in place of the look-up table's choice.
        **arguments
            Tensors, integers, booleans and real numbers.

        Raises
        ------
        ArgumentError, DeviceError, PackError, UnsupportedError
            Nothing was launched.
        """
        merged = _merged(more, arguments)
        try:
            queue = stream if stream is None or type(stream) is int else stream_address(stream)
            sizes = tuple(grid) if type(grid) is list else grid
            status = objects.kernel_launch(*self._addresses, merged, sizes, config, queue)
        except Exception:  # found again on the general path, which says which argument it is about
            status = objects.DECLINED
        if status == objects.DECLINED:
            self._launch(merged, grid, config, stream)
        elif status:
            check(status)

    def _launch(self, arguments: dict[str, Any], grid: Sequence[int] | None, config: int | None, stream: Any) -> None:
        """The general path of `launch`, for values of any type and all devices."""
        given, options = self._prepare(grid, config, arguments, may_ask=False)
        handle = stream_handle(stream, given.first, given.views[0][1]) if given.views else _plain_stream(stream)
        with self._bounds(given):
            check(library().aotriton_kernel_launch(self._handle, given.array, len(given.array), handle, options))

    def load(self, more: Mapping[str, Any] | None = None, /, *, config: int | None = None, **arguments: Any) -> None:
        """Decodes and loads the code object that these arguments choose, so that the first launch finds it there."""
        given, options = self._prepare(None, config, _merged(more, arguments), may_ask=True)
        check(library().aotriton_kernel_load(self._handle, given.array, len(given.array), options))

    def explain(
        self,
        more: Mapping[str, Any] | None = None,
        /,
        *,
        grid: Sequence[int] | None = None,
        config: int | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """The trace of the choice that a launch with these arguments would make; tensors may be `TensorSpec`.

        Raises
        ------
        AotritonError
            There is no choice to explain.
        """
        given, options = self._prepare(grid, config, _merged(more, arguments), may_ask=True)
        status, trace = self._ask(given, options)
        try:
            check(status)
        except AotritonError:
            if not trace:
                raise
        return trace

    def _ask(self, given: _Arguments, options: Any) -> tuple[int, dict[str, Any]]:
        """The status of the launch that would follow, and the trace of the choice; empty where there is none."""
        text = ctypes.c_void_p()
        count = len(given.array)
        status = library().aotriton_kernel_explain(self._handle, given.array, count, options, ctypes.byref(text))
        trace = take_text(text)
        return status, json.loads(trace) if trace else {}

    def _prepare(
        self, grid: Sequence[int] | None, config: int | None, arguments: dict[str, Any], may_ask: bool
    ) -> tuple[_Arguments, Any]:
        if not self._handle:
            raise ArgumentError(f"{self!r} is closed; open it again by open_kernel")
        given = _Arguments(arguments, may_ask)
        if any(view.device[1] >= 0 for _, view in given.views):
            device_for(given.views, self.device)
        options = LaunchOptions(ctypes.sizeof(LaunchOptions), None, _config_number(config), 0)
        if grid is not None:
            try:
                sizes = [int(size.__index__()) for size in grid]
            except (TypeError, AttributeError):
                raise ArgumentError(f"grid is {grid!r}; it is one to three integers") from None
            if not 1 <= len(sizes) <= 3 or any(not 0 <= size < 1 << 32 for size in sizes):
                raise ArgumentError(f"grid is {tuple(grid)}; it is one to three sizes below 2**32")
            sizes += [1] * (3 - len(sizes))
            options.grid = (ctypes.c_uint32 * 3)(*sizes)
        if given.wide:
            check_wide(given.wide, self._ask(given, ctypes.byref(options))[1])
        return given, ctypes.byref(options)

    @contextlib.contextmanager
    def _bounds(self, given: _Arguments) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if self.device.driver == "host":
                stack.enter_context(host.bounded([view.extent() for _, view in given.views]))
            yield


def _plain_stream(stream: Any) -> int:
    return 0 if stream is None else stream_address(stream)


def open_kernel(
    family: str, name: str, folder: str | os.PathLike[str] | None = None, device: str | Device | None = None
) -> Kernel:
    """A kernel of a pack, opened for a device: finds the pack and checks its index, loads no code.

    Parameters
    ----------
    family, name : str
        The kernel's family and name.
    folder : path, optional
        A folder of packs; the search path (`pack_paths`) unless given.
    device : str or Device, optional
        What AOTRITON_DEVICE names, else the current GPU, unless given.

    Raises
    ------
    DeviceError, PackError
        There is no such device, or no pack with this kernel for it.
    """
    chosen = open_device(device)
    handle = ctypes.c_void_p()
    where = None if folder is None else os.fsencode(folder)
    names = _encoded(family, "a family"), _encoded(name, "a kernel")
    check(library().aotriton_kernel_open(where, *names, chosen.handle, ctypes.byref(handle)))
    return Kernel(family, name, chosen, handle)


assert ctypes.sizeof(Tensor) == 16 + 16 * MAX_RANK  # what write_tensor lays out
