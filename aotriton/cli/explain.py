"""`aotriton explain`: where a problem goes on a device or target, and why. It calls what a launch calls."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from aotriton.cli.arguments import parse_argument, parse_numbers
from aotriton.cli.output import HelpText, print_json
from aotriton.cli.trace import trace_lines
from aotriton.errors import ArgumentError, PackError
from aotriton.runtime import TensorSpec, add_pack_path, explain_attn_fwd, open_kernel

__all__ = ["add", "run"]

_EXAMPLES = """examples:
  aotriton explain attn_fwd --target gfx942 --shape 2,8,512,64 --dtype fp16 --causal top-left
  aotriton explain attn_fwd --device host --shape 1,8,37,64 --kv-heads 2 --seqlen-k 130
  aotriton explain norm/rms_norm --packs build/packs --target sm_90 --arg X=fp16[37,1000] --arg W=fp16[1000] \\
      --arg Y=fp16[37,1000] --arg Rows=37 --arg Columns=1000 --arg Epsilon=1e-6"""


_OF_ATTENTION = ("shape", "kv_heads", "seqlen_k", "head_dim_v", "causal", "window", "lse")


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "explain",
        help="say where a problem goes, and why",
        description="Say which code object serves a problem, with what was turned down: the trace of the choice that a "
        "launch would make. Nothing is loaded or launched. The exit code is 1 where nothing serves it.",
        epilog=_EXAMPLES,
        formatter_class=HelpText,
    )
    parser._negative_number_matcher = re.compile(r"-\d")  # so that `--window -1,0` has a value, and no option `-1,0`
    parser.add_argument("what", help="attn_fwd, or a kernel as FAMILY/KERNEL")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--target", help="a target, which need not be on this machine")
    where.add_argument("--device", help="a device of this machine: hip:0, cuda:0, host, record:gfx942")
    parser.add_argument("--packs", metavar="FOLDER", help="a folder of packs to search first")
    parser.add_argument("--json", action="store_true", help="print the trace as JSON")
    attention = parser.add_argument_group("the problem, for attn_fwd")
    attention.add_argument("--shape", metavar="B,H,S,D", help="batch, heads, sequence length, head dim of the queries")
    attention.add_argument("--dtype", default="fp16", choices=("fp16", "bf16", "fp32"), help="default: %(default)s")
    attention.add_argument("--kv-heads", type=int, metavar="H", help="heads of keys and values; default: the queries'")
    attention.add_argument("--seqlen-k", type=int, metavar="S", help="number of keys; default: the queries'")
    attention.add_argument("--head-dim-v", type=int, metavar="D", help="head dim of the values; default: the queries'")
    attention.add_argument("--causal", choices=("top-left", "bottom-right"), help="mask what comes later")
    attention.add_argument("--window", metavar="LEFT,RIGHT", help="mask what is farther away; -1: no limit")
    attention.add_argument("--lse", action="store_true", help="ask for the log-sum-exp too")
    kernel = parser.add_argument_group("the problem, for a kernel")
    kernel.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a number, or a tensor: fp16[37,1000], with strides fp16[37,1000]:2000,1, "
        "with a base aligned to 2 bytes only fp16[37,1000]@2",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Explain one problem."""
    if arguments.packs is not None and not Path(arguments.packs).is_dir():
        raise PackError(f"there is no folder {arguments.packs}", "`aotriton build --out FOLDER` makes packs")
    device = f"target:{arguments.target}" if arguments.target else arguments.device
    trace = _attention(arguments, device) if arguments.what == "attn_fwd" else _kernel(arguments, device)
    if arguments.json:
        print_json(trace)
    else:
        print("\n".join(trace_lines(trace)))
    return 0 if trace["status"] == "success" else 1


def _attention(arguments: argparse.Namespace, device: str) -> dict[str, Any]:
    if arguments.arg:
        raise ArgumentError("--arg is for kernels", "attn_fwd takes --shape and what stands beside it in --help")
    if not arguments.shape:
        raise ArgumentError("attn_fwd needs --shape", "--shape 2,8,512,64 is batch, heads, sequence length, head dim")
    batch, heads, seqlen, dim = parse_numbers(arguments.shape, 4)
    kv_heads = heads if arguments.kv_heads is None else arguments.kv_heads
    seqlen_k = seqlen if arguments.seqlen_k is None else arguments.seqlen_k
    dim_v = dim if arguments.head_dim_v is None else arguments.head_dim_v
    shapes = (batch, heads, seqlen, dim), (batch, kv_heads, seqlen_k, dim), (batch, kv_heads, seqlen_k, dim_v)
    left_right = parse_numbers(arguments.window, 2) if arguments.window else None
    if arguments.packs:
        add_pack_path(arguments.packs)
    return explain_attn_fwd(
        *(TensorSpec(shape, arguments.dtype) for shape in shapes),
        causal=arguments.causal.replace("-", "_") if arguments.causal else False,
        window=(left_right[0], left_right[1]) if left_right else None,
        lse=True if arguments.lse else None,
        device=device,
    )


def _kernel(arguments: argparse.Namespace, device: str) -> dict[str, Any]:
    family, slash, name = arguments.what.partition("/")
    if not slash:
        raise ArgumentError(f"`{arguments.what}` is no operator", "attn_fwd is one; a kernel is named FAMILY/KERNEL")
    misplaced = [name for name in _OF_ATTENTION if getattr(arguments, name) not in (None, False)]
    if misplaced:
        raise ArgumentError(
            f"--{misplaced[0].replace('_', '-')} is for attn_fwd", "a kernel takes its arguments by --arg NAME=VALUE"
        )
    given: dict[str, Any] = dict(parse_argument(text) for text in arguments.arg)
    return open_kernel(family, name, arguments.packs, device).explain(given)
