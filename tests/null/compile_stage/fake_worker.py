"""A worker that speaks the pool's language and compiles nothing: the kernel's name says what it does."""

from __future__ import annotations

import json
import os
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from elves import amd_object  # stands beside this file

incoming = Connection(int(sys.argv[1]), writable=False)
outgoing = Connection(int(sys.argv[2]), readable=False)
outgoing.send_bytes(b"")
while True:
    try:
        task = json.loads(incoming.recv_bytes())
    except EOFError:
        break
    if count := os.environ.get("FAKE_WORKER_COUNT"):
        with Path(count).open("a") as file:
            file.write(f"{os.getpid()} {task['target']['arch']} {task['constants']['BLOCK']}\n")
    behaviour = os.environ.get(f"FAKE_WORKER_{task['constants']['BLOCK']}", "")
    Path(task["log"]).write_text(f"this is the log of {behaviour}\n")
    if behaviour == "hang":
        time.sleep(1000)
    if behaviour == "crash":
        os.abort()
    if behaviour == "half":
        outgoing.send_bytes(json.dumps({"status": "Complete", "metadata": {}, "seconds": 1, "resident": 1}).encode())
        os._exit(3)
    if behaviour == "refuse":
        outgoing.send_bytes(json.dumps({"status": "Exception", "reason": "no", "resident": 1}).encode())
        continue
    metadata = {"name": task["function"], "shared": 64, "num_warps": 4, "num_ctas": 1, "warp_size": 64}
    if behaviour == "scratch":
        metadata["global_scratch_size"] = 128
    resident = 1 << 40 if behaviour == "fat" else 1
    outgoing.send_bytes(
        json.dumps({"status": "Complete", "metadata": metadata, "seconds": 0.5, "resident": resident}).encode()
    )
    outgoing.send_bytes(amd_object(task["function"], task["target"]["arch"]))
