"""The trace of a choice: what its fields mean, and how people read it."""

from __future__ import annotations

from typing import Any

__all__ = ["FIELDS", "STATUSES", "trace_lines"]

FIELDS = {
    "operator": "the operator that was called, `attn_fwd`; null where a kernel was launched by name",
    "family": "the kernel's family",
    "kernel": "the kernel's name",
    "device": "the device's name, or `target:…`",
    "target": "the device's target",
    "status": "what the launch returns; below",
    "reason": "why it is not `success`, in words; null where it is",
    "pack": "the kernel's ZIP",
    "functional": "the functional that serves the problem: its `number` in the kernel's choices, its `signature`",
    "substituted": "by axis, where another choice serves than the requested one: `axis`, `requested`, `used`",
    "rejected": "functionals that were tried and turned down: `functional`, `reason`",
    "table": "the look-up table: its `source`, and for each key its `value` and the `bin` that the value fell into",
    "config": "the config: `performance`, `options`, and its `index` among the functional's",
    "image": "the code object: `name`, `sha256`, `shared` memory, `threads`, `registers`, `spills`; −1 is unknown",
    "grid": "blocks along x, y and z",
    "notes": "what else is worth knowing: a pack of another target that serves, a capped grid, a forced config",
    "loaded": "whether this call found or put the code object on the device",
    "launched": "whether this call launched the kernel",
}
"""Each field of the trace, and what it says; `docs/reference/trace.md` is made from this."""

STATUSES = {
    "success": "a code object serves the problem",
    "invalid_argument": "an argument is not what the kernel takes",
    "invalid_version": "a struct of another version",
    "no_device": "no such device, or one that can only be asked",
    "no_pack": "no pack has this kernel for the device",
    "bad_pack": "a file of the pack is damaged",
    "unsupported": "the kernel doesn't cover the problem, or the description excludes it",
    "not_built": "the kernel covers the problem, but the pack has no code object for it",
    "driver_error": "the driver refused",
    "out_of_memory": "there is no memory left",
    "internal_error": "a fault of the library's own; please report it",
}
"""Each status, and what it means."""

_RESOURCES = {
    "shared": "bytes of shared memory",
    "threads": "threads",
    "registers": "registers",
    "spills": "bytes of spills",
}


def trace_lines(trace: dict[str, Any]) -> list[str]:
    """The trace as lines for people; what dispatch didn't come to is left out."""
    lines = [f"{trace['family']}/{trace['kernel']} on {trace['device']}: {trace['status'].replace('_', ' ')}"]
    lines += _line("reason", trace["reason"])
    lines += _line("pack", trace["pack"])
    lines += _line("functional", (trace["functional"] or {}).get("signature"))
    for item in trace["substituted"]:
        lines += _line("substituted", f"{item['axis']}: {item['requested']} → {item['used']}")
    if trace["table"]:
        keys = [f"{name} {key['value']} in bin {key['bin']}" for name, key in trace["table"]["keys"].items()]
        lines += _line("table", ", ".join([trace["table"]["source"], *keys]))
    if trace["config"]:
        lines += _line("config", f"{trace['config']['performance']}; {trace['config']['options']}")
    if trace["image"]:
        known = [f"{trace['image'][key]} {text}" for key, text in _RESOURCES.items() if trace["image"][key] >= 0]
        lines += _line("image", ", ".join(known))
    lines += _line("grid", " × ".join(map(str, trace["grid"] or ())))
    for item in trace["rejected"]:
        lines += [*_line("turned down", item["functional"]), *_line("", f"because {item['reason']}")]
    for text in trace["notes"]:
        lines += _line("note", text)
    return lines


def _line(name: str, text: str | None) -> list[str]:
    return [f"  {name:<12} {text}"] if text else []
