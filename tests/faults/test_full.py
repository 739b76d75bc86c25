"""F6, F7: a disk that is really full, and one that can't be written any more."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onepen.testing import evidence
from onepen.testing.ground import Ground
from onepen.testing.hands import Hands
from onepen.testing.mounts import break_journal, filled, in_memory, make_image, mounted, read_only
from onepen.testing.program import Program, Ran
from onepen.testing.strace import Fault
from onepen.testing.tally import Tally

pytestmark = pytest.mark.timeout(180)
BIG = "".join(f"- line {n} of a long text about the kiln and its cones\n" for n in range(900))
LINE = "cone 6 at 1222 degrees, " * 300
FULL, TOO_LARGE = "No space left on device", "File too large"


@pytest.fixture
def disk(images: Path) -> Iterator[Path]:
    """A small disk with a workspace in which a draft of 50 KiB waits."""
    with in_memory(images / "mnt", "size=8m") as mnt:
        onepen = Program(images)
        onepen.ok("init", mnt / "ws")
        (images / "kiln.md").write_text("# Kiln\n\n## Firing\n\n- cold\n")
        onepen.ok("add", "project", "Kiln", "--id", "kiln", "--from", images / "kiln.md", cwd=mnt / "ws")
        (images / "in.md").write_text("# Cones\n\nCone 6 was reached at 1222 degrees.\n")
        (images / "big.md").write_text(f"## Long\n\n{BIG}")
        for _ in range(2):
            onepen.ok("log", LINE, cwd=mnt / "ws")
        words = ("At how many degrees was cone 6 reached?", "--input", images / "in.md", "--foreground")
        onepen.ok("delegate", *words, cwd=mnt / "ws")
        yield mnt


def draft_of(ws: Path) -> str:
    """The waiting draft, grown to 50 KiB; its id."""
    (path,) = ws.glob("staging/*/1/drafts/*.md")
    if len(path.read_bytes()) < len(BIG):
        with path.open("a") as file:
            file.write(f"\n## Sources\n\n{BIG}" if "## Sources" not in path.read_text() else BIG)
    return f"{path.parents[2].name}-1"


def actions(onepen: Program, ws: Path, limit: str = "true") -> dict[str, Ran]:
    """A card and a draft of 50 KiB, a line of the day log of 7 KiB (8 are the most), in a shell with a limit."""
    sha = f'$(sha256sum {ws}/staging/{draft_of(ws)[:-2]}/1/drafts/*.md | cut -d " " -f 1)'
    lines = {
        "a card": f"onepen add research 'Long one' --id long --from {onepen.home}/big.md",
        "a line": f'onepen log "{LINE}"',
        "a draft": f"onepen approve {draft_of(ws)} --sha256 {sha}",
    }
    return {what: onepen.shell(f"{limit}; {line}", cwd=ws) for what, line in lines.items()}


def kept(ws: Path) -> dict[str, bytes]:
    return {path: data for path, data in evidence.state(ws).items() if not path.startswith("staging/")}


def test_what_does_not_fit_changes_nothing(disk: Path, images: Path) -> None:
    """F6, field case 5: 4 KiB are free and 50 KiB are to be written; the old bytes stay, and later it works."""
    onepen, ws = Program(images), disk / "ws"
    draft_of(ws)
    before = kept(ws)
    with filled(disk, 4096):
        for what, ran in actions(onepen, ws).items():
            assert ran.code == 1, (what, ran)
            assert FULL in ran.err and f"{ws}/" in ran.err, (what, ran)
            assert kept(ws) == before, what
            assert evidence.told(ws, before) == [], what
        assert "projects/kiln.md" in onepen.ok("search", "cold", cwd=ws).out
        onepen.ok("status", cwd=ws)
        onepen.ok("doctor", cwd=ws)
    for what, ran in actions(onepen, ws).items():
        assert ran.code == 0, (what, ran)
    assert onepen.json("doctor", cwd=ws)["ok"]
    assert evidence.told(ws, before) == []


def test_what_is_larger_than_a_file_may_be_changes_nothing(disk: Path, images: Path) -> None:
    """Field case 5, the same three under `ulimit -f`: a limit of 20 KiB."""
    onepen, ws = Program(images), disk / "ws"
    draft_of(ws)
    before = kept(ws)
    for what, ran in actions(onepen, ws, "ulimit -f 20").items():
        assert ran.code == 1, (what, ran)
        assert TOO_LARGE in ran.err, (what, ran)
        assert kept(ws) == before, what
        assert evidence.told(ws, before) == [], what
    for what, ran in actions(onepen, ws).items():
        assert ran.code == 0, (what, ran)
    assert onepen.json("doctor", cwd=ws)["ok"]


def test_a_disk_that_fills_at_any_moment(
    hands: Hands, making: Ground, images: Path, tally: Callable[[str, int], Tally]
) -> None:
    """F6: with no names left, the disk fills where no look at the free space tells it beforehand."""
    ground = making
    with tally("full disks", 12) as full:
        for left in range(12):
            with in_memory(images / "mnt", "size=16m") as mnt, full.point(f"{left} names are left"):
                shutil.copytree(ground.again(), mnt / "ws")
                used = os.statvfs(mnt).f_files - os.statvfs(mnt).f_ffree
                os.system(f"mount -o remount,nr_inodes={used + left} {mnt}")
                ended = hands.order(mnt / "ws", to=ground.to)
                assert ended.done or ended.errno == 28 or "RecoveryNeeded" in ended.kinds, ended
                os.system(f"mount -o remount,nr_inodes={used + 200} {mnt}")
                ground.judge(ended, mnt / "ws")


def test_recovery_on_a_full_disk(
    hands: Hands, making: Ground, images: Path, tally: Callable[[str, int], Tally]
) -> None:
    """F6: the space that is held for it is enough; where it isn't, recovery runs once there is some."""
    ground = making
    points = hands.points(ground.again(), to=ground.to)
    records = [k for k, point in enumerate(points) if point.call == "fdatasync" and "redo/log" in point.shown]
    with tally("recoveries on a full disk", 6) as full:
        for crash in points[records[2] + 1 : records[2] + 25 : 4]:
            with in_memory(images / "mnt", "size=8m") as mnt, full.point(crash):
                shutil.copytree(ground.again(), mnt / "ws")
                first = hands.order(mnt / "ws", to=ground.to, fault=Fault(crash))
                assert first.killed
                with filled(mnt, 0):
                    ended = hands.order(mnt / "ws", "open")
                    assert ended.done or FULL in ended.message, ended
                assert ground.judge(first, mnt / "ws") == 3


def test_a_disk_that_became_read_only(images: Path, folder: Path) -> None:
    """F7: the path is named, reading works, and nothing is lost; once it can be written, it goes on."""
    onepen = Program(images)
    make_image(folder / "a.img", 24)
    with mounted(folder / "a.img", images / "mnt") as mnt:
        ws = mnt / "ws"
        onepen.ok("init", ws)
        onepen.ok("log", "first", cwd=ws)
        before = evidence.state(ws)
        with read_only(mnt):
            ran = onepen("log", "second", cwd=ws)
            assert (ran.code, "Read-only file system" in ran.err, f"{ws}/" in ran.err) == (1, True, True), ran
            for words in (("status",), ("history",), ("search", "first"), ("doctor",)):
                onepen.ok(*words, cwd=ws)
        onepen.ok("up", cwd=ws)
        try:
            break_journal(mnt)
            for _ in range(2):
                ran = onepen("log", "third", cwd=ws)
                assert (ran.code, "Read-only file system" in ran.err, f"{ws}/" in ran.err) == (1, True, True), ran
            onepen.ok("status", cwd=ws)
        finally:
            onepen.down()
    with mounted(folder / "a.img", images / "mnt") as mnt:
        onepen.ok("log", "fourth", cwd=mnt / "ws")
        assert onepen.json("doctor", cwd=mnt / "ws")["ok"]
        assert evidence.told(mnt / "ws", before) == []
        (day,) = (mnt / "ws/memory").glob("20*.md")
        assert [line.split()[-1] for line in day.read_text().splitlines()] == ["first", "fourth"]
