"""A server is believed only if it is this user's, the process that it says, and for this very folder."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onepen.orchestrator.process import link as links
from onepen.orchestrator.process.errors import Gone, Silent, Told
from onepen.orchestrator.process.link import Link
from onepen.orchestrator.process.listening import listen
from onepen.orchestrator.process.place import key_of, socket_path
from onepen.orchestrator.process.protocol import Garbled, Hello, encode

Play = Callable[[socket.socket], None]


@pytest.fixture
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"TMPDIR": str(tmp_path_factory.mktemp("t"))}


@pytest.fixture
def plays(tmp_path: Path, env: dict[str, str]) -> Iterator[Callable[[Play], None]]:
    """Somebody at the place of the socket who does as told with the first connection."""
    listening = listen(socket_path(tmp_path, env))
    threads: list[threading.Thread] = []

    def play(part: Play) -> None:
        def act() -> None:
            connection, _ = listening.accept()
            with connection:
                part(connection)

        threads.append(threading.Thread(target=act))
        threads[-1].start()

    yield play
    listening.close()
    for thread in threads:
        thread.join(10)


def greets(folder: Path, *lines: dict[str, object], pid: int | None = None, key: str | None = None) -> Play:
    """An orchestrator that says hello, hears a request, and says these lines."""
    hello = Hello("0.1.0", key or key_of(folder), pid or os.getpid(), "now", 0)

    def play(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(encode(hello.line()))
        if connection.recv(1 << 16):
            connection.sendall(b"".join(map(encode, lines)))

    return play


def ask(folder: Path, env: dict[str, str]) -> object:
    link = Link.open(folder, env)
    assert link is not None
    return link.ask("log", "5f0c5f0c", {"text": "x"})


def test_nobody_there(tmp_path: Path, env: dict[str, str]) -> None:
    assert Link.open(tmp_path, env) is None


def test_what_a_killed_one_left_is_nobody(tmp_path: Path, env: dict[str, str]) -> None:
    listen(socket_path(tmp_path, env)).close()
    assert socket_path(tmp_path, env).is_socket()
    assert Link.open(tmp_path, env) is None


def test_what_killed_ones_left_long_ago_is_swept_away(tmp_path: Path, env: dict[str, str]) -> None:
    place = socket_path(tmp_path, env)
    old, young, alive = (place.with_name(f"1-{name}.sock") for name in "abc")
    for path in (old, young):
        listen(path).close()
    with listen(alive):
        for path in (old, alive):
            os.utime(path, (0, 0))
        listen(place).close()
        assert [path.exists() for path in (old, young, alive)] == [False, True, True]


def test_an_answer(tmp_path: Path, env: dict[str, str], plays: Callable[[Play], None]) -> None:
    plays(greets(tmp_path, {"accepted": True}, {"event": "x"}, {"result": [1]}))
    assert ask(tmp_path, env) == [1]


def test_an_error_is_told_as_it_was_raised(tmp_path: Path, env: dict[str, str], plays: Callable[[Play], None]) -> None:
    plays(greets(tmp_path, {"error": {"kind": "PenLost", "message": "gone", "hint": "onepen status", "exit_code": 5}}))
    with pytest.raises(Told) as caught:
        ask(tmp_path, env)
    told = caught.value
    assert (told.kind, told.message, told.hint, told.exit_code) == ("PenLost", "gone", "onepen status", 5)


@pytest.mark.parametrize("lie", [{"pid": 1}, {"key": "1:2"}])
def test_an_impostor_is_not_believed(
    lie: dict[str, object], tmp_path: Path, env: dict[str, str], plays: Callable[[Play], None]
) -> None:
    plays(greets(tmp_path, {"accepted": True}, {"result": None}, **lie))  # type: ignore[arg-type]
    with pytest.raises(Garbled, match="answers for"):
        Link.open(tmp_path, env)


def test_another_users_socket_is_nobodys(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    place, uid = socket_path(tmp_path, env), os.getuid()
    listening = listen(place)
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    assert links.connect(place) is None
    listening.close()


@pytest.mark.parametrize(("lines", "accepted"), [((), False), (({"accepted": True},), True)])
def test_one_that_ends_without_an_answer_is_gone(
    lines: tuple[dict[str, object], ...],
    accepted: bool,
    tmp_path: Path,
    env: dict[str, str],
    plays: Callable[[Play], None],
) -> None:
    plays(greets(tmp_path, *lines))
    with pytest.raises(Gone) as caught:
        ask(tmp_path, env)
    assert caught.value.accepted is accepted


def test_one_that_says_nothing_is_not_waited_for_without_end(
    tmp_path: Path, env: dict[str, str], plays: Callable[[Play], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "ANSWER_SECONDS", 0.05)
    done = threading.Event()

    def say_nothing(connection: socket.socket) -> None:
        done.wait(10)

    plays(say_nothing)
    with pytest.raises(Silent, match=f"process {os.getpid()}") as caught:
        Link.open(tmp_path, env)
    assert caught.value.exit_code == 5
    done.set()


def test_noise_is_garbled(tmp_path: Path, env: dict[str, str], plays: Callable[[Play], None]) -> None:
    plays(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    with pytest.raises(Garbled):
        Link.open(tmp_path, env)


def test_ctrl_c_in_the_middle_of_a_line_is_handed_on_behind_it(
    tmp_path: Path, env: dict[str, str], plays: Callable[[Play], None]
) -> None:
    heard: list[bytes] = []

    def play(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(encode(Hello("0.1.0", key_of(tmp_path), os.getpid(), "now", 0).line()))
        connection.recv(1 << 16)
        connection.sendall(encode({"event": "progress"}))
        while b"".join(heard).count(b"press") < 2:
            heard.append(connection.recv(1 << 16))
        connection.sendall(encode({"result": 7}))

    plays(play)
    told: list[object] = []

    def writes(_: object) -> None:
        told.append("begins")
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        told.append("ends")

    link = Link.open(tmp_path, env)
    assert link is not None
    with links.handing_on(link, told.append):
        assert link.ask("delegate", "1", {}, on_event=writes, seconds=None) == 7
    assert told == ["begins", "ends", 2]
