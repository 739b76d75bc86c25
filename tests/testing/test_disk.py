import errno
from pathlib import Path

import pytest

from onepen.memory import files
from onepen.testing.disk import BreakingDisk, Stopped


def test_a_disk_that_never_breaks_counts(tmp_path: Path) -> None:
    disk = BreakingDisk()
    files.replace(tmp_path / "a", b"text", disk=disk)
    assert (tmp_path / "a").read_bytes() == b"text"
    assert disk.log[0].startswith("open .a.")
    assert disk.log[1:] == ["write", "rename a"]
    assert not disk.broke


def test_after_the_stop_nothing_reaches_the_disk(tmp_path: Path) -> None:
    disk = BreakingDisk(2)
    with pytest.raises(Stopped):
        files.append(tmp_path / "a", b"0123456789", disk=disk)
    with pytest.raises(Stopped):
        files.append(tmp_path / "b", b"more", disk=disk)
    assert (tmp_path / "a").read_bytes() == b"01234"
    assert not (tmp_path / "b").exists()


def test_it_is_armed_later(tmp_path: Path) -> None:
    disk = BreakingDisk()
    files.append(tmp_path / "a", b"x", disk=disk)
    disk.arm(2, error=errno.EIO)
    with pytest.raises(OSError, match="a"):
        files.append(tmp_path / "a", b"yy", disk=disk)
    files.append(tmp_path / "a", b"z", disk=disk)
    assert (tmp_path / "a").read_bytes() == b"xz"


def test_an_error_comes_once_or_for_good(tmp_path: Path) -> None:
    once = BreakingDisk(1, error=errno.EIO)
    with pytest.raises(OSError, match="a"):
        files.append(tmp_path / "a", b"x", disk=once)
    files.append(tmp_path / "a", b"x", disk=once)
    ever = BreakingDisk(1, error=errno.EIO, for_good=True)
    for _ in range(3):
        with pytest.raises(OSError, match="a"):
            files.append(tmp_path / "a", b"x", disk=ever)
    assert (tmp_path / "a").read_bytes() == b"x"
