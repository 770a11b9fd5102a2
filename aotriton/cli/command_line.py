"""The command line as a whole: its parser, and errors turned into messages and exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from aotriton import __version__
from aotriton.cli import build, demo, doctor, explain, inspect, sim, targets, tune, verify
from aotriton.cli.output import EXIT_CODES, complain
from aotriton.errors import AotritonError, ArgumentError, CompileError

__all__ = ["main", "parser"]

_COMMANDS = (targets, build, inspect, explain, verify, tune, sim, doctor, demo)


def parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line, which the reference page is generated from too."""
    top = argparse.ArgumentParser(
        prog="aotriton",
        description="Compile Triton kernels ahead of time for many GPUs, look into packs, and explain choices.",
        epilog="exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()),
    )
    top.add_argument("--version", action="version", version=f"aotriton {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; the entry point of `aotriton`."""
    arguments = parser().parse_args(words)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except ArgumentError as error:
        complain(error)
        return 2
    except CompileError as error:
        complain(error)
        return 1
    except AotritonError as error:
        complain(error)
        return 3
    except ModuleNotFoundError as error:  # an installed prefix has the run-time part only
        complain(
            AotritonError(
                f"`aotriton {arguments.command}` needs the module `{error.name}`, which is not installed here",
                "run it where the whole project is installed: its source tree after `make setup`",
            )
        )
        return 3
    except BrokenPipeError:  # a reader such as `head` has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("\ninterrupted; what was done is kept", file=sys.stderr)
        return 130
    return code
