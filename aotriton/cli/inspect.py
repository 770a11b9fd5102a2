"""`aotriton inspect`: what is in packs, in a kernel's ZIP, in a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from aotriton.cli.output import print_json, print_table, size_text
from aotriton.cli.zips import find_zips, label
from aotriton.errors import PackError

__all__ = ["add", "print_summaries", "run", "summaries"]


def add(commands: Any) -> None:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "inspect",
        help="show what packs hold",
        description="Show what packs hold: of a folder, its kernels; of a kernel's ZIP, its axes, functionals, "
        "configs, resources and what was excluded; of a cluster, its images.",
    )
    parser.add_argument("path", type=Path, help="a folder of packs, a pack, a kernel's ZIP, or a cluster (.aks2)")
    parser.add_argument("--entry", metavar="TEXT", help="of a ZIP: the cluster of the functional whose name has TEXT")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show one path."""
    path: Path = arguments.path
    if path.is_file() and path.suffix == ".aks2":
        _show_clusters([(str(path), path.read_bytes())], arguments.json)
    elif arguments.entry is not None:
        _show_clusters(_entries(path, arguments.entry), arguments.json)
    elif path.is_file():
        _show_zip(path, arguments.json)
    else:
        _show_folder(path, arguments.json)
    return 0


def _index(path: Path) -> dict[str, Any]:
    from aotriton.pack.flatbuffer import read_index
    from aotriton.pack.flatzip import INDEX, open_zip

    with open_zip(path) as archive:
        return read_index(archive.read(INDEX), f"{path}: {INDEX}")


# ---- a folder ----


def summaries(path: Path) -> list[dict[str, Any]]:
    """One summary for each kernel and target at or below a path."""
    return [
        {"kernel": label(zip_path), "file": str(zip_path), **_summary(target)}
        for zip_path in find_zips(path)
        for target in _index(zip_path)["targets"]
    ]


def _summary(target: dict[str, Any]) -> dict[str, Any]:
    images = [image for functional in target["functionals"] for image in functional["images"]]
    return {
        "target": target["name"],
        "functionals": len(target["functionals"]),
        "code_objects": len(images),
        "bytes": sum(image["bytes"] for image in images),
        "most_registers": max((image["registers"] for image in images), default=-1),
        "most_shared": max((image["shared"] for image in images), default=0),
        "with_spills": sum(image["spills"] > 0 for image in images),
        "excluded": sum(len(exclusion["numbers"]) for exclusion in target["exclusions"] or ()),
    }


def _show_folder(path: Path, as_json: bool) -> None:
    if as_json:
        print_json(summaries(path))
    else:
        print_summaries(path)


def print_summaries(path: Path) -> None:
    """Print a table with a row for each kernel and target at or below a path."""
    head = ("kernel", "target", "functionals", "code objects", "size", "registers", "with spills", "excluded")
    print_table(head, [_row(summary) for summary in summaries(path)])


def _row(summary: dict[str, Any]) -> tuple[object, ...]:
    return (
        summary["kernel"],
        summary["target"],
        summary["functionals"],
        summary["code_objects"],
        size_text(summary["bytes"]),
        *(("–", "–") if summary["target"] == "host" else (summary["most_registers"], summary["with_spills"])),
        summary["excluded"],
    )


# ---- a kernel's ZIP ----


def _show_zip(path: Path, as_json: bool) -> None:
    index = _index(path)
    if as_json:
        print_json(_printable(index))
        return
    print(f"{index['family']}/{index['kernel']}: {len(index['arguments'])} arguments, entry {index['symbol']}")
    for kind in ("build", "compiler"):
        print(f"{kind}")
        for item in index[kind] or ():
            print(f"  {item['key']:<32} {item['value']}")
    print(f"grid\n  {', '.join(expression['text'] for expression in index['grid'])}")
    print("axes")
    for axis in index["axes"]:
        print(f"  {axis['label']:<32} {', '.join(choice['text'] for choice in axis['choices'])}")
    for target in index["targets"]:
        print(f"target {target['name']}")
        for functional in target["functionals"]:
            _show_functional(index, functional)
        for exclusion in target["exclusions"] or ():
            print(f"  {len(exclusion['numbers'])} functionals {_EXCLUDED[exclusion['kind']]}: {exclusion['reason']}")


_EXCLUDED = {"described": "excluded by the description", "failed": "that failed to compile"}


def _show_functional(index: dict[str, Any], functional: dict[str, Any]) -> None:
    table = index["tables"][functional["table"]]
    print(f"  {functional['text']}\n    table: {table['source']}, {len(table['cells'])} cell(s)")
    for image in functional["images"]:
        config = index["configs"][image["config"]]
        facts = [size_text(image["bytes"]), f"{image['shared']} bytes shared", f"{image['threads']} threads"]
        if image["registers"] > 0:
            facts.append(f"{image['registers']} registers")
        if image["spills"] > 0:
            facts.append(f"{image['spills']} bytes of spills")
        facts += _launch_facts(image)
        print(f"    {config['performance']}; {config['options']}: {', '.join(facts)}")


def _launch_facts(image: dict[str, Any]) -> list[str]:
    """What a launch needs beyond a grid, threads and shared memory."""
    facts = [f"clusters of {image['num_ctas']}"] if image["num_ctas"] > 1 else []
    facts += [f"{name} launch" for name in ("dependent", "cooperative") if image[name]]
    for one in image["tensor_maps"] or ():
        facts.append(f"tensor map of {' x '.join(map(str, one['block']))}, swizzle {one['swizzle']}")
    return facts


def _printable(value: Any) -> Any:
    """JSON's types only; hashes, which are bytes or lists of them, as hexadecimal text."""
    if isinstance(value, dict):
        return {key: bytes(v).hex() if key == "sha256" else _printable(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    return value


# ---- a cluster ----


def _entries(path: Path, text: str) -> Iterator[tuple[str, bytes]]:
    """Where each cluster with `text` in its name lies, with its bytes; ZIPs that have none are left out."""
    from aotriton.pack.flatzip import INDEX, open_zip

    found = False
    for zip_path in find_zips(path):
        with open_zip(zip_path) as archive:
            for name in [entry.name for entry in archive if text in entry.name and entry.name != INDEX]:
                found = True
                yield f"{zip_path}: {name}", archive.read(name)
    if not found:
        raise PackError(f"{path} has no cluster with `{text}` in its name", f"`aotriton inspect {path}` lists them")


def _show_clusters(clusters: Iterable[tuple[str, bytes]], as_json: bool) -> None:
    from aotriton.pack.aks2 import decode

    decoded = ((source, data, decode(data, source)) for source, data in clusters)
    if as_json:
        print_json([_cluster(source, data, images) for source, data, images in decoded])
        return
    for source, data, images in decoded:
        print(f"{source}: {len(images)} image(s), {size_text(len(data))} compressed")
        for image in images:
            facts = size_text(len(image.data)), f"{image.shared} bytes shared", f"{image.threads} threads"
            print(f"  {image.name}\n    {', '.join(facts)}")


def _cluster(source: str, data: bytes, images: Sequence[Any]) -> dict[str, Any]:
    rows = [
        {"name": i.name, "bytes": len(i.data), "shared": i.shared, "threads": i.threads, "sha256": i.sha256.hex()}
        for i in images
    ]
    return {"source": source, "bytes": len(data), "images": rows}
