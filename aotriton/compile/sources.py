"""A kernel's source and all that it imports from its own folder, found without running any of it."""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from aotriton.errors import BuildError

__all__ = ["SourceSet", "collect_sources"]


@dataclass(frozen=True)
class SourceSet:
    """The files that decide what a kernel means.

    Attributes
    ----------
    module : str
        The kernel's module: the stem of its file.
    files : tuple of (path, text)
        Paths relative to the kernel's folder, sorted.
    """

    module: str
    files: tuple[tuple[str, str], ...]

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file's text."""
        return {path: hashlib.sha256(text.encode()).hexdigest() for path, text in self.files}

    @property
    def package(self) -> str:
        """A name for these files as a package, the same for the same content."""
        text = "".join(f"{path}\0{digest}\n" for path, digest in self.hashes.items())
        return f"aotriton_kernels_{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def modules(self) -> dict[str, str]:
        """The texts by dotted module name below the kernel's folder; a package is named by its folder."""
        names = {path: PurePosixPath(path.removesuffix("/__init__.py")).with_suffix("") for path, _ in self.files}
        return {names[path].as_posix().replace("/", "."): text for path, text in self.files}


def collect_sources(path: Path) -> SourceSet:
    """The kernel's file, and every file of its folder that it imports, directly or not.

    Both `from .tiles import …` and `import tiles` of a file beside the kernel are followed. What comes from elsewhere
    (Triton, the standard library) belongs to the environment.

    Raises
    ------
    BuildError
        A file is missing or no Python, or an import leaves the kernel's folder.
    """
    folder, files = path.resolve().parent, {}
    open_files = [path.resolve()]
    while open_files:
        file = open_files.pop()
        name = file.relative_to(folder).as_posix()
        if name not in files:
            files[name] = text = _read(file)
            open_files += _imports(file, text, folder)
            inner = file.parent
            while inner != folder:
                open_files += [inner / "__init__.py"] if (inner / "__init__.py").exists() else []
                inner = inner.parent
    return SourceSet(path.stem, tuple(sorted(files.items())))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(f"can't read the kernel source {path}: {error}") from error


@functools.lru_cache(maxsize=256)
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def _imports(file: Path, text: str, folder: Path) -> Iterator[Path]:
    try:
        tree = _parse(text)
    except SyntaxError as error:
        raise BuildError(f"the kernel source {file} is no Python: {error}") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _beside(folder, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from _beside(folder, node.module or "")
        elif isinstance(node, ast.ImportFrom):
            yield from _relative(node, file, folder)


def _beside(folder: Path, module: str) -> Iterator[Path]:
    """A file of the kernel's folder that is imported as a top-level module, as if its folder were on the path."""
    head = module.split(".")[0]
    if head and head not in sys.stdlib_module_names and (folder / f"{head}.py").exists():
        yield folder / f"{head}.py"


def _relative(node: ast.ImportFrom, file: Path, folder: Path) -> Iterator[Path]:
    base = file.parent
    for _ in range(node.level - 1):
        base = base.parent
    if not base.is_relative_to(folder):
        raise BuildError(
            f"{file}, line {node.lineno}: an import leaves the kernel's folder {folder}",
            "keep what a kernel imports beside it or below, so that its content can be hashed and shipped",
        )
    base = base.joinpath(*(node.module or "").split(".")) if node.module else base
    if (found := _module_file(base)) is not None and node.module:
        yield found
    for alias in node.names:
        inner = _module_file(base / alias.name)
        if inner is not None:
            yield inner
        elif not node.module and (base / "__init__.py").exists():
            yield base / "__init__.py"


def _module_file(path: Path) -> Path | None:
    candidates = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.exists()), None)
