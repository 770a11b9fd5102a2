"""The kernels' ZIPs below a path that the user named: a ZIP, a pack, or a folder of packs."""

from __future__ import annotations

from pathlib import Path

from aotriton.errors import PackError

__all__ = ["find_zips", "label"]


def find_zips(path: Path) -> list[Path]:
    """All ZIPs at or below a path, sorted.

    Raises
    ------
    PackError
        There is nothing there.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise PackError(f"there is no file or folder {path}")
    found = sorted(path.rglob("*.zip"))
    if not found:
        raise PackError(f"no pack lies in {path}", "`aotriton build --out FOLDER` makes packs")
    return found


def label(path: Path) -> str:
    """`amd-gfx942/flash/attn_fwd`: pack, family and kernel of a ZIP by where it lies."""
    return "/".join(path.with_suffix("").parts[-3:])
