"""A client that is removed is gone, whatever dies meanwhile and whatever brings its files back."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest

from onepen.memory import trash
from onepen.memory.change import Change
from onepen.memory.commit.pen import Pen
from onepen.memory.exam.doctor import examine
from onepen.memory.history import read_commits
from onepen.memory.ids import ClientId
from onepen.memory.tombstone import TOMBSTONES, parse_tombstone, tombstones
from onepen.memory.view import View
from onepen.memory.workspace import ClientRemoved, Workspace, open_workspace
from onepen.testing.clock import FixedClock
from onepen.testing.disk import BreakingDisk, Stopped

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
REMOVED = Change(None, "clients/acme: removed", "user:ana", tombstone=ClientId("acme"), log=(("removed", "acme"),))
USAGE = '{"v": 1, "client": "acme", "task": "t1"}\n{"v": 1, "client": null, "task": "t2"}\n'
STONE = '{"v":1,"client":"acme","time":"2026-11-30T14:05:00+01:00","who":"user:ana","commit":"c1-aaaaaa"}\n'


def files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".onepen" not in path.relative_to(root).parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def client(root: Path, name: str = "acme") -> None:
    """A client's space with files that are nested, odd and linked."""
    folder = root / "clients" / name
    (folder / "staging/t1/1/drafts/a/b/c").mkdir(parents=True)
    (folder / "projects").mkdir()
    (folder / "staging/t1/1/drafts/a/b/c/\udcff odd").write_text("secret")
    (folder / "projects/kiln.md").write_text("# Kiln\n\nsecret\n")
    (folder / "projects/link.md").symlink_to(root / "MEMORY.md")
    (folder / "empty").mkdir()


def batch(root: Path, name: str, of: str | None, *clients: str | None) -> None:
    """A batch with a task for each of these clients, as the orchestrator leaves it."""
    folder = root / "batches" / name
    (folder / "replies").mkdir(parents=True)
    (folder / "input.csv").write_text("text\n" + "".join(f"{who}: secret\n" for who in clients))
    (folder / "report.md").write_text("secret\n")
    rows = [{"v": 1, "key": f"k{k}", **({"client": who} if who else {})} for k, who in enumerate(clients)]
    tasks = "".join(json.dumps({**row, "text": f"{row.get('client')}: secret"}) + "\n" for row in rows)
    (folder / "tasks.jsonl").write_text(tasks)
    spec = {"version": 1, "tasks": len(rows), "tasks_sha256": hashlib.sha256(tasks.encode()).hexdigest()}
    spec |= {"prompt": "one\ntasks = 7"} | ({"client": of} if of else {})
    (folder / "batch.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in spec.items()))
    made = [{"v": 1, "event": "task_made", "key": f"k{k}", "task": f"t{k}"} for k in range(len(rows))]
    over = [{"v": 1, "event": "task_over", "key": f"k{k}", "reason": f"{who}: secret"} for k, who in enumerate(clients)]
    told = [{"v": 1, "event": "day_told", "day": "2026-11-30", "client": who} for who in clients]
    again = [{"v": 1, "event": "retried", "keys": [f"k{k}" for k in range(len(rows))]}]
    events = [{"v": 1, "event": "run_started"}, *made, *over, *told, *again]
    (folder / "run.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events) + '{"v": 1, "at": "torn')
    replies = [{"v": 1, "id": f"t{k}-{'0' * 40}", "text": f"{who}: secret"} for k, who in enumerate(clients)]
    (folder / "replies/m1.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    for who in clients:
        (folder / "context" / (who or "_house")).mkdir(parents=True, exist_ok=True)
        (folder / "context" / (who or "_house") / "BRIEF.md").write_text(f"{who}: secret")


def check_batches(root: Path, before: dict[str, bytes]) -> None:
    """Of a batch that a client shared nothing of theirs is left, and all that others need, at its old place."""
    names = ["acme-mixed-0000000a", "notes", "others-0000000b"]
    assert sorted(path.name for path in (root / "batches").iterdir()) == names
    folder = root / "batches" / names[0]
    now = {path: data for path, data in files(root).items() if path.startswith("batches/acme-mixed")}
    assert not [path for path, data in now.items() if b"acme: secret" in data]
    assert sorted(path.rpartition("mixed-0000000a/")[2] for path in now) == [
        "batch.toml",
        "context/_house/BRIEF.md",
        "context/beta/BRIEF.md",
        "replies/m1.jsonl",
        "run.jsonl",
        "tasks.jsonl",
    ]
    spec, tasks = tomllib.loads((folder / "batch.toml").read_text()), (folder / "tasks.jsonl").read_bytes()
    assert [json.loads(line)["key"] for line in tasks.splitlines()] == ["k1", "k3"]
    assert (spec["tasks"], spec["tasks_sha256"]) == (2, hashlib.sha256(tasks).hexdigest())
    assert spec["prompt"] == "one\ntasks = 7"
    replies, old = (folder / "replies/m1.jsonl").read_bytes(), before["batches/acme-mixed-0000000a/replies/m1.jsonl"]
    assert len(replies) == len(old)
    assert [line for line in old.splitlines() if line in replies] == old.splitlines()[1::2]
    lines = [line for line in (folder / "run.jsonl").read_text().splitlines() if "torn" not in line]
    events = [json.loads(line) for line in lines]
    assert [(one["event"], one.get("key", one.get("keys", one.get("client")))) for one in events] == [
        ("run_started", None),
        ("task_made", "k1"),
        ("task_made", "k3"),
        ("task_over", "k1"),
        ("task_over", "k3"),
        ("day_told", None),
        ("day_told", "beta"),
        ("retried", ["k1", "k3"]),
    ]


def workspace(root: Path) -> Workspace:
    (root / "logs").mkdir(parents=True)
    (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    (root / "MEMORY.md").write_text("kept\n")
    (root / "logs/usage-2026-11.jsonl").write_text(USAGE)
    client(root)
    client(root, "beta")
    batch(root, "acme-own-00000001", "acme", "acme", "beta")
    batch(root, "acme-rows-00000002", None, "acme", "acme")
    batch(root, "acme-mixed-0000000a", None, "acme", None, "acme", "beta")
    batch(root, "others-0000000b", "beta", "beta", None)
    (root / "batches/acme-cut-00000003").mkdir()
    (root / "batches/acme-cut-00000003/input.csv").write_text("acme: secret\n")
    (root / "batches/notes").mkdir()
    (root / "batches/notes/input.csv").write_text("a person's own\n")
    (root / ".onepen/redo").mkdir(parents=True)
    (root / ".onepen/ballast").touch()
    (root / ".onepen/cache/context/abc").mkdir(parents=True)
    (root / ".onepen/cache/context/abc/BRIEF.md").write_text("secret")
    (root / ".onepen/aside/clients/acme").mkdir(parents=True)
    (root / ".onepen/aside/clients/acme/left").write_text("secret")
    (root / ".onepen/redo/torn-12345678").write_text("clients/acme/projects/kiln.md: secret")
    return open_workspace(root)


def remove(place: Workspace, disk: BreakingDisk) -> None:
    with Pen.open(place, CLOCK, disk=disk) as pen:
        pen.commit(REMOVED)
        pen.bury()


def check_gone(root: Path, before: dict[str, bytes]) -> None:
    untouched = {path: data for path, data in before.items() if "acme" not in path and "usage" not in path}
    check_batches(root, before)
    assert not os.path.lexists(root / "clients/acme")
    assert not os.path.lexists(root / trash.TRASH)
    assert not any(b"secret" in path.read_bytes() for path in (root / ".onepen").rglob("*") if path.is_file())
    assert (root / "logs/usage-2026-11.jsonl").read_text() == USAGE.splitlines(keepends=True)[1]
    now = files(root)
    assert {path: data for path, data in now.items() if path in untouched} == untouched


def test_all_of_a_client_goes_and_nothing_else(tmp_path: Path) -> None:
    place = workspace(tmp_path / "ws")
    before = files(place.root)
    remove(place, BreakingDisk())
    check_gone(place.root, before)
    assert [stone.client for stone in tombstones(place.root).values()] == ["acme"]
    assert place.clients() == ("beta",)
    with pytest.raises(ClientRemoved, match=r"client acme: was removed on 2026-11-30 \(logs/tombstones\.jsonl\)"):
        place.space("acme")
    with Pen.open(place, CLOCK, disk=BreakingDisk()) as pen, pytest.raises(ClientRemoved):
        pen.commit(Change(ClientId("acme"), "a note", "user:ana", log=(("note", "late"),)))


def test_a_crash_at_any_operation_leaves_the_client_whole_or_is_finished_by_the_next_who_writes(tmp_path: Path) -> None:
    counting = BreakingDisk()
    remove(workspace(tmp_path / "0"), counting)
    whole = finished = 0
    for n in range(1, counting.count + 1):
        place = workspace(tmp_path / str(n))
        before = files(place.root)
        with pytest.raises(Stopped):
            remove(place, BreakingDisk(n))
        clients = place.clients()
        with Pen.open(place, CLOCK, disk=BreakingDisk()):
            pass
        if tombstones(place.root):
            finished += 1
            check_gone(place.root, before)
            assert len(read_commits(View(place), place.house)) == 1
        else:
            whole += 1
            assert clients == ("acme", "beta")
            assert {path: data for path, data in files(place.root).items() if path in before} == before
    assert whole > 5 and finished > 20


def test_what_a_merge_brings_back_is_read_by_nobody_and_removed_by_the_next_write(
    tmp_path: Path,
) -> None:
    place = workspace(tmp_path / "ws")
    remove(place, BreakingDisk())
    client(place.root)
    assert place.clients() == ("beta",)
    found = [problem for problem in examine(View(place)) if problem.path.startswith("clients/acme")]
    assert [(problem.path, problem.kind) for problem in found] == [("clients/acme", "client_removed")]
    with Pen.open(place, CLOCK, disk=BreakingDisk()) as pen:
        assert [(problem.path, problem.kind) for problem in pen.recovered] == [("clients/acme", "client_buried")]
        client(place.root)
        pen.bury()  # what a process does that holds the pen for long
        assert len(pen.recovered) == 2
    assert not (place.root / "clients/acme").exists()


def test_what_can_not_be_removed_is_told_and_stops_nobody(tmp_path: Path) -> None:
    place = workspace(tmp_path / "ws")
    remove(place, BreakingDisk())
    client(place.root)
    (place.root / trash.TRASH).symlink_to(tmp_path)
    with Pen.open(place, CLOCK, disk=BreakingDisk()) as pen:
        assert [problem.kind for problem in pen.recovered] == ["not_buried"]
        pen.commit(Change(None, "a note", "user:ana", log=(("note", "goes on"),)))
    assert list(tmp_path.iterdir()) == [place.root]


def test_links_in_the_way_are_never_followed(tmp_path: Path) -> None:
    place = workspace(tmp_path / "ws")
    outside = tmp_path / "outside"
    client(tmp_path, "acme")  # a folder tmp_path/clients/acme of somebody else
    (tmp_path / "clients").rename(outside)
    (place.root / TOMBSTONES).write_text(STONE)
    trash.discard(place.root, place.root / "clients/acme")
    (place.root / "clients/acme").symlink_to(outside / "acme")
    with Pen.open(place, CLOCK, disk=BreakingDisk()):
        pass
    assert not os.path.lexists(place.root / "clients/acme")
    assert (outside / "acme/projects/kiln.md").exists()
    (place.root / "clients").rename(tmp_path / "moved")
    (place.root / "clients").symlink_to(outside)
    with Pen.open(place, CLOCK, disk=BreakingDisk()):
        pass
    assert (outside / "acme/projects/kiln.md").exists()


@pytest.mark.parametrize(
    "line",
    ["", "{}", "<<<<<<< HEAD", '{"v":1,"client":"../x","time":""}', '{"v":2,"client":"a","time":""}', "[" * 99_999],
)
def test_a_line_that_is_no_tombstone_is_none(line: str) -> None:
    assert parse_tombstone(line) is None


def test_a_folder_nested_beyond_any_path_is_removed(tmp_path: Path) -> None:
    """A worker can nest folders so deep that they have no path any more."""
    top = here = tmp_path / "deep"
    top.mkdir()
    fd = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("x" * 20, dir_fd=fd)
        below = os.open("x" * 20, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    trash.discard(tmp_path, here)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".onepen"]
    assert list((tmp_path / ".onepen").iterdir()) == []


# -- a real process, a real kill ---------------------------------------------------------------------------------------

REMOVER = dedent(
    """\
    import sys
    from pathlib import Path
    from onepen.memory.change import Change
    from onepen.memory.commit.pen import Pen
    from onepen.memory.ids import ClientId
    from onepen.memory.workspace import open_workspace
    from onepen.testing.clock import FixedClock

    with Pen.open(open_workspace(Path(sys.argv[1])), FixedClock("2026-11-30T14:05:00+01:00")) as pen:
        print("open", flush=True)
        pen.commit(Change(None, "removed", "user:ana", tombstone=ClientId("acme"), log=(("removed", "acme"),)))
        print("committed", flush=True)
        pen.bury()
        print("gone", flush=True)
    """
)


def kills(folder: Path, times: int) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    moments = random.Random(seed)
    said: dict[int, int] = {}
    for n in range(times):
        place = workspace(folder / str(n))
        for k in range(300):
            (place.root / f"clients/acme/staging/t1/1/drafts/{k}.md").write_text("secret\n")
        before = files(place.root)
        process = subprocess.Popen([sys.executable, "-c", REMOVER, str(place.root)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        with process.stdout as out:
            assert out.readline() == b"open\n"
            time.sleep(moments.uniform(0, 0.03))  # the moment of the kill is what is random here
            os.kill(process.pid, signal.SIGKILL)
            told = out.read().split()
        process.wait()
        said[len(told)] = said.get(len(told), 0) + 1
        with Pen.open(place, CLOCK):
            pass
        assert told == [] or tombstones(place.root)
        if tombstones(place.root):
            check_gone(place.root, before)
        else:
            assert place.clients() == ("acme", "beta")
            assert len(list((place.root / "clients/acme/staging/t1/1/drafts").glob("*.md"))) == 300
    print("told before the kill, and how often:", json.dumps(said, sort_keys=True))


def test_kill_9_while_a_client_is_removed(tmp_path: Path) -> None:
    kills(tmp_path, 8)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_kill_9_while_many_clients_are_removed(tmp_path: Path) -> None:
    kills(tmp_path, 150)
