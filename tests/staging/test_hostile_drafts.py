"""Drafts made to hurt: each is named to the reviewer, none is followed, waited for or loaded beyond its limit."""

import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onepen.memory.ids import DraftId, TaskId
from onepen.staging.finding import blocked
from onepen.staging.folder import MAX_ENTRIES, Collected, TaskFolder, collect
from onepen.testing.hostile import (
    GOOD,
    HOSTILE,
    Attack,
    begins_with_a_rule,
    deep_yaml,
    duplicate_key,
    make,
    never_closed,
)

TASK = TaskId("k3x9ab")

Look = Callable[[], dict[str, Collected]]


@pytest.mark.parametrize(("attack", "kind"), HOSTILE, ids=lambda value: getattr(value, "__name__", ""))
def test_a_hostile_draft_is_named_and_stays_beside_a_good_one(folder: TaskFolder, attack: Attack, kind: str) -> None:
    make(folder.drafts(1) / "good.md")
    try:
        attack(folder.drafts(1))
    except PermissionError as e:
        pytest.skip(f"{attack.__name__} can't be made here: {e.strerror}")
    found = collect(folder, TASK, 1)
    good = [entry for entry in found if entry.name == "good.md"]
    bad = [entry for entry in found if entry.name != "good.md"]
    assert [entry.draft is not None for entry in good] == [True]
    assert bad and all(entry.draft is None and blocked(entry.findings) for entry in bad)
    assert kind in {finding.kind for entry in bad for finding in entry.findings}
    shown = "".join(entry.text + "".join(f.message for f in entry.findings) for entry in found)
    assert "MEMORY-77" not in shown
    assert all(ord(char) >= 32 for entry in bad for finding in entry.findings for char in finding.message)


@pytest.mark.parametrize("attack", [begins_with_a_rule, never_closed, duplicate_key, deep_yaml])
def test_what_can_not_be_parsed_is_shown_in_full(folder: TaskFolder, look: Look, attack: Attack) -> None:
    attack(folder.drafts(1))
    (entry,) = look().values()
    assert entry.text == (folder.drafts(1) / "x.md").read_text()
    assert entry.sha256


@pytest.mark.parametrize("place", ["drafts", "attempt"])
def test_a_drafts_folder_that_is_a_link_is_not_listed(folder: TaskFolder, look: Look, place: str) -> None:
    folder.drafts(1).rmdir()
    if place == "drafts":
        folder.drafts(1).symlink_to("../../../projects", target_is_directory=True)
    else:
        folder.attempt(1).rmdir()
        elsewhere = folder.path.parent / "elsewhere"
        (elsewhere / "drafts").mkdir(parents=True)
        make(elsewhere / "drafts" / "kiln.md", b"MEMORY-77")
        folder.attempt(1).symlink_to(elsewhere, target_is_directory=True)
    (entry,) = look().values()
    assert entry.findings[0].kind == "link"
    assert "kiln" not in entry.name


def test_no_drafts_are_none(folder: TaskFolder) -> None:
    assert collect(folder, TASK, 1) == ()
    assert collect(folder, TASK, 2) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [("Notes.md", "notes.md"), ("straße.md", "STRASSE.md"), ("é.md", "e\u0301.md"), ("ﬁre.md", "fire.md")],
)
def test_names_that_differ_only_in_case_or_form_are_both_refused(
    folder: TaskFolder, look: Look, one: str, other: str
) -> None:
    make(folder.drafts(1) / one)
    make(folder.drafts(1) / other)
    found = look()
    if len(found) < 2:
        pytest.skip("this file system folds names itself")
    assert {finding.kind for entry in found.values() for finding in entry.findings} == {"twin"}


def test_a_flood_of_files_is_not_read(folder: TaskFolder, look: Look) -> None:
    for number in range(MAX_ENTRIES + 1):
        os.close(os.open(folder.drafts(1) / f"{number}.md", os.O_CREAT | os.O_WRONLY))
    (entry,) = look().values()
    assert entry.findings[0].kind == "too_many"


def test_the_bytes_of_all_drafts_together_are_bounded(folder: TaskFolder, look: Look) -> None:
    body = b"x" * (1_000_000)
    for number in range(40):
        make(folder.drafts(1) / f"{number:02}.md", GOOD + body)
    found = look()
    assert len(found) == 40
    late = [entry for entry in found.values() if entry.draft is None]
    assert late and all(entry.findings[0].kind == "too_large" for entry in late)
    assert sum(len(entry.raw or b"") for entry in found.values()) <= 34 << 20


def test_a_very_deep_folder_is_named(folder: TaskFolder, look: Look) -> None:
    here = os.open(folder.drafts(1), os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("x.md", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    make(folder.drafts(1) / "good.md")
    try:
        found = look()
        assert found["good.md"].draft is not None
        assert all(blocked(entry.findings) for name, entry in found.items() if name != "good.md")
    finally:
        os.system(f"rm -rf '{folder.drafts(1)}'")  # deeper than shutil can walk


def test_names_are_judged_the_same_in_every_order(folder: TaskFolder) -> None:
    for name in ("b.md", "a.md", "z.txt"):
        make(folder.drafts(1) / name)
    first = collect(folder, TASK, 1)
    assert [(entry.id, entry.name) for entry in first] == [
        (DraftId.of(TASK, 1), "a.md"),
        (DraftId.of(TASK, 2), "b.md"),
        (DraftId.of(TASK, 3), "z.txt"),
    ]
    make(folder.drafts(1) / "0.md")
    again = collect(folder, TASK, 1, [entry.name for entry in first])
    assert [entry.name for entry in again] == ["a.md", "b.md", "z.txt", "0.md"]


@pytest.fixture
def little_memory() -> Iterator[None]:
    """A limit 256 MiB above what this process uses: loading a giant ends the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGESIZE") + (256 << 20), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.usefixtures("little_memory")
def test_giants_do_not_need_memory(folder: TaskFolder, look: Look) -> None:
    for number in range(50):
        with (folder.drafts(1) / f"{number}.md").open("wb") as file:
            file.truncate(10 << 30)
    assert {entry.findings[0].kind for entry in look().values()} == {"too_large"}


def test_a_file_swapped_for_a_link_while_it_is_read_shows_nothing(folder: TaskFolder) -> None:
    """A thread exchanges the draft for links and hard links as fast as it can while it is collected again and again."""
    drafts, outside = folder.drafts(1), folder.path.parent.parent / "MEMORY.md"
    make(drafts / "x.md")
    stop = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        side = folder.path / "side"
        side.mkdir()
        while not stop.is_set():
            (side / "l").symlink_to(outside)
            (side / "l").replace(drafts / "x.md")
            make(side / "d")
            (side / "d").replace(drafts / "x.md")
            (side / "h").hardlink_to(outside)
            (side / "h").replace(drafts / "x.md")
            (drafts / "x.md").unlink()
            make(drafts / "x.md")
            swaps += 1

    worker = threading.Thread(target=swap)
    worker.start()
    outcomes: set[str] = set()
    try:
        begun = time.monotonic()
        while (spent := time.monotonic() - begun) < 20:
            for entry in collect(folder, TASK, 1):
                assert b"MEMORY-77" not in (entry.raw or b"")
                outcomes.add("draft" if entry.draft else entry.findings[0].kind)
            if spent > 2 and {"draft", "link"} <= outcomes:
                break
    finally:
        stop.set()
        worker.join(10)
    assert not worker.is_alive()
    assert {"draft", "link"} <= outcomes, f"the race never happened: {outcomes} in {swaps} swaps"


def test_what_a_worker_was_writing_when_it_was_ended_is_no_draft(folder: TaskFolder, look: Look) -> None:
    (folder.drafts(1) / ".half.md.0a1b2c3d.tmp").write_text("---\ntarget: resea")
    assert look() == {}
