"""Many workers and one budget, in a shell: what the server bills never passes it, also over kills."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.messages_api.seen import Seen
from onepen.testing.story import Line, Story, wait_until

CALL, REVIEW = 0.09, 0.015
EACH = {"input": 0, "output": 6_000}
SHORT = {"input": 0, "output": 1_000}
"""What a call and a review are said to have used: 9 cents, and less, at the price below."""

PRICES = """
[profiles.default.prices."claude-sonnet-5-5"]
input = 0.0
output = 15.0
"""
DONE = [{"tool": "report", "input": {"summary": "done", "answer": "hot"}}]
VERDICT = {
    "forced": "verdict",
    "reply": [{"tool": "verdict", "input": {"verdict": "accept", "reason": "x"}}],
    "usage": SHORT,
}


def config(day_usd: float) -> str:
    text = f"{PRICES}[budget]\nday_usd = {day_usd}\n"
    return f"mkdir -p .config/onepen; echo '{text}' > .config/onepen/config.toml"


def rules(delay: float) -> list[dict[str, Any]]:
    """Every third task needs three calls; two calls break after they were paid; a model reviews each draft."""
    said: dict[str, Any] = {"usage": EACH, "delay": delay}
    looks = [{"contains": "rounds", "turn": k, "reply": [search(k)], **said} for k in (1, 2)]
    cut = {"kind": "cut", "at": "delta"}
    return [
        VERDICT,
        *({"nth": n, "reply": DONE, "fault": cut, **said} for n in (3, 6)),
        *looks,
        {"reply": DONE, **said},
    ]


def search(number: int) -> dict[str, Any]:
    return {"tool": "search", "input": {"query": f"kiln {number}"}}


def delegate(count: int, more: str = "") -> str:
    texts = " ".join(f"'Question {k}{', three rounds' * (k % 3 == 0)}?'" for k in range(count))
    return f"onepen -C ws delegate {texts} --agent writer --model sonnet --json {more}"


def billed(asked: list[Seen]) -> float:
    return sum(REVIEW if "tool_choice" in seen.body else CALL for seen in asked)


def booked(story: Story) -> float:
    return float(story.run("onepen -C ws usage --json").json["totals"]["cost_usd"])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("tasks", [12, pytest.param(40, marks=pytest.mark.long)])
def test_what_is_billed_stays_within_the_budget_and_more_money_goes_on_where_it_ended(
    tmp_path: Path, tasks: int
) -> None:
    """Field case 64: eight at once, one dollar, 9 cents a call, and all of it counts: tries, rounds, reviews.

    A kill before a line changes no figure.
    """
    with MessagesApi(rules(1.0)) as api, Story(tmp_path, api.env, limit=240) as story:
        *_, ran = story.tell(config(1.0), "onepen init ws", Line(delegate(tasks), code=4), kill=range(9))
        told = ran.json["tasks"]
        assert set(Counter(t["status"] for t in told)) == {"in_review", "over_budget"}
        assert 0.7 < billed(api.asked) <= 1.0
        assert booked(story) == pytest.approx(billed(api.asked), abs=1e-6)
        assert any("tool_choice" in seen.body for seen in api.asked), "a review costs, too"
        untouched = [t["task"] for t in told if t["reason"].startswith("not started: the day's budget")]
        assert untouched == [t["task"] for t in told if t["cost_usd"] == 0], "not started is no failure"

        count = len(api.asked)
        story.tell(Line(delegate(1), code=4, says="not started: the day's budget"), kill=range(9))
        assert len(api.asked) == count, "nothing is asked once the budget is reached"

        stopped = [t for t in told if t["status"] == "over_budget"]
        part = next((t for t in stopped if t["cost_usd"]), stopped[0])
        had = round(part["cost_usd"] / CALL)
        *_, done = story.tell(config(20.0), f"onepen -C ws resume {part['task']} --json", kill=range(9))
        (task,) = done.json["tasks"]
        assert (task["status"], task["task"]) == ("in_review", part["task"])
        needed = (3 if "rounds" in part["text"] else 1) - whole(story, part["task"], 1)
        assert len(api.asked) - count == needed + 1, f"after {had} calls: what is left to do, and its review"
        assert booked(story) == pytest.approx(billed(api.asked), abs=1e-6)
        story.tell("onepen -C ws doctor", kill=range(9))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("tasks", "kills"), [(8, 1), pytest.param(40, 4, marks=pytest.mark.long)])
def test_calls_that_are_out_at_a_kill_count_with_the_most_that_they_may_have_cost(
    tmp_path: Path, tasks: int, kills: int
) -> None:
    """Field case 64 with kills in the middle of the work.

    What is billed stays within the budget all the same. The books may say more than the bill: at most what was set
    aside for the calls that were out, eight for each kill. And a call that was out is made again.
    """
    budget = 2.0
    with MessagesApi(rules(0.3)) as api, Story(tmp_path, api.env, limit=240) as story:
        *_, ran = story.tell(config(budget), "onepen init ws", delegate(tasks, "--detach"))
        names = [task["task"] for task in ran.json["tasks"]]
        for kill in range(1, kills + 1):
            reached = len(api.asked) + 3
            if not wait_until(lambda reached=reached: len(api.asked) >= reached, 20):  # type: ignore[misc]
                break
            assert story.kill()
            if kill < kills:
                story.tell(*(f"(onepen -C ws resume {name} >/dev/null 2>&1 &)" for name in names[:WORKERS]))
        resumed = [story.run(f"onepen -C ws resume {name} --json").json["tasks"][0] for name in names]
        assert {t["status"] for t in resumed} <= {"in_review", "over_budget"}
        assert billed(api.asked) <= budget
        most = WORKERS * kills * SET_ASIDE
        assert billed(api.asked) - 1e-6 <= booked(story) <= min(budget, billed(api.asked) + most)
        stored = [whole(story, name, n) for name in names for n in attempts(story, name)]
        assert len(api.asked) <= sum(stored) + reviews(api.asked) + 2 + WORKERS * kills, "made twice: only what was out"
        story.tell("onepen -C ws doctor", kill=range(9))


WORKERS = 8
SET_ASIDE = 8_192 * 15 / 1e6
"""The most that a call may cost: the longest reply."""


def attempts(story: Story, task: str) -> list[int]:
    return [int(path.name) for path in (story.workspace / "staging" / task).iterdir() if path.name.isdigit()]


def whole(story: Story, task: str, attempt: int) -> int:
    """How many replies of its own an attempt has stored."""
    path = story.workspace / f"staging/{task}/{attempt}/transcript.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    return sum(line["kind"] == "reply" and not line["reused"] for line in lines)


def reviews(asked: list[Seen]) -> int:
    return sum("tool_choice" in seen.body for seen in asked)
