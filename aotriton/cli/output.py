"""How commands speak: data to stdout, everything else to stderr; tables for people, JSON for programs."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from aotriton.errors import AotritonError

__all__ = ["EXIT_CODES", "HelpText", "complain", "note", "print_json", "print_table", "size_text"]

EXIT_CODES = {
    0: "done",
    1: "done, and the answer is no: damage found, not supported, or code objects missing",
    2: "wrong usage",
    3: "could not be done",
    130: "interrupted",
}
"""What each exit code means, for every command."""


class HelpText(argparse.HelpFormatter):
    """Help with descriptions wrapped, and examples, which have lines of their own, left as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def _painted(text: str, colour: str, stream: TextIO) -> str:
    if os.environ.get("NO_COLOR") or not stream.isatty():
        return text
    return f"\033[{colour}m{text}\033[0m"


def complain(error: AotritonError) -> None:
    """Print an error, and its hint as a line of its own after a blank one."""
    print(_painted("error:", "1;31", sys.stderr), error.message, file=sys.stderr)
    if error.hint:
        print(f"\n{_painted('hint:', '1;36', sys.stderr)} {error.hint}", file=sys.stderr)


def note(text: str) -> None:
    """Print a line that is no data."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value for programs."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print aligned columns; numbers stand to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    right = [all(re.fullmatch(r"-?[\d.]+|–", row[i]) for row in cells) for i in range(len(head))]
    for row in (list(head), *cells):
        aligned = (cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True))
        print("  ".join(aligned).rstrip())


def size_text(size: int) -> str:
    """Bytes as people read them."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
