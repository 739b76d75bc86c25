"""The orchestrator's end of the socket, spoken to by clients that don't behave."""

import json
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from onepen.memory.holder import noted_holder
from onepen.orchestrator.process.place import key_of
from onepen.orchestrator.process.protocol import Line, Lines, encode, greeting
from onepen.testing.processes import wait_until
from onepen.testing.program import Program, orchestrators

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def onepen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    program = Program(tmp_path_factory.mktemp("server"))
    program.ok("init", "ws")
    program.ok("-C", "ws", "up")
    yield program
    assert len(orchestrators(program.home)) == 1, "it ended"
    program.down()


@pytest.fixture
def root(onepen: Program) -> Path:
    return onepen.home / "ws"


def connected(root: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(30)
    connection.connect(noted_holder(root).socket)
    return connection


def heard(connection: socket.socket) -> list[Line]:
    """Everything until the other end hangs up."""
    lines, found = Lines(), []
    while data := connection.recv(1 << 16):
        found += lines.feed(data)
    return found


def says(root: Path, *said: bytes) -> list[Line]:
    with closing(connected(root)) as connection:
        for data in said:
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return heard(connection)


def log(text: str, **more: object) -> bytes:
    return encode({"op": "log", "id": "5f0c5f0c", "args": {"text": text}, **more})


def test_a_client_of_two_lines(root: Path) -> None:
    hello, accepted, answer = says(root, encode(greeting(key_of(root))) + log("by hand"))
    assert (hello["onepen"], hello["workspace"]) == (1, key_of(root))
    assert accepted == {"accepted": True}
    assert isinstance(answer["result"], dict)
    assert answer["result"]["="] == "CommitResult"


def test_the_same_request_again_is_done_once(root: Path) -> None:
    said = encode(greeting(key_of(root))), log("once", id="0123456789abcdef")
    first, second = says(root, *said)[-1], says(root, *said)[-1]
    assert isinstance(first["result"], dict) and isinstance(second["result"], dict)
    assert first["result"]["commit"] == second["result"]["commit"]
    (day,) = (root / "memory").glob("20*.md")
    assert day.read_text().count("] once") == 1


@pytest.mark.parametrize(
    "said",
    [
        b"", b"\n", b"GET / HTTP/1.1\r\n\r\n", b"\xff\xfe\n", b"[]\n", b"{}\n", b'{"onepen": 7}\n', b'{"onepen": 1',
        b"[" * 9_999, b"[" * 100_000 + b"\n",
    ],
)  # fmt: skip
def test_noise_gets_at_most_an_error(said: bytes, root: Path) -> None:
    told = says(root, said)
    assert all("error" in line for line in told)


@pytest.mark.parametrize(
    "request_line",
    [
        {"op": "__class__", "id": "5f0c5f0c", "args": {}}, {"op": "doctor", "id": "5f0c5f0c", "args": {}},
        {"op": "log", "id": "5f0c5f0c", "args": {"text": "x", "dry_run": True}}, {"op": "log"}, {},
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused(request_line: dict[str, object], root: Path) -> None:
    hello, refused = says(root, encode(greeting(key_of(root))), encode(request_line))
    assert "workspace" in hello
    assert isinstance(refused["error"], dict)
    assert refused["error"]["kind"] == "Garbled"


def test_a_client_of_another_folder_is_told_which_this_is_and_nothing_is_done(root: Path) -> None:
    (hello,) = says(root, encode(greeting("1:2")) + log("not here"))
    assert hello["workspace"] == key_of(root)
    assert not any("not here" in day.read_text() for day in (root / "memory").glob("20*.md"))


def test_clients_that_go_away_hurt_nobody(onepen: Program, root: Path) -> None:
    for said in (b"", encode(greeting(key_of(root))), encode(greeting(key_of(root))) + log("left at once")):
        for _ in range(5):
            connection = connected(root)
            connection.sendall(said)
            connection.close()
    work = {"op": "delegate", "id": "5f0c5f0c", "args": {"request": {"texts": ["Find it"], "model": "offline"}}}
    connection = connected(root)
    connection.sendall(encode(greeting(key_of(root))) + encode(work))
    connection.recv(1)
    connection.close()
    assert json.loads(onepen.ok("-C", "ws", "log", "still here", "--json").out)["commit"]


def test_a_client_that_reads_nothing_holds_nobody_up(onepen: Program, root: Path) -> None:
    with closing(connected(root)) as deaf:
        deaf.sendall(encode(greeting(key_of(root))) + log("x" * 1_000))
        assert json.loads(onepen.ok("-C", "ws", "log", "still here", "--json").out)["commit"]


def test_an_error_is_told_as_it_is_in_the_foreground(onepen: Program, root: Path) -> None:
    said = ("-C", "ws", "approve", "nosuch-1", "--sha256", "ab")
    there = onepen(*said)
    assert (there.code, "draft 'nosuch-1': not in this workspace" in there.err) == (2, True)
    assert "(next: onepen drafts" in there.err


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process")
def test_more_connections_than_it_has_descriptors_end_nobody(onepen: Program, root: Path) -> None:
    (pid,) = orchestrators(onepen.home)
    used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 4, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    try:
        with ExitStack() as kept:
            many = [kept.enter_context(closing(connected(root))) for _ in range(20)]
            for one in many:
                one.sendall(b"{")
            many[0].settimeout(0.5)
            with pytest.raises(TimeoutError):
                many[0].recv(1)
            wait_until(lambda: len(list(Path(f"/proc/{pid}/fd").iterdir())) < used + 4, 5.0)  # the work is left some
        assert json.loads(onepen.ok("-C", "ws", "log", "still here", "--json").out)["commit"]
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert list(orchestrators(onepen.home)) == [pid]
