"""A process that commits, to be hit by faults: `python -m onepen.testing.hand`; hands.py is the other end.

It is ready before it is asked: each order is carried out by a child of its own, which waits for the word to go on, so
that a tracer can attach, and then does nothing but the order. What the child reached it notes in memory that it shares
with this process: no system call of it is other than those of the order itself.

Order, one JSON object a line: `{"root": …, "do": "commit" | "open" | "doctor", "to": 8, …}`. Answers: `{"pid": …}`,
and, after a line of any content, `{"status": …, "reached": …, "stage": …, "fault": …}` once the child has ended.
"""

import contextlib
import json
import mmap
import os
import signal
import struct
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..memory.commit.durability import Durability
from ..memory.commit.pen import AlreadyCommitted, Pen
from ..memory.files import Disk
from ..memory.history import Commit
from ..memory.workspace import open_workspace
from .deeds import CLOCK, begin, new_machine, work

STAGES = ("begun", "open", "closed")
_SHARED = 8192
_HEAD = struct.Struct("iii")  # reached, stage, length of the fault's text


class Drip(Disk):
    """A disk that takes at most a few bytes of a write, as the system may."""

    def __init__(self, most: int) -> None:
        self._most = most

    def write(self, fd: int, data: memoryview) -> int:
        return super().write(fd, data[: self._most])


class _Note:
    """What a child reached, in memory that its parent sees."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SHARED)

    def write(self, reached: int, stage: int, fault: str = "") -> None:
        text = fault.encode()[: _SHARED - _HEAD.size]
        self._memory[_HEAD.size : _HEAD.size + len(text)] = text
        self._memory[: _HEAD.size] = _HEAD.pack(reached, stage, len(text))

    def read(self) -> tuple[int, int, str]:
        reached, stage, length = _HEAD.unpack(self._memory[: _HEAD.size])
        return reached, stage, self._memory[_HEAD.size : _HEAD.size + length].decode()

    def close(self) -> None:
        self._memory.close()


def _carry_out(order: Mapping[str, Any], note: _Note) -> None:
    """The order; how far it came is noted at each step."""
    root, reached, stage = Path(order["root"]), 0, 0
    disk = Drip(int(order["drip"])) if order.get("drip") else Disk()
    durability = Durability.LAZY if order.get("lazy") else Durability.FULL
    step, to = int(order.get("group") or 1), int(order.get("to", 0))
    try:
        pen = Pen.open(
            open_workspace(root), CLOCK, wait=0, new_machine=new_machine, disk=disk, durability=durability
        )  # fmt: skip
        stage = 1
        note.write(reached, stage)
        try:
            for first in range(1, to + 1, step):
                last = min(first + step - 1, to)
                for outcome in pen.commit_group([work(n, root) for n in range(first, last + 1)]):
                    if not isinstance(outcome, Commit | AlreadyCommitted):
                        raise outcome
                if order.get("lazy") == "flushed":
                    pen.flush()
                reached = last
                note.write(reached, stage)
        finally:
            pen.close()
        note.write(reached, 2)
    except Exception as e:
        kinds = [kind.__name__ for kind in type(e).__mro__]
        told = {"kinds": kinds, "message": str(e), "errno": getattr(e, "errno", None), "stage": STAGES[stage]}
        note.write(reached, stage, json.dumps({**told, "filename": str(getattr(e, "filename", None) or "")}))
        raise


def _doctor(root: str, out: int) -> int:
    from ..orchestrator.commands.app import call

    os.dup2(out, 1)
    os.dup2(out, 2)
    return call(["-C", root, "doctor", "--json"])


def _child(order: Mapping[str, Any], note: _Note, go: int, out: int) -> None:
    code = 0
    try:
        os.read(go, 1)
        if order["do"] == "doctor":
            code = _doctor(order["root"], out)
            sys.stdout.flush()
        else:
            _carry_out(order, note)
    except BaseException:  # noqa: BLE001 - the end of a process: what it was is in the note
        code = code or 9
    finally:
        os._exit(code)


def _serve() -> None:
    _warm()
    for line in sys.stdin:
        order = json.loads(line)
        note = _Note()
        waits, goes = os.pipe()
        out = os.memfd_create("out")
        pid = os.fork()
        if pid == 0:
            os.close(goes)
            _child(order, note, waits, out)
        os.close(waits)
        _say({"pid": pid})
        sys.stdin.readline()
        os.write(goes, b"g")
        os.close(goes)
        _, status = os.waitpid(pid, 0)
        reached, stage, fault = note.read()
        with os.fdopen(out, "rb") as file:
            file.seek(0)
            said = file.read().decode()
        note.close()
        told = {"reached": reached, "stage": STAGES[stage], "fault": json.loads(fault) if fault else None}
        _say({"status": os.waitstatus_to_exitcode(status), "out": said, **told})


def _warm() -> None:
    """Load all that an order needs, so that no child has to."""
    with tempfile.TemporaryDirectory() as folder, _silent() as out:
        root = Path(folder) / "ws"
        begin(root)
        _carry_out({"root": root, "to": 3}, _Note())
        _doctor(str(root), out)


@contextlib.contextmanager
def _silent() -> Any:
    kept = os.dup(1), os.dup(2)
    out = os.memfd_create("silent")
    yield out
    sys.stdout.flush()
    for fd, old in enumerate(kept, 1):
        os.dup2(old, fd)
        os.close(old)
    os.close(out)


def _say(answer: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _serve()
