"""Replies that break off, in every way in which a server breaks them: nothing of them counts but what they cost.

A kill before a line changes nothing. A kill while a call waits to be made again costs no second answer: what the
broken try had used is in the books, and the call is made anew.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.books import books
from onepen.testing.messages_api import MessagesApi
from onepen.testing.messages_api.seen import Seen
from onepen.testing.story import Line, Story, wait_until

BEGIN = (
    "onepen init ws",
    "onepen -C ws add client Acme --id acme",
    "printf '# Kiln\\n\\n## Firing\\n\\n- cold\\n' | onepen -C ws add project Kiln --id kiln --client acme --from -",
)
USAGE = {"input": 1_000, "cache_write": 500, "cache_read": 2_000, "output": 200}
WRITE: dict[str, Any] = {
    "tool": "write_memory_card",
    "input": {
        "project": "kiln",
        "old_text": "- cold\n",
        "new_text": "- cold\n- fire at 1220\n",
        "index_entry": {"section_id": "firing", "summary": "Fire at 1220.", "keywords": ["fire"]},
    },
}
DRAFT: dict[str, Any] = {"tool": "write_draft", "input": {"title": "Heat", "text": "# Heat\n\n## Result\n\nHot.\n"}}
DONE = {"tool": "report", "input": {"summary": "done"}}
ASK = "onepen -C ws ask 'Note it' --client acme --json"
WORK = "onepen -C ws delegate 'Heat' --agent writer --client acme --model sonnet --json"
VERDICT = {
    "forced": "verdict",
    "reply": [{"tool": "verdict", "input": {"verdict": "accept", "reason": "x"}}],
    "usage": USAGE,
}


def broken(call: dict[str, Any], *faults: Any, said: str = "half") -> list[dict[str, Any]]:
    """A rule for each fault, used once: it strikes a reply of words and a call."""
    return [{"times": 1, "fault": f, "reply": [{"text": said}, call], "usage": USAGE} for f in faults]


def overloaded(at: str) -> dict[str, Any]:
    return {"kind": "error_event", "at": at}


def gaps(asked: list[Seen]) -> list[float]:
    return [later.at - sooner.at for sooner, later in pairwise(asked)]


def booked(story: Story) -> list[dict[str, Any]]:
    return books(story.workspace / "clients/acme/logs")


def reported(*outputs: int, calls: int = 0) -> dict[str, int]:
    """What the server said that it counted: broken tries with so many tokens of output, and whole calls."""
    tries = len(outputs) + calls
    known = {kind: tries * USAGE[kind] for kind in ("input", "cache_write", "cache_read")}
    return {**known, "output": sum(outputs) + calls * USAGE["output"]}


TWICE = (overloaded("middle"), overloaded("block"))
FIVE = (*TWICE, 529, overloaded("start"), overloaded("delta"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("faults", "outputs"),
    [(TWICE, (1, 1)), pytest.param(FIVE, (1, 1, 1, USAGE["output"]), marks=pytest.mark.long)],
    ids=["twice", "five times"],
)
def test_in_a_chat_nothing_of_a_broken_reply_is_done_or_said_twice(
    tmp_path: Path, faults: tuple[Any, ...], outputs: tuple[int, ...]
) -> None:
    """Field case 52 and F26: in the middle of a call, then after a whole one; up to five times in a row."""
    rules = [
        *broken(WRITE, *faults),
        {"turn": 1, "reply": [WRITE], "usage": USAGE},
        {"reply": "Noted.", "usage": USAGE},
    ]
    with MessagesApi(rules) as api, Story(tmp_path, api.env, limit=200) as story:
        ran = story.tell(*BEGIN, ASK, "onepen -C ws usage --client acme --json", kill=range(100))
        told, usage = ran[-2].json, ran[-1].json["totals"]
        assert (told["answer"], len(told["commits"]), told["calls"]) == ("Noted.", 1, 2)
        assert len(api.asked) == len(faults) + 2
        waits = gaps(api.asked)[: len(faults)]
        assert all(wait >= 3**k / 3 for k, wait in enumerate(waits)), "each at least as long as the last one at most"
        assert told["usage"] == {k: usage[k] for k in told["usage"]} == reported(*outputs, calls=2)
        assert (usage["bookings"], usage["lost_calls"]) == (1, len(faults))
        text = (story.workspace / "clients/acme/projects/kiln.md").read_text()
        assert text.count("fire at 1220") == 1
        resumed = Line("echo on | onepen -C ws chat --resume --client acme --json", says="Noted.")
        story.tell(resumed, "onepen -C ws doctor", kill=range(9))
        assert "half" not in json.dumps(api.asked[-1].body["messages"])


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("faults", "outputs"),
    [
        ((overloaded("block"), {"kind": "cut", "at": "delta"}), (1, USAGE["output"])),
        pytest.param(FIVE, (1, 1, 1, USAGE["output"]), marks=pytest.mark.long),
    ],
    ids=["twice", "five times"],
)
def test_a_worker_runs_no_call_of_a_broken_reply(
    tmp_path: Path, faults: tuple[Any, ...], outputs: tuple[int, ...]
) -> None:
    """The same for a sub-agent, whose clock stands still meanwhile: one attempt, and one draft."""
    wrong = {"tool": "write_draft", "input": {"title": "Half", "text": "# Half\n"}}
    writes = {"turn": 1, "reply": [DRAFT], "usage": USAGE}
    rules = [VERDICT, *broken(wrong, *faults), writes, {"reply": [DONE], "usage": USAGE}]
    with MessagesApi(rules) as api, Story(tmp_path, api.env, limit=200) as story:
        (task,) = story.tell(*BEGIN, WORK, kill=range(100))[-1].json["tasks"]
        assert (task["status"], task["attempts"]) == ("in_review", 1)
        assert [d["target"] for d in task["drafts"]] == ["research/heat.md"]
        (work,) = [line for line in booked(story) if not line.get("role")]
        assert {k: work[k] for k in USAGE} == reported(*outputs, calls=2)
        assert work["lost"] == len(faults)
        story.tell("onepen -C ws doctor", kill=range(9))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("at_work", ["ask", "delegate"])
def test_killed_while_it_waits_to_ask_again(tmp_path: Path, at_work: str) -> None:
    """Field case 52 with a kill in the wait: the broken try is booked once, the next one is a try like any other."""
    ask = at_work == "ask"
    call = WRITE if ask else DRAFT
    rules: list[dict[str, Any]] = [
        VERDICT,
        *broken(call, overloaded("block")),
        {"times": 1, "fault": {"status": 529, "retry_after": 60}},
        {"last_contains": "go on", "reply": "I go on.", "usage": USAGE},
        {"turn": 1, "reply": [call], "usage": USAGE},
        {"reply": [DONE], "usage": USAGE},
    ]
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        *_, begun = story.tell(*BEGIN, f"({ASK} >/dev/null 2>&1 &)" if ask else f"{WORK} --detach")
        assert wait_until(lambda: len(api.asked) == 2, 30)
        assert wait_until(lambda: waits(story, ask), 10), "the second try was refused, and it waits for a minute"
        assert story.kill()
        if ask:
            story.tell(Line("echo 'go on' | onepen -C ws chat --resume --client acme", says="I go on."))
            assert "fire at 1220" not in (story.workspace / "clients/acme/projects/kiln.md").read_text()
        else:
            (task,) = begun.json["tasks"]
            story.tell(Line(f"onepen -C ws resume {task['task']} --json", says="in_review"))
        work = [line for line in booked(story) if line.get("role") != "review"]
        assert {k: sum(line[k] for line in work) for k in USAGE} == reported(1, calls=1 if ask else 2)
        assert sum(line.get("lost", 0) for line in work) == 2
        story.tell("onepen -C ws doctor", kill=range(9))


def waits(story: Story, ask: bool) -> bool:
    """Whether the second broken try was noted, and nothing is out: what is out at a kill counts with its most."""
    where = "chats/*.jsonl" if ask else "staging/*/1/transcript.jsonl"
    text = "".join(path.read_text() for path in (story.workspace / "clients/acme").glob(where))
    calls = "".join(path.read_text() for path in (story.workspace / ".onepen/calls").glob("*.jsonl"))
    return text.count('"lost"') >= 2 and calls.count('{"out"') == calls.count('{"back"')


CUTS = (
    {"kind": "cut", "at": "start"},
    {"kind": "cut", "at": "middle"},
    {"kind": "cut", "at": "delta"},
    "reset_in_reply",
)
ENDS = (
    {"kind": "error_event", "type": "api_error"},
    {"kind": "error_event", "type": "rate_limit_error", "at": "block"},
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "fault",
    [CUTS[1], *(pytest.param(f, marks=pytest.mark.long) for f in (CUTS[0], *CUTS[2:], *ENDS))],
    ids=lambda f: "-".join(map(str, f.values())) if isinstance(f, dict) else str(f),
)
def test_a_stream_that_ends_early_is_no_answer(tmp_path: Path, fault: Any) -> None:
    """F26: every way to break off, for a chat and for a worker in one shell; each attempt is booked once."""
    rules: list[dict[str, Any]] = [
        VERDICT,
        {
            "system_contains": 'agent id="writer"',
            "turn": 1,
            "times": 1,
            "fault": fault,
            "reply": [DRAFT],
            "usage": USAGE,
        },
        {"system_contains": 'agent id="writer"', "turn": 1, "reply": [DRAFT], "usage": USAGE},
        {"system_contains": 'agent id="writer"', "reply": [DONE], "usage": USAGE},
        {"turn": 1, "times": 1, "fault": fault, "reply": [WRITE], "usage": USAGE},
        {"turn": 1, "reply": [WRITE], "usage": USAGE},
        {"reply": "Noted.", "usage": USAGE},
    ]
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        asked, worked = story.tell(*BEGIN, ASK, WORK, kill=range(100))[-2:]
        assert (asked.json["answer"], len(asked.json["commits"]), len(api.asked)) == ("Noted.", 1, 3 + 3 + 1)
        (task,) = worked.json["tasks"]
        assert (task["status"], task["attempts"], len(task["drafts"])) == ("in_review", 1, 1)
        chat, work = (line for line in booked(story) if line.get("role") != "review")
        for line in (chat, work):
            assert line["lost"] == 1
            assert line["input"] == 3 * USAGE["input"], "the broken try had said what it read"
        story.tell("test $(grep -c 1220 ws/clients/acme/projects/kiln.md) = 1", "onepen -C ws doctor", kill=range(9))
