"""Workers that hang, die or give up, as other programs in the place of onepen's own: field case 43 in a shell.

A kill before a line changes nothing. A kill while workers run changes `attempts`: what ran then is begun anew by
`resume`, and ends as it would have.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.story import Line, Story, wait_until

from .conftest import Install

NOTE = "The kiln fires at 1220 degrees.\n"
MARK = "61.4343"
"""Seconds that nothing else sleeps: by them what a worker has started is found again."""


def draft(word: str) -> str:
    """Quoted word for word, under the task's own words: with --review auto nobody else would have to agree."""
    title, place = f"It {word}", f"it-{word.replace(' ', '-')}"
    index = f"[{{section_id: what-i-found, keywords: [kiln, fires], summary: {NOTE.strip()}}}]"
    front = f"target: research/{place}.md\nedit: create\ntitle: {title}\nindex: {index}\nsources: ['inputs/n.md:1']"
    return f'---\n{front}\n---\n# {title}\n\n## What I found\n\n> "{NOTE.strip()}" (inputs/n.md:1)\n'


def writes(*words: str) -> list[Any]:
    files = [f"cat >{k}.md <<'END'\n{draft(word)}END\n" for k, word in enumerate(words)]
    return ["shell", "\n".join(files)]


DOTS: list[list[Any]] = [["print", "."], ["sleep", 0.5]] * 120
WORKERS: dict[str, list[list[Any]]] = {
    "sleeps": [["hello"], ["sleep", 60]],
    "prints dots": [["hello"], *DOTS],
    "is deaf": [["hello"], ["deaf"], ["sleep", 60]],
    "has a child": [["hello"], ["shell", f"sh -c 'sleep {MARK}'"]],
    "writes and hangs": [["hello"], writes("writes and hangs"), ["sleep", 60]],
    "dies": [["signal", "SIGSEGV"]],
    "gives up": [
        ["hello"],
        writes("gives up", "is a second one"),
        ["report", {"summary": "my turns are used up", "complete": False}],
    ],
    "works": [["hello"], writes("works"), ["report", {"summary": "done"}]],
}


def delegate(*words: str, limit: float, more: str = "") -> str:
    texts = " ".join(f"'It {word}'" for word in words)
    return (
        f"onepen -C ws delegate {texts} --input n.md --model offline --review auto --time-limit {limit} --json {more}"
    )


@pytest.fixture
def story(install: Install, tmp_path: Path) -> Story:
    (tmp_path / "n.md").write_text(NOTE)
    return Story(tmp_path, install(WORKERS))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("limit", [3, pytest.param(5, marks=pytest.mark.long)])
def test_each_ends_at_its_limit_and_delays_nobody(story: Story, limit: int) -> None:
    """Field case 43, A to G and one that works, side by side."""
    with story:
        *_, ran = story.tell("onepen init ws", Line(delegate(*WORKERS, limit=limit), code=1), kill=range(9))
        tasks = dict(zip(WORKERS, ran.json["tasks"], strict=True))
        hangs = ("sleeps", "prints dots", "is deaf", "has a child", "writes and hangs")
        for word in hangs:
            assert (tasks[word]["status"], tasks[word]["attempts"]) == ("timed_out", 1), tasks[word]
            assert limit <= tasks[word]["seconds"] < limit + 4, "the limit, a second's grace, and a busy machine"
            assert f"not done after {limit} s" in tasks[word]["reason"]
        assert not running(MARK)
        assert tasks["dies"]["status"] == "quarantined" and "SIGSEGV" in tasks["dies"]["reason"]
        assert tasks["works"]["status"] == "committed", "what is quoted word for word needs nobody, if it is whole"
        for word in ("dies", "gives up", "works"):
            assert tasks[word]["seconds"] < limit, "none of them waited for one that hangs"
        kept = {"writes and hangs": "its attempt ended", "gives up": "something is left open"}
        for word, why in kept.items():
            drafts = tasks[word]["drafts"]
            assert [d["status"] for d in drafts] == ["waiting"] * (2 if word == "gives up" else 1)
            assert all(why in " ".join(f["message"] for f in d["findings"]) for d in drafts)
        assert tasks["gives up"]["status"] == "in_review"
        waiting = tasks["writes and hangs"]["drafts"][0]
        story.tell(
            Line("onepen -C ws status", says="not done after"),
            Line(f"onepen -C ws show {waiting['id']}", says="its attempt ended before it was done"),
            Line(f"onepen -C ws approve {waiting['id']} --yes", code=3, says="needs your answer"),
            "onepen -C ws doctor",
            "test $(ls ws/research/*.md | grep -vc _index) = 1",
            f"onepen -C ws approve {waiting['id']} --sha256 {waiting['sha256']}",
            "onepen -C ws doctor",
            kill=range(9),
        )


def test_what_ran_at_a_kill_is_interrupted_and_ends_at_its_limit_when_it_goes_on(story: Story) -> None:
    """The same, killed when a draft lies there and nothing is reported: nobody takes the draft for a whole one."""
    words = ("sleeps", "writes and hangs", "works")
    with story:
        *_, ran = story.tell("onepen init ws", delegate(*words, limit=2, more="--detach"))
        tasks = {word: task["task"] for word, task in zip(words, ran.json["tasks"], strict=True)}
        lies = story.workspace / f"staging/{tasks['writes and hangs']}/1/drafts/0.md"
        assert wait_until(lies.is_file)
        assert wait_until((story.workspace / "research/it-works.md").is_file)
        assert story.kill()
        status = {t["task"]: t["status"] for t in story.run("onepen -C ws status --json").json["tasks"]}
        assert (status[tasks["sleeps"]], status[tasks["writes and hangs"]]) == ("interrupted", "interrupted")
        assert wait_until(lambda: not at_work(story)), "workers die with their orchestrator"
        (ended,) = story.run(f"onepen -C ws resume {tasks['writes and hangs']} --json").json["tasks"]
        assert (ended["status"], ended["attempts"]) == ("timed_out", 2), ended
        assert [d["status"] for d in ended["drafts"]] == ["waiting"]
        assert story.kill()
        story.tell("test $(ls ws/research/*.md | grep -vc _index) = 1", "onepen -C ws doctor")
        commits = story.run("onepen -C ws history --json").json["commits"]
        assert [c["task"] for c in commits if c["task"]] == [tasks["works"]]


def at_work(story: Story) -> list[str]:
    return [words for words in commands() if str(story.home) in words and "testing/worker.py" in words]


def running(mark: str) -> list[str]:
    """What a worker has started, by the mark."""
    return [words for words in commands() if f"sleep {mark}" in words and "onepen" not in words]


def commands() -> Iterator[str]:
    """The command lines of all processes."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            yield (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
