"""A long chat, played by the real main agent over HTTP against the double, with a clock that moves by hand.

Each chat has sixty turns: the person asks, ten times the agent changes a card and its index line, ten times it reads a
section, and now and then the synthesis is renewed. Several clients talk in turn, each in a chat of its own. What was
sent is kept, with the moment, and with the index as it was by then.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio

from onepen.memory.fence import fences_of
from onepen.memory.files import replace
from onepen.memory.layers import layers
from onepen.memory.scaffold import init
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.chat.lines import Replied
from onepen.orchestrator.chat.prompt import system_blocks
from onepen.orchestrator.chat.store import Chats
from onepen.orchestrator.compose import build_orchestrator
from onepen.orchestrator.gateway.account import Caps
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.requests import ChatRequest
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.subagents.model import Usage
from onepen.testing.clock import FixedClock
from onepen.testing.messages_api import Asked, MessagesApi

MODEL = "claude-sonnet-5-5"
TURNS = 60
EDITS = frozenset(range(4, TURNS, 6))
READS = frozenset(range(2, TURNS, 6))
CARDS = 30
_SENTENCE = "What was found out about glazes, shelves and the firing of this week stands here in a sentence. "
_SETTINGS = """
[limits]
synthesis_exchanges = {exchanges}
task_usd = 1000
day_usd = 1000
client_day_usd = 1000
"""


@dataclass(frozen=True)
class Sent:
    """A request of a chat: when it came, in seconds from the first; `index` is layer I as the files have it by then."""

    at: float
    client: int
    turn: int
    body: Mapping[str, Any]
    index: str


@dataclass
class Played:
    """What the chats sent, in its order, and what their replies used; `unseen` edits were in no next turn.

    `synthesizer` is what that one was asked, and when.
    """

    turns: int
    sent: list[Sent] = field(default_factory=list)
    used: list[Usage] = field(default_factory=list)
    renewals: int = 0
    unseen: list[str] = field(default_factory=list)
    synthesizer: list[tuple[float, Mapping[str, Any]]] = field(default_factory=list)


def play(root: Path, gaps: Sequence[float], clients: int = 1, turns: int = TURNS, renewed_after: int = 30) -> Played:
    """A chat of so many turns for each client; between two turns the next of `gaps` passes, over and over."""
    clock = FixedClock("2026-11-30T08:00:00+00:00")
    played = Played(turns * clients)
    spaces = _workspace(root, clients, clock, renewed_after)
    player = _Player(root, clock, played)
    with MessagesApi([player.reply], cache=True, clock=player.seconds) as api:
        profile = Profile("default", api.url, Secret("sk-test"), prices={MODEL: Price(3.0, 3.75, 0.3, 15.0)})
        setup = Setup(model=MODEL, profiles={"default": profile}, caps=Caps(1000.0, 1000.0, 1000.0))

        async def work() -> None:
            async with build_orchestrator(root, clock=clock, setup=setup) as orchestrator:
                service, chats = orchestrator.service, dict.fromkeys(range(clients), "")
                for number in range(turns * clients):
                    turn, client = divmod(number, clients)
                    player.next(client, spaces[client], turn + 1)
                    request = ChatRequest(question(client, turn + 1), chats[client] or None, spaces[client])
                    result = await service.turn(request)
                    chats[client] = result.session
                    if result.renewal:
                        played.renewals += bool((await service.renew(spaces[client], why=result.renewal)).commit)
                    clock.move(timedelta(seconds=gaps[number % len(gaps)]))

        anyio.run(work)
    for space in open_workspace(root).spaces():
        store = Chats(space)
        lines = [line for id_ in store.ids() for line in store.load(id_)[0].lines]
        played.used += [line.usage for line in lines if isinstance(line, Replied)]
    return played


def question(client: int, turn: int) -> str:
    return (
        f"Turn {turn} of {client}: we looked at the shelves again and three of the bowls came out dull, two of them "
        "from the upper shelf. I would like to know what we said of that before, and what you would try next time. "
        "Say it in a few sentences, please, and tell me where it stands."
    )


def edit(turn: int) -> str:
    """The line of the index that the edit of a turn brings."""
    return f"fires {turn} hours since the dull bowls"


@dataclass
class _Player:
    """The model, and who keeps what it was asked."""

    root: Path
    clock: FixedClock
    played: Played
    client: int = 0
    turn: int = 0
    index: str = ""
    _began: float = 0.0
    _hours: dict[int, int] = field(default_factory=dict)
    _awaited: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock.now().timestamp()

    def seconds(self) -> float:
        return self.clock.now().timestamp() - self._began

    def next(self, client: int, space: str | None, turn: int) -> None:
        """The next turn is this one; looks up what the index says now."""
        view = View(open_workspace(self.root))
        where = view.workspace.space(space)
        found = layers(view, where, self.clock.now().date())
        blocks = dict(system_blocks(found, where, fences_of(where.root)))
        self.client, self.turn, self.index = client, turn, blocks.get("I", "")

    def reply(self, asked: Asked) -> Mapping[str, object] | None:
        if asked.to != "messages":
            return None
        if "Renew the synthesis" in asked.words:
            self.played.synthesizer.append((self.seconds(), asked.body))
            return {"reply": [{"tool": "report", "input": {"summary": "done", "answer": self._synthesis()}}]}
        self.played.sent.append(Sent(self.seconds(), self.client, self.turn, asked.body, self.index))
        self._look(asked)
        first = asked.body["messages"][-1]["content"][0]["type"] != "tool_result"
        if first and self.turn in EDITS:
            return {"reply": [{"text": "I note it."}, {"tool": "write_memory_card", "input": self._edit()}]}
        if first and self.turn in READS:
            return {"reply": [{"tool": "read_card", "input": {"card": "kiln", "section": "firing"}}]}
        return {"reply": f"In turn {self.turn}: " + "The upper shelf was too cool, so fire it longer there. " * 9}

    def _edit(self) -> Mapping[str, object]:
        hours = self._hours.get(self.client, 0)
        self._hours[self.client] = self.turn
        self._awaited[self.client] = edit(self.turn)
        entry = {"section_id": "firing", "summary": edit(self.turn), "keywords": ["firing", "dull"]}
        old, new = f"It takes {hours} hours.", f"It takes {self.turn} hours."
        return {"project": "kiln", "old_text": old, "new_text": new, "index_entry": entry}

    def _look(self, asked: Asked) -> None:
        """Whether an edit is there in the next turn."""
        line = self._awaited.get(self.client)
        if line and not line.startswith(f"fires {self.turn} "):
            del self._awaited[self.client]
            if line not in asked.words and line not in asked.system:
                self.played.unseen.append(f"{self.client}: {line}")

    def _synthesis(self) -> str:
        return f"# Where things stand\n\nRenewed after turn {self.turn}. " + _SENTENCE * 20 + "\n"


def _workspace(root: Path, clients: int, clock: FixedClock, exchanges: int) -> list[str | None]:
    """A workspace with a space for each client, or with its own one; each has as many cards."""
    init(root, id="abcdefgh", name="", today=clock.now().date())
    with (root / "onepen.toml").open("a") as settings:
        settings.write(_SETTINGS.format(exchanges=exchanges))
    if clients == 1:
        _cards(root)
        return [None]
    from onepen.orchestrator.compose import build_service

    names: list[str | None] = []
    for number in range(clients):
        name = f"client-{number + 1}"
        build_service(root, clock=clock).add_client(f"Client {number + 1}", id=name)
        _cards(root / "clients" / name)
        names.append(name)
    return names


def _cards(space: Path) -> None:
    for name, text in _texts():
        replace(space / "projects" / f"{name}.md", text.encode())


def _texts() -> Iterator[tuple[str, str]]:
    head = "---\ntitle: {title}\nstatus: active\nupdated: 2026-11-29\n---\n\n# {title}\n\n"
    yield "kiln", head.format(title="Kiln") + f"## Firing\n\nIt takes 0 hours. {_SENTENCE * 12}\n"
    for number in range(1, CARDS):
        title = f"Work {number}"
        yield f"work-{number}", head.format(title=title) + f"## State\n\n{_SENTENCE * 3}\n\n## Next\n\n{_SENTENCE}\n"
