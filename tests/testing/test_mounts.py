import errno
from pathlib import Path

import pytest

from onepen.testing import mounts


@pytest.fixture(autouse=True)
def only_where_it_can_be_done() -> None:
    reason = mounts.missing()
    if reason is not None:
        pytest.skip(reason)


def test_an_image_keeps_what_was_synced_before_it_was_copied(tmp_path: Path) -> None:
    import os

    image, cut = tmp_path / "a.img", tmp_path / "b.img"
    mounts.make_image(image, 8)
    with mounts.mounted(image, tmp_path / "mnt") as mnt:
        with (mnt / "synced").open("wb") as file:
            file.write(b"x" * 100)
            file.flush()
            os.fsync(file.fileno())
        (mnt / "held back").write_bytes(b"y")
        mounts.copy_image(image, cut)
    with mounts.mounted(cut, tmp_path / "mnt") as mnt:
        assert (mnt / "synced").read_bytes() == b"x" * 100
        assert not (mnt / "held back").exists()
    assert not (tmp_path / "mnt").is_mount()


def test_a_copy_is_what_was_copied_also_while_the_one_before_is_in_use(tmp_path: Path) -> None:
    base, image = tmp_path / "base.img", tmp_path / "run.img"
    mounts.make_image(base, 8)
    mounts.copy_image(base, image)
    with mounts.mounted(image, tmp_path / "mnt") as mnt:
        open_still = (mnt / "from before").open("w")
    with open_still:
        mounts.copy_image(base, image)
        with mounts.mounted(image, tmp_path / "mnt") as mnt:
            assert not (mnt / "from before").exists()


def test_one_that_broke_takes_nothing_more_from_a_file_that_is_open(tmp_path: Path) -> None:
    mounts.make_image(tmp_path / "a.img", 8)
    with mounts.mounted(tmp_path / "a.img", tmp_path / "mnt") as mnt, (mnt / "a").open("wb", buffering=0) as file:
        file.write(b"x")
        mounts.break_journal(mnt)
        with pytest.raises(OSError, match=r"Read-only|Input/output"):
            file.write(b"y")


def test_a_full_one_and_a_read_only_one(tmp_path: Path) -> None:
    with mounts.in_memory(tmp_path / "mnt", "size=64k") as mnt:
        with pytest.raises(OSError, match="No space") as caught:
            (mnt / "a").write_bytes(b"x" * 100_000)
        assert caught.value.errno == errno.ENOSPC
        with mounts.read_only(mnt), pytest.raises(OSError, match="Read-only"):
            (mnt / "b").touch()
        (mnt / "a").unlink()
        with mounts.filled(mnt, 8192):
            (mnt / "a").write_bytes(b"x" * 8192)
            with pytest.raises(OSError, match="No space"):
                (mnt / "b").write_bytes(b"x")
        (mnt / "b").write_bytes(b"x" * 8192)
    assert not (tmp_path / "mnt").is_mount()
