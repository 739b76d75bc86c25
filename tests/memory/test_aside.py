"""What is moved out of the way is kept, whatever happens in between."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from onepen.memory.aside import NotThatAnyMore, file_aside, line_aside, lines_added
from onepen.memory.errors import MemoryFault
from onepen.memory.files import FileMovedOn, sha256
from onepen.testing.disk import BreakingDisk, Stopped

TMP = "projects/.kiln.md.new.tmp"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve()
    for folder in ("projects", "staging/t1", ".onepen"):
        (root / folder).mkdir(parents=True)
    return root


def kept(root: Path) -> list[bytes]:
    return [path.read_bytes() for path in (root / ".onepen").rglob("*") if path.is_file()]


def test_a_file_is_kept_under_its_path(root: Path) -> None:
    (root / TMP).write_text("half")
    name = file_aside(root, TMP)
    assert name == f".onepen/aside/{TMP}.{sha256(b'half')[:8]}"
    assert not (root / TMP).exists() and (root / name).read_text() == "half"
    (root / TMP).write_text("half")
    assert file_aside(root, TMP) == name
    assert kept(root) == [b"half"]
    with pytest.raises(NotThatAnyMore):
        file_aside(root, TMP)


def test_a_link_or_a_pipe_with_such_a_name_stays(root: Path) -> None:
    (root / "projects/kiln.md").write_text("# Kiln\n")
    (root / TMP).symlink_to("kiln.md")
    os.mkfifo(root / "staging/t1/.x.new.tmp")
    for path in (TMP, "staging/t1/.x.new.tmp"):
        with pytest.raises(MemoryFault):
            file_aside(root, path)
    assert (root / "projects/kiln.md").read_text() == "# Kiln\n" and kept(root) == []


LOG = "staging/t1/run.jsonl"
LINES = b'{"v": 1}\n{"v": \r 1, "a\n\n{"v": 1}'


def test_a_line_is_kept_and_the_others_stay_byte_for_byte(root: Path) -> None:
    (root / LOG).write_bytes(LINES)
    gone = LINES.split(b"\n")[1]
    name = line_aside(root, LOG, 2, sha256(gone))
    assert (root / LOG).read_bytes() == b'{"v": 1}\n\n{"v": 1}'
    assert (root / name).read_bytes() == gone + b"\n"
    for line, hash_ in ((2, sha256(gone)), (9, sha256(gone)), (1, sha256(b"x"))):
        with pytest.raises(NotThatAnyMore):
            line_aside(root, LOG, line, hash_)


@pytest.mark.parametrize("error", [None, errno.EIO, errno.ENOSPC], ids=["killed", "EIO", "ENOSPC"])
def test_a_line_is_never_lost_however_far_it_came(root: Path, error: int | None) -> None:
    """The process is killed, or the disk fails, at the n-th call, for every n; doing it again ends it."""
    gone = LINES.split(b"\n")[1]
    for n in range(1, 40):
        (root / LOG).write_bytes(LINES)
        shutil.rmtree(root / ".onepen/aside", ignore_errors=True)
        try:
            line_aside(root, LOG, 2, sha256(gone), disk=BreakingDisk(n, error=error))
        except (OSError, Stopped):
            there = (root / LOG).read_bytes()
            assert there == LINES or gone + b"\n" in kept(root)
            if there == LINES:
                line_aside(root, LOG, 2, sha256(gone))
            assert gone + b"\n" in kept(root)
        else:
            break
    assert 10 < n < 39


def test_a_file_that_another_program_wrote_meanwhile_stays(root: Path) -> None:
    (root / ".gitignore").write_text("a\n")
    with pytest.raises(FileMovedOn):
        lines_added(root, ".gitignore", "b\n", "old\n")
    assert (root / ".gitignore").read_text() == "a\n"
