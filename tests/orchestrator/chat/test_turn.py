"""Turns of a chat against a model that plays: what is stored, sent and written, and what the person is told."""

import json
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from onepen.memory.clock import Clock
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.chat.lines import Begun, Ended, Lost, Partial, Replied
from onepen.orchestrator.chat.turn import AGAIN, CUT
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.requests import BrokeOff, ToolCalled, TurnEvent
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import Served
from onepen.subagents.loop import MOST_CALLS as MOST_AT_ONCE
from onepen.subagents.loop import TOO_MANY
from onepen.subagents.messages import Text, ToolResult, ToolUse
from onepen.subagents.model import Listener, LostCall, ModelReply, ModelRequest, Usage
from onepen.testing.parlour import Parlour, says

Make = Callable[..., Service]
ENTRY = {"section_id": "firing", "keywords": ["cone 6"], "summary": "Fire at 1220 since 3 Nov."}
EDIT = {"project": "kiln", "old_text": "- fire at 1200\n", "new_text": "- fire at 1220\n", "index_entry": ENTRY}
WRITE = ("write_memory_card", EDIT)


def test_an_answer_is_what_the_model_said_and_the_prompt_stands_before_it(parlour: Parlour) -> None:
    result = parlour.turn("What do we fire at?", says("At 1200."))
    assert (result.answer, result.stop_reason, result.exit_code) == ("At 1200.", "end_turn", 0)
    (request,) = parlour.model.requests
    assert request.agent == "main" and all(block.endswith("\n") for block in request.system)
    assert '<file path="RULES.md">' in request.system[0] and " data: projects/_index.md]" in request.system[2]
    (message,) = request.messages
    assert message.role == "user" and message.content[-1] == Text("What do we fire at?")
    assert [tool.name for tool in request.tools] == sorted(tool.name for tool in request.tools)


def test_of_hundreds_of_calls_in_one_reply_a_bounded_number_is_carried_out(parlour: Parlour) -> None:
    many = says(*(("delegate" if n > 80 else "log_event", {"text": f"line {n}"}) for n in range(200)))
    result = parlour.turn("Go on", many, says("Done."))
    assert len(result.commits) == MOST_AT_ONCE and not result.drafts
    assert parlour.results()[MOST_AT_ONCE:] == [(TOO_MANY, True)] * (200 - MOST_AT_ONCE)


def test_rules_tools_and_persona_are_short(parlour: Parlour) -> None:
    """They are paid with every call."""
    layers = parlour.turn("Hello", says("Hello.")).layers
    begun = parlour.lines("2026-11-29-s1")[0]
    assert isinstance(begun, Begun) and layers
    assert begun.layers["B"] + begun.layers["A"] <= 2_500


def test_a_card_edit_is_one_commit_with_index_and_log_and_the_next_turn_has_the_same_prefix(parlour: Parlour) -> None:
    first = parlour.turn("We fire at 1220 now.", says("I write it.", WRITE), says("Done."))
    assert len(first.commits) == 1 and first.answer == "Done."
    assert "- fire at 1220\n- soak" in parlour.text("projects/kiln.md")
    assert "Fire at 1220 since 3 Nov. `cone 6`" in parlour.text("projects/_index.md")
    assert "projects/kiln.md: replaced in firing (agent:main)" in parlour.text("memory/2026-11-29.md")
    assert "changed (commit" in parlour.results()[0][0]
    parlour.turn("And now?", says("Nothing."), session=first.session)
    one, two, three = parlour.model.requests
    assert one.system == two.system == three.system and one.tools == three.tools
    assert three.messages[: len(two.messages)] == two.messages
    assert "1200" in "".join(three.system), "the index of the prompt stays as it was when the chat began"
    assert not any("Changed in memory" in m.text for m in three.messages), "its own commits are no news"


def test_what_others_changed_is_told_once(parlour: Parlour) -> None:
    first = parlour.turn("Hello", says("Hello."))
    parlour.service.log("called Ana")
    parlour.turn("So?", says("Ana was called."), session=first.session)
    news = [m.text for m in parlour.model.requests[-1].messages if "Changed in memory" in m.text]
    assert len(news) == 1 and "called Ana" in news[0]
    parlour.turn("And?", says("No more."), session=first.session)
    assert parlour.model.requests[-1].messages[-1].text.count("Changed in memory") == 0


def test_every_reply_is_stored_before_its_tools_run(parlour: Parlour) -> None:
    def look(request: ModelRequest, *rest: object) -> ModelReply:
        kinds = [line.kind for line in parlour.lines("2026-11-29-s1")]
        assert kinds == ["begun", "asked", "replied", "result"]
        return says("Done.")

    parlour.turn("Note it", says(("log_event", {"text": "kiln cold"})), look)
    assert [line.kind for line in parlour.lines("2026-11-29-s1")][-2:] == ["replied", "ended"]


def test_a_broken_reply_runs_no_tool_and_its_words_come_once(parlour: Parlour) -> None:
    """Field case 52."""

    def broken(request: ModelRequest, listener, on_lost) -> ModelReply:  # type: ignore[no-untyped-def]
        listener.text("half")
        on_lost(LostCall("overloaded", Usage(7, 0, 0, 2), 0.25))
        listener.broke_off("overloaded")
        return says("the whole")

    result = parlour.turn("Say", broken)
    assert result.answer == "the whole" and result.usage.input == 17 and result.cost_usd == 0.25
    assert BrokeOff("overloaded") in parlour.events
    lines = parlour.lines(result.session)
    assert [line.text for line in lines if isinstance(line, Partial)] == ["half"]
    assert [line.reason for line in lines if isinstance(line, Lost)] == ["overloaded"]
    parlour.turn("More", says("."), session=result.session)
    assert "half" not in json.dumps([m.text for m in parlour.model.requests[-1].messages])


@pytest.mark.parametrize("given", [{"project": "kiln", "old_text": "- fire at 1200\n"}, EDIT, '{"project": "ki'])
def test_nothing_of_a_reply_that_was_cut_is_done(parlour: Parlour, given: object) -> None:
    """Field case 55: cut within a field, cut after all fields, cut within the JSON."""
    cut = ModelReply((Text("I"), ToolUse("c1", "write_memory_card", given)), "max_tokens", Usage(), "m")
    before = parlour.text("projects/kiln.md")
    result = parlour.turn("Write", cut, says("It was too long."))
    assert parlour.results() == [(CUT, True)] and result.commits == ()
    assert parlour.text("projects/kiln.md") == before
    (use,) = parlour.model.requests[-1].messages[1].tool_uses
    assert isinstance(use.input, dict)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("write_memory_card", {**EDIT, "index_entry": {**ENTRY, "keywords": "glaze"}}, 'must be a list, such as ["gl'),
        ("write_memory_card", {**EDIT, "project": "loom"}, "not found; there are: kiln"),
        ("write_memory_card", [], "the input must be an object"),
        ("write_memory_card", {**EDIT, "new_text": "x" * (3 << 20)}, "far more than a draft may have"),
        ("write_memory_card", {"project": "kiln"}, "old_text is missing"),
        ("write_memory_card", {**EDIT, "project": "memory/2026-11-29.md"}, "log_event adds to today's log"),
        ("write_memory_card", {**EDIT, "project": "OPS.md"}, "changed by a person's hand only"),
        ("write_memory_card", {**EDIT, "project": "../x"}, "not a card's name"),
        ("write_memory_card", {**EDIT, "old_text": "- "}, "3 times"),
        ("write_memory_card", {**EDIT, "old_text": "- fire at 1300"}, "- fire at 1200"),
        ("write_memory_card", {**EDIT, "new_text": "- fire \ud83d"}, "half a character"),
        ("write_memory_card", {**EDIT, "new_text": "- password: hunter2-fake1"}, "keep its name, not its value"),
        ("log_event", {"text": "the key is sk-ant-api03-" + "FAKE" * 20}, "keep its name, not its value"),
        ("log_event", {"text": "a", "at": "now"}, "there is no at"),
        ("set_project_status", {"project": "kiln", "status": "All Done!", "note": ""}, "status"),
        ("search_history", {"query": "kiln", "since": "last week"}, "must be a day such as 2026-11-29"),
        ("read_card", {"card": "kiln", "section": "sales"}, "sales"),
        ("read_card", {"card": "clients/acme/projects/x.md"}, "own client's space only"),
        ("delegate", {"agent": "painter", "task": "Paint"}, "agent painter: not in agents/"),
        ("delegate", {"agent": "writer", "task": "Write"}, "needs a model"),
        ("fly", {}, "there is no tool 'fly'"),
        ("read_draft", {"id": "nope"}, "'nope'"),
    ],
)  # fmt: skip
def test_a_call_that_is_wrong_gets_one_clear_error(parlour: Parlour, name: str, given: object, told: str) -> None:
    before = parlour.text("projects/kiln.md"), parlour.text("projects/_index.md")
    result = parlour.turn("Do", says((name, given)), says("I see."))  # type: ignore[arg-type]
    ((content, is_error),) = parlour.results()
    assert is_error and told in content and "\n" not in content, content
    assert (parlour.text("projects/kiln.md"), parlour.text("projects/_index.md")) == before
    assert result.answer == "I see." and "hunter2" not in content


def test_after_four_equal_failures_the_turn_ends_with_a_message(parlour: Parlour) -> None:
    result = parlour.turn("Do", *(says(("fly", {})) for _ in range(6)))
    assert result.stop_reason == "failures" and result.exit_code == 1
    assert len(parlour.model.requests) == 4 and "the same failed 4 times: fly" in result.notices[-1]


def test_a_call_that_is_made_again_and_again_ends_the_turn(parlour: Parlour) -> None:
    """Small models never end a loop by themselves."""
    result = parlour.turn("Do", *(says(("read_card", {"card": "kiln"})) for _ in range(9)))
    assert result.stop_reason == "failures" and len(parlour.model.requests) == 6
    first, second, *_ = parlour.results()
    assert AGAIN not in first[0] and second[0].endswith(f"({AGAIN})") and not second[1]
    assert "read_card was called in the same way 6 times" in result.notices[-1]


def test_a_turn_makes_at_most_forty_calls(parlour: Parlour) -> None:
    result = parlour.turn("Do", *(says(("log_event", {"text": f"line {k}"})) for k in range(50)))
    assert result.stop_reason == "calls" and len(parlour.model.requests) == 40


@pytest.mark.parametrize("content", [(), (Text("I would rather"),)])
def test_a_refusal_is_shown_and_not_asked_again(parlour: Parlour, content: tuple[Text, ...]) -> None:
    """Field case 57."""
    result = parlour.turn("Bad", ModelReply(content, "refusal", Usage(3, 0, 0, 0), "m"))
    assert result.stop_reason == "refusal" and result.exit_code == 1 and "refused" in result.notices[-1]
    parlour.turn("Good", says("Yes."), session=result.session)
    assert [m.text for m in parlour.model.requests[-1].messages] == [parlour.model.requests[-1].messages[0].text]
    assert "Bad" not in parlour.model.requests[-1].messages[0].text


def test_a_message_that_got_no_answer_is_not_sent_again(parlour: Parlour) -> None:
    first = parlour.turn("One", says("1"))
    with pytest.raises(RuntimeError):
        parlour.turn("Two", RuntimeError("the server is gone"), session=first.session)
    ended = parlour.lines(first.session)[-1]
    assert isinstance(ended, Ended) and ended.dropped and ended.stop_reason == "failed"
    parlour.turn("Three", says("3"), session=first.session)
    assert "Two" not in json.dumps([m.text for m in parlour.model.requests[-1].messages])


def test_a_stop_during_a_call_keeps_what_was_heard_and_sends_it_to_nobody(parlour: Parlour) -> None:
    async def slow(request: ModelRequest, on_lost: object, listener) -> ModelReply:  # type: ignore[no-untyped-def]
        parlour.model.requests.append(request)
        listener.text("I begin to")
        parlour.stop.press()
        await anyio.sleep(30)
        raise AssertionError

    real, parlour.model.ask = parlour.model.ask, slow  # type: ignore[method-assign]
    result = parlour.turn("Tell")
    assert result.stop_reason == "interrupted" and result.exit_code == 130
    assert [line.text for line in parlour.lines(result.session) if isinstance(line, Partial)] == ["I begin to"]
    parlour.model.ask = real  # type: ignore[method-assign]
    parlour.stop = type(parlour.stop)()
    parlour.turn("go on", says("Yes."), session=result.session)
    (message,) = parlour.model.requests[-1].messages
    assert "Tell" in message.text and "go on" in message.text and "begin to" not in message.text


def test_tools_that_run_finish_and_others_are_told_as_not_done(parlour: Parlour) -> None:
    calls = says(("log_event", {"text": "one"}), ("log_event", {"text": "two"}))

    def press(event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            parlour.stop.press()

    parlour.happened = press  # type: ignore[method-assign]
    result = parlour.turn("Do", calls)
    assert result.stop_reason == "interrupted"
    log = parlour.text("memory/2026-11-29.md")
    assert "one" in log and "two" not in log


def test_equal_ids_of_calls_are_told_apart(parlour: Parlour) -> None:
    """Some servers count their calls anew in each reply."""
    one = says(("log_event", {"text": "one"}), ids=("call_0",))
    two = says(("log_event", {"text": "two"}), ids=("call_0",))
    parlour.turn("Do", one, two, says("Done."))
    assert all(word in parlour.text("memory/2026-11-29.md") for word in ("one", "two"))
    uses = [u.id for m in parlour.model.requests[-1].messages for u in m.tool_uses]
    assert uses == ["call_0", "call_0_2"]


def test_the_same_write_again_is_answered_already_done(parlour: Parlour) -> None:
    parlour.turn("Do", says(WRITE), says(WRITE), says("Done."))
    assert "already done" in parlour.results()[1][0] and not parlour.results()[1][1]


def test_each_turn_has_one_usage_line_and_is_booked_once(parlour: Parlour) -> None:
    result = parlour.turn("Do", says(WRITE, usage=Usage(100, 20, 3, 7)), says("Done.", usage=Usage(10, 0, 120, 5)))
    (ended,) = [line for line in parlour.lines(result.session) if isinstance(line, Ended)]
    assert (ended.usage, ended.calls, ended.tools) == (Usage(110, 20, 123, 12), 2, ("write_memory_card",))
    assert sum(result.layers.values()) == 130, "scaled to what the server counted for the last prompt"
    assert result.layers["B"] > result.layers["C"] > 0
    (booked,) = parlour.booked
    assert (booked.session, booked.turn, booked.usage) == (result.session, 1, Usage(110, 20, 123, 12))


def test_half_an_emoji_in_a_message_or_a_reply_ends_nothing(parlour: Parlour) -> None:
    """Field case 58."""
    reply = says("Nice \ud83d", ("log_event", {"text": "smile \ud83d"}))
    result = parlour.turn("Hi \ud83d there", reply, says("Done."))
    assert "half a character" in parlour.results()[0][0] and result.answer == "Done."
    parlour.turn("go on", says("."), session=result.session)
    for message in parlour.model.requests[-1].messages:
        json.dumps([b.text if isinstance(b, Text) else "" for b in message.content], ensure_ascii=False).encode()


class Both:
    """A model that answers once two ask at the same time."""

    name = "both"

    def __init__(self) -> None:
        self._asking = 0
        self._both = anyio.Event()

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        self._asking += 1
        if self._asking == 2:
            self._both.set()
        with anyio.fail_after(10):
            await self._both.wait()
        return says(("report", {"summary": "Found.", "answer": "1222 degrees"}))


def test_calls_of_delegate_in_one_reply_run_side_by_side(root: Path, clock: Clock, make_service: Make) -> None:
    with HeldPen.open(View(open_workspace(root)), clock) as pen:
        model = Both()
        service = make_service(pens=pen, models=lambda name, definition, client: Served(model))
        parlour = Parlour(root, clock, service, pens=pen)
        both = [("delegate", {"agent": "researcher", "task": name, "answer": True}) for name in "ab"]
        result = parlour.turn("Do", says(*both), says("Done."))
    assert result.answer == "Done."
    assert all("1222 degrees" in told and not failed for told, failed in parlour.results())


def test_the_file_alternates_and_answers_every_call_whatever_happened(parlour: Parlour) -> None:
    first = parlour.turn("a", says("Let me see.", ("read_card", {"card": "kiln"})), says("Firing."))
    with pytest.raises(RuntimeError):
        parlour.turn("b", says(WRITE, ("fly", {})), RuntimeError("gone"), session=first.session)
    parlour.turn("c", ModelReply((), "end_turn", Usage(), "m"), session=first.session)
    parlour.turn("d", says("end"), session=first.session)
    messages = parlour.model.requests[-1].messages
    assert [m.role for m in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
    for before, after in pairwise(messages):
        asked = [u.id for u in before.tool_uses]
        answered = [b.tool_use_id for b in after.content if isinstance(b, ToolResult)]
        assert asked == answered
    assert all(not isinstance(b, Text) or b.text.strip() for m in messages for b in m.content)
    replies = [line for line in parlour.lines(first.session) if isinstance(line, Replied)]
    assert len(replies) == 5, "what can't be sent stays in the file"


def test_time_passes_between_turns_without_touching_the_prefix(parlour: Parlour) -> None:
    first = parlour.turn("a", says("1"))
    parlour.clock.move(timedelta(days=1))  # type: ignore[attr-defined]
    parlour.turn("b", says("2"), session=first.session)
    assert parlour.model.requests[0].system == parlour.model.requests[1].system
    assert "(It is Monday 2026-11-30 09:30+01:00.)" in parlour.model.requests[1].messages[-1].text
