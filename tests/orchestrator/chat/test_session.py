"""Whatever happened in a chat, what is sent next is a conversation that the Messages API takes."""

from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.chat.lines import (
    Asked,
    Begun,
    Ended,
    Line,
    Made,
    Partial,
    Renewed,
    Replied,
    Resulted,
    parse_line,
    render_line,
)
from onepen.orchestrator.chat.prompt import conversation_tokens, scaled
from onepen.orchestrator.chat.session import Session, messages, open_calls, session_of, unlike
from onepen.orchestrator.chat.toolset import tools
from onepen.orchestrator.gateway.request import body
from onepen.subagents.messages import Block, Opaque, Text, ToolResult, ToolUse
from onepen.subagents.model import ModelRequest, Usage
from onepen.testing.messages_api.dialogue import dialogue_fault

BEGUN = Begun(
    session="2026-11-29-s1",
    client=None,
    at="",
    model="m",
    system=("You.\n",),
    tools=(),
    layers={"B": 10},
    max_tokens=100,
)


def renewed(first: int) -> Renewed:
    """The chat begun anew: from this turn on it is sent as it was."""
    return Renewed(
        model="m",
        system=("You.\n", "Where things stand.\n"),
        tools=(),
        layers={"B": 10, "S": 5},
        max_tokens=100,
        at="",
        first=first,
        why="the synthesis was renewed",
    )


TEXTS = st.sampled_from(["", " ", "words", "\ud83d", "more\n"])
INPUTS: st.SearchStrategy[object] = st.sampled_from([{"a": 1}, {}, [], "{cut", None])
STOPS = st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "pause_turn", "new_one"])
USES = st.builds(ToolUse, st.sampled_from(["call_0", "call_1", "t"]), st.sampled_from(["read_card", "x"]), INPUTS)
BLOCKS = st.lists(st.one_of(st.builds(Text, TEXTS), USES), max_size=3)


@st.composite
def chats(draw: st.DrawFn) -> Session:
    """A chat of several turns, each of which may break off anywhere."""
    session = Session(BEGUN)
    for turn in range(1, draw(st.integers(1, 4)) + 1):
        session = session.plus(Asked(turn, "", (Text("(It is Sunday.)\n"), Text(draw(TEXTS) or "hm"))))
        for _ in range(draw(st.integers(0, 3))):
            blocks: tuple[Block, ...] = unlike(draw(BLOCKS), session)
            session = session.plus(Replied(turn, "", blocks, draw(STOPS), Usage(1, 0, 0, 1), "m"))
            for block in blocks:
                if isinstance(block, ToolUse) and draw(st.booleans()):
                    session = session.plus(Resulted(turn, block.id, block.name, draw(TEXTS)))
            if draw(st.booleans()):
                session = session.plus(Partial(turn, "half", "cut"))
        if draw(st.booleans()):
            session = session.plus(Ended(turn, "", "failed", dropped=draw(st.booleans())))
        if draw(st.booleans()):
            session = session.plus(renewed(draw(st.integers(1, turn + 1))))
    return session.plus(Asked(99, "", (Text("go on"),)))


@given(chats())
def test_what_is_sent_is_a_conversation_that_the_api_takes(session: Session) -> None:
    request = ModelRequest("m", BEGUN.system, tools(), messages(session), 100, "main")
    assert dialogue_fault(body(request, "m"), paused=(), said=()) is None
    assert "go on" in request.messages[-1].text
    assert all(a.role != b.role for a, b in zip(request.messages, request.messages[1:], strict=False))


@given(chats())
def test_a_renewal_cuts_no_exchange_and_what_comes_after_it_is_sent(session: Session) -> None:
    sent = messages(session)
    before = {line.turn for line in session.lines if isinstance(line, Asked) and line.turn < session.first}
    calls = {use.id for m in sent for use in m.content if isinstance(use, ToolUse)}
    answered = {block.tool_use_id for m in sent for block in m.content if isinstance(block, ToolResult)}
    assert calls == answered
    dropped = {use.id for line in session.lines if isinstance(line, Replied) and line.turn in before
               for use in line.content if isinstance(use, ToolUse)}  # fmt: skip
    assert not dropped & calls
    assert session.prompt is (session.renewed or session.begun)


@given(chats(), st.integers(1, 9))
def test_what_was_sent_stays_as_it_was_whatever_is_said_next(session: Session, first: int) -> None:
    """Layers before the chat, and the chat itself, grow at their ends only; a renewal alone begins anew."""
    last = session.turn
    session = session.plus(Replied(last, "", (Text("Well."),), "end_turn", Usage(), "m"), Ended(last, "", "end_turn"))
    sent, later = messages(session), session.plus(Asked(last + 1, "", (Text("more"),)))
    assert messages(later)[: len(sent)] == sent and later.prompt == session.prompt
    anew = session.plus(renewed(first), Asked(last + 1, "", (Text("more"),)))
    assert anew.prompt.system == ("You.\n", "Where things stand.\n")


@given(chats())
def test_a_chat_reads_back_as_it_was_written(session: Session) -> None:
    lines: list[Line] = [session.begun, *session.lines]
    read = session_of(line for line in map(parse_line, map(render_line, lines)) if line is not None)
    assert read is not None
    assert [line.kind for line in read.lines] == [line.kind for line in session.lines]
    assert open_calls(read) == open_calls(session) or "\ud83d" in repr(session)
    assert [render_line(line) for line in read.lines] == [render_line(line) for line in session.lines]


def test_what_can_not_be_read_is_no_line() -> None:
    whole = render_line(Made(1, "c", ("t1",)))
    assert parse_line(whole) == Made(1, "c", ("t1",))
    for torn in (whole[:-3], "", "[]", '{"v": 2}', whole.replace('"made"', '"unmade"'), "[" * 90_000):
        assert parse_line(torn) is None


def test_thoughts_are_sent_back_as_they_came_and_never_alone() -> None:
    thought = Opaque({"type": "thinking", "thinking": "hm", "signature": "s"})
    asked = Asked(1, "", (Text("a"),))
    alone = Session(BEGUN, (asked, Replied(1, "", (thought,), "max_tokens", Usage(), "m")))
    assert [m.role for m in messages(alone)] == ["user"]
    said = Session(BEGUN, (asked, Replied(1, "", (thought, Text("b")), "end_turn", Usage(), "m")))
    assert messages(said)[1].content == (thought, Text("b"))


@given(st.dictionaries(st.sampled_from("BAISCE"), st.integers(0, 5_000), min_size=1), st.integers(0, 100_000))
def test_scaled_estimates_sum_up_to_what_was_counted(layers: dict[str, int], counted: int) -> None:
    found = scaled(layers, counted)
    assert sum(found.values()) == (counted if counted and sum(layers.values()) else sum(layers.values()))


def test_what_tools_showed_of_cards_counts_as_layer_e() -> None:
    use = ToolUse("c1", "read_card", {"card": "kiln"})
    result = Resulted(1, "c1", "read_card", "projects/kiln.md, lines 1-1 of 1\n     1\t- fire at 1220")
    session = Session(BEGUN, (Asked(1, "", (Text("a"),)), Replied(1, "", (use,), "tool_use", Usage(), "m"), result))
    found = conversation_tokens(messages(session))
    assert found["E"] > 10 and 0 < found["C"] < found["E"]
