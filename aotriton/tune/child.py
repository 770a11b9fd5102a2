"""The process that measures one functional: what faults in it costs one config, or one problem, and nothing else.

It is told what to do by one JSON object on its standard input, and answers with one JSON object a line:

    {"event": "at", "what": "check" or "time", "position": 3, "problem": {…}}     before anything that may fault
    {"event": "checked", "position": 3, "errors": {…}}
    {"event": "timed", "problem": {…}, "times": {"3": {…}}, "failed": {"4": "reason"}, "clocks": {…}}
    {"event": "error", "kind": "DeviceError", "message": "…", "hint": "…"}        nothing more comes
    {"event": "done"}
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TextIO

from aotriton.describe import Functional, Kernel, load_family
from aotriton.errors import AotritonError, ArgumentError
from aotriton.runtime import Kernel as OpenKernel
from aotriton.runtime import open_device, open_kernel
from aotriton.tune.gpu import Gpu, clocks
from aotriton.tune.timing import Effort, summarise, take_turns
from aotriton.tune.workload import load_workload

__all__ = ["find_kernel", "main", "measure_functional"]

_WRONG = 1.0
_LARGEST = 1e30  # JSON has no infinity
_MOST_FLUSHES = 64
_TRIES = 5  # for a sample whose launch came too late


def find_kernel(family: str, title: str) -> Kernel:
    """A kernel by its family's module or file and its title or name.

    Raises
    ------
    ArgumentError
        The family has no such kernel.
    """
    kernels = load_family(family).kernels
    found = next((kernel for kernel in kernels if title in (kernel.title, kernel.name)), None)
    if found is None:
        raise ArgumentError(f"{family} has no kernel {title!r}; it has {', '.join(one.title for one in kernels)}")
    return found


class _Measured:
    """One functional on one GPU."""

    def __init__(self, order: Mapping[str, Any], answers: TextIO) -> None:
        self.order, self.answers = order, answers
        kernel = find_kernel(order["family"], order["kernel"])
        self.functional: Functional = kernel.functional(order["number"])
        self.workload = load_workload(kernel, order["workload"], order["sizes"])
        device = open_device(order["device"])
        self.gpu = Gpu(device)
        self.ordinal = device.ordinal
        self.opened: OpenKernel = open_kernel(kernel.family, kernel.name, order["packs"], device)
        self.flushes = 1
        self.events = self.gpu.event(), self.gpu.event()

    def answer(self, event: str, **facts: Any) -> None:
        self.answers.write(json.dumps({"event": event, **facts}) + "\n")
        self.answers.flush()

    def check(self, position: int) -> bool:
        """Whether a config is right."""

        def launch(arguments: Mapping[str, Any]) -> None:
            self.expect(arguments, position)
            self.opened.launch(arguments, config=position)

        self.answer("at", what="check", position=position, problem=None)
        errors = self.workload.errors(self.gpu, self.functional, launch)
        self.answer("checked", position=position, errors={name: min(e, _LARGEST) for name, e in errors.items()})
        return bool(errors) and all(error <= _WRONG for error in errors.values())

    def expect(self, arguments: Mapping[str, Any], position: int) -> None:
        """A launch with these arguments goes to the functional that is measured."""
        trace = self.opened.explain(arguments, config=position)
        if trace["status"] != "success" or trace["functional"]["number"] != self.functional.number:
            raise ArgumentError(
                f"the workload's arguments don't lead to {self.functional.signature}, but to "
                f"{(trace['functional'] or {}).get('signature')}: {trace['reason']}"
            )

    def time(self, problem: Mapping[str, int], positions: list[int], effort: Effort) -> None:
        """Time configs in turns on one problem."""
        self.answer("at", what="prepare", position=None, problem=problem)
        arguments = self.workload.timed(self.gpu, self.functional, problem)
        ready, failed = [], {}
        for position in positions:
            self.answer("at", what="time", position=position, problem=problem)
            self.expect(arguments, position)
            self.workload.poison(self.gpu, arguments)
            self.opened.launch(arguments, config=position)
            self.gpu.synchronise()
            if self.workload.written(self.gpu, arguments):
                ready.append(position)
            else:
                failed[position] = "its output is not written, or not a number"
        self.answer("at", what="turns", position=None, problem=problem)
        samples = take_turns(ready, lambda position: self.sample(arguments, position), effort, time.monotonic)
        times = {position: asdict(summarise(values)) for position, values in samples.items()}
        self.answer("timed", problem=problem, times=times, failed=failed, clocks=clocks(self.ordinal))

    def sample(self, arguments: Mapping[str, Any], position: int) -> float:
        """One launch's time on the device, with nothing of its data in the L2 cache.

        The GPU must be busy with the flush until the launch is enqueued, else its waiting would be counted.
        """
        start, end = self.events
        for _ in range(_TRIES):
            for _ in range(self.flushes):
                self.gpu.flush()
            self.gpu.record(start)
            self.opened.launch(arguments, config=position)
            late = self.gpu.reached(start)
            self.gpu.record(end)
            elapsed = self.gpu.microseconds(start, end)
            if not late:
                return elapsed
            self.flushes = min(2 * self.flushes, _MOST_FLUSHES)
        return elapsed


def measure_functional(order: Mapping[str, Any], answers: TextIO) -> None:
    """Check every config, then time those that are right on every problem."""
    measured = _Measured(order, answers)
    right = [position for position in order["positions"] if measured.check(position)]
    for problem in order["problems"] if right else []:
        measured.time(problem, right, Effort(**order["effort"]))
    measured.answer("done")


def main() -> int:
    """The program: an order on standard input, answers on standard output."""
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        measure_functional(json.load(sys.stdin), answers)
    except AotritonError as error:
        answer = {"event": "error", "kind": type(error).__name__, "message": error.message, "hint": error.hint}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
