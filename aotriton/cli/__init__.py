"""The commands: argument parsing and printing only; each command calls the stage that does the work."""

from aotriton.cli.command_line import main, parser

__all__ = ["main", "parser"]
