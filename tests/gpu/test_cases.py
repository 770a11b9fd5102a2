"""Small inputs that have broken attention libraries, on a GPU; `host` runs the same ones."""

from tests.tools.cases import *  # noqa: F403 - all of them
