"""Going on with a task that ran commands: none is run twice, and its files are there, or all begins afresh."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from onepen.memory.fence import inside
from onepen.memory.ids import AgentId
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import TaskView
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.setup import Setup
from onepen.orchestrator.settings.trust import agent_wish
from onepen.orchestrator.tasks.transcript import read_transcript, stored_messages
from onepen.subagents.messages import ToolResult

MakeService = Callable[..., Service]
BUILDER = "---\nname: builder\ndescription: Builds.\ntools: Read, Write, Edit, Bash\n---\nBuild.\n"
Call = tuple[str, dict[str, Any]]


def run(command: str) -> Call:
    return ("run_command", {"command": command})


def script(*calls: Call) -> list[dict[str, object]]:
    """A model that makes these calls one after the other, and then fails."""
    return [{"turn": k, "reply": [{"tool": tool, "input": given}]} for k, (tool, given) in enumerate(calls, 1)]


class Site:
    """A workspace with an agent that may run commands, and a file outside in which each command leaves a mark."""

    def __init__(self, make_service: MakeService, root: Path, marks: Path) -> None:
        self.root = root
        self.marks = marks
        self._make = make_service
        make_service().add_agent("Builder", text=BUILDER)
        make_service().add_project("Kiln")
        data = (root / "agents/builder.md").read_bytes()
        wish = agent_wish("0123456789abcdef", AgentId("builder"), data, frozenset({"run_command"}))
        assert wish is not None
        self._setup = Setup(trusted=frozenset({wish.sha256}))

    def mark(self, name: str) -> str:
        return f"echo {name} >> {self.marks}"

    @property
    def marked(self) -> list[str]:
        return self.marks.read_text().split()

    def service(self, *calls: Call) -> Service:
        return self._make(script=script(*calls), setup=self._setup)

    def delegate(self, *calls: Call) -> TaskView:
        request = DelegateRequest(("Primes.",), ("builder",), model="scripted:x")
        [task] = anyio.run(partial(self.service(*calls).delegate, request)).tasks
        return task

    def resume(self, *calls: Call) -> TaskView:
        [task] = anyio.run(partial(self.service(*calls).resume, "t1")).tasks
        return task

    def work(self, attempt: int) -> Path:
        return self.root / f"staging/t1/{attempt}/work"

    def results(self, attempt: int) -> list[str]:
        messages = stored_messages(self.root / f"staging/t1/{attempt}/transcript.jsonl")
        return [inside(b.content) for message in messages for b in message.content if isinstance(b, ToolResult)]

    def reused(self, attempt: int) -> list[object]:
        lines = read_transcript(self.root / f"staging/t1/{attempt}/transcript.jsonl")
        return [line["reused"] for line in lines if line["kind"] == "reply"]


@pytest.fixture
def site(make_service: MakeService, root: Path, tmp_path: Path) -> Site:
    return Site(make_service, root, tmp_path / "marks")


REPORT: Call = ("report", {"summary": "Done."})
DRAFT: Call = ("write_draft", {"file": "a.py", "text": "A.", "target": "projects/kiln/a.py"})


def test_what_was_run_is_not_run_again_and_its_files_are_there(site: Site) -> None:
    """A command that was answered is never run a second time."""
    first = run(f"{site.mark('first')}; echo 1 > a.py; mkdir -p sub; echo '#!/bin/sh' > sub/go; chmod +x sub/go")
    second = run(f"{site.mark('second')}; echo 2 >> a.py")
    third = run(f"{site.mark('third')}; cat a.py; test -x sub/go && echo runs")
    assert site.delegate(first, second).status == "failed"
    done = site.resume(run("false"), run("false"), third, DRAFT, REPORT)
    assert done.status == "in_review", done
    assert site.marked == ["first", "second", "third"]
    assert site.reused(2) == [True, True, False, False, False]
    assert site.results(2)[:2] == site.results(1)[:2]
    assert "stdout:\n1\n2\nruns\n" in site.results(2)[2]


def test_drafts_are_made_of_the_files_as_they_were_then(site: Site) -> None:
    """The first draft holds the file as the first command left it, although a later one changed it."""
    other: Call = ("write_draft", {"file": "a.py", "text": "B.", "target": "projects/kiln/b.py"})
    site.delegate(run("echo 1 > a.py"), DRAFT, run(f"{site.mark('second')}; echo 2 > a.py"))
    done = site.resume(run("false"), run("false"), run("false"), other, REPORT)
    assert site.reused(2) == [True, True, True, False, False] and site.marked == ["second"]
    drafts = site.root / "staging/t1/2/drafts"
    assert ((drafts / "a.py").read_text(), (drafts / "b.py").read_text()) == ("1\n", "2\n")
    assert [d.target for d in done.drafts][-2:] == ["projects/kiln/a.py", "projects/kiln/b.py"]


def test_files_that_are_not_as_they_were_let_the_attempt_begin_afresh(site: Site) -> None:
    """As after a crash in the middle of a command: what it had begun is in the folder, and no result tells of it."""
    site.delegate(run(f"{site.mark('first')}; echo 1 > a.py"))
    (site.work(1) / "a.py").write_text("half\n")
    done = site.resume(run(f"{site.mark('again')}; echo 3 > a.py"), DRAFT, REPORT)
    assert done.status == "in_review" and site.marked == ["first", "again"]
    assert site.reused(2) == [False, False, False]
    assert (site.work(2) / "a.py").read_text() == "3\n"
    assert [line["kind"] for line in read_transcript(site.root / "staging/t1/2/transcript.jsonl")][:2] == [
        "prefix",
        "afresh",
    ]


def test_what_began_afresh_is_gone_on_with(site: Site) -> None:
    """A third attempt knows the second's commands, not the first's."""
    site.delegate(run(f"{site.mark('first')}; echo 1 > a.py"), run("true"))
    (site.work(1) / "link").symlink_to("a.py")
    assert site.resume(run(f"{site.mark('again')}; echo 1 > a.py")).status == "failed"
    done = site.resume(run("false"), DRAFT, REPORT)
    assert done.status == "in_review" and site.marked == ["first", "again"]
    assert site.reused(3) == [True, False, False]


def test_another_beginning_has_an_empty_folder(site: Site) -> None:
    """What every hand must know has changed, so the model is asked anew, and nothing of before is taken over."""
    site.delegate(run(f"{site.mark('first')}; echo 1 > a.py"))
    (site.root / "BRIEF.md").write_text("German.\n")
    done = site.resume(run(f"{site.mark('anew')}; ls"), ("report", {"summary": "x", "answer": "An answer."}))
    assert done.status == "in_review" and site.marked == ["first", "anew"]
    assert site.results(2)[0].startswith("exit code 0\n(it printed nothing)\n")


def test_a_conversation_that_turns_elsewhere_begins_afresh(site: Site) -> None:
    """A card that was read has changed: the model says something new, and the files are those of the old way."""
    read: Call = ("read_card", {"card": "kiln"})
    site.delegate(run(f"{site.mark('first')}; echo 1 > a.py"), read, run(f"{site.mark('second')}; echo 2 > a.py"))
    with (site.root / "projects/kiln.md").open("a") as f:
        f.write("\nNew.\n")
    text = (site.root / "projects/_index.md").read_text()
    done = site.resume(run(f"{site.mark('anew')}; echo 1 > a.py"), read, run("cat a.py"), REPORT)
    assert (site.root / "projects/_index.md").read_text() == text  # else the beginning would be another
    assert done.attempts == 3 and site.marked == ["first", "second", "anew"]
    assert "stdout:\n1\n" in site.results(3)[2]


def test_a_draft_that_is_sent_back_comes_with_its_files(site: Site) -> None:
    service = site.service(run("echo 1 > a.py; echo keep > b.txt"), DRAFT, REPORT)
    request = DelegateRequest(("Primes.",), ("builder",), model="scripted:x")
    [task] = anyio.run(partial(service.delegate, request)).tasks
    rules = site.service(run("cat a.py b.txt; echo 2 > a.py"), DRAFT, REPORT)
    [after] = anyio.run(partial(rules.send_back, [task.drafts[0].id], "it must say 2")).tasks
    assert after.attempts == 2
    first = stored_messages(site.root / "staging/t1/2/transcript.jsonl")[0]
    assert re.search(r"The file a.py that it names:\n\n\[[0-9a-f]{16} data: the file a.py\]\n1\n", first.text)
    assert "The work folder is as that attempt left it; in it are: a.py, b.txt" in first.text
    assert "stdout:\n1\nkeep\nwork folder: a.py (changed, 2 bytes); 1 more [state " in site.results(2)[0]


def test_what_a_stranger_put_into_an_earlier_folder_leads_nowhere(site: Site, tmp_path: Path) -> None:
    """FR-47: a worker's folder is read as a stranger's, also by the attempt after it."""
    (tmp_path / "secret").write_text("canary")
    site.delegate(run(f"echo 1 > a.py; ln -s {tmp_path}/secret link; mkdir d; ln -s {tmp_path} d/up"))
    done = site.resume(run("ls -R; cat link d/up/secret"), REPORT, ("report", {"summary": "x", "answer": "Y."}))
    assert "canary" not in "".join(site.results(2)) and done.attempts == 2
    assert not (site.work(2) / "link").exists()
