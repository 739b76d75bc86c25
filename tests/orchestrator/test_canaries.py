"""T6, field case 32: nothing of one client is in a prompt, an answer, a folder or a log of another."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.ids import ClientId
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import Resolver, Served
from onepen.subagents.assignment import hello
from onepen.subagents.definition import AgentDefinition
from onepen.subagents.messages import message_dict
from onepen.subagents.model import Listener, ModelReply, ModelRequest
from onepen.subagents.wire import encode
from onepen.testing.clock import FixedClock
from onepen.testing.parlour import Parlour, says
from onepen.testing.pool import InProcessPool
from onepen.testing.scripted import ScriptedModel

MakeService = Callable[..., Service]
CLIENTS = ("acme", "bolt", "corp")
HOUSE = "house"
PRIVATE = ("SOUL", "USER", "MEMORY", "PERSONA")
"""Texts of the main agent that no sub-agent gets, not even those of its own space."""


def canary(who: str, what: str) -> str:
    return f"CANARY-{who}-{what}"


def fill(service: Service, root: Path, client: str | None) -> None:
    """A canary in every kind of file of a space; the same names are used in all spaces."""
    who, folder = (HOUSE, root) if client is None else (client, root / "clients" / client)
    if client is not None:
        service.add_client(client.title(), id=client)
    service.add_project("Kiln", client=client, text=f"## Firing\n\nFired at {canary(who, 'card')} degrees.\n")
    service.add_research("Cones", client=client, text=f"## Heat\n\nCones melt at {canary(who, 'finding')}.\n")
    service.log(f"called {canary(who, 'log')}", client=client)
    for note in ("MEMORY.md", "USER.md", *(("PERSONA.md",) if client else ("SOUL.md",))):
        path = folder / note
        path.write_text(f"{path.read_text()}\n{canary(who, note[:-3])}\n")
    if client is not None:
        for note in ("BRIEF.md", "OPS.md"):
            (folder / note).write_text(f"# {client}\n\n{canary(who, note[:-3])}\n")
    (folder / "memory/synthesis.md").write_text(f"{canary(who, 'synthesis')}\n")
    chats = folder / "chats"
    chats.mkdir(exist_ok=True)
    (chats / "2026-11-28-old.jsonl").write_text(json.dumps({"v": 1, "text": canary(who, "chat")}) + "\n")
    (folder / "projects/kiln").mkdir(exist_ok=True)
    (folder / "projects/kiln/notes.txt").write_text(f"{canary(who, 'file')}\n")


@dataclass
class Snooping:
    """A model that asks for what is not its own, in every way that its tools leave it, and puts all of it in a draft.

    `asked` are the requests, each with the client for whom it was made.
    """

    name = "scripted:snoop"
    other: str = "bolt"
    asked: list[tuple[ClientId | None, ModelRequest]] = field(default_factory=list)

    def served(self, name: str, definition: AgentDefinition, client: ClientId | None) -> Served:
        return Served(_For(self, client))


@dataclass
class _For:
    model: Snooping
    client: ClientId | None
    name: str = "scripted:snoop"

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        self.model.asked.append((self.client, request))
        other = next(c for c in CLIENTS if c != self.client)
        wanted = [
            ("read_card", {"card": f"../{other}/projects/kiln.md"}),
            ("read_card", {"card": f"clients/{other}/projects/kiln.md"}),
            ("read_card", {"card": f"../../clients/{other}/research/cones.md"}),
            ("read_card", {"card": "../../projects/kiln.md"}),
            ("read_card", {"card": "/etc/passwd"}),
            ("read_card", {"card": "MEMORY.md"}),
            ("read_card", {"card": "kiln"}),
            ("read_card", {"card": "kiln/notes.txt"}),
            ("read_input", {"name": f"../../{other}/projects/kiln.md"}),
            ("read_input", {"name": "page.md"}),
            ("search", {"query": f"CANARY {other} degrees melt called"}),
            ("search", {"query": "CANARY house SOUL USER MEMORY synthesis chat"}),
        ]
        turn = sum(1 for m in request.messages if m.role == "assistant")
        if request.agent == "reviewer":
            script = [[{"tool": "verdict", "input": {"verdict": "accept", "reason": "yes"}}]]
        else:
            said = "\n".join(b.content for m in request.messages for b in m.content if b.type == "tool_result")
            text = f"# Found\n\n## All\n\n{said.replace('#', '')}\n"
            script = [
                [{"tool": tool, "input": given} for tool, given in wanted],
                [{"tool": "write_draft", "input": {"text": text[:20_000], "title": f"All of {self.client} {turn}"}}],
                [{"tool": "report", "input": {"summary": said[:500], "answer": said[:500]}}],
            ]
        rules = [{"reply": script[min(turn, len(script) - 1)]}]
        return await ScriptedModel(rules).reply(request, listener)


def foreign(text: str, client: str | None, *, worker: bool = False) -> list[str]:
    """The canaries in a text that have no business in that client's; a client gets the house's USER and SOUL."""
    own = HOUSE if client is None else client
    found = [word for who in (*CLIENTS, HOUSE) for word in _words(text, who) if who != own]
    if client is not None and not worker:
        found = [word for word in found if word not in {canary(HOUSE, "USER"), canary(HOUSE, "SOUL")}]
    if worker:
        found += [word for word in _words(text, own) if word.rpartition("-")[2] in PRIVATE]
    return found


def _words(text: str, who: str) -> list[str]:
    return re.findall(f"CANARY-{who}-[A-Za-z]+", text)


@pytest.fixture
def house(make_service: MakeService, root: Path) -> Service:
    service = make_service()
    for client in (None, *CLIENTS):
        fill(service, root, client)
    return service


def mixed(service: Service, page: Path, count: int, seed: int) -> None:
    """Tasks for clients in turn: with inputs and without, answered and drafted, offline and by a model."""
    dice = random.Random(seed)

    async def every() -> None:
        for start in range(0, count, 24):
            async with anyio.create_task_group() as group:
                for number in range(start, min(count, start + 24)):
                    request = DelegateRequest(
                        (f"At how many degrees is it fired? Number {number}",),
                        (dice.choice(["researcher", "writer"]),),
                        client=dice.choice([None, *CLIENTS]),
                        inputs=(page,) if dice.random() < 0.4 else (),
                        answer=dice.random() < 0.3,
                        model="scripted:snoop",
                        review=dice.choice(["auto", "person"]),
                    )
                    group.start_soon(partial(service.delegate, request))

    anyio.run(every)


def assert_apart(root: Path, model: Snooping, pool: InProcessPool) -> None:
    """No canary of another in requests, on the wire, in staging, in logs, or in what was committed."""
    for client, request in model.asked:
        text = "\n".join((*request.system, *(json.dumps(message_dict(m)) for m in request.messages)))
        assert foreign(text, client, worker=True) == []
    for assignment in pool.assignments:
        whose = assignment.space.name if assignment.space != root else None
        assert foreign(encode(hello(assignment)).decode(), whose, worker=True) == []
    for owner in (None, *CLIENTS):
        folder = root if owner is None else root / "clients" / owner
        for part in ("staging", "logs", "projects", "research", "memory"):
            for path in (folder / part).rglob("*"):
                if path.is_file():
                    assert foreign(path.read_text(errors="replace"), owner, worker=part == "staging") == [], path


def run_mixed(make_service: MakeService, root: Path, clock: FixedClock, count: int, seed: int) -> None:
    page = root.parent / "page.md"
    page.write_text("It was fired at 1222 degrees.\n")
    model, pool = Snooping(), InProcessPool()
    with HeldPen.open(View(open_workspace(root)), clock, wait=0.05) as pen:
        mixed(make_service(pool=pool, models=model.served, pens=pen), page, count, seed)
    assert len(pool.assignments) == count and len(model.asked) > count
    for client, request in model.asked:
        if client is not None and len(request.messages) > 1 and request.agent != "reviewer":
            assert canary(client, "card") in json.dumps([message_dict(m) for m in request.messages]), "its own it reads"
    assert_apart(root, model, pool)
    assert [p for p in make_service().doctor().problems if p.level == "error"] == []


def test_of_mixed_tasks_none_holds_anything_of_another_client(
    make_service: MakeService, house: Service, root: Path, clock: FixedClock
) -> None:
    run_mixed(make_service, root, clock, 48, seed=1)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_of_a_thousand_mixed_tasks_none_does(
    make_service: MakeService, house: Service, root: Path, clock: FixedClock
) -> None:
    run_mixed(make_service, root, clock, 1_000, seed=2)


def test_a_quote_from_another_client_cannot_be_cited(make_service: MakeService, house: Service, root: Path) -> None:
    """A draft that cites what its task can't read is blocked, and the reviewer is shown nothing of it."""
    line = f"Fired at {canary('bolt', 'card')} degrees."
    quote = f'## Heat\n\n> "{line}" (../bolt/projects/kiln.md:9)\n\n> "{line}" (clients/bolt/projects/kiln.md:9)\n'
    turns = [
        [
            {
                "tool": "write_draft",
                "input": {"text": quote, "title": "x", "sources": ["clients/bolt/projects/kiln.md:9"]},
            }
        ],
        [{"tool": "report", "input": {"summary": "done"}}],
    ]
    rules: list[dict[str, object]] = [{"turn": k, "reply": r} for k, r in enumerate(turns, 1)]
    model = ScriptedModel(rules)
    service = make_service(models=lambda *_: Served(model))
    request = DelegateRequest(("x",), ("writer",), client="acme", review="auto", model="scripted:x")
    [task] = anyio.run(partial(service.delegate, request)).tasks
    [draft] = task.drafts
    assert draft.status != "committed" and {"quote", "source"} & {f.kind for f in draft.findings if f.level == "block"}
    assert all(request.agent != "reviewer" for request in model.requests)


def test_a_chat_and_what_it_gives_away_stay_with_their_client(
    make_service: MakeService, house: Service, root: Path, clock: FixedClock
) -> None:
    """Field case 32, for acme: chat turn, card reads by tricks, a worker, a review, a finding offline."""
    model = Snooping()

    def models(name: str, definition: AgentDefinition, client: ClientId | None) -> Served:
        return Resolver()(name, definition, client) if name == "offline" else model.served(name, definition, client)

    parlour = Parlour(root, clock, make_service(models=models))
    parlour.client = "acme"
    tricks = [
        ("read_card", {"card": name})
        for name in ("../bolt/projects/kiln.md", "clients/bolt/projects/kiln.md", "../../projects/kiln.md", "kiln")
    ]
    calls = says(
        *tricks,
        ("search_history", {"query": "CANARY bolt house degrees called chat"}),
        ("list_drafts", {}),
        ("delegate", {"agent": "researcher", "task": "At how many degrees is it fired?", "answer": True}),
    )
    result = parlour.turn("Look", calls, says("."))
    sent = parlour.model.requests[-1]
    text = "\n".join((*sent.system, *(json.dumps(message_dict(m)) for m in sent.messages)))
    assert canary("acme", "card") in text and canary("acme", "MEMORY") in text
    assert foreign(text, "acme") == []
    assert [is_error for _, is_error in parlour.results()][:3] == [True] * 3
    folder = root / "clients/acme"
    for path in (*folder.rglob("*.jsonl"), *(folder / "staging").rglob("*")):
        if path.is_file():
            assert foreign(path.read_text(errors="replace"), "acme") == [], path
    assert result.session
