"""Runs a kernel's own source in Triton's interpreter: what the `host` device does.

Imports Triton, so `host.py` imports this module when the first code object arrives, not before. Nothing outside a
launch is changed: Triton's own JIT works in the same process before and after (not from another thread during one).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib
import itertools
import json
import re
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter
from triton.runtime.jit import JITFunction

from aotriton.runtime.interpreter_builder import overrides

__all__ = ["Program", "load_program"]

_LOCK = threading.RLock()  # Triton's interpreter keeps one grid position and patches triton.language: one at a time
_FOLDER: list[tempfile.TemporaryDirectory[str]] = []  # made with the first program; the interpreter removes it at exit
_DESCRIPTOR = re.compile(r"tensordesc<(?P<type>\w+)\[(?P<block>[\d, ]+)\]>")
_CTYPES: dict[str, Any] = {
    "i1": ctypes.c_bool, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "u1": ctypes.c_bool, "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
    "fp16": ctypes.c_uint16, "bf16": ctypes.c_uint16, "fp32": ctypes.c_float, "fp64": ctypes.c_double,
}  # fmt: skip


class _Interpreted(triton_interpreter.InterpretedFunction):
    """A device function that finds `triton.language` patched already: patching again takes milliseconds a call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.rewrite()(*args, **kwargs)


def _plain(function: Any) -> Any:
    """The Python function behind a decorated one, or None."""
    while function is not None and not isinstance(function, types.FunctionType):
        function = getattr(function, "fn", None)
    return function


def _is_device_function(value: Any) -> bool:
    return isinstance(value, JITFunction | triton_interpreter.InterpretedFunction)


def _interpret(namespace: dict[str, Any], replaced: dict[int, _Interpreted]) -> None:
    """Replaces the device functions of a module by interpreted ones, each by the same one wherever it stands."""
    for name, value in list(namespace.items()):
        if _is_device_function(value) and not isinstance(value, _Interpreted):
            namespace[name] = replaced.setdefault(id(value), _Interpreted(_plain(value)))


@functools.cache
def _standard_copies() -> dict[int, _Interpreted]:
    """Triton's own device functions (tl.cdiv, tl.max, …), interpreted, by the identity of the original.

    They are copies with namespaces of their own, since Triton's rewriting leaves names in a function's namespace.
    """
    copies: dict[int, _Interpreted] = {}
    modules = [tl.standard, tl.random]
    namespaces = {module.__name__: dict(vars(module)) for module in modules}
    for module in modules:
        private = namespaces[module.__name__]
        for value in vars(module).values():
            function = _plain(value) if _is_device_function(value) else None
            if function is not None and function.__module__ == module.__name__:
                copy = types.FunctionType(function.__code__, private, function.__name__, function.__defaults__)
                copy.__kwdefaults__ = function.__kwdefaults__
                copy.__annotations__ = function.__annotations__
                copy.__module__ = function.__module__
                copies[id(value)] = _Interpreted(copy)
    for private in namespaces.values():
        private.update({name: copies[id(value)] for name, value in private.items() if id(value) in copies})
    return copies


@functools.cache
def _standard_library() -> tuple[tuple[Any, str, Any], ...]:
    """Where Triton's own device functions stand: (owner, name, replacement)."""
    copies = _standard_copies()
    owners = [tl, tl.standard, tl.random]
    changes = [(o, n, copies[id(v)]) for o in owners for n, v in vars(o).items() if id(v) in copies]
    members = [(n, copies[id(v)]) for n, v in vars(tl.tensor).items() if id(v) in copies]
    return (*changes, *((tl.tensor, name, _method(copy)) for name, copy in members))


def _method(function: _Interpreted) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: function(self, *args, **kwargs)


def _language() -> types.FunctionType:
    """A function from which both `triton.language` and its core are visible: Triton patches what it finds there."""
    return types.FunctionType((lambda: None).__code__, {"tl": tl, "core": tl.core})


@contextlib.contextmanager
def _patched(extents: Sequence[tuple[int, int]] | None) -> Iterator[None]:
    """`triton.language` as the interpreter needs it; all is put back at the end."""
    builder = triton_interpreter.interpreter_builder
    scope = triton_interpreter._LangPatchScope()
    with contextlib.ExitStack() as stack:
        stack.callback(scope.restore)
        for owner, name, value in _standard_library():
            scope.set_attr(owner, name, value)
        stack.callback(triton_interpreter._patch_lang(_language()).restore)
        for name, method in overrides(builder, extents).items():
            setattr(builder, name, method)  # on the instance, so that deleting it uncovers the class's own
            stack.callback(delattr, builder, name)
        stack.enter_context(np.errstate(all="ignore"))  # GPUs don't warn of an overflow either
        yield


@dataclass(frozen=True)
class _Parameter:
    name: str
    type: str  # without the alignment

    count = 1  # of the values that a launch gives for it

    def value(self, addresses: Sequence[int]) -> Any:
        """The typed value that lies at an address, as a tensor of the interpreter."""
        (address,) = addresses
        pointer = self.type.startswith("*")
        dtype = tl.pointer_type(tl.str_to_ty(self.type[1:], None)) if pointer else tl.str_to_ty(self.type, None)
        raw = (ctypes.c_uint64 if pointer else _CTYPES[self.type]).from_address(address).value
        data = np.array([raw], dtype=np.dtype(ctypes.c_uint64 if pointer else _CTYPES[self.type]))
        if self.type == "fp16":
            data = data.view(np.float16)
        return tl.tensor(triton_interpreter.TensorHandle(data, dtype), dtype)


class _Descriptor:
    """A parameter that stands for a whole tensor: address, sizes, strides, flag of NaN, of rounding; sizes, strides."""

    def __init__(self, name: str, kind: str) -> None:
        match = _DESCRIPTOR.fullmatch(kind)
        self.name, self.type = name, match["type"] if match else kind
        self.block = [int(size) for size in match["block"].split(",")] if match else []
        self.count = 3 + 4 * len(self.block)

    def value(self, addresses: Sequence[int]) -> Any:
        """The descriptor, as the interpreter has it; it is built inside of a launch."""
        rank = len(self.block)
        sizes, strides = (
            [_Parameter("", "i64").value([address]) for address in addresses[1 + rank * part :][:rank]]
            for part in range(2)
        )
        fills_nan = bool(ctypes.c_bool.from_address(addresses[1 + 2 * rank]).value)
        return triton_interpreter.interpreter_semantic.make_tensor_descriptor(
            base=_Parameter("", f"*{self.type}").value(addresses[:1]),
            shape=sizes,
            strides=[*strides[:-1], tl.constexpr(1)],
            block_shape=[tl.constexpr(size) for size in self.block],
            padding_option="nan" if fills_nan else "zero",
        )


def _parameter(name: str, kind: str) -> _Parameter | _Descriptor:
    return _Descriptor(name, kind) if kind.startswith("tensordesc<") else _Parameter(name, kind.split(":")[0])


class Program:
    """One code object of target `host`: a kernel's source, its typed parameters and its constants.

    Parameters
    ----------
    bundle : dict
        The parsed JSON (docs/concepts): `entry`, `module`, `modules`, `signature`, `constants`.
    """

    def __init__(self, bundle: dict[str, Any]) -> None:
        if bundle.get("format") != 1:
            raise ValueError(f"a host code object of format {bundle.get('format')!r}; this version reads format 1")
        self.entry: str = bundle["entry"]
        self.parameters = [_parameter(name, kind) for name, kind in bundle["signature"]]
        unknown = [p.type for p in self.parameters if p.type.removeprefix("*") not in _CTYPES]
        if unknown:
            raise ValueError(f"a host code object with parameters of unknown types {', '.join(unknown)}")
        self.constants: dict[str, Any] = bundle["constants"]
        self.folder, modules = _import(bundle["modules"])
        function = vars(modules[bundle["module"]]).get(self.entry)
        if not isinstance(function, _Interpreted):
            raise ValueError(f"module {bundle['module']!r} of a host code object has no Triton function {self.entry!r}")
        self.function = function
        given = set(self.constants) | {parameter.name for parameter in self.parameters}
        if given != set(function.arg_names):
            wrong = ", ".join(sorted(given ^ set(function.arg_names)))
            raise ValueError(f"a host code object and its function {self.entry!r} differ in the arguments {wrong}")

    def launch(
        self, grid: tuple[int, int, int], addresses: Sequence[int], extents: Sequence[tuple[int, int]] | None = None
    ) -> None:
        """Runs the whole grid, program after program.

        Parameters
        ----------
        grid : tuple of int
            Three sizes.
        addresses : sequence of int
            One address for each value: a parameter has one, a descriptor several.
        extents : sequence of (int, int), optional
            Where the kernel may read and write, [begin, end); None if that isn't known.

        Raises
        ------
        RuntimeError
            The kernel failed; the message says where in its source, and in which program.
        """
        count = sum(parameter.count for parameter in self.parameters)
        if len(addresses) != count:
            raise RuntimeError(f"{self.entry} has {count} parameters; the launch gave {len(addresses)}")
        rest = iter(addresses)
        with _LOCK, _patched(extents):
            values = {p.name: p.value(list(itertools.islice(rest, p.count))) for p in self.parameters}
            body = self.function.rewrite()
            builder = triton_interpreter.interpreter_builder
            builder.set_grid_dim(*grid)
            for x, y, z in itertools.product(*(range(size) for size in grid)):
                builder.set_grid_idx(x, y, z)
                try:
                    body(**values, **self.constants)
                except Exception as error:
                    raise RuntimeError(self._failure(error, (x, y, z))) from error

    def _failure(self, error: Exception, program: tuple[int, int, int]) -> str:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(self.folder))]
        place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        return f"{self.entry} failed in program {program}{place}: {type(error).__name__}: {error}"


def _import(sources: dict[str, str]) -> tuple[Path, dict[str, types.ModuleType]]:
    """Writes modules as a package of their own, once per content, and imports them with interpreted functions.

    They are real files because Triton reads a function's source.
    """
    digest = hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest()[:24]
    package = f"_aotriton_host_{digest}"
    if not _FOLDER:
        _FOLDER.append(tempfile.TemporaryDirectory(prefix="aotriton-host-", ignore_cleanup_errors=True))
    folder = Path(_FOLDER[0].name) / package
    if package not in sys.modules:
        folder.mkdir(exist_ok=True)
        for name, text in sources.items():
            if not name.isidentifier():
                raise ValueError(f"a host code object with a module named {name!r}")
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        root = types.ModuleType(package)
        root.__path__ = [str(folder)]
        sys.modules[package] = root
        try:
            modules = {name: importlib.import_module(f"{package}.{name}") for name in sources}
        except BaseException:
            for name in [name for name in sys.modules if name.split(".")[0] == package]:
                del sys.modules[name]
            raise
        replaced = dict(_standard_copies())
        for module in modules.values():
            _interpret(vars(module), replaced)
    return folder, {name: sys.modules[f"{package}.{name}"] for name in sources}


def load_program(image: bytes) -> Program:
    """The program of a host code object.

    Raises
    ------
    ValueError
        It is none, or not of a format that this version reads.
    """
    try:
        bundle = json.loads(image)
        with _LOCK:
            return Program(bundle)
    except (AttributeError, KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"not a code object of target host: {type(error).__name__}: {error}") from error
