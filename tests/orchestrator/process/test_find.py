"""Another version's orchestrator makes room if it is idle, and is left to its work if it isn't."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onepen.orchestrator.process.errors import OtherVersion
from onepen.orchestrator.process.find import Finder
from onepen.orchestrator.process.life import listen
from onepen.orchestrator.process.place import key_of, socket_path
from onepen.orchestrator.process.protocol import Hello, Line, Lines, encode


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
