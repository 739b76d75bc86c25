"""Which day log a line goes to, and that no byte of one is ever lost: by zone, at midnight, when clocks change."""

from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from onepen.memory.change import Change, Put, Remove
from onepen.memory.commit.pen import Pen
from onepen.memory.exam.doctor import examine
from onepen.memory.files import sha256
from onepen.memory.scaffold import init
from onepen.memory.text.card import EditRefused
from onepen.memory.view import View
from onepen.memory.workspace import Workspace, open_workspace
from onepen.testing.clock import FixedClock


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    init(tmp_path, id="abcdefgh", name="", today=date(2026, 11, 29))
    return open_workspace(tmp_path)


def clock(moment: str, zone: str) -> FixedClock:
    return FixedClock(datetime.fromisoformat(moment).astimezone(ZoneInfo(zone)))


def note(text: str) -> Change:
    return Change(None, text, "user:ana", log=(("note", text),))


def days(workspace: Workspace) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((workspace.root / "memory").iterdir())}


def told(workspace: Workspace) -> list[tuple[str, str, str]]:
    return [(p.path, p.kind, p.level) for p in examine(View(workspace))]


@pytest.mark.parametrize(
    ("zone", "moment", "file", "time"),
    [
        ("Asia/Kathmandu", "2026-11-29T18:20Z", "2026-11-30.md", "00:05+05:45"),
        ("America/Los_Angeles", "2026-11-30T01:00Z", "2026-11-29.md", "17:00-08:00"),
    ],
)
def test_a_line_goes_to_the_day_of_the_zone_whatever_the_machines_is(
    workspace: Workspace, zone: str, moment: str, file: str, time: str
) -> None:
    """Field case 21: by UTC, an evening would be filed under tomorrow, a morning under yesterday."""
    with Pen.open(workspace, clock(moment, zone)) as pen:
        pen.commit(note("called Ana"))
    assert days(workspace) == {file: f"- {time} [note] called Ana\n"}
    assert told(workspace) == []


def test_midnight_passes_while_a_pen_is_held(workspace: Workspace) -> None:
    """Field case 22: the pen keeps no file name, and the day that is over is sealed by the first commit of the next."""
    now = clock("2026-11-29T22:58Z", "Europe/Berlin")
    with Pen.open(workspace, now) as pen:
        pen.commit(note("before"))
        now.move(timedelta(minutes=5))
        pen.commit(note("after"))
        assert days(workspace) == {
            "2026-11-29.md": "- 23:58+01:00 [note] before\n",
            "2026-11-30.md": "- 00:03+01:00 [note] after\n",
        }
    seals = [path.read_text() for path in (workspace.root / "logs").glob("seals-*")]
    assert len(seals) == 1 and seals[0].count("2026-11-29") == 1
    assert told(workspace) == []


@pytest.mark.parametrize(
    ("zone", "moments", "lines"),
    [
        (
            "America/New_York",  # the hour that comes twice
            ("2026-11-01T05:30Z", "2026-11-01T06:30Z"),
            {"2026-11-01.md": "- 01:30-04:00 [note] 0\n- 01:30-05:00 [note] 1\n"},
        ),
        (
            "America/Santiago",  # a midnight that never comes
            ("2026-09-06T03:30Z", "2026-09-06T04:30Z"),
            {"2026-09-05.md": "- 23:30-04:00 [note] 0\n", "2026-09-06.md": "- 01:30-03:00 [note] 1\n"},
        ),
    ],
)
def test_lines_stand_in_the_order_of_real_time_when_clocks_change(
    workspace: Workspace, zone: str, moments: tuple[str, ...], lines: dict[str, str]
) -> None:
    """Field case 23."""
    for k, moment in enumerate(moments):
        with Pen.open(workspace, clock(moment, zone)) as pen:
            pen.commit(note(str(k)))
    assert days(workspace) == lines
    assert told(workspace) == []


@pytest.mark.parametrize("jump", [timedelta(days=1), timedelta(days=-1), timedelta(hours=-1)])
def test_a_clock_that_jumps_loses_no_line_and_no_order(workspace: Workspace, jump: timedelta) -> None:
    """F10: commits are in the order of their numbers, and each record has one date."""
    now = clock("2026-11-29T12:00Z", "UTC")
    with Pen.open(workspace, now) as pen:
        commits = [pen.commit(note("0"))]
        now.move(jump)
        commits.append(pen.commit(note("1")))
        now.move(-jump)
        commits.append(pen.commit(note("2")))
    assert [int(commit.id[1:].partition("-")[0]) for commit in commits] == [1, 2, 3]
    assert sorted("".join(days(workspace).values()).split()[3::4]) == ["0", "1", "2"]
    for commit in commits:
        (day,) = (path for path in commit.paths if path.startswith("memory/"))
        assert day == f"memory/{commit.time[:10]}.md"
    assert not [problem for problem in told(workspace) if problem[2] == "error"]


def standing(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def test_a_day_log_is_never_put_edited_or_removed(workspace: Workspace) -> None:
    """Field case 1: whatever is called for, the old bytes stay an exact prefix, and yesterday's file is not opened."""
    old = "- 09:00+01:00 [note] one\n- 18:05+01:00 [note] marker-A\n"
    (workspace.root / "memory").mkdir()
    for day in ("2026-11-28", "2026-11-29"):
        (workspace.root / f"memory/{day}.md").write_text(old)
    yesterday = standing(workspace.root / "memory/2026-11-28.md")
    with Pen.open(workspace, clock("2026-11-29T20:00Z", "UTC")) as pen:
        for day in ("2026-11-28", "2026-11-29", "2026-11-30"):
            path = f"memory/{day}.md"
            wanted = (
                Change(None, "x", "agent:main", puts=(Put(path, b"# placeholder\n"),)),
                Change(None, "x", "agent:main", puts=(Put(path, b"# placeholder\n", sha256(old.encode())),)),
                Change(None, "x", "agent:main", removes=(Remove(path, sha256(old.encode())),)),
            )
            for change in wanted:
                with pytest.raises(EditRefused):
                    pen.commit(change)
        pen.commit(note("more"))
    assert days(workspace)["2026-11-29.md"] == old + "- 20:00+00:00 [note] more\n"
    assert standing(workspace.root / "memory/2026-11-28.md") == yesterday


def test_days_that_were_copied_here_are_sealed_some_at_a_time(workspace: Workspace) -> None:
    first = date(2026, 8, 1)
    for k in range(70):
        path = workspace.root / f"memory/{first + timedelta(days=k)}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("- 09:00+00:00 [note] x\n")
    with Pen.open(workspace, clock("2026-11-29T20:00Z", "UTC")) as pen:
        pen.commit(note("x"))
        assert ("memory", "day_unsealed", "info") in told(workspace)
        made = 0
        while True:
            try:
                commit = pen.commit(Change(None, "past days sealed", "user:ana", seal=True))
            except EditRefused:
                break
            assert commit.paths == ("logs/seals-2026-11.jsonl",)
            made += 1
    assert made == 2 and told(workspace) == []
