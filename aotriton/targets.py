"""The targets: what code is compiled for, and which pack holds it. Facts only; nothing here looks at the machine."""

from __future__ import annotations

from dataclasses import dataclass

from aotriton.errors import ArgumentError

__all__ = ["TARGETS", "Target", "parse_target", "parse_targets"]


@dataclass(frozen=True)
class Target:
    """A GPU architecture that code is compiled for, or `host`.

    Attributes
    ----------
    name : str
        `gfx942`, `sm_90`, `host`.
    vendor : str
        `amd`, `nvidia` or `host`.
    family : str
        The architecture family: `CDNA`, `RDNA3`, `RDNA4`, `gfx1250`, `sm_8x`, `sm_90`, `sm_100`, `sm_120`, `host`.
    pack : str
        The folder below `aotriton.images/` that holds its code objects.
    warp_size : int
        Threads of a wave or warp.
    shared_memory : int
        The most shared memory (LDS) that one block may use, in bytes.
    compute_units : int
        Multiprocessors of a typical device, assumed where no device is at hand.
    tables_of : str
        The target whose tuned tables are used where it has none of its own: itself, or a declared neighbour.
    """

    name: str
    vendor: str
    family: str
    pack: str
    warp_size: int
    shared_memory: int
    compute_units: int
    tables_of: str

    @property
    def number(self) -> int:
        """Its place among the targets of a pack: the digits of its name, `gfx` read as hexadecimal."""
        if self.vendor == "amd":
            return int(self.name.removeprefix("gfx"), 16)
        return int(self.name.removeprefix("sm_")) if self.vendor == "nvidia" else 0


def _amd(name: str, family: str, pack: str, warp: int, lds: int, units: int, tables_of: str | None = None) -> Target:
    return Target(f"gfx{name}", "amd", family, f"amd-gfx{pack}", warp, lds, units, tables_of or f"gfx{name}")


def _nvidia(number: int, family: str, shared: int, units: int) -> Target:
    return Target(f"sm_{number}", "nvidia", family, f"nvidia-sm{number}", 32, shared, units, f"sm_{number}")


# LDS sizes and neighbours: AMD's ISA documents and AOTriton's tuning fallbacks (gfx1101 uses gfx1100's tables, …).
# Shared memory of NVIDIA's: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability",
# less the kilobyte that the system takes.
_ALL = (
    _amd("90a", "CDNA", "90a", 64, 65536, 104),
    _amd("942", "CDNA", "942", 64, 65536, 304),
    _amd("950", "CDNA", "950", 64, 163840, 256),
    _amd("1100", "RDNA3", "110x", 32, 65536, 48),
    _amd("1101", "RDNA3", "110x", 32, 65536, 30, "gfx1100"),
    _amd("1102", "RDNA3", "110x", 32, 65536, 16, "gfx1100"),
    _amd("1103", "RDNA3", "110x", 32, 65536, 6, "gfx1100"),
    _amd("1150", "RDNA3", "115x", 32, 65536, 8, "gfx1100"),
    _amd("1151", "RDNA3", "115x", 32, 65536, 20, "gfx1100"),
    _amd("1152", "RDNA3", "115x", 32, 65536, 4, "gfx1100"),
    _amd("1153", "RDNA3", "115x", 32, 65536, 2, "gfx1100"),
    _amd("1200", "RDNA4", "120x", 32, 65536, 16, "gfx1201"),
    _amd("1201", "RDNA4", "120x", 32, 65536, 32),
    _amd("1250", "gfx1250", "1250", 32, 327680, 256, "gfx942"),
    _nvidia(80, "sm_8x", 166912, 108),
    _nvidia(86, "sm_8x", 101376, 84),
    _nvidia(89, "sm_8x", 101376, 128),
    _nvidia(90, "sm_90", 232448, 132),
    _nvidia(100, "sm_100", 232448, 148),
    _nvidia(120, "sm_120", 101376, 170),
    Target("host", "host", "host", "host", 1, 1 << 30, 1, "host"),
)

TARGETS: dict[str, Target] = {target.name: target for target in _ALL}
"""All targets by name, AMD's first, then NVIDIA's, then `host`."""


def parse_target(name: str) -> Target:
    """The target of that name.

    Raises
    ------
    ArgumentError
        There is none; the message lists those that exist.
    """
    if name not in TARGETS:
        raise ArgumentError(f"there is no target {name!r}; the targets are {', '.join(TARGETS)}")
    return TARGETS[name]


def parse_targets(names: list[str]) -> tuple[Target, ...]:
    """The targets of those names in the order of `TARGETS`, each once; also takes lists joined by `,` or `;`."""
    wanted = {part.strip() for name in names for part in name.replace(";", ",").split(",") if part.strip()}
    unknown = sorted(wanted - set(TARGETS))
    if unknown:
        raise ArgumentError(f"unknown target(s) {', '.join(unknown)}; the targets are {', '.join(TARGETS)}")
    return tuple(target for name, target in TARGETS.items() if name in wanted)
