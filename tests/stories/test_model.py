"""Work by a model behind the Messages API: the double answers, everything else is real."""

import json
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.books import books
from onepen.testing.messages_api import MessagesApi
from onepen.testing.story import Line, Story, wait_until

LETTER = "# Newsletter\n\nSehr geehrte Damen und Herren,\n\nder neue Ofen brennt seit November bei 1220 Grad.\n"
DRAFT = {
    "name": "newsletter.md",
    "target": "projects/ofen/newsletter.md",
    "text": LETTER,
    "index": [{"section_id": "newsletter", "summary": "Newsletter über den Ofen.", "keywords": ["brief"]}],
    "sources": ["inputs/n.md:1"],
}
USAGE = {"input": 1_000, "cache_write": 500, "cache_read": 2_000, "output": 200}
READ: dict[str, Any] = {
    "contains": "Newsletter",
    "turn": 1,
    "reply": [{"tool": "read_input", "input": {"name": "n.md"}}],
    "usage": USAGE,
}
WRITE: dict[str, Any] = {
    "contains": "Newsletter",
    "turn": 2,
    "reply": [{"text": "Ich schreibe."}, {"tool": "write_draft", "input": DRAFT}],
    "usage": USAGE,
}
REPORT: dict[str, Any] = {
    "contains": "Newsletter",
    "turn": 3,
    "reply": [{"tool": "report", "input": {"summary": "Newsletter geschrieben."}}],
    "usage": USAGE,
}
ACCEPTED: dict[str, Any] = {
    "forced": "verdict",
    "reply": [{"tool": "verdict", "input": {"verdict": "accept", "reason": "It says what its source says."}}],
    "usage": USAGE,
}
RULES = [ACCEPTED, READ, WRITE, REPORT]
BEGIN = (
    "onepen init ws",
    'onepen -C ws add client "Müller" --id mueller',
    "onepen -C ws add project Ofen --id ofen --client mueller",
    'echo "German, formal Sie, never prices." > ws/clients/mueller/BRIEF.md',
)
DELEGATE = (
    "onepen -C ws delegate Newsletter --agent writer --client mueller --project ofen --input n.md --model sonnet --json"
)
REST = (
    f"{DELEGATE} > told.json",
    "STORY_T=$(field tasks.0.task < told.json); test $(field tasks.0.status < told.json) = in_review",
    Line("onepen -C ws show $STORY_T-1", says="brennt seit November"),
    "sed -i s/Ofen/Brennofen/ ws/clients/mueller/staging/$STORY_T/1/drafts/newsletter.md",
    Line("onepen -C ws approve $STORY_T-1", code=3, says="Brennofen"),
    "onepen -C ws approve $STORY_T-1 --sha256 "
    "$(sha256sum ws/clients/mueller/staging/$STORY_T/1/drafts/newsletter.md | cut -d' ' -f1)",
    "grep -q Brennofen ws/clients/mueller/projects/ofen/newsletter.md",
    "grep -q newsletter ws/clients/mueller/projects/_index.md",
    'test $(grep -c "newsletter.md: created" ws/clients/mueller/memory/*-*-*.md) = 1',
    "onepen -C ws doctor",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "n.md").write_text("Der neue Ofen brennt seit November bei 1220 Grad.\n")
    return tmp_path


def test_content_with_a_voice_and_an_edit_of_ones_own(home: Path) -> None:
    with MessagesApi(RULES) as api, Story(home, api.env) as story:
        story.tell(*BEGIN, *REST)
        assert "never prices" in json.dumps(api.asked[0].body["system"])


def test_the_same_with_the_orchestrator_killed_before_every_line(home: Path) -> None:
    with MessagesApi(RULES) as api, Story(home, api.env) as story:
        story.tell(*BEGIN, *REST, kill=range(100))


def test_a_model_that_is_overloaded_and_a_stream_that_is_cut(home: Path) -> None:
    rules = [
        {"turn": 2, "times": 1, "fault": 529},
        {**WRITE, "turn": 2, "times": 1, "fault": "cut"},
        *RULES,
    ]
    with MessagesApi(rules) as api, Story(home, api.env) as story:
        (done,) = story.tell(*BEGIN, DELEGATE)[-1:]
        (task,) = done.json["tasks"]
        assert (task["status"], task["attempts"], len(task["drafts"])) == ("in_review", 1, 1)
        (booked,) = [line for line in bookings(story) if not line.get("role")]
        assert booked["input"] == 3 * USAGE["input"] + USAGE["input"], "three replies, and the beginning of the cut one"
        assert booked["cost_usd"] > 0
        story.tell("onepen -C ws doctor")


def test_what_was_answered_before_a_crash_is_not_asked_again(home: Path) -> None:
    rules = [ACCEPTED, READ, WRITE, {**REPORT, "times": 1, "delay": 60}, REPORT]
    with MessagesApi(rules) as api, Story(home, api.env) as story:
        (begun,) = story.tell(*BEGIN, f"{DELEGATE} --detach")[-1:]
        (task,) = begun.json["tasks"]
        assert wait_until(lambda: turns(api).count(3) == 1)
        assert story.kill()
        story.tell(
            Line("onepen -C ws status --client mueller", says="interrupted"),
            Line(f"onepen -C ws resume {task['task']} --json", says="in_review"),
            "onepen -C ws doctor",
        )
        assert sorted(turns(api)) == [1, 2, 3, 3]
        attempts = [line["attempt"] for line in bookings(story) if not line.get("role")]
        assert sorted(attempts) == [1, 2]
        (cut,) = [line for line in bookings(story) if line.get("role") == "cut"]
        assert (cut["task"], cut["lost"], cut["cost_usd"] > 0) == (task["task"], 1, True), "it may have to be paid"


def test_a_cap_also_holds_over_calls_that_nobody_saw_come_back(home: Path) -> None:
    """F23, for the money: what was out when the orchestrator was killed may have to be paid."""
    rules = [{"contains": "Newsletter", "delay": 60, "reply": [{"text": "Too late."}]}]
    with MessagesApi(rules) as api, Story(home, api.env) as story:
        (begun,) = story.tell(*BEGIN, f"{DELEGATE} --detach")[-1:]
        task = begun.json["tasks"][0]["task"]
        assert wait_until(lambda: turns(api) == [1])
        assert story.kill()
        story.tell("onepen -C ws up")
        (cut,) = [line for line in bookings(story) if line.get("role") == "cut"]
        budget = cut["cost_usd"] * 1.5
        story.tell(
            Line(f"onepen -C ws resume {task} --budget {budget:.4f}", code=4, says="are spent"),
            Line("onepen -C ws usage --client mueller", says="1 call gave no whole reply"),
            "onepen -C ws doctor",
        )
        assert turns(api) == [1], "a second call might have passed the cap"


def test_a_task_that_was_left_alone_is_there_afterwards(home: Path) -> None:
    with MessagesApi([ACCEPTED, READ, WRITE, {**REPORT, "delay": 4.0}]) as api, Story(home, api.env) as story:
        (begun,) = story.tell(*BEGIN, f"{DELEGATE} --detach")[-1:]
        (task,) = begun.json["tasks"]
        assert task["status"] in {"queued", "running"}
        assert api.wait_for(1), "it is being worked on now"
        (now,) = story.tell("onepen -C ws status --client mueller --json")
        assert [(t["task"], t["status"]) for t in now.json["tasks"]] == [(task["task"], "running")]
        assert now.json["orchestrator"]["pid"] == story.orchestrator()
        assert wait_until(lambda: story.run("onepen -C ws status --client mueller --json").json["drafts_waiting"] == 1)
        story.tell(Line(f"onepen -C ws show {task['task']}-1", says="brennt seit November"))


def turns(api: MessagesApi) -> list[int]:
    """Which call of the writer's conversation each request was."""
    asked = [seen.body for seen in api.asked]
    return [sum(m["role"] == "assistant" for m in a["messages"]) + 1 for a in asked if "tool_choice" not in a]


def bookings(story: Story) -> list[dict[str, Any]]:
    """What the client's usage log tells of each attempt, review and turn."""
    return books(story.workspace / "clients/mueller/logs")
