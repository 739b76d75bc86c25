"""What `doctor` finds in batches/, and that a removed client leaves none of its rows there."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.batch.events import DayTold, RunStarted, TaskMade, TaskOver
from onepen.orchestrator.batch.folder import BatchFolder, batch_ids
from onepen.orchestrator.batch.journal import BatchJournal
from onepen.orchestrator.batch.preparing import load, prepare, store
from onepen.orchestrator.batch.request import BatchRequest
from onepen.orchestrator.errors import ClientAtWork
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock
from tests.orchestrator.batch.toy import Toy

MakeService = Callable[..., Service]
HEAD = '{"v": 1, "at": "2026-11-29T09:30:00.000+01:00", "event": '


def made(root: Path, text: str, **asked: object) -> BatchFolder:
    request = BatchRequest("-", data=text, agent="poet", **asked)  # type: ignore[arg-type]
    return store(root, prepare(request, Toy(agents={"poet": "m"}), created="2026-11-29T09:30:00+01:00", by="user:ana"))


@dataclass
class Night:
    """A batch of two clients and the house, which has run."""

    folder: BatchFolder
    journal: BatchJournal

    @property
    def here(self) -> str:
        return f"batches/{self.folder.batch}"


@pytest.fixture
def night(root: Path, clock: FixedClock, service: Service) -> Night:
    for client in ("acme", "beta"):
        service.add_client(client, id=client)
    folder = made(root, "text,client\nfor acme,acme\nfor us,\nfor beta,beta\n", prompt="Write {text}\nsoon")
    journal = BatchJournal(folder.run_journal, clock, "run.jsonl")
    journal.append(RunStarted(2))
    for k, item in enumerate(load(folder)[1]):
        journal.append(TaskMade(item.key, f"task{k}"))
        journal.append(TaskOver(item.key, f"task{k}", "failed", f"could not {item.text}", "bug"))
        journal.append(DayTold("2026-11-29", item.client, f"c{k}-aaaaaa"))
    return Night(folder, journal)


def found(service: Service) -> list[tuple[str, str, str]]:
    return [(p.kind, p.level, str(p)) for p in service.doctor().problems]


def test_a_batch_that_is_whole_is_no_problem(service: Service, night: Night) -> None:
    (night.folder.sent_file).write_text(HEAD + '"created"}\n')
    assert found(service) == []


def test_what_was_never_begun_is_told_and_nothing_more(service: Service, root: Path) -> None:
    (root / "batches/500-00000000").mkdir(parents=True)
    (root / "batches/500-00000000/input.csv").write_text("text\n")
    told = "a batch that was never begun: its command ended while making it; it can be deleted"
    assert found(service) == [("batch_unfinished", "info", f"batches/500-00000000: {told}")]


LOST = "so the batch can't go on: put it back from a backup or from git"


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("batch.toml", "tasks = 3", "tasks = 0", f":12: tasks must be at least 1, {LOST}"),
        ("batch.toml", "version = 1", "<<<<<<< HEAD", ": this is not TOML"),
        ("batch.toml", 'batch = "stdin', 'batch = "other', ": it belongs to batch other-"),
        ("tasks.jsonl", "for us", "for me", f": it was changed since the batch was made, {LOST}"),
        ("tasks.jsonl", '{"v": 1', "<<<<<<< HEAD", f":1: no line of JSON, {LOST}"),
        ("tasks.jsonl", None, None, f": is not there, {LOST}"),
        ("batch.toml", None, None, f": is not there, {LOST}"),
    ],
)
def test_what_keeps_a_batch_from_going_on(
    service: Service, night: Night, name: str, old: str | None, new: str, told: str
) -> None:
    path = night.folder.path / name
    if old is None:
        path.unlink()
    else:
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))
    [(kind, level, text)] = found(service)
    assert (kind, level) == ("batch_unreadable", "error")
    assert text.startswith(f"{night.here}/{name}{told}")


def test_lines_of_the_journals(service: Service, night: Night, root: Path) -> None:
    good = night.folder.run_journal.read_text()
    lines = good.splitlines(keepends=True)
    night.folder.run_journal.write_text("".join((*lines[:2], "<<<<<<< HEAD\n", HEAD + '"new_thing"}\n', *lines[2:])))
    night.folder.sent_file.write_text("=======\n" + HEAD + "\nnonsense\n" + HEAD)
    run, sent = f"{night.here}/run.jsonl", f"{night.here}/message-batches.jsonl"
    marks = "a merge left its conflict markers here: remove the lines of markers and keep those of both sides"
    wanted = [
        ("conflict_markers", "error", f"{run}:3: {marks}"),
        ("batch_journal_unreadable", "error", f"{run}:4: no event of a batch: unknown event 'new_thing'"),
        ("conflict_markers", "error", f"{sent}:1: {marks}"),
        ("batch_journal_unreadable", "warning", f"{sent}:2: a line that a crash cut short"),
        (
            "batch_journal_unreadable",
            "error",
            f"{sent}:3: no line of what was sent: it may tell of requests that are at a server, so nothing more is "
            "sent",
        ),
    ]
    assert found(service) == wanted
    night.folder.run_journal.unlink()
    night.folder.run_journal.mkdir()
    night.folder.sent_file.unlink()
    assert found(service) == [("batch_journal_unreadable", "error", f"{run}: is no regular file")]


def test_a_line_that_a_crash_cut_short_is_moved_aside(service: Service, night: Night) -> None:
    good = night.folder.run_journal.read_bytes()
    night.folder.run_journal.write_bytes(HEAD.encode() + b"\n" + good)
    [fix] = service.doctor().fixes
    assert (fix.fix.kind, fix.fix.path, fix.fix.line) == ("line", f"{night.here}/run.jsonl", 1)
    [done] = service.fix((fix.fix,)).fixes
    assert done.outcome == "done"
    assert night.folder.run_journal.read_bytes() == good
    assert found(service) == []


def test_links_are_told_and_not_followed(service: Service, night: Night, root: Path, tmp_path: Path) -> None:
    moved = night.folder.path.rename(tmp_path / "moved")
    night.folder.path.symlink_to(moved)
    assert [(kind, level) for kind, level, _ in found(service)] == [("link_leads_out", "error")]
    night.folder.path.unlink()
    moved.rename(night.folder.path)
    night.folder.tasks_file.rename(tmp_path / "tasks")
    night.folder.tasks_file.symlink_to(tmp_path / "tasks")
    [(kind, _, text)] = found(service)
    assert kind == "link_leads_out" and text.startswith(f"{night.here}/tasks.jsonl: a link leads to")
    (root / "batches").rename(tmp_path / "batches")
    (root / "batches").symlink_to(tmp_path / "batches")
    assert [(kind, text.partition(":")[0]) for kind, _, text in found(service)] == [("link_leads_out", "batches")]
    (root / "batches").unlink()
    (root / "batches").write_text("")
    assert [kind for kind, _, _ in found(service)] == ["folder_unusable"]


def test_what_a_write_left_is_told(service: Service, night: Night) -> None:
    (night.folder.path / ".batch.toml.new.tmp").write_text("half")
    assert [(kind, text.partition(":")[0]) for kind, _, text in found(service)] == [
        ("leftover", f"{night.here}/.batch.toml.new.tmp")
    ]


# -- a client that is removed ------------------------------------------------------------------------------------------


def test_a_batch_that_a_removed_client_shared_goes_on_for_the_others(
    service: Service, night: Night, root: Path
) -> None:
    own = made(root, "text\nmine\n", client="acme")
    assert service.removable("acme").batches == 2
    done = service.remove_client("acme")
    assert (done.batches, done.as_json()["batches"]) == (2, 2)
    assert batch_ids(root) == (night.folder.batch,)
    assert not own.path.exists()
    spec, items = load(night.folder)
    assert (spec.tasks, [item.client for item in items]) == (2, [None, "beta"])
    assert spec.prompt == "Write {text}\nsoon"
    left = b"".join(path.read_bytes() for path in night.folder.path.rglob("*") if path.is_file())
    assert b"acme" not in left and b"for us" in left and b"task0" not in left
    entries, problems = night.journal.read()
    assert problems == () and [type(one.event) for one in entries] == [RunStarted, *[TaskMade, TaskOver, DayTold] * 2]
    assert found(service) == []
    service.remove_client("beta")
    assert [item.client for item in load(night.folder)[1]] == [None]


def test_a_client_is_not_removed_while_a_batch_works_for_it(
    make_service: MakeService, night: Night, root: Path, clock: FixedClock
) -> None:
    with HeldPen.open(View(open_workspace(root)), clock) as pen:
        held = make_service(pens=pen)
        night.journal.append(RunStarted(2, pid=os.getpid()))
        with pytest.raises(ClientAtWork, match=f"client acme: {night.folder.batch} still runs; nothing was removed"):
            held.remove_client("acme")
        assert load(night.folder)[0].tasks == 3
