"""The line protocol between a command and the orchestrator of its workspace: one JSON object a line, UTF-8.

A connection carries one request. Both sides first say who they are:

    → {"onepen": 1, "version": "0.1.0", "workspace": "64768:393217"}
    ← {"onepen": 1, "version": "0.1.0", "workspace": "64768:393217", "pid": 4242, "since": "…", "busy": 0}
    → {"op": "log", "id": "5f0c…", "args": {"text": "called Ana"}, "scope": {…}, "setup": {…}}
    ← {"accepted": true}
    ← {"event": "progress", "task": "qw3cm1gk", "agent": "researcher", "text": "turn 2: write_draft"}
    → {"press": 1}
    ← {"result": {…}}       or       {"error": {"kind": "PenLost", "message": "…", "hint": null, "exit_code": 5}}

`workspace` is the device and inode of the workspace's folder: a socket that answers for another folder is believed by
nobody, nor is one whose process, as the kernel tells it, is another user's or not the one that it names. `accepted`
comes before anything is done. What was accepted goes on when the client goes away. `press` is Ctrl-C: once, nothing
new starts; twice, what runs ends now. An `op` or an argument that is not known is an error, and nothing is done.

A client of another version than the orchestrator's asks an idle one to make room (`down` with `idle_only`); that, the
first two lines and `error` stay as they are for all versions of `onepen: 1`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ...version import __version__
from ..errors import OrchestratorFault

PROTOCOL = 1
MOST = 8 << 20
"""Bytes of a line at most."""

Line = Mapping[str, object]


class Garbled(OrchestratorFault):
    """Raised when the other end sends what is no line of this protocol."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"socket of the orchestrator: {reason}", hint="onepen down")


@dataclass(frozen=True)
class Hello:
    """What an orchestrator says of itself; `busy` is how many requests it is at work on."""

    version: str
    workspace: str
    pid: int
    since: str
    busy: int

    def line(self) -> Line:
        return {
            "onepen": PROTOCOL,
            "version": self.version,
            "workspace": self.workspace,
            "pid": self.pid,
            "since": self.since,
            "busy": self.busy,
        }


def greeting(workspace: str) -> Line:
    """What a client says first."""
    return {"onepen": PROTOCOL, "version": __version__, "workspace": workspace}


def greeted(line: Line) -> tuple[str, str]:
    """A client's version and the folder that it means; raises Garbled."""
    _speaks(line)
    return _text(line, "version"), _text(line, "workspace")


def hello(line: Line) -> Hello:
    """An orchestrator's first line; raises Garbled."""
    _speaks(line)
    pid, busy = line.get("pid"), line.get("busy")
    if type(pid) is not int or type(busy) is not int:
        raise Garbled("a hello without pid and busy")
    return Hello(_text(line, "version"), _text(line, "workspace"), pid, _text(line, "since"), busy)


def encode(line: Line) -> bytes:
    """A line as bytes; half characters (an argument that is no UTF-8) stay JSON escapes. Raises Garbled."""
    data = json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    if len(data) > MOST:
        raise Garbled(f"a line of {len(data):,} bytes, {MOST:,} are the most")
    return data


def decode(data: bytes) -> Line:
    """The object on a line; raises Garbled."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise Garbled("a line that is no JSON") from e
    if not isinstance(found, dict):
        raise Garbled("a line that is no JSON object")
    return found


class Lines:
    """Bytes in, whole lines out."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._seen = 0

    def feed(self, data: bytes) -> list[Line]:
        """The lines that are whole now; raises Garbled for one that is too long or no object."""
        self._rest += data
        found = []
        while (end := self._rest.find(b"\n", self._seen)) >= 0:
            found.append(decode(bytes(self._rest[:end])))
            del self._rest[: end + 1]
            self._seen = 0
        self._seen = len(self._rest)
        if self._seen > MOST:
            raise Garbled(f"a line of more than {MOST:,} bytes")
        return found


def _speaks(line: Line) -> None:
    if line.get("onepen") != PROTOCOL:
        raise Garbled(f"protocol {line.get('onepen')!r}, this version speaks {PROTOCOL}")


def _text(line: Line, name: str) -> str:
    found = line.get(name)
    if not isinstance(found, str):
        raise Garbled(f"a line without {name}")
    return found
