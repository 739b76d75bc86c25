"""One pen, whatever is done to what it rests on: crowds, kills, files put there by hand, and process number 1."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.messages_api import Asked, MessagesApi
from onepen.testing.program import orchestrators
from onepen.testing.story import Line, Story, wait_until

BEGIN = (
    "onepen init ws",
    "onepen -C ws add client Acme --id acme",
    "printf '# Kiln\\n\\n## Firing\\n\\n- cold\\n' | onepen -C ws add project Kiln --id kiln --client acme --from -",
)
NOTE = {"pid": 1, "host": "elsewhere", "since": "2020-01-01T00:00:00+00:00", "socket": "/nowhere/x.sock"}
LEFT = {"foreign": json.dumps(NOTE).encode(), "pid 1": b"1", "empty": b"", "binary": b"\x00\xff\x80"}


def together(*lines: str) -> str:
    """The lines side by side; what each prints and how it ends is in out.K, err.K and code.K."""
    jobs = "".join(f"({{ {line}; }} >out.{k} 2>err.{k}; echo $? >code.{k}) &\n" for k, line in enumerate(lines))
    return f"rm -f out.* err.* code.*; {jobs} wait"


def ended(story: Story, count: int) -> list[tuple[int, str, str]]:
    read = [[(story.home / f"{what}.{k}").read_text() for what in ("code", "out", "err")] for k in range(count)]
    return [(int(code), out, err) for code, out, err in read]


# -- several at once ---------------------------------------------------------------------------------------------------


def writes(asked: Asked) -> Mapping[str, Any] | None:
    """Adds the line that is asked for, unless it was added already."""
    if asked.to != "messages":
        return None
    if asked.turn > 1:
        return {"reply": "It is noted."}
    word = re.findall(r"round-\d+-\d", asked.last)[-1]
    edit = {"project": "kiln", "old_text": "- cold\n", "new_text": f"- cold\n- {word}\n"}
    entry = {"section_id": "firing", "summary": f"Fired, {word}.", "keywords": ["fire"]}
    return {"reply": [{"tool": "write_memory_card", "input": {**edit, "index_entry": entry}}]}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("rounds", "harmed"),
    [(1, True), pytest.param(20, False, marks=pytest.mark.long), pytest.param(20, True, marks=pytest.mark.long)],
)
def test_five_that_start_at_once_write_what_they_say_they_wrote(rounds: int, harmed: bool, tmp_path: Path) -> None:
    """Field case 3: each starts the orchestrator and writes another text into the same section."""
    with MessagesApi([writes]) as api, Story(tmp_path, api.env) as story:
        story.tell(*BEGIN)
        accepted: list[str] = []
        for number in range(rounds):
            words = [f"round-{number}-{k}" for k in range(5)]
            jobs = [f"onepen -C ws ask 'Note {word}' --client acme --json" for word in words]
            begun = time.monotonic()
            story.tell(together(*jobs))
            took = time.monotonic() - begun
            for word, (code, out, err) in zip(words, ended(story, 5), strict=True):
                assert code in (0, 5), (code, err)
                assert "Traceback" not in err
                if code == 0:
                    assert json.loads(out)["commits"], out
                    accepted.append(word)
                else:
                    assert "process" in err and took < 60, err
            if harmed:
                story.kill()
        card = (story.home / "ws/clients/acme/projects/kiln.md").read_text()
        assert sorted(line[2:] for line in card.splitlines() if "round-" in line) == sorted(accepted)
        assert accepted
        for path in (story.home / "ws").rglob("*.json*"):
            assert all(json.loads(line) for line in path.read_text().splitlines()), path
        assert not [path for path in story.home.rglob("*") if "corrupt" in path.name or path.name.endswith(".tmp")]
        story.tell("onepen -C ws doctor")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("many", [8, pytest.param(2, marks=pytest.mark.long), pytest.param(50, marks=pytest.mark.long)])
def test_of_orchestrators_started_at_once_exactly_one_stays(many: int, tmp_path: Path) -> None:
    """F14, at first and after a kill -9."""
    with Story(tmp_path, limit=240) as story:
        story.tell(BEGIN[0])
        for _ in range(2):  # the second time after a kill -9
            story.tell(together(*["onepen -C ws up --json"] * many))
            all_ = ended(story, many)
            told = {json.loads(out)["orchestrator"]["pid"] for code, out, _ in all_ if code == 0}
            assert all(code == 0 or (code == 5 and "process" in err) for code, _, err in all_), all_
            assert len(told) == 1
            assert wait_until(lambda told=told: set(orchestrators(story.home)) == told)  # type: ignore[misc]
            story.tell("onepen -C ws log here")
            assert story.kill()
        story.tell("onepen -C ws doctor", "test $(grep -c here ws/memory/*-*-*.md) = 2")


# -- what is left of a dead one ----------------------------------------------------------------------------------------


def test_a_lock_left_behind_stops_nobody(tmp_path: Path) -> None:
    """Field case 69: killed while it holds the lock, then lock and note by hand, each in turn."""
    with Story(tmp_path) as story:
        story.tell(BEGIN[0])
        for name in LEFT:
            (tmp_path / "left").write_bytes(LEFT[name])
            for file in ("pen.lock", "pen.json"):
                began = time.monotonic()
                story.tell(f"cp left ws/.onepen/{file}; timeout 10 onepen -C ws log '{name} in {file}'")
                assert time.monotonic() - began < 10
        story.tell("onepen -C ws up")
        assert story.kill()
        began = time.monotonic()
        story.tell("onepen -C ws up")
        assert time.monotonic() - began < 10, "2 s on a machine that is not busy"
        story.tell("onepen -C ws doctor", "test $(grep -c ' in pen' ws/memory/*-*-*.md) = 8")


@pytest.mark.parametrize("name", ["foreign", *(pytest.param(n, marks=pytest.mark.long) for n in list(LEFT)[1:])])
def test_a_live_writer_keeps_the_pen_whatever_its_files_say(name: str, tmp_path: Path) -> None:
    with Story(tmp_path) as story:
        story.tell(BEGIN[0], "onepen -C ws up")
        pid = story.orchestrator()
        (tmp_path / "left").write_bytes(LEFT[name])
        story.tell(
            "cat left > ws/.onepen/pen.lock; cat left > ws/.onepen/pen.json",
            "timeout 10 onepen -C ws log one",
            "timeout 10 onepen -C ws up --json > up.json",
            f"test $(field orchestrator.pid < up.json) = {pid}",
            "onepen -C ws down",
            "onepen -C ws doctor",
        )


UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc"]


def _can_unshare() -> bool:
    return (
        shutil.which("unshare") is not None and subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not _can_unshare(), reason="needs the right to make a process namespace")
def test_as_process_1_of_a_container(tmp_path: Path) -> None:
    inside = " ".join(UNSHARE)
    with Story(tmp_path) as story:
        story.tell(
            BEGIN[0],
            f"timeout 20 {inside} onepen -C ws log first",
            # Killed as process 1; its number is that of a process that lives, here and in the next container.
            f"{inside} onepen -C ws up --foreground >up.log 2>&1 & for k in $(seq 200); do "
            "grep -q '\"pid\": 1,.*version' ws/.onepen/pen.json && break; sleep 0.05; done; "
            "pkill -9 -P $! ; wait $! 2>/dev/null; grep -q '\"pid\": 1,' ws/.onepen/pen.json",
            "timeout 10 onepen -C ws log second",
            f"timeout 20 {inside} onepen -C ws log third",
            "onepen -C ws doctor",
            "test $(grep -cE 'first|second|third' ws/memory/*-*-*.md) = 3",
        )


# -- what is taken away ------------------------------------------------------------------------------------------------


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "harm",
    [
        "rm -r ws/.onepen",
        pytest.param("rm ws/.onepen/pen.lock", marks=pytest.mark.long),
        pytest.param("rm ws/.onepen/redo/log", marks=pytest.mark.long),
    ],
)
def test_what_it_rests_on_is_taken_away_while_it_runs(harm: str, tmp_path: Path) -> None:
    """F15: the lock, the redo log, or all of it."""
    with Story(tmp_path) as story:
        story.tell(*BEGIN, "onepen -C ws up", "onepen -C ws log before")
        pid = story.orchestrator()
        assert pid is not None
        ran = story.run(f"{harm}; onepen -C ws log meanwhile")
        assert wait_until(lambda: pid not in orchestrators(story.home)), "it ends once it has noticed"
        assert ran.code in (0, 5), ran
        (story.home / "wrote").write_text("" if ran.code else "meanwhile")
        story.tell(
            "onepen -C ws log after",
            "test $(grep -c meanwhile ws/memory/*-*-*.md) = $(grep -c meanwhile wrote)",
            "test $(grep -cE 'before|after' ws/memory/*-*-*.md) = 2",
            Line("onepen -C ws history", says="after"),
            "onepen -C ws doctor",
        )
        if ran.code:
            assert "lost the pen" in ran.err


CRASH = """
import os, pathlib, sys
from onepen.memory.change import Change
from onepen.memory.clock import SystemClock
from onepen.memory.commit.pen import Pen
from onepen.memory.workspace import open_workspace
pen = Pen.open(open_workspace(pathlib.Path(sys.argv[1])), SystemClock(None))
pen.commit(Change(client=None, what="x", who="user:ana", log=(("note", "half done"),)))
os._exit(9)
"""


def test_a_redo_log_that_is_gone_or_came_from_elsewhere(tmp_path: Path) -> None:
    with Story(tmp_path) as story:
        story.tell(BEGIN[0], "onepen init other", "onepen -C ws log before")
        story.tell(
            "rm ws/.onepen/redo/log",
            Line("onepen -C ws log first", says="redo/log: was missing; a new one was made"),
            Line("onepen -C ws history", says="before"),
            "onepen -C ws doctor",
        )
        (tmp_path / "crash.py").write_text(CRASH)
        before = memory_of(story)
        story.tell(
            Line(f"{sys.executable} crash.py other", code=9),
            "cp other/.onepen/redo/log ws/.onepen/redo/log",
            Line("onepen -C ws log refused", code=6, says="redo/log"),
            Line("onepen -C ws up", code=6, says="redo/log"),
            Line("onepen -C ws doctor", code=1, says="redo/log"),
            "onepen -C ws status",
        )
        assert memory_of(story) == before
        story.tell(
            "mv ws/.onepen/redo/log aside",
            "onepen -C ws log second",
            Line("onepen -C other log mine", says="rolled forward"),
            "grep -q 'half done' other/memory/*-*-*.md",
            "onepen -C ws doctor",
            "onepen -C other doctor",
        )


def memory_of(story: Story) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted((story.home / "ws").rglob("*.md"))}
