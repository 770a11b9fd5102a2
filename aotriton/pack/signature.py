"""`__signature__` of a pack: who built what, from what, and the hash of each ZIP.

Beside the original's keys (`AOTRITON_GIT_SHA1`, `AOTRITON_GIT_TREESHA1`, `DB_SHA256`, `TRITON_VERSION`) stand ours:

    format           1
    pack             the folder's name
    project_version  that of the package which wrote last
    kernels          by path below the pack: sha256 and bytes of the ZIP, `plan` (a hash of all that decides it), the
                     build set, the date, the compiler, how many code objects are missing, a row for each target
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aotriton.errors import PackError

__all__ = [
    "SIGNATURE",
    "build_date",
    "check_signature",
    "file_sha256",
    "git_hashes",
    "make_signature",
    "read_signature",
]

SIGNATURE = "__signature__"
FORMAT = 1


def make_signature(pack: str, kernels: Mapping[str, Mapping[str, Any]], *, version: str, triton_version: str) -> bytes:
    """The signature of a pack with these kernels, as the file's bytes.

    Parameters
    ----------
    pack : str
        The folder's name.
    kernels : mapping of str to mapping
        By path: what the module's text lists, and `tables`, the hashes of the look-up tables by target.
    version : str
        The project's.
    triton_version : str
        The compiler's; `none` where nothing was compiled.
    """
    primary: dict[str, dict[str, dict[str, str]]] = {}
    for path, entry in sorted(kernels.items()):
        family, _, name = path.removesuffix(".zip").partition("/")
        for target, digest in entry.get("tables", {}).items():
            primary.setdefault(target, {}).setdefault(family, {})[name] = digest
    content = {
        **git_hashes(),
        "DB_SHA256": {"primary": primary, "secondary": {}},
        "TRITON_VERSION": triton_version,
        "format": FORMAT,
        "pack": pack,
        "project_version": version,
        "kernels": dict(sorted(kernels.items())),
    }
    return (json.dumps(content, indent=1) + "\n").encode()


def read_signature(folder: Path) -> dict[str, Any]:
    """The signature of a pack.

    Raises
    ------
    PackError
        It is missing, damaged, or of another format.
    """
    path = folder / SIGNATURE
    hint = "build the pack again"
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise PackError(f"{path} can't be read: {error.strerror}", hint) from None
    except (ValueError, RecursionError):
        raise PackError(f"{path} is not JSON", hint) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise PackError(f"{path} is not a signature of format {FORMAT}", hint)
    kernels = content.get("kernels")
    if not isinstance(kernels, dict) or not all(isinstance(entry, dict) for entry in kernels.values()):
        raise PackError(f"{path} doesn't list the pack's kernels", hint)
    return content


def check_signature(folder: Path) -> list[str]:
    """What of a pack doesn't agree with its signature; nothing where all does."""
    try:
        kernels = read_signature(folder)["kernels"]
    except PackError as error:
        return [error.message]
    problems = []
    for name, entry in kernels.items():
        path = folder / name
        if ".." in Path(name).parts or Path(name).is_absolute():
            problems.append(f"the signature names {name!r}, which is not below the pack")
        elif not path.is_file():
            problems.append(f"{path} is missing")
        elif file_sha256(path) != entry.get("sha256"):
            problems.append(f"{path} is not the file that the signature describes")
    found = {path.relative_to(folder).as_posix() for path in folder.glob("*/*.zip")}
    return problems + [f"{folder / name} is not in the signature" for name in sorted(found - set(kernels))]


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def build_date() -> str:
    """Now, or the moment that `SOURCE_DATE_EPOCH` gives, in UTC."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return moment.isoformat(timespec="seconds")


def git_hashes() -> dict[str, str]:
    """Commit and tree that the package stands in, empty where it is installed; the original's variables win."""
    given = (os.environ.get("AOTRITON_CI_SUPPLIED_SHA1"), os.environ.get("AOTRITON_GIT_TREESHA1"))
    found = ("", "") if all(given) else _commit_and_tree(Path(__file__).resolve().parents[2])
    names = ("AOTRITON_GIT_SHA1", "AOTRITON_GIT_TREESHA1")
    return {name: one or other for name, one, other in zip(names, given, found, strict=True)}


def _commit_and_tree(root: Path) -> tuple[str, str]:
    if not (root / "schema" / "index.fbs").is_file() or not (root / ".git").exists():
        return "", ""
    try:
        command = ["git", "-C", str(root), "rev-parse", "HEAD", "HEAD^{tree}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "", ""
    commit, _, tree = done.stdout.strip().partition("\n")
    return (commit, tree) if done.returncode == 0 else ("", "")
