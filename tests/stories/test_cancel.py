"""`onepen cancel` in a shell: what runs in the background, what waits, and what a dead orchestrator left."""

import time
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.story import Line, Story, wait_until

from .conftest import Install
from .test_silent import NOTE, at_work, delegate, writes

WORKERS: dict[str, list[list[Any]]] = {
    "listens": [["hello"], writes("listens"), ["read"], ["shell", "mv 0.md told.md"], ["exit", 0]],
    "is deaf": [["hello"], ["deaf"], ["sleep", 60]],
    "works": [["hello"], writes("works"), ["report", {"summary": "done"}]],
}


@pytest.fixture
def story(install: Install, tmp_path: Path) -> Story:
    (tmp_path / "n.md").write_text(NOTE)
    return Story(tmp_path, install(WORKERS))


def begun(story: Story, *words: str) -> dict[str, str]:
    """The tasks by their words, once their workers run."""
    made = story.run(delegate(*words, limit=50, more="--detach")).json["tasks"]
    tasks = {word: task["task"] for word, task in zip(words, made, strict=True)}
    assert wait_until(lambda: len(at_work(story)) == len([w for w in words if w != "works"]))
    return tasks


def test_workers_are_told_then_ended_and_what_they_left_waits(story: Story) -> None:
    with story:
        story.tell("onepen init ws")
        tasks = begun(story, "listens", "is deaf", "works")
        drafts = story.workspace / f"staging/{tasks['listens']}/1/drafts"
        assert wait_until((drafts / "0.md").is_file)
        assert wait_until((story.workspace / "research/it-works.md").is_file)
        began = time.monotonic()
        ran = story.run(f"onepen -C ws cancel {tasks['listens']} {tasks['is deaf']} --json")
        assert time.monotonic() - began < 8, "2 s to end by themselves, 1 s after SIGTERM, and a busy machine"
        assert ran.code == 0, ran
        assert [(t["status"], len(t["drafts"])) for t in ran.json["tasks"]] == [("cancelled", 1), ("cancelled", 0)]
        assert not at_work(story)
        assert (drafts / "told.md").exists(), "it had a moment to end by itself"
        waiting = ran.json["tasks"][0]["drafts"][0]["id"]
        story.tell(
            Line(f"onepen -C ws show {waiting}", says="its attempt ended before it was done"),
            Line(f"onepen -C ws cancel {tasks['works']}", code=1, says="nobody is at work on it, it is committed"),
            Line(f"onepen -C ws cancel {tasks['listens']}", says="it was cancelled before"),
            Line("onepen -C ws cancel nothere", code=2, says="nothere"),
            f"onepen -C ws reject {waiting} -m no",
            "onepen -C ws doctor",
        )


def test_without_an_orchestrator(story: Story) -> None:
    """Killed before it, so what seems to run was interrupted; nobody begins it anew."""
    with story:
        story.tell("onepen init ws")
        task = begun(story, "is deaf")["is deaf"]
        story.tell(
            Line(f"onepen -C ws cancel {task} --dry-run", says="Nothing was written"),
            Line(f"onepen -C ws cancel {task}", says="cancelled"),
            Line("onepen -C ws status --json | field tasks", says="[]"),
            Line(f"onepen -C ws cancel {task}", says="it was cancelled before"),
            "onepen -C ws doctor",
            kill=(0,),
        )
        assert wait_until(lambda: not at_work(story))
