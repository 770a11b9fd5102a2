"""Every error that the package raises, one class a condition.

    AotritonError
    ├── DescriptionError      a kernel's description contradicts itself or its source
    ├── BuildError            a build can't go on
    │   ├── CompileError      the compiler failed, crashed, hung or ran out of memory
    │   └── BusyError         another process holds the folder
    ├── PackError             a file of a pack is damaged, truncated, foreign, or missing
    ├── DeviceError           no such device, or its driver failed
    ├── ArgumentError         an argument of a call is not what the operation takes
    └── UnsupportedError      no code object serves the problem on this device

A message says what was asked, what was found and what to do; `hint` is the last of the three where it stands apart.
"""

from __future__ import annotations

__all__ = [
    "AotritonError",
    "ArgumentError",
    "BuildError",
    "BusyError",
    "CompileError",
    "DescriptionError",
    "DeviceError",
    "PackError",
    "UnsupportedError",
]


class AotritonError(Exception):
    """The base of all errors of this package.

    Parameters
    ----------
    message : str
        What was asked and what was found.
    hint : str, optional
        What to do about it; shown as a line of its own.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")


class DescriptionError(AotritonError):
    """A kernel's description contradicts itself or its source; `problems` lists all that was found."""

    def __init__(self, subject: str, problems: list[str], hint: str | None = None) -> None:
        self.subject = subject
        self.problems = list(problems)
        lines = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"the description of {subject} has {len(problems)} problem(s):\n{lines}", hint)


class BuildError(AotritonError):
    """A build can't go on."""


class CompileError(BuildError):
    """The compiler failed, crashed, hung or ran out of memory for one code object."""


class BusyError(BuildError):
    """Another process holds the folder."""


class PackError(AotritonError):
    """A file of a pack is damaged, truncated, foreign, or missing."""


class DeviceError(AotritonError):
    """There is no such device, or its driver failed."""


class ArgumentError(AotritonError, ValueError):
    """An argument of a call is not what the operation takes."""


class UnsupportedError(AotritonError):
    """No code object serves the problem on this device; the message holds the trace of what was turned down."""
