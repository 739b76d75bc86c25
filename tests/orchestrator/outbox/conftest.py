"""An outbox against the double over HTTP: hours pass on one clock that both have, whenever the outbox sleeps."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anthropic  # noqa: F401 - a second of work, which no test here is to be charged for
import anyio
import anyio.lowlevel
import pytest

from onepen.memory.errors import OnepenError
from onepen.memory.ids import ClientId
from onepen.orchestrator.errors import Parked
from onepen.orchestrator.gateway.account import Account, Caps
from onepen.orchestrator.gateway.claude import Claude
from onepen.orchestrator.gateway.clients import Clients
from onepen.orchestrator.gateway.ledger import Ledger
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.outbox.outbox import Outbox
from onepen.orchestrator.outbox.parts import Limits
from onepen.orchestrator.settings.models import Served
from onepen.orchestrator.settings.setup import Profile, Secret
from onepen.orchestrator.stop import StopSign
from onepen.subagents.messages import Text, user
from onepen.subagents.model import LostCall, ModelReply, ModelRequest
from onepen.testing.clock import FixedClock
from onepen.testing.messages_api import Batch, MessagesApi

EPOCH = datetime(2026, 11, 29, 8, 30, tzinfo=UTC)
MODEL = "claude-sonnet-5-5"
PRICE = Price(input=3.0, cache_write=3.75, cache_read=0.3, output=15.0)
CAPS = Caps(task_usd=10.0)
HOUR = 3_600.0
TAKES = 600.0
"""Seconds in which a batch ends, where a test says nothing else."""

Rules = Sequence[Any]


@dataclass(frozen=True)
class Places:
    """The folder of a batch of tasks."""

    path: Path

    @property
    def sent_file(self) -> Path:
        return self.path / "message-batches.jsonl"

    @property
    def replies(self) -> Path:
        return self.path / "replies"


def request(text: str, **changes: Any) -> ModelRequest:
    given: dict[str, Any] = {"tools": (), "messages": (user(Text(text)),), "max_tokens": 200, **changes}
    return ModelRequest(MODEL, ("You are short.\n", "You know pots.\n"), agent="writer", **given)


@dataclass
class Process:
    """One process: an outbox on the folder, a ledger, and connections of its own. `said` is what people were told."""

    bench: "Bench"
    outbox: Outbox
    ledger: Ledger
    clients: Clients
    stop: StopSign = field(default_factory=StopSign)
    said: list[str] = field(default_factory=list)
    lost: list[LostCall] = field(default_factory=list)

    def served(self, *, profile: str = "own", price: Price | None = PRICE, **changes: Any) -> Served:
        model = Claude(self.bench.profile(profile), MODEL, self.clients, self.bench.clock)
        return Served(model, price, **changes)

    async def ask(
        self, task: str, text: str | None = None, *, caps: Caps = CAPS, served: Served | None = None, **changes: Any
    ) -> ModelReply:
        """What the outbox says to a task that asks (by default with its name); raises what it raises."""
        client = changes.pop("client", None)
        account = Account(None if client is None else ClientId(client), task, "writer", caps)
        asked = request(task if text is None else text, **changes)
        return await self.outbox.reply(served or self.served(), asked, account, on_lost=self.lost.append)

    async def park(self, *tasks: str, **options: Any) -> None:
        """These tasks ask, and have to wait."""
        for task in tasks:
            with pytest.raises(Parked):
                await self.ask(task, **options)

    async def deliver(self) -> None:
        await self.outbox.deliver(self.stop, self.said.append)

    async def answers(self, *tasks: str, **options: Any) -> dict[str, str]:
        """What comes of each task in the end: the words of its reply, or of its failure."""
        found: dict[str, str] = {}
        for _ in range(50):
            for task in tasks:
                if task not in found:
                    try:
                        found[task] = (await self.ask(task, **options)).message.text
                    except Parked:
                        continue
                    except OnepenError as e:
                        found[task] = f"{type(e).__name__}: {e.message}"
            if len(found) == len(tasks):
                return found
            await self.deliver()
        raise AssertionError(f"no end for {set(tasks) - set(found)}")


@dataclass
class Bench:
    """A double, a folder, and the clock of both sides; `slept` is each sleep, `sleep` what one does meanwhile."""

    folder: Places
    stack: ExitStack
    clock: FixedClock = field(default_factory=lambda: FixedClock(EPOCH))
    slept: list[float] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None
    api: MessagesApi = field(init=False)
    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    accounts: dict[str, Any] = field(default_factory=dict)
    ledgers: list[Ledger] = field(default_factory=list)

    def start(self, rules: Rules, **options: Any) -> "Bench":
        self.api = self.stack.enter_context(self.another(rules, **options))
        return self

    def another(self, rules: Rules, **options: Any) -> MessagesApi:
        """A double on the same clock."""
        given: Mapping[str, Any] = {"batches": {"takes": TAKES}, **options}
        return MessagesApi(rules, clock=lambda: (self.clock.now() - EPOCH).total_seconds(), epoch=EPOCH, **given)

    def profile(self, name: str) -> Profile:
        given = {"base_url": self.api.url, "key": Secret("sk-test"), **self.profiles.get(name, {})}
        return Profile(name, **given)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.move(timedelta(seconds=seconds))
        self.meanwhile()
        await anyio.lowlevel.checkpoint()

    def run(self, work: Callable[[Process], Any], ledger: Ledger | None = None) -> Any:
        """A process that does this work, and ends."""

        async def main() -> Any:
            process = self.process(ledger)
            try:
                return await work(process)
            finally:
                await process.clients.close()

        return anyio.run(main)

    def process(self, ledger: Ledger | None = None) -> Process:
        ledger = ledger or Ledger()
        self.ledgers.append(ledger)
        outbox = Outbox(self.folder, ledger, self.clock, self.sleep, limits=self.limits, **self.accounts)
        return Process(self, outbox, ledger, Clients())

    @property
    def batches(self) -> list[Batch]:
        return self.api.batches

    @property
    def paid(self) -> list[str]:
        """The tasks whose requests a model has answered, one for each time."""
        return [one.custom_id.rpartition("-")[0] for one in self.api.paid]

    @property
    def events(self) -> Counter[str]:
        """How often which event stands in the journal."""
        return Counter(json.loads(line)["event"] for line in self.folder.sent_file.read_text().splitlines())

    def asked(self, to: str) -> int:
        return sum(seen.to == to for seen in self.api.requests)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    folder = tmp_path / "batches" / "nights-0123abcd"
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        yield Bench(Places(folder), stack)
