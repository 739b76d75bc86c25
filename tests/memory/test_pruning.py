"""A commit log loses the text of old commits, and nothing that anybody needs later."""

from dataclasses import replace
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.history import Commit, TextChange, commit_json, doubled_ids, parse_commits, same_change
from onepen.memory.pruning import prune_log

BEFORE = date(2026, 1, 1)


def commit(number: int, day: str, text: str = "Ana's number is 555") -> Commit:
    return Commit(
        v=1, id=f"c{number}-aaaaaa", key=f"k{number} projects/kiln.md", undoes="c1-aaaaaa" if number == 9 else None,
        time=f"{day}T23:30:00-11:00", who="agent:writer", what=f"projects/kiln.md: {text}", draft=f"t{number}-1",
        agent="writer", task=f"t{number}", reviewer="user:ana", sources=("inputs/secret.md:3",),
        paths=("projects/kiln.md", "projects/_index.md"),
        changes=(TextChange("projects/kiln.md", "firing", "old secret\n", f"{text}\n"),),
    )  # fmt: skip


def log(*commits: Commit) -> bytes:
    return "".join(commit_json(one) + "\n" for one in commits).encode()


def test_the_text_of_old_commits_goes_and_who_did_it_when_stays() -> None:
    old, new = commit(9, "2025-12-31"), commit(3, "2026-01-01")
    found = prune_log(log(old, new), BEFORE)
    assert found.commits == 1
    first, second = found.data.decode().splitlines()
    assert second == commit_json(new)
    assert "555" not in first and "secret" not in first
    assert first.startswith('{"v":1,"id":"c9-aaaaaa","key":"k9 projects/kiln.md","undoes":"c1-aaaaaa"')
    [kept] = parse_commits(first)[0]
    assert kept == replace(old, what="", sources=(), changes=(), pruned=True)


def test_pruning_again_changes_nothing_and_new_logs_stay_as_they_are() -> None:
    once = prune_log(log(commit(1, "2025-01-01"), commit(2, "2025-01-02")), BEFORE)
    assert prune_log(once.data, BEFORE) == replace(once, commits=0)
    young = log(commit(1, "2026-02-01"))
    assert prune_log(young, BEFORE).data is young


def test_lines_that_are_no_commit_stay() -> None:
    odd = b'{"v":1,"id":"c5-aaaaaa", torn\n\xff\xfe\n<<<<<<< HEAD\n\n'
    data = odd + log(commit(1, "2025-01-01")) + b"no newline"
    found = prune_log(data, BEFORE)
    assert found.data.startswith(odd) and found.data.endswith(b"\nno newline")
    assert found.commits == 1
    undated = log(replace(commit(1, "2025-01-01"), time="yesterday"))
    assert prune_log(undated, BEFORE).commits == 0


def test_a_merge_brings_no_text_back() -> None:
    """Of two lines with one id the pruned one wins, whichever comes first, and nobody calls that a problem."""
    whole = commit(1, "2025-01-01")
    short = parse_commits(prune_log(log(whole), BEFORE).data.decode())[0][0]
    for merged in (log(whole, short), log(short, whole)):
        assert parse_commits(merged.decode()) == ((short,), ())
        again = prune_log(merged, BEFORE)
        assert (again.data, again.commits) == (log(short), 1)
    assert doubled_ids([("a", whole), ("b", short)]) == ()
    assert same_change(whole, short)


def test_another_commit_with_the_same_id_is_not_taken_for_it() -> None:
    whole = commit(1, "2025-01-01")
    short = parse_commits(prune_log(log(whole), BEFORE).data.decode())[0][0]
    stranger = replace(whole, time="2025-01-01T12:00:00+01:00", who="user:bo")
    assert parse_commits(log(stranger, short).decode())[0] == (stranger, short)
    assert [problem.kind for problem in doubled_ids([("a", stranger), ("b", short)])] == ["commit_id_twice"]


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), max_size=12))
def test_keys_ids_and_paths_are_the_same_before_and_after(picks: list[tuple[int, bool]]) -> None:
    data = log(*(commit(number, "2025-06-01" if old else "2026-06-01") for number, old in picks))
    after = prune_log(data, BEFORE).data

    def told(text: bytes) -> set[tuple[str, str | None, str, tuple[str, ...]]]:
        return {(one.id, one.key, one.time, one.paths) for one in parse_commits(text.decode())[0]}

    assert told(after) == told(data)
    assert len(after) <= len(data)
