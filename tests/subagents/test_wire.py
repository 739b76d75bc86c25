import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.subagents import wire
from onepen.subagents.messages import Text, ToolResult, ToolUse, user
from onepen.subagents.wire import FROM_WORKER, TO_WORKER, LineSplitter, Noise, encode

WHO: dict[str, Any] = {"task": "t1", "attempt": 2}
FROM: tuple[wire.FromWorker, ...] = (
    wire.HelloBack(**WHO, version="0.1", pid=1),
    wire.Progress(**WHO, text="reading 😀\n\u2028"),
    wire.ModelRequested(**WHO, id=1, prefix_sha="ab", delta=(user(Text("a"), ToolResult("u", "b", True)),)),
    wire.ToolRequested(**WHO, id=2, name="search", input={"query": "x", "limit": 3}),
    wire.Report(**WHO, summary="done", answer="1222", complete=False),
)
TO: tuple[wire.ToWorker, ...] = (
    wire.Hello(
        **WHO,
        agent=wire.AgentOnWire(id="researcher", prompt="You…", tools=("search",)),
        text="When?",
        folders=wire.Folders(snapshot="/s", space="/w", inputs="/i", drafts="/d"),
        limits=wire.WorkerLimits(seconds=1, silence=2, turns=3),
        model="offline",
    ),
    wire.ModelReplied(**WHO, id=1, content=(Text("a"), ToolUse("u", "search", [])), stop_reason="tool_use"),
    wire.ModelReplied(**WHO, id=1, error="refused"),
    wire.ToolReplied(**WHO, id=2, content="nothing", is_error=True),
    wire.Cancel(**WHO),
)


@pytest.mark.parametrize("message", FROM, ids=lambda m: m.type)
def test_a_message_from_the_worker_reads_back(message: wire.FromWorker) -> None:
    assert LineSplitter(FROM_WORKER).feed(encode(message)) == [message]


@pytest.mark.parametrize("message", TO, ids=lambda m: m.type)
def test_a_message_to_the_worker_reads_back(message: wire.ToWorker) -> None:
    assert LineSplitter(TO_WORKER).feed(encode(message)) == [message]


@pytest.mark.parametrize("message", [*FROM, *TO], ids=lambda m: m.type)
def test_a_message_is_one_line_that_says_whose_it_is(message: wire.FromWorker | wire.ToWorker) -> None:
    line = encode(message)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    plain = json.loads(line)
    assert (plain["v"], plain["task"], plain["attempt"], plain["type"]) == (1, "t1", 2, message.type)


@given(st.data(), st.lists(st.sampled_from(FROM), max_size=5))
def test_pieces_of_any_size_come_out_alike(data: st.DataObject, messages: list[wire.FromWorker]) -> None:
    stream = b"".join(map(encode, messages))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    splitter = LineSplitter(FROM_WORKER)
    found = [one for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True) for one in splitter.feed(stream[a:b])]
    assert found == messages
    assert splitter.finish() == []


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_make_it_fail_or_hide_the_next_line(before: bytes, after: bytes) -> None:
    splitter = LineSplitter(FROM_WORKER)
    found = splitter.feed(before + b"\n" + encode(FROM[0]) + after)
    assert FROM[0] in found
    assert all(isinstance(one, Noise) for one in found if one != FROM[0])
    assert all(isinstance(one, Noise) for one in splitter.finish())


def test_all_noise_is_kept() -> None:
    splitter = LineSplitter(FROM_WORKER)
    line = b"Loading " + encode(FROM[0])[:-1] + b" and " + encode(FROM[1])[:-1] + b' {"note": 1} done\n'
    found = splitter.feed(line)
    assert [one for one in found if not isinstance(one, Noise)] == [FROM[0], FROM[1]]
    assert [one.data for one in found if isinstance(one, Noise)] == [b"Loading ", b" and ", b'{"note": 1}', b" done\n"]


def test_the_last_line_needs_no_end() -> None:
    splitter = LineSplitter(FROM_WORKER)
    assert splitter.feed(encode(FROM[4])[:-1]) == []
    assert splitter.finish() == [FROM[4]]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"summary": None}, "report.summary: Input should be a valid string"),
        ({"attempt": "two"}, "report.attempt: Input should be a valid integer"),
        ({"v": 2}, "report.v: Input should be 1"),
        ({"type": "rapport"}, "Input tag 'rapport' found"),
    ],
)
def test_a_message_gone_wrong_is_noise_that_was_meant(change: dict[str, object], reason: str) -> None:
    line = json.dumps({**json.loads(encode(FROM[4])), **change}).encode() + b"\n"
    (noise,) = LineSplitter(FROM_WORKER).feed(line)
    assert isinstance(noise, Noise) and noise.meant and reason in noise.reason


def test_fields_of_later_versions_are_passed_over() -> None:
    line = json.dumps({**json.loads(encode(FROM[0])), "since": "tomorrow"}).encode() + b"\n"
    assert LineSplitter(FROM_WORKER).feed(line) == [FROM[0]]


@pytest.mark.parametrize("deep", [b"[" * 60_000, b'{"a":' * 60_000, b"[" * 60_000 + b"]" * 60_000])
def test_depth_is_no_danger(deep: bytes) -> None:
    line = encode(FROM[3])[:-2] + b',"x":' + deep + b"}\n"
    found = LineSplitter(FROM_WORKER).feed(deep + b"\n" + line + encode(FROM[0]))
    assert found[-1] == FROM[0]
    assert all(isinstance(one, Noise) for one in found[:-1])


def test_a_line_that_never_ends_is_not_held() -> None:
    splitter = LineSplitter(FROM_WORKER)
    block = b"x" * (1 << 20)
    found = [one for _ in range(8) for one in splitter.feed(block)]
    assert len(found) == 1 and isinstance(found[0], Noise)
    assert len(found[0].data) == 4096
    assert splitter.skipped == 8 * len(block) - 4096
    assert splitter.feed(b"x\n" + encode(FROM[0])) == [FROM[0]]


@pytest.mark.parametrize("over", [0, 1])
def test_the_longest_line(over: int) -> None:
    message = wire.Report(**WHO, summary="", answer="")
    room = wire.MAX_LINE - len(encode(message)) + over
    long = message.model_copy(update={"answer": "x" * room})
    if over:
        with pytest.raises(wire.LineTooLong, match="report: 4194305 bytes"):
            encode(long)
    else:
        assert LineSplitter(FROM_WORKER).feed(encode(long)) == [long]


def test_half_a_character_becomes_a_whole_one() -> None:
    line = b'{"v":1,"task":"t1","attempt":2,"type":"progress","text":"a \\ud83d b"}\n'
    assert LineSplitter(FROM_WORKER).feed(line) == [wire.Progress(**WHO, text="a \ufffd b")]
    use = ToolUse("u", "search", {"query": "\ud83d"})
    (read,) = LineSplitter(TO_WORKER).feed(encode(wire.ModelReplied(**WHO, id=1, content=(use,))))
    assert isinstance(read, wire.ModelReplied)
    assert read.content == (ToolUse("u", "search", {"query": "\ufffd"}),)


def test_every_field_has_its_sentence() -> None:
    """docs/reference/wire.md is made from them."""
    source = wire.__doc__ or ""
    assert "one JSON object per line" in source
    for kind in (*{type(message) for message in (*FROM, *TO)}, wire.Folders, wire.AgentOnWire, wire.WorkerLimits):
        assert (kind.__doc__ or "").endswith(".")
