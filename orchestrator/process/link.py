"""A command's end of the socket: plain blocking calls, so that it costs nearly nothing to import.

A server is believed only if the kernel says that it runs under this user, is the process that it names itself, and
answers for this very folder.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from .errors import Gone, Silent, told_by
from .peer import peer_of
from .place import key_of, places
from .protocol import Garbled, Hello, Line, Lines, encode, greeting, hello

ANSWER_SECONDS = 5.0
"""How long an orchestrator may take to say who it is."""
SHORT_SECONDS = 60.0
"""How long it may take for a request that is done in a moment."""
_PART = 1 << 16
_POLL = 0.02


@dataclass(frozen=True)
class Aside:
    """What is looked after while a link waits: `act` is called whenever `bell` has something to read."""

    bell: socket.socket
    act: Callable[[], None]


class Link:
    """A connection to the orchestrator, good for one request; `hello` is what it said of itself."""

    def __init__(self, connection: socket.socket, pid: int, root: Path) -> None:
        self._connection = connection
        self._lines = Lines()
        self._waiting: list[Line] = []
        self._pid = pid
        self.aside: Aside | None = None
        connection.settimeout(ANSWER_SECONDS)
        key = key_of(root)
        self._send(greeting(key))
        self.hello: Hello = hello(self._next())
        if self.hello.workspace != key or self.hello.pid != pid:
            raise Garbled(f"process {pid} answers for process {self.hello.pid} and another folder than {root}")

    @classmethod
    def open(cls, root: Path, env: Mapping[str, str], noted: str = "") -> "Link | None":
        """A link to the orchestrator of the workspace in `root`; None where none listens.

        Raises Silent or Garbled.
        """
        for path in places(root, env, noted):
            found = connect(path)
            if found is None:
                continue
            connection, pid = found
            try:
                return cls(connection, pid, root)
            except Gone:
                connection.close()  # it ended at this moment
            except BaseException:
                connection.close()
                raise
        return None

    def ask(
        self,
        op: str,
        id: str,  # noqa: A002
        args: Mapping[str, object],
        *,
        scope: Mapping[str, object] | None = None,
        setup: object = None,
        on_event: Callable[[Line], None] | None = None,
        seconds: float | None = SHORT_SECONDS,
    ) -> object:
        """The answer to a request, as JSON; events on the way go to `on_event`. `seconds` None: as long as it takes.

        Raises Told, Gone, Silent or Garbled.
        """
        line: dict[str, object] = {"op": op, "id": id, "args": args}
        if scope is not None:
            line["scope"] = scope
        if setup is not None:
            line["setup"] = setup
        accepted = False
        try:
            self._send(line)
            self._connection.settimeout(seconds)
            while True:
                line = dict(self._next())
                if (told := told_by(line)) is not None:
                    raise told
                if "result" in line:
                    return line["result"]
                accepted = accepted or bool(line.get("accepted"))
                if "event" in line and on_event is not None:
                    on_event(line)
        except Gone as e:
            raise Gone(e.pid, accepted=accepted) from None
        except Silent:
            raise Silent(self._pid, seconds or 0.0, accepted=accepted) from None
        finally:
            self.close()

    def press(self) -> None:
        """Hand on a Ctrl-C; an orchestrator that is gone will be noticed by who waits for the answer."""
        with suppress(OSError):
            self._connection.sendall(encode({"press": 1}))

    def close(self) -> None:
        self._connection.close()

    def _send(self, line: Line) -> None:
        try:
            self._connection.sendall(encode(line))
        except TimeoutError:
            raise Silent(self._pid, ANSWER_SECONDS) from None
        except OSError:
            pass  # it went away: what it said last, an error perhaps, is still to be read

    def _next(self) -> Line:
        while not self._waiting:
            try:
                self._wait()
                data = self._connection.recv(_PART)
            except TimeoutError:
                raise Silent(self._pid, ANSWER_SECONDS) from None
            except OSError:
                data = b""
            if not data:
                raise Gone(self._pid, accepted=False)
            self._waiting = self._lines.feed(data)
        return self._waiting.pop(0)

    def _wait(self) -> None:
        """Look after what is aside until the orchestrator says something; raises TimeoutError."""
        while self.aside is not None:
            sources = [self._connection, self.aside.bell]
            ready = select.select(sources, [], [], self._connection.gettimeout())[0]
            if self.aside.bell in ready:
                self.aside.act()
            if self._connection in ready:
                return
            if not ready:
                raise TimeoutError


def connect(path: Path) -> tuple[socket.socket, int] | None:
    """A connection to who listens at `path`, and its process; None for nobody, or for another user's."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(ANSWER_SECONDS)
    try:
        _knock(connection, path)
    except (OSError, ValueError):
        connection.close()
        return None
    peer = peer_of(connection)
    if peer is None or peer.uid != os.getuid():
        connection.close()
        return None
    return connection, peer.pid


def _knock(connection: socket.socket, path: Path) -> None:
    """Connect; where as many are waiting as the other end's queue holds, wait for a place in it. Raises an OSError."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        try:
            return connection.connect(os.fspath(path))
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL)


@contextmanager
def handing_on(link: Link, note: Callable[[int], None]) -> Iterator[None]:
    """While this lasts, SIGINT and SIGTERM are handed on as presses; `note` is told how many that makes: 1 or 2.

    A third one ends the command, as KeyboardInterrupt. One that the shell told us to ignore stays ignored. A closed
    terminal (SIGHUP) ends the command as ever: what was accepted goes on without it.
    """
    presses = said = 0
    bell, button = socket.socketpair()
    bell.setblocking(False)
    button.setblocking(False)

    def pressed(number: int, frame: FrameType | None) -> None:
        # Only this: it runs in the middle of whatever the command does, which may be a write to stderr.
        nonlocal presses
        if presses >= 2:
            raise KeyboardInterrupt
        presses = 1 if number == signal.SIGINT and not presses else 2
        with suppress(BlockingIOError):
            button.send(b"!")

    def hand_on() -> None:
        nonlocal said
        bell.recv(_PART)
        before, said = said, presses
        if said > before:
            note(said)
        for _ in range(said - before):
            link.press()

    wanted = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    link.aside = Aside(bell, hand_on)
    before = {number: signal.signal(number, pressed) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        link.aside = None
        bell.close()
        button.close()
