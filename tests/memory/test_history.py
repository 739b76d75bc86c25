import random
from dataclasses import replace
from pathlib import Path

import pytest

from onepen.memory.exam.doctor import examine
from onepen.memory.history import (
    AmbiguousCommit,
    Commit,
    NoSuchCommit,
    TextChange,
    commit_id,
    commit_json,
    find_commit,
    parse_commits,
    read_commits,
    sort_key,
)
from onepen.memory.undone import undone
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace


def commit(sequence: int, machine: str = "k3x9ab", what: str = "projects/kiln.md: replaced in firing") -> Commit:
    return Commit(
        v=1,
        id=commit_id(sequence, machine),
        key=f"t{sequence} projects/kiln.md",
        time="2026-11-30T14:05:00+01:00",
        who="user:ana",
        what=what,
        draft="t1-1",
        agent="researcher",
        task="t1",
        reviewer="user:ana",
        sources=("inputs/cones.md:14",),
        paths=("projects/kiln.md", "projects/_index.md"),
        changes=(TextChange("projects/kiln.md", "firing", "- 1200 °C\n", "- 1220 °C\n"),),
    )


def test_a_commit_is_one_readable_line_and_comes_back() -> None:
    line = commit_json(commit(42))
    assert line.startswith('{"v":1,"id":"c42-k3x9ab","key":"t42 projects/kiln.md","time":"2026-11-30T14:05:00+01:00"')
    assert "1220 °C" in line
    assert "\n" not in line
    assert parse_commits(line + "\n") == ((commit(42),), ())


def test_what_few_commits_have_stands_in_their_lines_alone() -> None:
    assert not any(f'"{name}"' in commit_json(commit(1)) for name in ("undoes", "whole", "behind"))
    went = TextChange("research/x.md", None, "x\n", "", whole=True), TextChange("a.md", "s", "y\n", "", behind="")
    undoing = replace(commit(9), key=None, undoes="c1-k3x9ab", changes=went)
    line = commit_json(undoing)
    assert line.startswith('{"v":1,"id":"c9-k3x9ab","key":null,"undoes":"c1-k3x9ab","time"')
    assert parse_commits(line) == ((undoing,), ())


def test_what_is_undone_is_found_from_the_latest_backwards() -> None:
    undoings = {"c2-aaaaaa": "c1-aaaaaa", "c9-aaaaaa": "c10-aaaaaa"}
    assert undone(undoings) == {"c1-aaaaaa": "c2-aaaaaa", "c10-aaaaaa": "c9-aaaaaa"}
    assert undone(undoings | {"c11-aaaaaa": "c2-aaaaaa"}) == {"c2-aaaaaa": "c11-aaaaaa", "c10-aaaaaa": "c9-aaaaaa"}
    assert undone({"c2-aaaaaa": "c1-aaaaaa", "c2-bbbbbb": "c1-aaaaaa"}) == {"c1-aaaaaa": "c2-bbbbbb"}
    assert undone({"c1-aaaaaa": "c1-aaaaaa"}) == {"c1-aaaaaa": "c1-aaaaaa"}, "nonsense is no endless loop"


def test_ids_sort_by_number_then_machine() -> None:
    ids = ["c10-aaaaaa", "c9-zzzzzz", "c9-bbbbbb", "c100-aaaaaa"]
    assert sorted(ids, key=sort_key) == ["c9-bbbbbb", "c9-zzzzzz", "c10-aaaaaa", "c100-aaaaaa"]
    for bad in ("c0-aaaaaa", "42-aaaaaa", "c1-AAAAAA", "c1", "c1-aaaaaa-x"):
        with pytest.raises(ValueError, match="no commit id"):
            sort_key(bad)


def test_a_merge_by_union_is_harmless() -> None:
    mine = [commit(k) for k in range(1, 6)]
    theirs = [*mine[:3], commit(4, "zzzzzz"), commit(5, "zzzzzz")]
    lines = [commit_json(c) for c in (*mine, *theirs)]
    random.Random(7).shuffle(lines)
    found, problems = parse_commits("\n".join(lines))
    assert [c.id for c in found] == [
        "c1-k3x9ab", "c2-k3x9ab", "c3-k3x9ab", "c4-k3x9ab", "c4-zzzzzz", "c5-k3x9ab", "c5-zzzzzz",
    ]  # fmt: skip
    assert problems == ()


def test_lines_that_are_no_commit_are_problems_with_their_line() -> None:
    good = commit_json(commit(1))
    text = f"{good}\n<<<<<<< HEAD\n\n{good[:-20]}\n[]\n" + commit_json(replace(commit(2), id="zwei")) + "\n"
    found, problems = parse_commits(text, "logs/commits-2026-11.jsonl")
    assert found == (commit(1),)
    assert [(p.path, p.line, p.kind) for p in problems] == [
        ("logs/commits-2026-11.jsonl", line, "commit_unreadable") for line in (2, 4, 5, 6)
    ]


def test_different_commits_with_one_id_are_all_shown(tmp_path: Path) -> None:
    """As after the merge of two copies of a folder, which both went on from the same number."""
    (tmp_path / "onepen.toml").write_text('id = "abcdefgh"\n')
    (tmp_path / "logs").mkdir()
    mine, theirs, later = (
        commit(1),
        commit(1, what="something else"),
        replace(commit(1), time="2026-12-01T09:00:00+01:00"),
    )
    log = tmp_path / "logs" / "commits-2026-11.jsonl"
    log.write_text("".join(commit_json(c) + "\n" for c in (mine, theirs, mine)))
    (tmp_path / "logs" / "commits-2026-12.jsonl").write_text(commit_json(later) + "\n")
    workspace = open_workspace(tmp_path)
    commits = read_commits(View(workspace), workspace.house)
    assert commits == (mine, theirs, later)
    with pytest.raises(AmbiguousCommit, match="something else"):
        find_commit(commits, "c1")
    found = [(p.path, p.kind, p.level) for p in examine(View(workspace)) if p.path.startswith("logs/")]
    assert found == [
        ("logs/commits-2026-11.jsonl", "commit_id_twice", "error"),
        ("logs/commits-2026-12.jsonl", "commit_id_twice", "error"),
    ]


def test_later_fields_are_passed_over() -> None:
    line = commit_json(commit(1))[:-1] + ',"new_in_a_later_version":true}'
    assert parse_commits(line)[0] == (commit(1),)


def test_commits_are_found_by_the_beginning_of_their_id() -> None:
    commits = [commit(4), commit(42), commit(42, "zzzzzz"), commit(421)]
    assert find_commit(commits, "c4").id == "c4-k3x9ab"
    assert find_commit(commits, "c421-").id == "c421-k3x9ab"
    assert find_commit(commits, "c42-z").id == "c42-zzzzzz"
    with pytest.raises(AmbiguousCommit, match="c42-k3x9ab, c42-zzzzzz") as caught:
        find_commit(commits, "c42")
    assert caught.value.exit_code == 2
    for nothing in ("c5", "c42-q", "", "42", "c", "x\ny"):
        with pytest.raises(NoSuchCommit):
            find_commit(commits, nothing)


def test_a_space_reads_all_its_months(tmp_path: Path) -> None:
    (tmp_path / "onepen.toml").write_text('id = "abcdefgh"\n')
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "commits-2026-12.jsonl").write_text(commit_json(commit(2)) + "\n")
    (tmp_path / "logs" / "commits-2026-11.jsonl").write_text(commit_json(commit(1)) + "\n" + commit_json(commit(2)))
    (tmp_path / "logs" / "commits-2026-11.conflicted.jsonl").write_text(commit_json(commit(9)))
    workspace = open_workspace(tmp_path)
    assert [c.id for c in read_commits(View(workspace), workspace.house)] == ["c1-k3x9ab", "c2-k3x9ab"]


def test_a_line_that_is_no_commit_says_why_and_what_is_lost() -> None:
    whole = commit_json(commit(1, "abcdef"))
    text = f'{whole}\n{whole[:-9]}\n{whole.replace("c1-", "c2-")[:60]}\n{{"a":1}}{{"a":2}}\n{{"v":1}}\n'
    _, problems = parse_commits(text, "logs/commits-2026-11.jsonl")
    told = [(p.line, p.level, p.message) for p in problems]
    assert [(line, level) for line, level, _ in told] == [(2, "warning"), (3, "error"), (4, "error"), (5, "error")]
    assert told[0][2].endswith("its commit c1-abcdef stands whole in another line: remove this one")
    assert told[1][2].startswith("this line is cut short or damaged, so commit c2-abcdef is lost to the history: put")
    assert "more than one record" in told[2][2]
    assert told[3][2].startswith("this line is no commit (id is missing)")
