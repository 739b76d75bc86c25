"""A server that takes fewer calls than there are: eight workers wait, come back apart, and can be stopped meanwhile."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.story import Line, Story, wait_until

BEGIN = ("onepen init ws", "onepen -C ws add client Acme --id acme")
WORKERS = 8
"""Tasks that run side by side, as docs/explanation/orchestrator.md says."""

DONE = {"reply": [{"tool": "report", "input": {"summary": "done", "answer": "hot"}}]}


def delegate(count: int, more: str = "") -> str:
    texts = " ".join(f"'Question {k}?'" for k in range(count))
    return f"onepen -C ws delegate {texts} --client acme --answer --model sonnet --json {more}"


def closed(seconds: float, gap: float) -> list[dict[str, Any]]:
    """429 with the seconds to wait to everybody until then; from then on a call less than `gap` after the last, too."""
    first = {"within": seconds, "fault": {"status": 429, "retry_after": seconds}}
    return [first, {"sooner_than": gap, "fault": {"status": 429, "retry_after": gap}}, DONE]


def tries(calls: int, workers: int) -> float:
    """The most that pace.py promises."""
    return workers + 1.5 * calls


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("seconds", "gap", "tasks", "limit"), [(6.0, 0.3, 9, 5), pytest.param(20.0, 1.0, 16, 10, marks=pytest.mark.long)]
)
def test_nobody_comes_back_too_soon_and_not_all_at_once(
    tmp_path: Path, seconds: float, gap: float, tasks: int, limit: int
) -> None:
    """Field case 54, F24: eight workers are refused together; the documented number of tries holds.

    All of them wait longer than their time limit: it stands still while the server makes them wait.
    """
    with MessagesApi(closed(seconds, gap)) as api, Story(tmp_path, api.env, limit=240) as story:
        done = story.tell(*BEGIN, delegate(tasks, f"--time-limit {limit}"), kill=range(9))[-1].json["tasks"]
        assert Counter((t["status"], t["attempts"]) for t in done) == {("answered", 1): tasks}
        at = [seen.at - api.asked[0].at for seen in api.asked]
        first = [t for t in at if t < seconds]
        later = [t for t in at if t >= seconds]
        assert len(first) <= WORKERS and max(first) < 1, "once it is told, nobody asks before the server said so"
        assert len(at) <= tries(tasks, WORKERS)
        assert max(sum(begin <= t < begin + gap for t in later) for begin in later) <= 3
        story.tell("onepen -C ws doctor", kill=range(9))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("seconds", "tasks"), [(8.0, 3), pytest.param(20.0, 8, marks=pytest.mark.long)])
def test_killed_while_all_wait(tmp_path: Path, seconds: float, tasks: int) -> None:
    """Field case 54 with a kill in the wait.

    What the server asked for dies with the orchestrator that heard it: each task that goes on may try once more before
    the time is over, and is told again. No more than that, and no answer is paid twice.
    """
    with MessagesApi(closed(seconds, 0.2)) as api, Story(tmp_path, api.env, limit=240) as story:
        made = story.tell(*BEGIN, delegate(tasks, "--detach"))[-1].json["tasks"]
        assert wait_until(lambda: all_begun(story, tasks), 30)
        assert story.kill()
        assert [seen.status for seen in api.asked] == [429] * len(api.asked)
        names = " ".join(task["task"] for task in made)
        story.tell(f"for t in {names}; do onepen -C ws resume $t --json >$t.json & done; wait")
        done = [json.loads((story.home / f"{task['task']}.json").read_text())["tasks"][0] for task in made]
        assert Counter((t["status"], t["attempts"]) for t in done) == {("answered", 2): tasks}
        early = [seen for seen in api.asked if seen.at - api.asked[0].at < seconds]
        assert len(early) <= 2 * tasks
        assert len(api.asked) <= tries(tasks, tasks) + tasks
        assert [seen.status for seen in api.asked].count(200) == tasks
        usage = story.run("onepen -C ws usage --client acme --json").json["totals"]
        refused = len(api.asked) - tasks
        assert refused <= usage["lost_calls"] <= refused + tasks, "one whose refusal was just being noted counts twice"
        story.tell("onepen -C ws doctor", kill=range(9))


def all_begun(story: Story, tasks: int) -> bool:
    """Whether all attempts have begun, and one was told to wait."""
    staging = story.workspace / "clients/acme/staging"
    begun = [path for path in staging.glob("*/run.jsonl") if "attempt_started" in path.read_text()]
    return len(begun) == tasks and any("429" in path.read_text() for path in staging.glob("*/1/transcript.jsonl"))


@pytest.mark.timeout(120)
def test_fifteen_minutes_are_told_and_can_be_stopped(tmp_path: Path) -> None:
    """Field case 54: the person hears how long it takes, can end it, and killed in the wait it is only interrupted."""
    rules: list[dict[str, Any]] = [{"fault": {"status": 429, "retry_after": 900}}]
    with MessagesApi(rules) as api, Story(tmp_path, api.env, limit=240) as story:
        story.tell(*BEGIN, f"({delegate(1)} >out.json; echo $? >code) >/dev/null 2>err &")
        err = tmp_path / "err"
        assert wait_until(lambda: err.is_file() and "waits 900 s: claude-sonnet-5-5 at" in err.read_text(), 30)
        (named,) = set(re.findall(r"^(\w{8}) researcher:", err.read_text(), re.MULTILINE))
        story.tell(Line("onepen -C ws status --client acme", says="running"), "onepen -C ws down --now")
        assert wait_until((tmp_path / "code").is_file)
        assert (tmp_path / "code").read_text() == "130\n", err.read_text()
        story.tell(Line("onepen -C ws status --client acme", says="interrupted"))
        assert len(api.asked) == 1
        story.tell(f"onepen -C ws resume {named} --json >/dev/null 2>&1 &")
        assert wait_until(lambda: len(api.asked) == 2, 30)
        assert story.kill()
        api.say([DONE])
        story.tell(Line(f"onepen -C ws resume {named} --json", says="answered"), "onepen -C ws doctor")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("after", ["soon", pytest.param(None, marks=pytest.mark.long)])
def test_without_a_clear_wish_it_waits_as_long_as_it_thinks_right(tmp_path: Path, after: str | None) -> None:
    """Field case 54: nonsense in the header, and no header."""
    rules: list[dict[str, Any]] = [{"times": 2, "fault": {"status": 429, "retry_after": after}}, DONE]
    with MessagesApi(rules) as api, Story(tmp_path, api.env, limit=240) as story:
        (done,) = story.tell(*BEGIN, delegate(1), kill=range(9))[-1].json["tasks"]
        assert (done["status"], done["attempts"], len(api.asked)) == ("answered", 1, 3)
        waits = [later.at - sooner.at for sooner, later in pairwise(api.asked)]
        assert waits[0] >= 1 / 3 and waits[1] >= 1, waits
