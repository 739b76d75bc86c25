"""Gives orders to a process that commits (hand.py), with a fault where one is wanted, and tells how it ended."""

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import onepen

from .strace import Fault, Point, Strace, points

_LIMIT = 120.0  # seconds without an answer, after which it is one that hangs, however busy the machine is


@dataclass(frozen=True)
class Ended:
    """How an order ended: the exit code (-9: killed), the last change that was acknowledged, and how far it came.

    `kinds` are the classes of the error that ended it, `stage` what was done before: begun, open or closed.
    """

    code: int
    reached: int
    stage: str
    kinds: tuple[str, ...] = ()
    message: str = ""
    errno: int | None = None
    filename: str = ""
    out: str = ""

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def done(self) -> bool:
        return self.code == 0


@dataclass(frozen=True)
class Way:
    """How an order is carried out: how many changes are committed together, and how soon they are on the disk.

    `lazy` is "" (at once), "waiting" (when the pen is put down) or "flushed" (after each group). `drip` is the most
    that the system takes of one write; 0: all of it.
    """

    group: int = 1
    lazy: str = ""
    drip: int = 0


ONE_BY_ONE = Way()


class Hands:
    """A warm process whose children carry out orders, one at a time; close it, or use it as a context manager.

    `package` is the folder that holds the onepen to try.
    """

    def __init__(self, scratch: Path, package: Path | None = None) -> None:
        self._trace = scratch / "strace.out"
        folder = package or Path(onepen.__file__).parents[1]
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(scratch), "PYTHONPATH": str(folder)}
        self._server = subprocess.Popen(
            [sys.executable, "-P", "-m", "onepen.testing.hand"],
            env=env, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def order(
        self, root: Path, do: str = "commit", *, to: int = 0, fault: Fault | None = None, way: Way = ONE_BY_ONE
    ) -> Ended:
        """Commit the changes 1 to `to` unless they are committed; or "open" the pen, or ask "doctor"."""
        pid = self._start(root, do, to, way)
        if fault is None:
            return self._go(pid)
        with Strace(pid, self._trace, fault):
            return self._go(pid)

    def points(self, root: Path, do: str = "commit", *, to: int = 0, way: Way = ONE_BY_ONE) -> tuple[Point, ...]:
        """Carry out an order and tell the calls by which it touches the workspace."""
        pid = self._start(root, do, to, way)
        with Strace(pid, self._trace):
            ended = self._go(pid)
        assert ended.done, ended
        return points(self._trace.read_text(errors="replace"), root)

    def close(self) -> None:
        if self._server.stdin is not None:
            self._server.stdin.close()
        self._server.wait(_LIMIT)
        if self._server.stdout is not None:
            self._server.stdout.close()

    def __enter__(self) -> "Hands":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, root: Path, do: str, to: int, way: Way) -> int:
        self._say({"root": str(root), "do": do, "to": to, **asdict(way)})
        return int(self._hear()["pid"])

    def _go(self, pid: int) -> Ended:
        self._say({})
        try:
            told = self._hear()
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self._hear()
            raise
        fault = told["fault"] or {}
        return Ended(
            told["status"], told["reached"], fault.get("stage", told["stage"]), tuple(fault.get("kinds", ())),
            fault.get("message", ""), fault.get("errno"), fault.get("filename", ""), told["out"],
        )  # fmt: skip

    def _say(self, order: dict[str, object]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()

    def _hear(self) -> Any:
        assert self._server.stdout is not None
        if not select.select([self._server.stdout], [], [], _LIMIT)[0]:
            raise TimeoutError(f"no answer within {_LIMIT} s")
        line = self._server.stdout.readline()
        assert line, "the process that commits has ended"
        return json.loads(line)
