"""The marks of a chat and of its sub-agents, as they reach a server with a cache: a real orchestrator, real HTTP."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from onepen.memory.scaffold import init
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.chat.lines import Replied
from onepen.orchestrator.chat.store import Chats
from onepen.orchestrator.compose import build_orchestrator
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.requests import ChatRequest, DelegateRequest
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.testing.clock import FixedClock
from onepen.testing.messages_api import Asked, MessagesApi
from onepen.testing.messages_api.marks import marks
from onepen.testing.messages_api.seen import Seen

MODEL = "claude-sonnet-5-5"
LAYERS = ("RULES.md", "OPS.md", "SOUL.md", "USER.md", "BRIEF.md", "MEMORY.md")
DRAFT = {"title": "Heat", "text": "# Heat\n\n## Result\n\nCold.\n"}
LAYER_ENDS = ("system.1", "system.2", "system.3", "end")
"""Of A, I, S and C: where only one space talks, B needs no mark of its own."""
WORDS = "What every potter of the studio knows about shelves and glazes stands here.\n"


def search(number: int, tool: str = "search_history") -> dict[str, Any]:
    return {"tool": tool, "input": {"query": f"kiln {number}"}}


def said(asked: Asked) -> Mapping[str, Any] | None:
    """The model: a sub-agent looks twelve times, the synthesizer answers, the chat looks as often as it is told to."""
    if asked.to != "messages":
        return None
    if asked.forced == "verdict":
        return {"reply": [{"tool": "verdict", "input": {"verdict": "accept", "reason": "x"}}]}
    if "Renew the synthesis" in asked.words:
        return {"reply": [{"tool": "report", "input": {"summary": "done", "answer": "# Now\n\nAll else is new.\n"}}]}
    if "Worker, look" in asked.words:
        ends = [{"tool": "write_draft", "input": DRAFT}], [{"tool": "report", "input": {"summary": "done"}}]
        return {"reply": [search(asked.turn, "search")] if asked.turn < 13 else ends[asked.turn - 13]}
    rounds = since_asked(asked.body["messages"])
    times = int(asked.words.rpartition("Look ")[2].split(" ")[0])
    if rounds == 0:
        return {"reply": [{"tool": "read_card", "input": {"card": "kiln"}}, search(0)]}
    return {"reply": [search(rounds)] if rounds < times else "Cold."}


def since_asked(messages: list[dict[str, Any]]) -> int:
    """The replies since the person's last words."""
    spoken = [any(block["type"] == "text" for block in m["content"]) and m["role"] == "user" for m in messages]
    return sum(m["role"] == "assistant" for m in messages[len(spoken) - spoken[::-1].index(True) :])


def run(root: Path, work: Callable[[Service], Any]) -> tuple[list[Seen], list[Replied]]:
    """What reached the server, and the chats' replies, with all layers filled."""
    clock = FixedClock("2026-11-30T08:00:00+00:00")
    init(root, id="abcdefgh", name="", today=clock.now().date())
    for name in LAYERS:
        with (root / name).open("a") as file:
            file.write(WORDS * 20)
    (root / "memory").mkdir(exist_ok=True)
    (root / "memory/synthesis.md").write_text("# Before\n\nIt was warm.\n")
    (root / "projects/kiln.md").write_text("# Kiln\n\n## Firing\n\nCold.\n")
    with MessagesApi([said], cache=True, clock=lambda: clock.now().timestamp()) as api:
        profile = Profile("default", api.url, Secret("sk-test"), prices={MODEL: Price(3.0, 3.75, 0.3, 15.0)})

        async def all_of_it() -> None:
            with anyio.fail_after(60):
                async with build_orchestrator(
                    root, clock=clock, setup=Setup(model=MODEL, profiles={"default": profile})
                ) as orchestrator:
                    await work(orchestrator.service)

        anyio.run(all_of_it)
        store = Chats(open_workspace(root).space(None))
        lines = [line for id_ in store.ids() for line in store.load(id_)[0].lines]
        return list(api.asked), [line for line in lines if isinstance(line, Replied)]


def placed(seen: Seen) -> tuple[str, ...]:
    """Where the marks of a request stand: system blocks by number, the conversation's last block as "end"."""
    messages = seen.body["messages"]
    end = f"messages.{len(messages) - 1}.content.{len(messages[-1]['content']) - 1}.cache_control"
    return tuple("end" if place == end else place.removesuffix(".cache_control") for place, _ in marks(seen.body))


@pytest.mark.timeout(120)
def test_thirty_rounds_in_one_turn_read_all_that_was_written(tmp_path: Path) -> None:
    """Field case 38: 60 blocks, with more than 8 KiB of layers before them."""

    async def work(service: Service) -> None:
        await service.turn(ChatRequest("Look 30 times, please."))

    seen, replies = run(tmp_path / "ws", work)
    assert len(seen) == len(replies) == 31
    assert sum(len(block["text"]) for block in seen[0].body["system"]) > 8 << 10
    before = replies[0].usage
    for reply in replies[1:]:
        assert reply.usage.cache_read == before.cache_read + before.cache_write
        before = reply.usage
    assert {placed(one) for one in seen} == {LAYER_ENDS}


@pytest.mark.timeout(120)
def test_no_request_is_refused_for_its_marks_and_they_stand_at_the_ends_of_layers(tmp_path: Path) -> None:
    """Field case 36: twelve rounds, two calls in one reply, a card read, a new synthesis, a worker and its review."""

    async def work(service: Service) -> None:
        first = await service.turn(ChatRequest("Look 12 times, please."))
        await service.renew(session=first.session)
        await service.turn(ChatRequest("Look 12 times, please.", first.session))
        await service.delegate(DelegateRequest(("Worker, look",), ("writer",)))

    seen, replies = run(tmp_path / "ws", work)
    assert {one.status for one in seen} == {200}
    chat = [one for one in seen if "search_history" in str(one.body.get("tools"))]
    assert len(chat) == len(replies) == 26
    assert {placed(one) for one in chat} == {LAYER_ENDS}
    assert ["All else is new." in str(one.body["system"]) for one in chat] == [False] * 13 + [True] * 13
    for one in [one for one in seen if one not in chat]:
        blocks = len(one.body["system"])
        end = () if "tool_choice" in one.body else ("end",)  # what is asked once has no conversation to be read again
        assert placed(one) == (*(f"system.{k}" for k in range(max(0, blocks - 3), blocks)), *end)
