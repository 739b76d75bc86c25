"""Another version's orchestrator makes room if it is idle, and is left to its work if it isn't."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from onepen.memory.holder import Holder, PenHeld
from onepen.orchestrator.process.errors import OtherVersion
from onepen.orchestrator.process.find import Finder
from onepen.orchestrator.process.link import Link
from onepen.orchestrator.process.listening import listen
from onepen.orchestrator.process.place import key_of, socket_path
from onepen.orchestrator.process.protocol import Hello, Line, Lines, encode
from onepen.orchestrator.process.spawn import Report, Started


@contextmanager
def older(root: Path, env: dict[str, str], busy: int) -> Iterator[list[Line]]:
    """An orchestrator of version 0.0.9 that ends when it is asked to; gives what it was asked."""
    listening = listen(socket_path(root, env))
    asked: list[Line] = []

    def play() -> None:
        connection, _ = listening.accept()
        with connection:
            lines = Lines()
            asked.extend(lines.feed(connection.recv(1 << 16)))
            connection.sendall(encode(Hello("0.0.9", key_of(root), os.getpid(), "now", busy).line()))
            if data := connection.recv(1 << 16):
                asked.extend(lines.feed(data))
                listening.close()
                connection.sendall(encode({"result": {"ends": True, "ran": []}}))

    thread = threading.Thread(target=play)
    thread.start()
    yield asked
    thread.join(10)
    listening.close()


@pytest.fixture
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"TMPDIR": str(tmp_path_factory.mktemp("t"))}


def test_an_idle_one_makes_room(root: Path, env: dict[str, str]) -> None:
    with older(root, env, busy=0) as asked:
        assert Finder(root, env).running() is None
    assert [line.get("op") for line in asked] == [None, "down"]
    assert asked[1]["args"] == {"idle_only": True}


def test_a_busy_one_is_left_alone_and_named(root: Path, env: dict[str, str]) -> None:
    with older(root, env, busy=2) as asked, pytest.raises(OtherVersion, match=r"version 0\.0\.9") as caught:
        Finder(root, env).running()
    assert (caught.value.exit_code, caught.value.hint) == (5, "onepen down")
    assert len(asked) == 1


def test_down_speaks_to_any_version(root: Path, env: dict[str, str]) -> None:
    with older(root, env, busy=2):
        link = Finder(root, env).running(any_version=True)
        assert link is not None
        assert link.hello.version == "0.0.9"
        link.close()


class Starting(Started):
    """One that says how it is after so many seconds; what it says is the second of `says`."""

    def __init__(self, seconds: Callable[[], float], after: float, says: Report) -> None:
        self.pid = 4242
        self._seconds = seconds
        self._ready = seconds() + after
        self._says = says

    def report(self) -> Report:
        return self._says if self._seconds() >= self._ready else Report("starting")

    def leave(self) -> None:
        pass


class Slow(Finder):
    """On a machine so busy that the one that was started comes up after `after` seconds; `dies` before it is heard."""

    def __init__(self, root: Path, after: float, dies: int = 0, there: bool = True) -> None:
        self.now = 0.0
        self.started = 0
        self._after, self._dies, self._there = after, dies, there
        super().__init__(root, {}, seconds=lambda: self.now, sleep=self._wait)

    def _wait(self, seconds: float) -> None:
        self.now += seconds

    def _start(self, idle_seconds: float | None) -> Started:
        self.started += 1
        self._begun = self.now
        return Starting(lambda: self.now, self._after, Report("ready"))

    def running(self, *, any_version: bool = False) -> Link | None:
        up = self.started > self._dies and self.now > self._begun + self._after + 0.1
        return cast("Link", SimpleNamespace(hello=SimpleNamespace(pid=4242))) if up and self._there else None

    def holder(self) -> Holder | None:
        return None if self.started <= self._dies else Holder(4242, "vm", "now")


def test_one_that_takes_long_to_come_up_is_waited_for(root: Path) -> None:
    finder = Slow(root, after=15.0)
    assert finder.at_work(None)[1]
    assert finder.started == 1


def test_one_that_was_killed_as_soon_as_it_was_ready_is_followed_by_another(root: Path) -> None:
    finder = Slow(root, after=1.0, dies=2)
    assert finder.at_work(None)[1]
    assert (finder.started, finder.now < 5) == (3, True)


def test_one_that_holds_the_pen_and_cant_be_reached_is_named(root: Path) -> None:
    finder = Slow(root, after=1.0, there=False)
    with pytest.raises(PenHeld, match="process 4242"):
        finder.at_work(None)
    assert 10 < finder.now < 12
