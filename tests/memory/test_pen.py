"""What a commit does to the files, told as text in, text out; crashes are in test_crash.py."""

import json
import shutil
from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from onepen.memory.change import Change, FileEntry, Put, Remove
from onepen.memory.commit.identity import ACCEPTED, folder_name, machine_mark
from onepen.memory.commit.pen import (
    AlreadyCommitted,
    EntryWithoutSection,
    IdTaken,
    Pen,
    PlaceUnfit,
    PutRefused,
    RemoveRefused,
)
from onepen.memory.commit.record import Addition, Line, Record
from onepen.memory.commit.redo import ForeignRedo, RedoDamaged, encode, scan
from onepen.memory.exam.doctor import examine
from onepen.memory.files import sha256
from onepen.memory.history import TextChange, find_commit, parse_commits, read_commits
from onepen.memory.ids import AgentId, CardId, ClientId
from onepen.memory.index.index import IndexEntry
from onepen.memory.links import LinkLeadsOut
from onepen.memory.target import CardTarget, NoteTarget, parse_target
from onepen.memory.text.card import CardEdit, CardExists, EditKind, EditRefused, NothingToChange, OldTextNotFound
from onepen.memory.text.daylog import check_seals, parse_seals
from onepen.memory.view import View
from onepen.memory.workspace import NoSuchClient, Workspace, open_workspace
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
KILN = """\
---
title: Kiln relaunch
status: active
created: 2026-11-01
updated: 2026-11-02
owner: 0123   # the studio's number
---

# Kiln relaunch

## Firing

- fire at 1200

## Hosting

DNS stays at Gandi.
"""
INDEX = """\
# Projects

What we are at, newest last.

## [Kiln relaunch](kiln.md)
status: active · updated: 2026-11-02

- [firing](kiln.md#firing) — Cone 6. `cone 6`
- [hosting](kiln.md#hosting) — DNS stays at Gandi. `dns`
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "ws"
    for folder in ("projects", "research", "memory", "clients/acme/projects", ".onepen"):
        (root / folder).mkdir(parents=True)
    (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    (root / "projects" / "kiln.md").write_text(KILN)
    (root / "projects" / "_index.md").write_text(INDEX)
    (root / ".onepen" / "machine").write_text(f"k3x9ab {machine_mark(root)}\n")
    return open_workspace(root)


def open_pen(workspace: Workspace, clock: FixedClock = CLOCK) -> Pen:
    return Pen.open(workspace, clock, wait=0)


def read(workspace: Workspace, path: str) -> str:
    return (workspace.root / path).read_text()


def edit(kind: EditKind, target: str = "projects/kiln.md", **fields: str) -> CardEdit:
    parsed = parse_target(target)
    assert isinstance(parsed, CardTarget | NoteTarget)
    return CardEdit(parsed, kind, **fields)


REFIRE = Change(
    client=None,
    what="projects/kiln.md: replaced in firing",
    who="user:ana",
    edit=edit("replace", section="firing", old_text="- fire at 1200\n", text="- fire at 1220\n"),
    index=(IndexEntry("firing", "Fire at 1220 since 3 Nov.", ("cone 6", "1220")),),
    log=(("commit", "kiln: fire at 1220"),),
    key="t1 projects/kiln.md",
    draft="t1-1",
    agent="researcher",
    task="t1",
    reviewer="user:ana",
    sources=("inputs/cones.md:14",),
)


def test_a_commit_changes_card_index_day_log_and_history_and_nothing_else(workspace: Workspace) -> None:
    with open_pen(workspace) as pen:
        commit = pen.commit(REFIRE)
        assert pen.recovered == ()
    assert read(workspace, "projects/kiln.md") == KILN.replace("1200", "1220").replace("2026-11-02", "2026-11-30")
    assert read(workspace, "projects/_index.md") == INDEX.replace("2026-11-02", "2026-11-30").replace(
        "Cone 6. `cone 6`", "Fire at 1220 since 3 Nov. `cone 6, 1220`"
    )
    assert read(workspace, "memory/2026-11-30.md") == "- 14:05+01:00 [commit] kiln: fire at 1220\n"
    assert parse_commits(read(workspace, "logs/commits-2026-11.jsonl")) == ((commit,), ())
    assert (commit.id, commit.key, commit.time) == ("c1-k3x9ab", "t1 projects/kiln.md", "2026-11-30T14:05:00+01:00")
    assert commit.paths == ("projects/kiln.md", "projects/_index.md", "memory/2026-11-30.md")
    assert [(c.path, c.section, c.old, c.new) for c in commit.changes][:1] == [
        ("projects/kiln.md", "firing", "- fire at 1200\n", "- fire at 1220\n")
    ]
    assert {c.path for c in commit.changes} == {"projects/kiln.md", "projects/_index.md"}
    assert (workspace.machine_room / "redo" / "log").read_bytes() == b""
    assert [p.name for p in workspace.root.rglob("*.tmp")] == []


def test_a_new_card_comes_with_its_index_and_its_history(workspace: Workspace) -> None:
    text = "## Cones\n\nCone 6 is 1222 degrees. More.\n\n## Sources\n\nNone.\n"
    change = Change(
        ClientId("acme"),
        "projects/cones.md: created",
        "user:ana",
        edit=edit("create", "projects/cones.md", text=text, title="Cones: a table"),
        index=(IndexEntry("cones", "Which cone is how hot."),),
    )
    with open_pen(workspace) as pen:
        commit = pen.commit(change)
    card = read(workspace, "clients/acme/projects/cones.md")
    assert card.startswith('---\ntitle: "Cones: a table"\n') or "Cones: a table" in card.split("---")[1]
    assert text in card
    assert read(workspace, "clients/acme/projects/_index.md") == dedent(
        """\
        # Projects

        ## [Cones: a table](cones.md)
        status: active · updated: 2026-11-30

        - [cones](cones.md#cones) — Which cone is how hot.
        - [sources](cones.md#sources) — Sources: None. (auto)
        """
    )
    assert commit.changes[0].new == card
    assert commit.changes[0].section is None
    assert read(workspace, "projects/_index.md") == INDEX
    assert (workspace.root / "clients/acme/projects/cones.md").stat().st_mode & 0o777 == 0o600
    assert (workspace.root / "clients/acme/logs").stat().st_mode & 0o777 == 0o700


def test_history_tells_the_section_of_each_piece(workspace: Workspace) -> None:
    with open_pen(workspace) as pen:
        added = pen.commit(Change(None, "a", "user:ana", edit=edit("append", text="## Öfen\n\nZwei Öfen.\n")))
        removed = pen.commit(Change(None, "b", "user:ana", edit=edit("remove", old_text="DNS stays at Gandi.\n")))
        late = pen.commit(Change(None, "c", "user:ana", edit=edit("append", section="öfen", text="Ein dritter.\n")))
    for commit, section, old, new in (
        (added, "öfen", "", "\n## Öfen\n\nZwei Öfen.\n"),
        (removed, "hosting", "DNS stays at Gandi.\n", ""),
        (late, "öfen", "", "\nEin dritter.\n"),
    ):
        found = [(c.section, c.old, c.new) for c in commit.changes if c.path == "projects/kiln.md"]
        assert found == [(section, old, new)]


def test_history_tells_a_change_of_the_first_line_below_the_front_matter(workspace: Workspace) -> None:
    (workspace.root / "projects" / "kiln.md").write_text("---\nupdated: 2026-11-01\n---\nold\n")
    (workspace.root / "MEMORY.md").write_bytes("\ufeffold\nmore\n".encode())
    with open_pen(workspace) as pen:
        card = pen.commit(Change(None, "a", "user:ana", edit=edit("replace", old_text="old\n", text="new\n")))
        note = pen.commit(Change(None, "a", "user:ana", edit=edit("replace", "MEMORY.md", old_text="old", text="new")))
    assert read(workspace, "projects/kiln.md") == "---\nupdated: 2026-11-30\n---\nnew\n"
    assert [(c.section, c.old, c.new) for c in card.changes][:1] == [(None, "old\n", "new\n")]
    assert [(c.section, c.old, c.new) for c in note.changes] == [(None, "old\n", "new\n")]


def test_a_renamed_heading_keeps_its_place_in_the_index(workspace: Workspace) -> None:
    change = Change(
        None,
        "x",
        "user:ana",
        edit=edit("replace", old_text="## Firing\n", text="## Glaze firing\n"),
        index=(IndexEntry("glaze-firing", "Now with glaze."),),
    )
    with open_pen(workspace) as pen:
        pen.commit(change)
    lines = read(workspace, "projects/_index.md").splitlines()
    assert lines[-2:] == [
        "- [glaze-firing](kiln.md#glaze-firing) — Now with glaze.",
        "- [hosting](kiln.md#hosting) — DNS stays at Gandi. `dns`",
    ]


def untouched(workspace: Workspace) -> dict[str, bytes]:
    root = workspace.root
    files = [p for p in root.rglob("*") if p.is_file() and ".onepen" not in p.parts]
    return {str(p.relative_to(root)): p.read_bytes() for p in files}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (Change(None, "x", "u", edit=edit("replace", old_text="not there", text="x")), OldTextNotFound),
        (Change(None, "x", "u", edit=edit("create", text="x")), CardExists),
        (Change(None, "x", "u", edit=edit("create", "research/kiln.md", text="x")), IdTaken),
        (Change(None, "x", "u"), NothingToChange),
        (Change(ClientId("nobody"), "x", "u", log=(("note", "x"),)), NoSuchClient),
        (Change(None, "x", "u", edit=edit("append", text="x"), index=(IndexEntry("no", "x"),)), EntryWithoutSection),
        (Change(None, "x", "u", edit=edit("append", text="x"), puts=(Put("projects/kiln/a", b"", "0"),)), PutRefused),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(workspace: Workspace, change: Change, error: type[Exception]) -> None:
    before = untouched(workspace)
    with open_pen(workspace) as pen:
        with pytest.raises(error):
            pen.commit(change)
        assert untouched(workspace) == before
        pen.commit(REFIRE)


def test_an_edit_that_was_shown_another_section_is_refused(workspace: Workspace) -> None:
    moved = edit("replace", section="firing", old_text="- fire at 1200\n", text="x\n", shown="0" * 64)
    with open_pen(workspace) as pen, pytest.raises(EditRefused):
        pen.commit(Change(None, "x", "u", edit=moved))


def test_a_file_that_differs_only_in_case_takes_the_id(workspace: Workspace) -> None:
    (workspace.root / "research" / "Dyes.md").write_text("# Dyes\n")
    for target in ("research/dyes.md", "projects/dyes.md"):
        with open_pen(workspace) as pen, pytest.raises(IdTaken, match=r"research/Dyes\.md"):
            pen.commit(Change(None, "x", "u", edit=edit("create", target, text="x")))


def test_the_same_key_is_committed_once_also_in_a_clone(workspace: Workspace, tmp_path: Path) -> None:
    with open_pen(workspace) as pen:
        first = pen.commit(REFIRE)
        with pytest.raises(AlreadyCommitted, match="c1-k3x9ab") as caught:
            pen.commit(REFIRE)
        assert caught.value.commit == first.id
        other = Change(ClientId("acme"), "x", "u", log=(("note", "x"),), key=REFIRE.key)
        assert pen.commit(other).id == "c2-k3x9ab"  # another client's key is another key
    shutil.copytree(workspace.root, tmp_path / "clone", ignore=shutil.ignore_patterns(".onepen"))
    with open_pen(open_workspace(tmp_path / "clone")) as pen:
        assert [p.kind for p in pen.recovered] == ["machine_room_made"]
        with pytest.raises(AlreadyCommitted, match="c1-k3x9ab"):
            pen.commit(REFIRE)


@pytest.mark.parametrize("left", [b"", b'{"a":1}{"a":2}', b"\xff 1\n"])
def test_small_files_that_make_no_sense_are_made_anew_and_it_is_said(workspace: Workspace, left: bytes) -> None:
    with open_pen(workspace) as pen:
        pen.commit(REFIRE)
    for name in ("epoch", "machine", "ballast"):
        (workspace.machine_room / name).write_bytes(left)
    with open_pen(workspace) as pen:
        assert [(p.path, p.kind) for p in pen.recovered] == [
            (".onepen/epoch", "machine_room_mended"),
            (".onepen/machine", "machine_room_mended"),
        ]
        assert pen.commit(Change(None, "x", "user:ana", log=(("note", "x"),))).id.startswith("c2-")
    with open_pen(workspace) as pen:
        assert pen.recovered == ()
    assert (workspace.machine_room / "ballast").stat().st_size == 1 << 20


def test_a_redo_log_that_is_gone_is_made_anew_and_it_is_said(workspace: Workspace) -> None:
    with open_pen(workspace) as pen:
        assert pen.recovered == ()
        pen.commit(REFIRE)
    (workspace.machine_room / "redo/log").unlink()
    with open_pen(workspace) as pen:
        assert [p.kind for p in pen.recovered] == ["redo_made"]


def test_numbers_go_on_when_the_machine_room_is_lost(workspace: Workspace) -> None:
    note = Change(ClientId("acme"), "x", "user:ana", log=(("note", "x"),))
    with open_pen(workspace) as pen:
        assert [pen.commit(note).id for _ in range(3)] == ["c1-k3x9ab", "c2-k3x9ab", "c3-k3x9ab"]
    shutil.rmtree(workspace.machine_room)
    with open_pen(workspace) as pen:
        made = pen.commit(Change(None, "x", "user:ana", log=(("note", "x"),)))
        assert made.id.startswith("c4-")
        assert not made.id.endswith("k3x9ab")
        assert [p.kind for p in pen.recovered] == ["machine_room_made"]
    assert len(read_commits(View(workspace), workspace.space("acme"))) == 3


def test_a_number_is_not_given_twice_when_a_log_goes_back(workspace: Workspace) -> None:
    """As after a checkout of an older branch: both branches may be merged later."""
    note = Change(None, "x", "user:ana", log=(("note", "x"),))
    with open_pen(workspace) as pen:
        pen.commit(note)
        pen.commit(note)
    (workspace.root / "logs" / "commits-2026-11.jsonl").unlink()
    with open_pen(workspace) as pen:
        assert pen.commit(note).id == "c3-k3x9ab"


def test_two_clones_merge_by_union(workspace: Workspace, tmp_path: Path) -> None:
    note = Change(None, "x", "user:ana", log=(("note", "here"),))
    with open_pen(workspace) as pen:
        pen.commit(note)
    shutil.copytree(workspace.root, tmp_path / "other", ignore=shutil.ignore_patterns(".onepen"))
    other = open_workspace(tmp_path / "other")
    (other.machine_room).mkdir()
    (other.machine_room / "machine").write_text(f"zzzzzz {machine_mark(other.root)}\n")
    with open_pen(workspace) as pen, open_pen(other) as theirs:
        mine = [pen.commit(note), pen.commit(note)]
        made = [theirs.commit(note)]
    log = Path("logs/commits-2026-11.jsonl")
    merged = (other.root / log).read_text() + (workspace.root / log).read_text()
    (workspace.root / log).write_text(merged)
    commits = read_commits(View(workspace), workspace.house)
    assert [c.id for c in commits] == ["c1-k3x9ab", "c2-k3x9ab", "c2-zzzzzz", "c3-k3x9ab"]
    assert find_commit(commits, "c2-z") == made[0]
    assert find_commit(commits, "c3") == mine[1]
    with open_pen(workspace) as pen:
        assert pen.commit(note).id == "c4-k3x9ab"


def test_damaged_small_state_is_made_anew(workspace: Workspace) -> None:
    note = Change(None, "x", "user:ana", log=(("note", "x"),))
    with open_pen(workspace) as pen:
        pen.commit(note)
    for name in ("machine", "epoch", "pen.json"):
        for rubbish in (b'{"a":1}{"a":2}', b"", b'{"a":', b"\xff\xfe"):
            (workspace.machine_room / name).write_bytes(rubbish)
            with open_pen(workspace) as pen:
                pen.commit(note)
    numbers = [c.id.split("-")[0] for c in read_commits(View(workspace), workspace.house)]
    assert numbers == [f"c{k}" for k in range(1, 14)]


def test_equal_lines_in_one_minute_all_stay(workspace: Workspace) -> None:
    note = Change(None, "x", "user:ana", log=(("note", "called Ana"), ("note", "called Ana")))
    with open_pen(workspace) as pen:
        pen.commit(note)
        pen.commit(note)
        added = [c for r in scan((workspace.root / REDO).read_bytes()).records for c in r.files]
        seen = [
            [line.seen for line in c.lines] for c in added if isinstance(c, Addition) and c.path.startswith("memory")
        ]
        assert seen == [[0, 1], [2, 3]]  # by which recovery tells them apart
    assert read(workspace, "memory/2026-11-30.md") == "- 14:05+01:00 [note] called Ana\n" * 4


def test_a_log_line_begins_a_line_of_its_own(workspace: Workspace) -> None:
    (workspace.root / "memory" / "2026-11-30.md").write_text("by hand, no newline")
    with open_pen(workspace) as pen:
        pen.commit(Change(None, "x", "user:ana", log=(("note", "x"),)))
    assert read(workspace, "memory/2026-11-30.md") == "by hand, no newline\n- 14:05+01:00 [note] x\n"


def test_earlier_days_are_sealed_once(workspace: Workspace) -> None:
    note = Change(None, "x", "user:ana", log=(("note", "x"),))
    old = "- 09:00+01:00 [note] old\n\n- by hand\n"
    (workspace.root / "memory" / "2026-11-28.md").write_text(old)
    (workspace.root / "memory" / "synthesis.md").write_text("no day\n")
    clock = FixedClock("2026-11-29T23:59:00+01:00")
    with open_pen(workspace, clock) as pen:
        pen.commit(note)
        pen.commit(note)
        clock.move(timedelta(minutes=2))
        pen.commit(note)
    with open_pen(workspace, clock) as pen:
        pen.commit(note)
    seals = parse_seals(read(workspace, "logs/seals-2026-11.jsonl"))
    assert [(s.day, len(s.lines), s.machine) for s in seals] == [
        ("2026-11-28", 2, "k3x9ab"),
        ("2026-11-29", 2, "k3x9ab"),
    ]
    assert check_seals("memory/2026-11-28.md", old, seals[:1]) == ()
    assert read(workspace, "memory/2026-11-30.md") == "- 00:01+01:00 [note] x\n" * 2


def test_files_of_a_project_come_with_their_index_line(workspace: Workspace) -> None:
    data = b"a;b\r\n\xff\n"
    change = Change(
        None,
        "projects/kiln/data/cones.csv",
        "user:ana",
        puts=(Put("projects/kiln/data/cones.csv", data),),
        files=(FileEntry(CardId("kiln"), "data/cones.csv", IndexEntry("data/cones.csv", "Table of cones.")),),
    )
    with open_pen(workspace) as pen:
        pen.commit(change)
        with pytest.raises(PutRefused, match="exists already"):
            pen.commit(change)
        again = Put("projects/kiln/data/cones.csv", b"new\n", sha256(data))
        pen.commit(Change(None, "x", "user:ana", puts=(again,)))
        with pytest.raises(PutRefused, match="has changed"):
            pen.commit(Change(None, "x", "user:ana", puts=(again,)))
    assert (workspace.root / "projects/kiln/data/cones.csv").read_bytes() == b"new\n"
    assert "- [data/cones.csv](kiln/data/cones.csv) — Table of cones.\n" in read(workspace, "projects/_index.md")


@pytest.mark.parametrize(
    "path",
    ["projects/x.md", "research/kiln.md", "memory/2026-11-30.md", "logs/commits-2026-11.jsonl", "../x", "/etc/x",
     "a//b", "clients/bolt/MEMORY.md", ".onepen/machine", ".git/config", "projects/kiln/../x", "projects/kiln/a b", ""],
)  # fmt: skip
def test_files_are_put_only_where_files_belong(workspace: Workspace, path: str) -> None:
    with open_pen(workspace) as pen, pytest.raises(PutRefused):
        pen.commit(Change(None, "x", "user:ana", puts=(Put(path, b"x"),)))


def removal(workspace: Workspace, *paths: str) -> Change:
    removes = tuple(Remove(path, sha256((workspace.root / path).read_bytes())) for path in paths)
    return Change(None, "x", "user:ana", removes=removes, log=(("removed", ", ".join(paths)),))


def test_a_card_goes_with_its_block_and_a_file_with_its_line(workspace: Workspace) -> None:
    root = workspace.root
    place = "projects/kiln/data/2026/cones.csv"
    entry = FileEntry(CardId("kiln"), "data/2026/cones.csv", IndexEntry("data/2026/cones.csv", "Table of cones."))
    loom = "\n## [Loom](loom.md)\nstatus: active\n\n- [weft](loom.md#weft) — Wool.\n"
    (root / "projects/loom.md").write_text("# Loom\n\n## Weft\n\nWool.\n")
    (root / "projects/_index.md").write_text(INDEX + loom)
    with open_pen(workspace) as pen:
        pen.commit(Change(None, "x", "user:ana", puts=(Put(place, b"a;b\n\xff"),), files=(entry,)))
        gone = pen.commit(removal(workspace, place))
        assert (gone.removed, gone.paths[:2]) == ((place,), (place, "projects/_index.md"))
        assert read(workspace, "projects/_index.md") == INDEX + loom
        assert [(c.path, c.old) for c in gone.changes] == [
            ("projects/_index.md", "- [data/2026/cones.csv](kiln/data/2026/cones.csv) — Table of cones.\n")
        ]
        gone = pen.commit(removal(workspace, "projects/kiln.md"))
        assert gone.changes[0] == TextChange("projects/kiln.md", None, KILN, "", whole=True)
    assert read(workspace, "projects/_index.md") == INDEX.partition("## [Kiln")[0] + loom.removeprefix("\n")
    assert {p.name for p in (root / "projects").iterdir()} == {"_index.md", "loom.md"}
    assert read_commits(View(workspace), workspace.house)[-1] == gone
    assert [p.path for p in examine(View(workspace)) if p.kind != "folder_missing"] == []


def test_an_agent_goes_with_its_line_in_the_registry(workspace: Workspace) -> None:
    (workspace.root / "agents").mkdir()
    puts, registry = (Put("agents/poet.md", b"Rhyme.\n"),), ((AgentId("poet"), "Writes verses."),)
    with open_pen(workspace) as pen:
        pen.commit(Change(None, "x", "user:ana", puts=puts, registry=registry))
        pen.commit(removal(workspace, "agents/poet.md"))
        pen.commit(Change(None, "x", "user:ana", puts=puts, registry=registry))
        pen.commit(removal(workspace, "agents/poet.md"))
    assert read(workspace, "agents/_index.md") == "# Agents\n"
    assert not (workspace.root / "agents/poet.md").exists()


def test_a_card_moves_in_one_commit(workspace: Workspace) -> None:
    text = KILN.partition("---\n\n")[2]
    moved = Change(
        None,
        "x",
        "user:ana",
        edit=edit("create", "projects/oven.md", text=text, title="Oven"),
        removes=(Remove("projects/kiln.md", sha256(KILN.encode())),),
    )
    with open_pen(workspace) as pen:
        pen.commit(moved)
        back = Change(None, "x", "user:ana", edit=edit("create", text=text, title="Kiln"))
        pen.commit(back)
    index = read(workspace, "projects/_index.md")
    assert "## [Oven](oven.md)" in index
    assert index.index("oven.md") < index.index("## [Kiln](kiln.md)")


@pytest.mark.parametrize(
    "path",
    ["MEMORY.md", "USER.md", "SOUL.md", "memory/2026-11-29.md", "logs/commits-2026-11.jsonl", "projects/_index.md",
     "agents/_index.md", "agents/RULES.md", "../x.md", "projects/../MEMORY.md", "clients/acme/projects/x.md", ""],
)  # fmt: skip
def test_nothing_but_cards_files_and_agents_is_removed(workspace: Workspace, path: str) -> None:
    before = untouched(workspace)
    client = ClientId("acme") if path.startswith("clients") else None
    change = Change(client, "x", "user:ana", removes=(Remove(path, "0" * 64),))
    with open_pen(workspace) as pen, pytest.raises(RemoveRefused):
        pen.commit(change)
    assert untouched(workspace) == before


def test_what_was_edited_since_or_is_a_link_is_not_removed(workspace: Workspace) -> None:
    change = removal(workspace, "projects/kiln.md")
    card = workspace.root / "projects/kiln.md"
    card.write_text(KILN + "\nby hand\n")
    with open_pen(workspace) as pen:
        with pytest.raises(RemoveRefused, match="has changed since it was read"):
            pen.commit(change)
        card.rename(workspace.root / "kiln.md")
        with pytest.raises(RemoveRefused, match="gone already"):
            pen.commit(change)
        card.symlink_to("../kiln.md")
        with pytest.raises(PlaceUnfit, match="is a link"):
            pen.commit(removal(workspace, "projects/kiln.md"))
    assert card.is_symlink()
    assert card.read_text() == KILN + "\nby hand\n"


def test_a_new_client_and_a_new_agent(workspace: Workspace) -> None:
    puts = (Put("BRIEF.md", b"German.\n"), Put("projects/_index.md", b"# Projects\n"))
    agent = Change(
        None,
        "agents/poet.md",
        "user:ana",
        puts=(Put("agents/poet.md", b"---\nname: poet\n---\nRhyme.\n"),),
        registry=((AgentId("poet"), "Writes verses."),),
    )
    with open_pen(workspace) as pen:
        pen.commit(Change(ClientId("mueller"), "clients/mueller: added", "user:ana", puts=puts))
        pen.commit(agent)
    assert read(workspace, "clients/mueller/BRIEF.md") == "German.\n"
    assert "- [about](poet.md) — Writes verses.\n" in read(workspace, "agents/_index.md")


def test_hand_edits_are_reconciled(workspace: Workspace) -> None:
    with (workspace.root / "projects" / "kiln.md").open("a") as card:
        card.write("\n## Glaze\n\nCeladon since May. More.\n")
    (workspace.root / "research" / "dyes.md").write_text("# Dyes\n\n## Indigo\n\nBlue.\n")
    (workspace.root / "projects" / "broken.md").write_bytes(b"\xff\xfe")
    with open_pen(workspace) as pen:
        commit = pen.reconcile(workspace.house)
        assert commit is not None
        assert commit.paths == ("projects/_index.md", "research/_index.md")
        assert pen.reconcile(workspace.house) is None
        assert pen.reconcile(workspace.space("acme")) is None
    assert "- [glaze](kiln.md#glaze) — Glaze: Celadon since May. (auto)\n" in read(workspace, "projects/_index.md")
    assert "## [Dyes](dyes.md)" in read(workspace, "research/_index.md")


def test_a_log_can_bring_hand_edits_along(workspace: Workspace) -> None:
    with (workspace.root / "projects" / "kiln.md").open("a") as card:
        card.write("\n## Glaze\n\nCeladon since May.\n")
    with open_pen(workspace) as pen:
        pen.commit(Change(None, "log", "user:ana", log=(("note", "called Ana"),), reconcile=True))
    assert "kiln.md#glaze" in read(workspace, "projects/_index.md")
    assert len(read(workspace, "logs/commits-2026-11.jsonl").splitlines()) == 1


def test_links_inside_are_written_through_and_stay_links(workspace: Workspace) -> None:
    root = workspace.root
    (root / "shared").mkdir()
    (root / "projects" / "kiln.md").rename(root / "shared" / "kiln.md")
    (root / "projects" / "kiln.md").symlink_to("../shared/kiln.md")
    (root / "shared" / "kiln.md").chmod(0o640)
    with open_pen(workspace) as pen:
        pen.commit(REFIRE)
    assert (root / "projects" / "kiln.md").is_symlink()
    assert "1220" in (root / "shared" / "kiln.md").read_text()
    assert (root / "shared" / "kiln.md").stat().st_mode & 0o777 == 0o640


def test_links_that_lead_out_are_refused(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "dot.md"
    outside.write_text(KILN)
    (workspace.root / "projects" / "kiln.md").unlink()
    (workspace.root / "projects" / "kiln.md").symlink_to(outside)
    with open_pen(workspace) as pen:
        with pytest.raises(LinkLeadsOut):
            pen.commit(REFIRE)
        (workspace.root / "memory").rmdir()
        (workspace.root / "memory").symlink_to(tmp_path)
        with pytest.raises(LinkLeadsOut):
            pen.commit(Change(None, "x", "user:ana", log=(("note", "x"),)))
    assert outside.read_text() == KILN
    assert not (tmp_path / "2026-11-30.md").exists()


def test_two_names_of_one_file_are_not_written_in_one_commit(workspace: Workspace) -> None:
    (workspace.root / "projects" / "kiln").mkdir()
    (workspace.root / "projects" / "kiln" / "a.txt").symlink_to("b.txt")
    puts = (Put("projects/kiln/a.txt", b"1"), Put("projects/kiln/b.txt", b"2"))
    with open_pen(workspace) as pen, pytest.raises(PlaceUnfit, match="by a link"):
        pen.commit(Change(None, "x", "user:ana", puts=puts))


def test_many_commits_are_checkpointed_on_the_way(workspace: Workspace) -> None:
    big = "word " * 60_000 + "\n"
    with open_pen(workspace) as pen:
        for k in range(8):
            edited = edit("append", text=f"{k} {big}")
            pen.commit(Change(None, "x", "user:ana", edit=edited))
        log = workspace.machine_room / "redo" / "log"
        assert log.stat().st_size < 2 << 20
    assert log.stat().st_size == 0
    assert read(workspace, "projects/kiln.md").count(big) == 8


REDO = ".onepen/redo/log"


def pending(workspace: Workspace, tmp_path: Path) -> bytes:
    """The redo log of a pen that has committed and not put down, made in a copy and accepted here."""
    copy = tmp_path / "writing"
    shutil.copytree(workspace.root, copy)
    (copy / ".onepen" / "machine").write_text(f"k3x9ab {machine_mark(copy)}\n")
    (workspace.machine_room / "redo").mkdir()
    (workspace.root / ACCEPTED).write_text(folder_name(workspace.root) + "\n")
    with open_pen(open_workspace(copy)) as pen:
        pen.commit(REFIRE)
        pen.commit(Change(None, "x", "user:ana", log=(("note", "x"),)))
        return (copy / REDO).read_bytes()


def test_a_pending_commit_is_rolled_forward_with_a_notice(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / REDO).write_bytes(pending(workspace, tmp_path))
    view = View(workspace)
    assert "1220" in (view.text("projects/kiln.md") or "")
    assert view.text("memory/2026-11-30.md") == "- 14:05+01:00 [commit] kiln: fire at 1220\n- 14:05+01:00 [note] x\n"
    assert "1200" in read(workspace, "projects/kiln.md")
    with open_pen(workspace) as pen:
        assert [(p.kind, p.level) for p in pen.recovered] == [("redo_rolled_forward", "info")]
        with pytest.raises(AlreadyCommitted):
            pen.commit(REFIRE)
    assert untouched(workspace) == untouched(open_workspace(tmp_path / "writing"))


def test_a_torn_tail_is_cut_with_a_copy(workspace: Workspace, tmp_path: Path) -> None:
    data = pending(workspace, tmp_path)
    (workspace.root / REDO).write_bytes(data[:-10])
    with open_pen(workspace) as pen:
        assert [p.kind for p in pen.recovered] == ["redo_torn", "redo_rolled_forward"]
        copies = list((workspace.machine_room / "redo").glob("torn-*"))
        assert [copy.read_bytes() for copy in copies] == [data[:-10].split(b"\n")[1]]
        assert pen.commit(Change(None, "x", "u", log=(("note", "y"),))).id == "c2-k3x9ab"
    with open_pen(workspace) as pen:
        assert pen.recovered == ()


@pytest.mark.parametrize("rubbish", [b'{"a":1}{"a":2}', b'{"a":', b"\0" * 5000, b"deadbeef {}\n"])
def test_rubbish_in_the_redo_log_is_set_aside_once(workspace: Workspace, rubbish: bytes) -> None:
    (workspace.machine_room / "redo").mkdir()
    (workspace.root / REDO).write_bytes(rubbish)
    before = untouched(workspace)
    with open_pen(workspace) as pen:
        assert [p.kind for p in pen.recovered] == ["redo_torn"]
        assert untouched(workspace) == before
        pen.commit(REFIRE)
    with open_pen(workspace) as pen:
        assert pen.recovered == ()
    assert [p.read_bytes() for p in (workspace.machine_room / "redo").glob("torn-*")] == [rubbish]


def test_damage_before_a_good_record_stops_and_cuts_nothing(workspace: Workspace, tmp_path: Path) -> None:
    data = pending(workspace, tmp_path)
    damaged = data[:50] + b"X" + data[51:]
    (workspace.root / REDO).write_bytes(damaged)
    before = untouched(workspace)
    for _ in range(2):
        with pytest.raises(RedoDamaged) as caught:
            open_pen(workspace)
        assert caught.value.exit_code == 6
    assert (workspace.root / REDO).read_bytes() == damaged
    assert untouched(workspace) == before
    with pytest.raises(RedoDamaged):
        View(workspace).text("projects/kiln.md")


def test_another_workspaces_redo_log_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    data = pending(workspace, tmp_path)
    (workspace.root / "onepen.toml").write_text('id = "zyxwvuts9876"\n')
    (workspace.root / REDO).write_bytes(data)
    before = untouched(workspace)
    with pytest.raises(ForeignRedo, match=r"another workspace \('abcdefgh1234', this one is zyxwvuts9876\)"):
        open_pen(open_workspace(workspace.root))
    assert untouched(workspace) == before


@pytest.mark.parametrize("path", [".git/config", "Makefile", "../outside"])
def test_a_planted_redo_log_writes_nothing(workspace: Workspace, path: str) -> None:
    (workspace.root / ".git").mkdir()
    (workspace.root / ".git" / "config").write_text("[core]\n")
    line = Line(b"[core]\n\tfsmonitor = run-me\n", 0)
    planted = Record(workspace.settings.id, 1, ("c1-k3x9ab",), (Addition(path, 7, False, (line,)),))
    (workspace.machine_room / "redo").mkdir()
    (workspace.root / REDO).write_bytes(encode(planted))
    before = untouched(workspace)
    with pytest.raises(ForeignRedo, match="which no commit writes") as caught:
        open_pen(workspace)
    assert caught.value.exit_code == 6
    assert untouched(workspace) == before
    assert not (workspace.root.parent / "outside").exists()


def test_a_copy_with_a_pending_commit_is_explained_and_finishes_it_when_accepted(
    workspace: Workspace, tmp_path: Path
) -> None:
    data = pending(workspace, tmp_path)
    (workspace.root / REDO).write_bytes(data)
    (workspace.root / ACCEPTED).unlink()
    before = untouched(workspace)
    with pytest.raises(ForeignRedo, match="written in another folder") as caught:
        open_pen(workspace)
    assert caught.value.exit_code == 6
    assert untouched(workspace) == before
    assert (workspace.root / REDO).read_bytes() == data
    told = caught.value.message
    (workspace.root / ACCEPTED).write_text(told.partition("echo ")[2].partition(" >")[0] + "\n")
    with open_pen(workspace) as pen:
        assert [p.kind for p in pen.recovered] == ["redo_rolled_forward"]
    assert not (workspace.root / ACCEPTED).exists()
    assert "1220" in read(workspace, "projects/kiln.md")


def test_a_copied_folder_gives_out_its_numbers_under_another_name(workspace: Workspace, tmp_path: Path) -> None:
    note = Change(None, "x", "user:ana", log=(("note", "x"),))
    with open_pen(workspace) as pen:
        pen.commit(note)
    shutil.copytree(workspace.root, tmp_path / "copy")
    workspace.root.rename(tmp_path / "renamed")
    with open_pen(open_workspace(tmp_path / "renamed")) as pen:
        mine = pen.commit(note)
    with open_pen(open_workspace(tmp_path / "copy")) as pen:
        theirs = pen.commit(note)
    assert mine.id == "c2-k3x9ab"
    assert theirs.id.startswith("c2-")
    assert theirs.id != mine.id
    with open_pen(open_workspace(tmp_path / "copy")) as pen:
        assert pen.commit(note).id == "c3-" + theirs.id[3:]


def test_a_persons_edit_after_a_crash_stays_and_what_was_due_lies_beside(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / REDO).write_bytes(pending(workspace, tmp_path))
    mine = KILN.replace("- fire at 1200", "- never fire again")
    (workspace.root / "projects" / "kiln.md").write_text(mine)
    with open_pen(workspace) as pen:
        kept = [p for p in pen.recovered if p.kind == "kept_beside"]
        assert [(p.path, p.level) for p in kept] == [("projects/kiln.md", "warning")]
        assert "kiln.md.due-c1-k3x9ab" in kept[0].message
    assert read(workspace, "projects/kiln.md") == mine
    assert "- fire at 1220\n" in read(workspace, "projects/kiln.md.due-c1-k3x9ab")
    assert View(workspace).cards(workspace.house, "projects") == ("kiln",)


def test_history_in_the_log_is_json_that_others_can_read(workspace: Workspace) -> None:
    with open_pen(workspace) as pen:
        pen.commit(REFIRE)
    found = json.loads(read(workspace, "logs/commits-2026-11.jsonl"))
    assert found["v"] == 1
    assert found["sources"] == ["inputs/cones.md:14"]
    assert found["changes"][0] == {
        "path": "projects/kiln.md",
        "section": "firing",
        "old": "- fire at 1200\n",
        "new": "- fire at 1220\n",
    }
