"""Integers of 2**63 and more: the C API takes them as the same 64 bits of a signed number, which suits a u64 alone."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from aotriton.errors import ArgumentError
from aotriton.runtime.zips import index_of

__all__ = ["check_wide"]


@lru_cache(maxsize=8)
def _types(pack: str) -> tuple[dict[str, str], dict[int, dict[str, str]]]:
    """What a pack's index says of arguments: their declared types by name, and those of each functional's code."""
    index = index_of(pack)
    names = [argument["name"] for argument in index["arguments"]]
    signatures = [
        {names[one["argument"]]: one["type"] for one in signature["parameters"]} for signature in index["signatures"]
    ]
    functionals = [one for target in index["targets"] for one in target["functionals"]]
    declared = {argument["name"]: argument["type"] for argument in index["arguments"]}
    return declared, {one["number"]: signatures[one["signature"]] for one in functionals}


def check_wide(integers: dict[str, int], trace: dict[str, Any]) -> None:
    """Refuses integers of 2**63 and more for arguments that aren't u64.

    Parameters
    ----------
    integers : dict of str to int
        They, by the names of their arguments. Those that the kernel doesn't have are left to the library.
    trace : dict
        That of the choice which the launch would make; empty where there is none, which the library refuses.

    Raises
    ------
    ArgumentError
        An argument can't hold its integer.
    """
    if not trace.get("pack"):
        return
    declared, signatures = _types(trace["pack"])
    chosen = signatures.get(trace["functional"]["number"], {}) if trace.get("functional") else {}
    for name, value in integers.items():
        found = chosen.get(name) or declared.get(name)
        if found is None or found == "u64":
            continue
        if found.startswith(("fp", "bf")):
            raise ArgumentError(f"'{name}' is {value}, an integer of more than 63 bits", f"give {float(value)}")
        holder = "64 bits with a sign" if found == "none" else found
        raise ArgumentError(f"'{name}' is {value}, which {holder} can't hold")
