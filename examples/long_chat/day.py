"""A day of talking: 65 messages a minute apart, in a workspace with a real orchestrator and a double for its model.

The person's terminal is a pipe to `onepen chat`; in the middle they close it, change a card in an editor, and go on
40 minutes later. The orchestrator and the server's cache share one clock, which is moved instead of waited for.
"""

import json
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from examples.long_chat.model import Studio
from onepen.testing.elsewhen import Elsewhen, FileClock
from onepen.testing.messages_api import MessagesApi, Seen
from onepen.testing.program import PROGRAM
from onepen.testing.warm import Warm

SAID = tuple((Path(__file__).parent / "said.txt").read_text(encoding="utf-8").splitlines())
MORNING = datetime.fromisoformat("2026-11-30T09:00:00+00:00")
PACE = timedelta(seconds=60)
BREAK_BEFORE = next(k for k, said in enumerate(SAID) if "by hand" in said)
BREAK = timedelta(minutes=40)
RENEWALS = (30, 60)
"""After so many messages the synthesis is renewed."""
LIMIT = 60.0
OLD_KILN = (
    "## Firings\n\n- Cone 6 was reached at four o'clock, at 1222 degrees.\n- The celadon crawled on the lower shelf.\n"
)
NEW_KILN = "## Delivery\n\n- comes on 4 December, 32 A\n\n## Fan\n\n- the maker asks for 100 mm\n"
REPORTS = (
    "onepen usage",
    "onepen usage --by layer",
    "onepen usage --by agent",
    "onepen history memory/synthesis.md",
    "onepen doctor",
)


@dataclass(frozen=True)
class Exchange:
    """One message and what came of it: the answer, and the lines that a person is shown beside it."""

    number: int
    at: datetime
    said: str
    answer: str
    notes: tuple[str, ...]

    @property
    def usage(self) -> str:
        return self.notes[-1].removeprefix("usage: ")


@dataclass
class Day:
    """The whole day; `reports` are commands with what they print in the evening."""

    workspace: Path
    exchanges: list[Exchange] = field(default_factory=list)
    reports: dict[str, str] = field(default_factory=dict)
    requests: list[Seen] = field(default_factory=list)
    told: Sequence[tuple[str, Mapping[str, int]]] = ()
    usage: Mapping[str, object] = field(default_factory=dict)


class Terminal:
    """`onepen chat` with its three streams as pipes: a line in, an answer out."""

    def __init__(self, onepen: Warm, workspace: Path, *options: str) -> None:
        self._process = subprocess.Popen(
            [PROGRAM, "-C", workspace, "chat", "--model", "sonnet", "--budget", "5", *options],
            env=onepen.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._in = self._process.stdin
        self._answers = _heard(self._process.stdout)
        self._notes = _heard(self._process.stderr)

    def say(self, words: str) -> tuple[str, tuple[str, ...]]:
        """The answer to a message, and the notes beside it, of which the last says what was used."""
        self._in.write(words + "\n")
        self._in.flush()
        notes: list[str] = []
        while not notes or not notes[-1].startswith("usage: "):
            try:
                notes.append(self._notes.get(timeout=LIMIT).rstrip("\n").removeprefix("note: "))
            except queue.Empty:
                raise RuntimeError(f"no answer to {words!r}: {notes}") from None
        answer = [self._answers.get(timeout=LIMIT)]
        while not self._answers.empty():
            answer.append(self._answers.get())
        return "".join(answer), tuple(notes)

    def close(self) -> None:
        self._in.close()
        if (code := self._process.wait(LIMIT)) != 0:
            raise RuntimeError(f"the chat ended with {code}")


def _heard(stream: IO[str]) -> "queue.Queue[str]":
    """The lines of a stream as they come."""
    lines: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        with stream:
            for line in stream:
                lines.put(line)

    threading.Thread(target=listen, daemon=True).start()
    return lines


def tell(home: Path, *, caches: bool = True, messages: int = len(SAID)) -> Iterator[Exchange | Day]:
    """The exchanges as they happen, and at last the day; `caches` says whether the server counts cached tokens."""
    clock = FileClock(home / "clock")
    clock.set(MORNING)
    studio = Studio(lambda: (clock.now() - MORNING).total_seconds(), caches)
    day = Day(home / "studio")
    with MessagesApi([studio]) as api, Warm(home, {**api.env, "USER": "ana", "LOGNAME": "ana"}) as onepen:
        _begin(onepen, day.workspace)
        with Elsewhen(day.workspace, home / "clock", onepen.env):
            _settle_in(onepen, day.workspace)
            for exchange in _talk(onepen, day, clock, messages):
                day.exchanges.append(exchange)
                yield exchange
            for command in REPORTS:
                day.reports[command] = onepen.ok(*command.split()[1:], "-C", str(day.workspace)).out
            day.usage = json.loads(onepen.ok("usage", "--json", "-C", str(day.workspace)).out)
        day.requests, day.told = api.asked, tuple(studio.told)
    yield day


def _begin(onepen: Warm, workspace: Path) -> None:
    """A new workspace of a person who lets a chat cost more than a dollar: without a cache it does."""
    (onepen.home / ".config/onepen").mkdir(parents=True)
    (onepen.home / ".config/onepen/config.toml").write_text("[budget]\ntask_usd = 5\n")
    onepen.ok("init", str(workspace))
    with (workspace / "onepen.toml").open("a") as f:
        f.write("[limits]\ntask_usd = 5.0\n")


def _settle_in(onepen: Warm, workspace: Path) -> None:
    """What the person had written down by that morning, whatever day the machine has."""
    for title, id_, text in (("Old kiln", "old-kiln", OLD_KILN), ("New kiln", "kiln", NEW_KILN)):
        onepen.ok("add", "project", title, "--id", id_, "--from", "-", "-C", str(workspace), stdin=text)
    (workspace / "SOUL.md").write_text("# Who you are\n\nThe studio's right hand: short, friendly, exact.\n")
    (workspace / "USER.md").write_text("# Who I am\n\nLea, a potter. She decides; Ana, Bert and Ines help.\n")


def _talk(onepen: Warm, day: Day, clock: FileClock, messages: int) -> Iterator[Exchange]:
    terminal = Terminal(onepen, day.workspace)
    try:
        for number, words in enumerate(SAID[:messages], 1):
            if number == BREAK_BEFORE + 1:
                terminal.close()
                _edit(day.workspace / "projects/kiln.md")
                clock.move(BREAK)
                terminal = Terminal(onepen, day.workspace, "--resume")
            at = clock.now()
            with _renewal(day.workspace / "memory/synthesis.md", number in RENEWALS):
                answer, notes = terminal.say(words)
            yield Exchange(number, at, words, answer, notes)
            clock.move(PACE)
    finally:
        terminal.close()


def _edit(card: Path) -> None:
    """What a person does in an editor: no command of onepen is told."""
    text = card.read_text()
    card.write_text(text.replace("the maker asks for 100 mm", "the maker asks for 125 mm, not 100"))


@contextmanager
def _renewal(synthesis: Path, due: bool) -> Iterator[None]:
    """Where a renewal is due, it is waited for: it runs once the answer was given, and a minute is long enough."""
    before = synthesis.read_bytes() if synthesis.exists() else b""
    yield
    deadline = time.monotonic() + LIMIT
    while due and (not synthesis.exists() or synthesis.read_bytes() == before):
        if time.monotonic() > deadline:
            raise RuntimeError("the synthesis was not renewed")
        time.sleep(0.02)
