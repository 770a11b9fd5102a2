"""The answer to "can this device run this problem"."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Capability"]


@dataclass(frozen=True)
class Capability:
    """Whether a problem can run, and with what.

    Attributes
    ----------
    supported : bool
        Whether the launch would be made. Also the truth value of the object.
    reason : str
        Why not; empty where it would.
    trace : dict
        What dispatch considered and chose (docs/reference/trace); empty where it didn't come to that.
    """

    supported: bool
    reason: str
    trace: dict[str, Any] = field(repr=False)

    def __bool__(self) -> bool:
        return self.supported
