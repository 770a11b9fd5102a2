"""The command line: `python -m aotriton`, or `aotriton` where the package is installed."""

from __future__ import annotations

import sys

from aotriton.cli import main

if __name__ == "__main__":
    sys.exit(main())
