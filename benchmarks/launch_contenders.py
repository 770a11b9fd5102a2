"""What benchmarks/launch.py times beside this library, each on the same tiny problem: PyTorch and Triton."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

__all__ = ["pytorch_calls", "triton_calls"]


def pytorch_calls(q: Any, k: Any, v: Any) -> Iterator[tuple[str, Callable[[], Any] | str]]:
    """SDPA by each backend, no gradients, and the cheapest operation there is; or why one is left out."""
    attention = torch.nn.functional.scaled_dot_product_attention
    for title, backend in (
        ("PyTorch SDPA, FLASH", SDPBackend.FLASH_ATTENTION),
        ("PyTorch SDPA, cuDNN", SDPBackend.CUDNN_ATTENTION),
        ("PyTorch SDPA, memory-efficient", SDPBackend.EFFICIENT_ATTENTION),
    ):
        with sdpa_kernel([backend]), torch.no_grad():
            try:
                attention(q, k, v)
            except RuntimeError as error:
                yield title, f"PyTorch refuses: {str(error).splitlines()[0]}"
                continue
            yield title, lambda: attention(q, k, v)
    x, y = torch.zeros(2, 64, device=q.device)
    out = torch.empty_like(x)
    yield "torch.add(out=)", lambda: torch.add(x, y, out=out)


def triton_calls(device: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Triton's JIT launcher, everything compiled before."""
    import launch_triton

    x = torch.zeros(64, device=device)
    three, sixteen = launch_triton.add_one, launch_triton.add_many
    yield "Triton JIT, 3 arguments", lambda: three[(1,)](x, x, 64, BLOCK=64)
    tensors = [torch.zeros(64, device=device) for _ in range(8)]
    numbers = [64, 2, 3, 4, 5, 6, 7, 8]
    yield "Triton JIT, 16 arguments", lambda: sixteen[(1,)](*tensors, *numbers, BLOCK=64)
