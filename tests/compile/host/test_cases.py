"""Small inputs that have broken attention libraries, on the host; a GPU runs the same ones."""

import pytest

from tests.tools.cases import *  # noqa: F403 - all of them
from tests.tools.memory import HostMemory


@pytest.fixture
def memory(on_host):
    """NumPy's own."""
    return HostMemory()
