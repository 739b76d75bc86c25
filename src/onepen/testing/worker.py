"""Workers that misbehave, as real small programs: what they do is a list of steps, done one after the other.

    pool = ProcessPool(worker(["hello"], ["print", "Loading…\\n"], ["report", {"summary": "done"}]))

Instead of a list it takes a mapping: then the steps are those of the first key that stands in the task's text.

It speaks the wire by its documentation, with nothing but the standard library, so that it also shows how little a
program needs to be a sub-agent. The steps:

    hello                     answer the assignment
    print TEXT                TEXT on stdout, as it stands, beside the wire
    bytes HEX                 these bytes on stdout
    send TYPE FIELDS…         one message of the wire
    glued [TYPE, FIELDS]…     several messages on one line, in one write
    split N TYPE FIELDS       one message in N writes with pauses
    report FIELDS             short for send report
    foreign TASK ATTEMPT TYPE FIELDS      a message in another's name
    ask FIELDS                a model_request; waits for the reply and prints it on stderr
    request TOOL INPUT        a tool_request; waits for the reply and prints it on stderr
    read                      wait for a line of the orchestrator and print it on stderr
    stderr N                  N bytes on stderr
    flood N                   N bytes of short lines on stdout
    endless N                 N bytes on stdout without a line end
    environment               the environment as JSON on stdout and stderr
    shell COMMAND             a shell command, run in the drafts folder; $DRAFTS, $INPUTS and $SPACE name the folders
    background COMMAND        the same, not waited for, holding stdin, stdout and stderr
    close NUMBER              close a descriptor: 1 is stdout
    deaf                      ignore SIGTERM
    late SECONDS FIELDS       at SIGTERM wait so long, then report and end
    sleep SECONDS
    signal NAME               send itself a signal: SIGSEGV, SIGKILL, …
    exit CODE
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

Fields = Mapping[str, Any]


def worker(*steps: list[Any]) -> tuple[str, ...]:
    """The command of a worker that takes these steps."""
    return (sys.executable, "-P", "-m", "onepen.testing.worker", json.dumps(steps))


class Puppet:
    """Takes steps; it has read its assignment before the first, and `text` is what it is asked for."""

    def __init__(self) -> None:
        self._hello: Any = json.loads(sys.stdin.buffer.readline())
        self.text: str = self._hello.get("text", "")
        self._folders: Fields = self._hello["folders"]
        self._asked = 0
        self.steps: Mapping[str, Callable[..., object]] = {
            "hello": lambda: self.send("hello", {"version": "0", "pid": os.getpid()}),
            "print": lambda text: _out(text.encode()),
            "bytes": lambda text: _out(bytes.fromhex(text)),
            "send": self.send,
            "glued": lambda *messages: _out(b"".join(self._line(*one).rstrip() for one in messages) + b"\n"),
            "split": self.split,
            "report": lambda fields: self.send("report", fields),
            "foreign": self.foreign,
            "ask": self.ask,
            "request": self.request,
            "read": self.read,
            "stderr": lambda size: _write(2, b"e" * 99 + b"\n", size),
            "flood": lambda size: _write(1, b"noise\n", size),
            "endless": lambda size: _write(1, b"x" * 1024, size),
            "environment": self.environment,
            "shell": lambda command: subprocess.run(["/bin/sh", "-c", command], check=True, **self._place()),
            "background": lambda command: subprocess.Popen(["/bin/sh", "-c", command], **self._place()),
            "close": os.close,
            "deaf": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
            "late": self.late,
            "sleep": time.sleep,
            "signal": lambda name: os.kill(os.getpid(), signal.Signals[name]),
            "exit": os._exit,
        }

    def send(self, kind: str, fields: Fields = {}) -> None:  # noqa: B006
        _out(self._line(kind, fields))

    def split(self, pieces: int, kind: str, fields: Fields) -> None:
        line = self._line(kind, fields)
        size = -(-len(line) // pieces)
        for start in range(0, len(line), size):
            _out(line[start : start + size])
            time.sleep(0.02)  # the orchestrator may read in between, or not: both must come out alike

    def late(self, seconds: float, fields: Fields) -> None:
        def told(*_: object) -> None:
            time.sleep(seconds)
            self.send("report", fields)
            os._exit(0)

        signal.signal(signal.SIGTERM, told)

    def foreign(self, task: str, attempt: int, kind: str, fields: Fields) -> None:
        _out(self._line(kind, {**fields, "task": task, "attempt": attempt}))

    def ask(self, fields: Fields) -> None:
        self._asked += 1
        self.send("model_request", {"id": self._asked, "prefix_sha": "", "delta": [], **fields})
        self.read()

    def request(self, tool: str, given: Fields) -> None:
        self._asked += 1
        self.send("tool_request", {"id": self._asked, "name": tool, "input": given})
        self.read()

    def read(self) -> None:
        sys.stderr.write(sys.stdin.buffer.readline().decode() or "end of input\n")
        sys.stderr.flush()

    def environment(self) -> None:
        text = json.dumps(dict(os.environ))
        _out(text.encode() + b"\n")
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def _line(self, kind: str, fields: Fields) -> bytes:
        address = {"v": 1, "task": self._hello["task"], "attempt": self._hello["attempt"], "type": kind}
        return json.dumps({**address, **fields}).encode() + b"\n"

    def _place(self) -> dict[str, Any]:
        names = {name.upper(): self._folders[name] for name in ("drafts", "inputs", "space")}
        return {"cwd": self._folders["drafts"], "env": {**os.environ, **names}}


def main(text: str) -> None:
    """Take the steps in a JSON list, or in the JSON object's list for this task."""
    puppet = Puppet()
    steps = json.loads(text)
    if isinstance(steps, dict):
        steps = next(of_task for word, of_task in steps.items() if word in puppet.text)
    for name, *given in steps:
        puppet.steps[name](*given)


def _out(data: bytes) -> None:
    _write(1, data, len(data))


def _write(descriptor: int, piece: bytes, size: int) -> None:
    """`size` bytes made of `piece`, over and over."""
    block = piece * max(1, min(size, 1 << 16) // len(piece))
    left = size
    while left > 0:
        left -= os.write(descriptor, block[:left])


if __name__ == "__main__":
    main(sys.argv[1])
