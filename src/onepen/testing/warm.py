"""Commands of onepen by the dozen, each a process of its own that a warm one forks: `python -m onepen.testing.warm`.

All is as in a shell but the start of the interpreter, which takes longer than most commands do. A line of JSON says
what is called, the answer what came of it; what one command had to import, the next finds there.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from .program import PROGRAM, Ran


class Warm:
    """onepen in an environment that holds nothing but PATH, HOME, LANG and `env`; it starts in `home`."""

    def __init__(self, home: Path, env: Mapping[str, str] | None = None) -> None:
        self.home = home.resolve()
        path = f"{PROGRAM.parent}:{os.environ['PATH']}"
        self.env = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", **(env or {})}

    def __call__(
        self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> Ran:
        order = {"args": args, "cwd": str(cwd or self.home), "env": {**self.env, **(env or {})}, "stdin": stdin}
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        told = json.loads(self._server.stdout.readline())
        return Ran(told["code"], told["out"], told["err"])

    def ok(self, *args: str, cwd: Path | None = None, stdin: str = "") -> Ran:
        ran = self(*args, cwd=cwd, stdin=stdin)
        assert ran.code == 0, (args, ran)
        return ran

    def __enter__(self) -> "Warm":
        self._server = subprocess.Popen(
            [sys.executable, "-P", "-m", "onepen.testing.warm"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.env,
        )  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._server.communicate()


def _serve() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        files = {name: os.memfd_create(name) for name in ("in", "out", "err", "modules")}
        os.write(files["in"], order["stdin"].encode())
        os.lseek(files["in"], 0, os.SEEK_SET)
        pid = os.fork()
        if pid == 0:
            _child(order, files)
        _, status = os.waitpid(pid, 0)
        said = {name: _whole(fd) for name, fd in files.items()}
        for name in said["modules"].split():
            with suppress(ImportError):  # one that a command made for itself
                importlib.import_module(name)
        answer = {"code": os.waitstatus_to_exitcode(status), "out": said["out"], "err": said["err"]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _child(order: Mapping[str, Any], files: Mapping[str, int]) -> None:
    code = 1
    try:
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        for fd, name in enumerate(("in", "out", "err")):
            os.dup2(files[name], fd)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)  # what the parent has read ahead is not ours
        from ..orchestrator.commands.app import call

        code = call(order["args"])
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.write(files["modules"], "\n".join(name for name in sys.modules if name != "__main__").encode())
    finally:
        os._exit(code)


def _whole(fd: int) -> str:
    os.lseek(fd, 0, os.SEEK_SET)
    with os.fdopen(fd, "rb") as file:
        return file.read().decode(errors="replace")


if __name__ == "__main__":
    _serve()
