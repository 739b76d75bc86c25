import fcntl
import json
import os
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from onepen.memory.change import Change
from onepen.memory.clock import SystemClock
from onepen.memory.commit.pen import Pen
from onepen.memory.commit.redo import scan
from onepen.memory.exam.doctor import examine
from onepen.memory.history import Commit, TextChange, commit_json
from onepen.memory.ids import CardId, ClientId
from onepen.memory.room import REDO_LOG
from onepen.memory.scaffold import init
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.memory.text.daylog import seal, seal_json
from onepen.memory.tombstone import Tombstone, tombstone_json
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace

KILN = "---\ntitle: Kiln\n---\n# Kiln\n\n## Firing\n- at 1220\n"
INDEX = "# Projects\n\n## [Kiln](kiln.md)\nstatus: active\n\n- [firing](kiln.md#firing) — Fire at 1220. `fire`\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    init(tmp_path, id="abcdefgh", name="", today=date(2026, 11, 29))
    put(tmp_path, "projects/kiln.md", KILN)
    put(tmp_path, "projects/_index.md", INDEX)
    return tmp_path


def put(root: Path, path: str, text: str | bytes) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(text if isinstance(text, bytes) else text.encode())


def found(root: Path) -> list[tuple[str, int, str, str]]:
    return [(p.path, p.line, p.kind, p.level) for p in examine(View(open_workspace(root)))]


def test_a_workspace_in_order_has_no_problem(root: Path) -> None:
    assert found(root) == []


def test_files_changed_by_hand_are_each_one_line(root: Path) -> None:
    loom = "\n## [Loom](loom.md)\nstatus: active\n\n- [warp](loom.md#warp) — The warp.\n"
    note = "".join(f"A line of a pasted note, {k}.\n" for k in range(40))
    put(root, "projects/_index.md", INDEX + note + loom)
    (root / "projects/kiln.md").unlink()
    put(root, "projects/dyes.md", "# Dyes\n\n## Indigo\nBlue.\n")
    put(root, "projects/looms.md", "# Looms\n")
    before = (root / "projects/_index.md").read_bytes()
    assert found(root) == [
        ("projects/_index.md", 3, "card_missing", "error"),
        ("projects/_index.md", 7, "index_stray", "warning"),
        ("projects/_index.md", 48, "card_missing", "error"),
        ("projects/dyes.md", 0, "card_unindexed", "error"),
        ("projects/looms.md", 0, "card_unindexed", "error"),
    ]
    assert (root / "projects/_index.md").read_bytes() == before


def test_sections_and_entries_that_do_not_meet(root: Path) -> None:
    put(root, "projects/kiln.md", KILN + "\n## Glaze\nCeladon.\n\n## Care\nDust.\n")
    assert found(root) == [
        ("projects/kiln.md", 9, "entry_missing", "error"),
        ("projects/kiln.md", 12, "entry_missing", "error"),
    ]
    put(root, "projects/kiln.md", "# Kiln\n")
    assert found(root) == [("projects/_index.md", 6, "entry_orphan", "error")]


@pytest.mark.parametrize("block", ["title: Kiln: phase two\nowner: acme", "tags:\n\t- one"])
def test_a_block_that_cannot_be_read_hides_no_other_card(root: Path, block: str) -> None:
    put(root, "projects/kiln.md", f"---\n{block}\n---\n# Kiln\n\n## Firing\n- at 1220\n")
    put(root, "projects/loom.md", "# Loom\n")
    assert [(path, kind) for path, _, kind, _ in found(root)] == [
        ("projects/kiln.md", "front_matter"),
        ("projects/loom.md", "card_unindexed"),
    ]


def test_names_that_differ_only_in_case_are_reported(root: Path) -> None:
    put(root, "projects/Kiln.md", KILN)
    put(root, "clients/acme/MEMORY.md", "")
    put(root, "clients/Acme/MEMORY.md", "")
    assert found(root) == [
        ("clients/Acme", 0, "name_twins", "error"),
        ("projects/Kiln.md", 0, "name_twins", "error"),
    ]


def test_one_id_for_project_and_finding_is_reported(root: Path) -> None:
    put(root, "research/kiln.md", "# Kiln\n")
    put(root, "research/_index.md", "# Research\n\n## [Kiln](kiln.md)\nstatus: active\n")
    assert found(root) == [("research/kiln.md", 0, "id_twice", "error")]


def test_copies_and_remnants_are_reported_and_not_read(root: Path) -> None:
    put(root, "projects/kiln (Ana's conflicted copy 2026-11-29).md", "<<<<<<< a\n=======\n>>>>>>> b\n")
    put(root, "projects/.kiln.md.c7-abcdef.tmp", "x")
    put(root, "memory/.2026-11-29.md.c7-abcdef.tmp", "x")
    put(root, "MEMORY (conflicted copy).md", "x")
    assert [(path, kind) for path, _, kind, _ in found(root)] == [
        ("MEMORY (conflicted copy).md", "conflict_copy"),
        ("memory/.2026-11-29.md.c7-abcdef.tmp", "leftover"),
        ("projects/.kiln.md.c7-abcdef.tmp", "leftover"),
        ("projects/kiln (Ana's conflicted copy 2026-11-29).md", "conflict_copy"),
    ]


def test_what_a_killed_process_left_among_the_tasks_is_reported(root: Path) -> None:
    put(root, "staging/t1/.review.md.1f2e3d4c.tmp", "x")
    put(root, "clients/acme/staging/t2/1/drafts/.kiln.md.new.tmp", "x")
    put(root, "staging/t1/.review.md.new.tmp", "x")
    with (root / "staging/t1/.review.md.new.tmp").open() as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        assert found(root) == [
            ("clients/acme/staging/t2/1/drafts/.kiln.md.new.tmp", 0, "leftover", "warning"),
            ("staging/t1/.review.md.1f2e3d4c.tmp", 0, "leftover", "warning"),
        ]


def test_links_out_are_reported_and_links_inside_are_fine(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("dotfiles")
    put(outside, "SOUL.md", "soul")
    (root / "SOUL.md").unlink()
    (root / "SOUL.md").symlink_to(outside / "SOUL.md")
    put(root, "clients/acme/MEMORY.md", "")
    (root / "clients/acme/BRIEF.md").symlink_to("../../BRIEF.md")
    (root / "clients/acme/projects").symlink_to(outside)
    (root / "clients/other").symlink_to(outside)
    assert found(root) == [
        ("SOUL.md", 0, "link_leads_out", "error"),
        ("clients/acme/projects", 0, "link_leads_out", "error"),
        ("clients/other", 0, "client_is_link", "error"),
    ]


def test_what_is_no_text_or_no_file_is_reported(root: Path) -> None:
    put(root, "projects/kiln.md", b"# Kiln \xff\n")
    put(root, "BRIEF.md", b"a\0b")
    (root / "USER.md").unlink()
    os.mkfifo(root / "USER.md")
    (root / "MEMORY.md").unlink()
    (root / "MEMORY.md").mkdir()
    assert [(path, kind) for path, _, kind, _ in found(root)] == [
        ("BRIEF.md", "not_text"),
        ("MEMORY.md", "not_a_file"),
        ("USER.md", "not_a_file"),
        ("projects/kiln.md", "not_text"),
    ]


@pytest.mark.parametrize("path", ["OPS.md", "projects/_index.md", "memory/2026-11-29.md", "agents/poet.md"])
def test_conflict_markers_are_found_in_every_text(root: Path, path: str) -> None:
    old = (root / path).read_text() if (root / path).exists() else ""
    put(root, path, old + "\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n")
    assert (path, old.count("\n") + 2, "conflict_markers", "error") in found(root)


def test_an_index_over_its_budget_is_said_each_time(root: Path) -> None:
    put(root, "onepen.toml", 'id = "abcdefgh"\n[limits]\nindex_tokens = 100\n')
    for _ in range(2):
        assert ("agents/_index.md", 0, "index_over_budget", "warning") in found(root)
    put(root, "projects/_index.md", INDEX + "\n" + "- [x](kiln.md#firing) — more\n" * 40)
    assert ("projects/_index.md", 0, "index_over_budget", "warning") in found(root)


def test_the_registry_and_the_definitions_are_compared(root: Path) -> None:
    put(root, "agents/poet.md", "---\nname: poet\ndescription: rhymes: on demand\n---\nRhyme.\n")
    (root / "agents/writer.md").unlink()
    (root / "agents/RULES.md").unlink()
    assert [(path, kind, level) for path, _, kind, level in found(root)] == [
        ("agents/RULES.md", "rules_missing", "warning"),
        ("agents/_index.md", "agent_missing", "error"),
        ("agents/poet.md", "agent_unlisted", "error"),
        ("agents/poet.md", "front_matter", "warning"),
    ]


def test_files_of_projects_and_their_entries(root: Path) -> None:
    put(root, "projects/_index.md", INDEX + "- [sales/launch.md](kiln/sales/launch.md) — Launch post.\n")
    put(root, "projects/kiln/notes.txt", "x")
    put(root, "projects/gone/notes.txt", "x")
    assert found(root) == [
        ("projects/_index.md", 7, "file_missing", "error"),
        ("projects/gone", 0, "files_without_card", "warning"),
        ("projects/kiln/notes.txt", 0, "file_unindexed", "info"),
    ]
    put(root, "projects/kiln/sales/launch.md", "post")
    assert ("projects/_index.md", 7, "file_missing", "error") not in found(root)


def test_a_projects_files_that_cannot_be_listed_keep_nothing_else_from_being_examined(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "projects/loom.md", "# Loom\n")
    (root / "projects/loom").symlink_to(tmp_path_factory.mktemp("outside"))
    monkeypatch.setattr("onepen.memory.exam.shelf.MAX_PROJECT_FILES", 2)
    for name in "abc":
        put(root, f"projects/kiln/{name}.txt", name)
    assert found(root) == [
        ("projects/kiln", 0, "files_too_many", "warning"),
        ("projects/loom", 0, "link_leads_out", "error"),
        ("projects/loom.md", 0, "card_unindexed", "error"),
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_may_not_be_read_is_told_with_its_place() -> None:
    with tempfile.TemporaryDirectory(prefix="onepen-test-") as made:
        root = Path(made)
        init(root, id="abcdefgh", name="", today=date(2026, 11, 29))
        put(root, "projects/kiln.md", KILN)
        put(root, "projects/_index.md", INDEX)
        put(root, "projects/kiln/notes.txt", "x")
        for path in (root, *root.rglob("*")):
            os.chown(path, 65534, 65534)
        (root / "projects/kiln").chmod(0)
        (root / "BRIEF.md").chmod(0)
        os.seteuid(65534)
        try:
            told = found(root)
        finally:
            os.seteuid(0)
    assert told == [("BRIEF.md", 0, "unreadable", "error"), ("projects/kiln", 0, "folder_unusable", "error")]


def test_half_of_a_merge_conflict_is_a_warning(root: Path) -> None:
    put(root, "BRIEF.md", "German.\n>>>>>>> 1a2b3c4 brief\n")
    assert found(root) == [("BRIEF.md", 2, "conflict_marker", "warning")]


def test_what_has_grown_too_large_for_prompts_is_told(root: Path) -> None:
    put(root, "MEMORY.md", "A sentence that was learned. " * 250)
    put(root, "projects/kiln.md", KILN + "A sentence about the kiln. " * 1_300)
    assert found(root) == [
        ("MEMORY.md", 0, "note_over_budget", "warning"),
        ("projects/kiln.md", 0, "card_over_budget", "info"),
    ]
    for path in ("RULES.md", "OPS.md"):
        put(root, path, "Cite what you say.\n" * 800)
    told = {(path, kind) for path, _, kind, _ in found(root)}
    assert {("./", "layers_over_budget"), ("RULES.md", "note_over_budget")} <= told


def test_lines_that_git_has_to_know_are_missed_only_under_git(root: Path) -> None:
    (root / ".gitattributes").unlink()
    put(root, ".gitignore", "node_modules/\n")
    assert found(root) == []
    (root / ".git").mkdir()
    assert found(root) == [
        (".gitattributes", 0, "git_lines_missing", "warning"),
        (".gitignore", 0, "git_lines_missing", "warning"),
    ]


DAY = "- 14:05+01:00 [note] called Ana\n- 15:00+01:00 [note] fired\n"


def sealed(root: Path, text: str) -> None:
    at = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
    put(root, "logs/seals-2026-11.jsonl", seal_json(seal(date(2026, 11, 29), text, at, "abcdef")))


def test_a_sealed_line_that_changed_is_an_error_and_a_late_one_is_information(root: Path) -> None:
    sealed(root, DAY)
    put(root, "memory/2026-11-29.md", DAY)
    assert found(root) == []
    put(root, "memory/2026-11-29.md", DAY + "- 16:00+01:00 [note] from the other machine\n")
    assert found(root) == [("memory/2026-11-29.md", 3, "late_line", "info")]
    put(root, "memory/2026-11-29.md", DAY.replace("Ana", "Bob"))
    assert ("memory/2026-11-29.md", 0, "sealed_line_changed", "error") in found(root)


def test_a_sealed_day_whose_log_is_gone_is_an_error(root: Path) -> None:
    sealed(root, DAY)
    assert found(root) == [("memory/2026-11-29.md", 0, "sealed_line_changed", "error")]


def commit(number: int, key: str | None, *changes: TextChange) -> str:
    text = commit_json(
        Commit(1, f"c{number}-abcdef", key, "2026-11-29T14:05:00+01:00", "user:ana", "x", *(None,) * 4, (), (), changes)
    )
    json.loads(text)
    return text + "\n"


def test_days_that_no_commit_has_sealed_are_one_line(root: Path) -> None:
    for day in ("2026-11-27", "2026-11-28", "2026-11-29", "2026-11-30"):
        put(root, f"memory/{day}.md", DAY)
    sealed(root, DAY)
    assert found(root) == []  # nothing was committed since, so nothing was to seal them
    put(root, "logs/commits-2026-11.jsonl", commit(1, None).replace("2026-11-29T", "2026-11-30T"))
    assert found(root) == [("memory", 0, "day_unsealed", "info")]
    assert "2 days, 2026-11-27 to 2026-11-28" in examine(View(open_workspace(root)))[0].message
    (root / "memory/2026-11-28.md").unlink()
    (root / "memory/2026-11-28.md").mkdir()  # can't be sealed, so it isn't offered again and again
    (unsealed,) = (p for p in examine(View(open_workspace(root))) if p.kind == "day_unsealed")
    assert ": 2026-11-27;" in unsealed.message


def fired(at: int, day: int) -> tuple[TextChange, ...]:
    index = TextChange("projects/_index.md", None, "", f"- [firing](kiln.md#firing) — {day}\n")
    date = TextChange("projects/kiln.md", None, "updated: 2026-11-01\n", f"updated: 2026-11-{day}\n")
    return TextChange("projects/kiln.md", "firing", "- at 1200\n", f"- at {at}\n"), date, index


def test_a_key_that_was_committed_twice_with_different_changes_is_an_error(root: Path) -> None:
    key = "t1 projects/kiln.md"
    put(root, "logs/commits-2026-10.jsonl", commit(1, key, *fired(1220, 10)) + commit(2, None) + commit(3, None))
    put(root, "logs/commits-2026-11.jsonl", commit(4, key, *fired(1300, 11)) * 2)
    assert found(root) == [("logs/commits-2026-11.jsonl", 0, "key_twice", "error")]
    assert "c1-abcdef and c4-abcdef" in examine(View(open_workspace(root)))[0].message


def test_a_key_that_was_used_again_after_an_undo_is_in_order(root: Path) -> None:
    key = "t1 projects/kiln.md"
    undoing = json.dumps({**json.loads(commit(2, None)), "undoes": "c1-abcdef"}) + "\n"
    put(root, "logs/commits-2026-11.jsonl", commit(1, key, *fired(1220, 10)) + undoing + commit(3, key, *fired(1, 11)))
    assert found(root) == []


def test_the_same_change_under_one_key_on_two_clones_is_information(root: Path) -> None:
    key = "t1 projects/kiln.md"
    put(root, "logs/commits-2026-10.jsonl", commit(1, key, *fired(1220, 10)) + commit(4, key, *fired(1220, 11)))
    assert found(root) == [("logs/commits-2026-10.jsonl", 0, "key_twice", "info")]


def test_a_line_of_the_history_that_cannot_be_read_is_named(root: Path) -> None:
    put(root, "logs/commits-2026-11.jsonl", commit(1, None) + "{broken\n" + commit(2, None))
    assert [(path, line) for path, line, _, _ in found(root)] == [("logs/commits-2026-11.jsonl", 2)]


CLAY = CardEdit(CardTarget("research", CardId("clay")), "create", text="# Clay\n\nIt shrinks.\n")


def test_while_a_pen_is_held_its_work_is_no_problem_and_the_rest_is_told_all_the_same(root: Path) -> None:
    workspace = open_workspace(root)
    with Pen.open(workspace, SystemClock("UTC")) as pen:
        commit = pen.commit(Change(client=None, what="clay", who="user:ana", edit=CLAY, log=(("note", "hi"),)))
        put(root, f"research/.clay.md.{commit.id}.tmp", "x")
        assert found(root) == []
        put(root, "research/.clay.md.c9-abcdef.tmp", "x")
        (day,) = (root / "memory").iterdir()
        day.unlink()
        assert [(path, kind) for path, _, kind, _ in found(root)] == [("research/.clay.md.c9-abcdef.tmp", "leftover")]
        pen.checkpoint()
        assert ("day_lost", "error") in [(kind, level) for _, _, kind, level in found(root)]


def test_what_a_commit_needs_that_is_yet_to_be_finished_is_no_leftover(root: Path) -> None:
    workspace = open_workspace(root)
    with Pen.open(workspace, SystemClock("UTC")) as pen:
        pen.commit(Change(client=None, what="clay", who="user:ana", edit=CLAY))
        log = (root / REDO_LOG).read_bytes()
    (root / REDO_LOG).write_bytes(log)
    commit = scan(log).records[0].tag
    put(root, f"research/.clay.md.{commit}.tmp", "recovery looks at it first")
    put(root, "research/.clay.md.c2-abcdef.tmp", "x")
    assert found(root) == [
        (".onepen/redo/log", 0, "commit_pending", "info"),
        ("research/.clay.md.c2-abcdef.tmp", 0, "leftover", "warning"),
    ]


def test_nothing_is_written(root: Path) -> None:
    put(root, "projects/dyes.md", "# Dyes\n")

    def stands() -> dict[Path, tuple[object, ...]]:
        """All but the time of access, which reading sets."""
        return {path: (*(s := path.stat())[:7], s.st_mtime_ns, s.st_ctime_ns) for path in root.rglob("*")}

    before = stands()
    examine(View(open_workspace(root)))
    assert stands() == before


def test_lines_of_logs_that_cannot_be_read_are_told(root: Path) -> None:
    put(root, "logs/usage-2026-11.jsonl", '{"v": 1, "task": "t"}\n{"v": 1}{"v": 1}\n{"v":')
    put(root, "logs/usage-2026-10.jsonl", "")
    put(root, "logs/seals-2026-11.jsonl", "<<<<<<< HEAD\n")
    put(root, "logs/tombstones.jsonl", tombstone_json(Tombstone(ClientId("acme"), "2026-11-29", "", "c1")) + "\n{}\n")
    assert found(root) == [
        ("logs/seals-2026-11.jsonl", 1, "seal_unreadable", "warning"),
        ("logs/tombstones.jsonl", 2, "tombstone_unreadable", "error"),
        ("logs/usage-2026-10.jsonl", 0, "log_empty", "error"),
        ("logs/usage-2026-11.jsonl", 2, "usage_unreadable", "error"),
        ("logs/usage-2026-11.jsonl", 3, "usage_unreadable", "error"),
    ]


def test_two_thousand_cards_are_examined_in_time(root: Path) -> None:
    lines = ["# Research\n"]
    body = "".join(f"\n## Part {k}\n" + "A sentence about something that was found. " * 8 + "\n" for k in range(5))
    for k in range(2_000):
        put(root, f"research/c{k}.md", f"---\ntitle: Card {k}\nstatus: active\n---\n# Card {k}\n{body}")
        lines.append(f"\n## [Card {k}](c{k}.md)\nstatus: active\n\n")
        lines += [f"- [part-{n}](c{k}.md#part-{n}) — A sentence.\n" for n in range(5)]
    put(root, "research/_index.md", "".join(lines))
    view = View(open_workspace(root))
    start = time.process_time()
    problems = examine(view)
    assert time.process_time() - start < 6
    assert [p.kind for p in problems] == ["index_over_budget"]
