"""Code objects of the target `host`: the kernel's own source with its constants, for Triton's interpreter."""

from __future__ import annotations

import hashlib
import json

from aotriton.compile.environment import Compiler
from aotriton.compile.objects import CodeObject, Resources
from aotriton.compile.task import Task

__all__ = ["host_object"]


def host_object(task: Task) -> CodeObject:
    """The source bundle of a task: UTF-8 JSON with all modules, the signature and the constants."""
    sources = task.sources
    bundle = {
        "format": 1,
        "entry": task.kernel.symbol,
        "module": sources.module,
        "modules": sources.modules,
        "signature": [[parameter.argument, task.type_of(parameter)] for parameter in task.functional.parameters],
        "constants": task.constants,
    }
    image = json.dumps(bundle, ensure_ascii=False, separators=(",", ":")).encode()
    return CodeObject(
        image=image,
        target=task.target.name,
        functional=task.functional,
        config=task.config,
        compiler=Compiler("none"),
        sha256=hashlib.sha256(image).hexdigest(),
        resources=Resources(0, 1, 1, 1, 0, 0, task.kernel.symbol, 0.0),
    )
