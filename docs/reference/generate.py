"""Writes the pages of this folder that are made from code: the commands, the trace.

    python docs/reference/generate.py [--check]

With --check nothing is written, and the exit code is 1 if a page is not what the code says.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARK = "<!-- Made by docs/reference/generate.py from the code; `make docs` writes it anew. -->\n"


def commands_page() -> str:
    os.environ["COLUMNS"] = "100"  # argparse wraps to the terminal
    os.environ["NO_COLOR"] = "1"
    from aotriton.cli import parser
    from aotriton.cli.output import EXIT_CODES

    top = parser()
    text = ["# Commands\n", MARK, "`aotriton COMMAND`, or `python -m aotriton COMMAND`.\n"]
    text += ["| exit code | meaning |", "|---|---|"]
    text += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    for name, command in parts_of(top).items():
        text.append(f"\n## aotriton {name}\n\n```text\n{command.format_help().rstrip()}\n```")
        for part, inner in parts_of(command).items():
            text.append(f"\n### aotriton {name} {part}\n\n```text\n{inner.format_help().rstrip()}\n```")
    return "\n".join(text) + "\n"


def parts_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """What may be said after a command, by name."""
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: one for action in actions for name, one in action.choices.items()}


def trace_page() -> str:
    from aotriton.cli.trace import FIELDS, STATUSES

    text = ["# The trace\n", MARK]
    text.append(
        "What `aotriton explain --json`, `aotriton_kernel_explain` and `explain_attn_fwd` give: JSON, with all of\n"
        "these fields. What dispatch didn't come to is null or empty.\n"
    )
    text += ["| field | what it says |", "|---|---|"]
    text += [f"| `{name}` | {meaning} |" for name, meaning in FIELDS.items()]
    text += ["\n| status | what it means |", "|---|---|"]
    text += [f"| `{name}` | {meaning} |" for name, meaning in STATUSES.items()]
    return "\n".join(text) + "\n"


PAGES = {"commands.md": commands_page, "trace.md": trace_page}


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = []
    for name, make in PAGES.items():
        path, text = HERE / name, make()
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text, encoding="utf-8")
    print(f"{'stale' if check else 'written'}: {', '.join(stale)}" if stale else "all pages are up to date")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
