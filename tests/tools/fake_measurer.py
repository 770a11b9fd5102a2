"""In the place of the process that measures a functional: makes results up, and misbehaves where it is told to.

FAKE_MEASURER is a JSON object: what befalls a position (`wrong`, `unchecked`, `fault`, `die`, `hang`, `unwritten`), and
under `problem` a length at which the process is killed; with `start` or `early` it comes to nothing at all.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any


def say(event: str, **facts: Any) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


def suffer(what: str | None) -> None:
    if what == "fault":
        say("error", kind="DeviceError", message="an illegal address was accessed", hint=None)
        sys.exit(1)
    if what == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "hang":
        time.sleep(600)


def main() -> int:
    order, fate = json.load(sys.stdin), json.loads(os.environ["FAKE_MEASURER"])
    if "start" in fate:
        say("error", kind="PackError", message="no such pack", hint="build it")
        return 1
    if "early" in fate:
        print("Traceback: it broke", file=sys.stderr)
        return 7
    right = []
    for position in order["positions"]:
        say("at", what="check", position=position, problem=None)
        what = fate.get(str(position))
        suffer(what)
        errors = {"wrong": {"out": 9.0}, "unchecked": {}}.get(str(what), {"out": 0.5})
        say("checked", position=position, errors=errors)
        right += [] if what in ("wrong", "unchecked") else [position]
    for problem in order["problems"] if right else []:
        say("at", what="prepare", position=None, problem=problem)
        length = next(iter(problem.values()), 0)
        if length == fate.get("problem"):
            os.kill(os.getpid(), signal.SIGKILL)
        unwritten = [position for position in right if fate.get(str(position)) == "unwritten"]
        times = {p: {"median": p + 1.0, "p20": p + 0.9, "p80": p + 1.1, "samples": 5} for p in right}
        failed = {position: times.pop(position) and "its output is not written" for position in unwritten}
        say("timed", problem=problem, times=times, failed=failed, clocks={"sm_clock": 1980})
    say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
