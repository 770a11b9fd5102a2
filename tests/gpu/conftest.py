"""A GPU through PyTorch, which only lends memory here: tensors go in by DLPack."""

import pytest


@pytest.fixture(scope="session")
def torch_gpu():
    """PyTorch with a GPU, and the device's name in it."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    return torch, "cuda"
