"""From descriptions to code objects: build sets, plans, workers, the cache. The only stage that runs Triton."""

from __future__ import annotations

from aotriton.compile.build import MEMORY, TIMEOUT, Outcome, Progress, compile_tasks, default_workers
from aotriton.compile.cache import Cache, Entry, default_cache
from aotriton.compile.candidates import Candidates, Dropped, drop_unfit
from aotriton.compile.cost import Estimate, estimate
from aotriton.compile.environment import Compiler, Environment
from aotriton.compile.host import host_object
from aotriton.compile.objects import CodeObject, Failure, Resources, Status
from aotriton.compile.planning import Excluded, Plan, plan
from aotriton.compile.progress import make_progress
from aotriton.compile.report import Report, Row, make_report
from aotriton.compile.sets import BuildSet, Selection, build_sets, load_set
from aotriton.compile.tables import LookupTable, table_for
from aotriton.compile.task import Task

__all__ = [
    "MEMORY",
    "TIMEOUT",
    "BuildSet",
    "Cache",
    "Candidates",
    "CodeObject",
    "Compiler",
    "Dropped",
    "Entry",
    "Environment",
    "Estimate",
    "Excluded",
    "Failure",
    "LookupTable",
    "Outcome",
    "Plan",
    "Progress",
    "Report",
    "Resources",
    "Row",
    "Selection",
    "Status",
    "Task",
    "build_sets",
    "compile_tasks",
    "default_cache",
    "default_workers",
    "drop_unfit",
    "estimate",
    "host_object",
    "load_set",
    "make_progress",
    "make_report",
    "plan",
    "table_for",
]
