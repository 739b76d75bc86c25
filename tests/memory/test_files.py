import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from onepen.memory import files
from onepen.memory.files import FileMovedOn, sha256
from onepen.testing.disk import BreakingDisk, Stopped


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_new_files_and_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    files.make_folder(tmp_path / "a" / "b", within=None)
    files.replace(tmp_path / "a" / "b" / "card.md", b"text", sync=True)
    files.append(tmp_path / "a" / "log.md", b"line\n")
    files.create_exclusive(tmp_path / "a" / "new", b"x")
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "card.md") == mode(tmp_path / "a" / "log.md") == 0o600
    assert mode(tmp_path / "a" / "new") == 0o600


@pytest.mark.parametrize("kept", [0o640, 0o600, 0o444, 0o664])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "card.md"
    path.write_bytes(b"old")
    path.chmod(kept)
    files.replace(path, b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", kept)
    files.swap(path, b"newer", tmp=".card.md.c1-aaaaaa.tmp", before=files.sha256(b"new"))
    assert (path.read_bytes(), mode(path)) == (b"newer", kept)
    assert names(tmp_path) == ["card.md"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_is_replaced_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "card.md"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    files.replace(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_a_swap_refuses_what_is_not_the_version_before(tmp_path: Path) -> None:
    path = tmp_path / "card.md"
    path.write_bytes(b"a person's save")
    with pytest.raises(FileMovedOn, match=r"card\.md"):
        files.swap(path, b"ours", tmp=".card.md.c1-aaaaaa.tmp", before=files.sha256(b"what we read"))
    with pytest.raises(FileMovedOn):
        files.swap(path, b"ours", tmp=".card.md.c1-aaaaaa.tmp", before=None)
    assert path.read_bytes() == b"a person's save"
    path.unlink()
    with pytest.raises(FileMovedOn):
        files.swap(path, b"ours", tmp=".card.md.c1-aaaaaa.tmp", before=files.sha256(b"what we read"))
    assert names(tmp_path) == []
    files.swap(path, b"ours", tmp=".card.md.c1-aaaaaa.tmp", before=None)
    assert names(tmp_path) == ["card.md"]


class NoExchange(files.Disk):
    """A file system without renameat2."""

    def exchange(self, one: Path, other: Path) -> bool:
        return False

    def rename_new(self, source: Path, target: Path) -> bool:
        return False


def test_a_swap_without_renameat2_compares_before_it_renames(tmp_path: Path) -> None:
    path, disk, tmp = tmp_path / "card.md", NoExchange(), ".card.md.c1-aaaaaa.tmp"
    files.swap(path, b"one", tmp=tmp, before=None, disk=disk)
    with pytest.raises(FileMovedOn):
        files.swap(path, b"two", tmp=tmp, before=None, disk=disk)
    files.swap(path, b"two", tmp=tmp, before=files.sha256(b"one"), disk=disk)
    with pytest.raises(FileMovedOn):
        files.swap(path, b"three", tmp=tmp, before=files.sha256(b"one"), disk=disk)
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["card.md"]


class Saving(files.Disk):
    """An editor that saves `text` at the moment before two names are exchanged."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def exchange(self, one: Path, other: Path) -> bool:
        other.write_bytes(self._text)
        return super().exchange(one, other)


def test_a_save_at_the_moment_of_the_swap_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "card.md"
    path.write_bytes(b"old")
    with pytest.raises(FileMovedOn):
        files.swap(path, b"ours", tmp=".t.tmp", before=files.sha256(b"old"), disk=Saving(b"theirs"))
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["card.md"]


@pytest.mark.parametrize("stood", [None, b"old"])
def test_a_save_at_the_moment_of_the_exchange_is_put_back_however_it_is_compared(
    tmp_path: Path, stood: bytes | None
) -> None:
    path = tmp_path / "card.md"
    path.write_bytes(b"old")
    for saved in (b"own", b"older", b""):
        (beside,) = files.lay([(path, ".t.tmp", b"ours")])
        with pytest.raises(FileMovedOn):
            files.swap_in(beside, path, before=files.sha256(b"old"), stood=stood, disk=Saving(saved))
        assert (path.read_bytes(), names(tmp_path)) == (saved, ["card.md"])
    path.write_bytes(b"old")
    (beside,) = files.lay([(path, ".t.tmp", b"ours")])
    files.swap_in(beside, path, before=files.sha256(b"old"), stood=stood)
    assert (path.read_bytes(), names(tmp_path)) == (b"ours", ["card.md"])


class Order(files.Disk):
    """Keeps the order of what is asked of it, and how many files were open at once."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.most = 0

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        self.asked.append("open")
        fd = super().open(path, flags, mode)
        self.most = max(self.most, len(list(Path("/proc/self/fd").iterdir())))
        return fd

    def begin_sync(self, fd: int) -> None:
        self.asked.append("begin")
        super().begin_sync(fd)

    def sync(self, fd: int) -> None:
        self.asked.append("sync")
        super().sync(fd)


def laying(folder: Path, count: int) -> list[tuple[Path, str, bytes]]:
    for k in range(3):
        (folder / f"{k}").mkdir(exist_ok=True)
    return [(folder / f"{k % 3}" / f"card-{k}.md", f".card-{k}.tmp", b"new %d" % k) for k in range(count)]


def test_what_is_laid_together_is_on_its_way_before_the_first_is_waited_for(tmp_path: Path) -> None:
    disk = Order()
    laid = files.lay(laying(tmp_path, 4), disk=disk)
    assert [step for step in disk.asked if step != "open"] == ["begin"] * 4 + ["sync"] * 4
    assert [path.read_bytes() for path in laid] == [b"new 0", b"new 1", b"new 2", b"new 3"]
    assert not list(tmp_path.rglob("card-*"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files here")
def test_laying_many_files_keeps_few_open(tmp_path: Path) -> None:
    before, disk = len(list(Path("/proc/self/fd").iterdir())), Order()
    assert len(files.lay(laying(tmp_path, 300), disk=disk)) == 300
    assert disk.asked.count("sync") == 300
    assert disk.most <= before + 70
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_file_that_can_not_be_laid_takes_the_others_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_OPEN_AT_ONCE", 2)
    files.lay(laying(tmp_path, 5), disk=(disk := BreakingDisk()))
    for path in tmp_path.rglob("*.tmp"):
        path.unlink()
    for at in range(1, disk.count + 1):
        with pytest.raises(OSError, match=r"card-\d\.md|card-\d\.tmp") as caught:
            files.lay(laying(tmp_path, 5), disk=BreakingDisk(at, error=errno.EIO))
        assert caught.value.errno == errno.EIO
        assert list(tmp_path.rglob("*.tmp")) == []


def test_appending_compares_the_size(tmp_path: Path) -> None:
    path = tmp_path / "log.md"
    files.append(path, b"one\n", expect_size=0)
    with pytest.raises(FileMovedOn, match="4 bytes"):
        files.append(path, b"two\n", expect_size=0)
    files.append(path, b"two\n", expect_size=4, sync=True)
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_file_is_taken_out_only_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("mine\n")
    with pytest.raises(FileMovedOn):
        files.take_out(path, tmp=".a.tmp", before=sha256(b"other\n"))
    assert path.read_text() == "mine\n"
    files.take_out(path, tmp=".a.tmp", before=sha256(b"mine\n"))
    with pytest.raises(FileMovedOn):
        files.take_out(path, tmp=".a.tmp", before=sha256(b"mine\n"))
    assert list(tmp_path.iterdir()) == []


class Replacing(files.Disk):
    """git, which puts another file in the place of the one that is open."""

    def write(self, fd: int, data: memoryview) -> int:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        (path.parent / "other").write_bytes(b"from a merge\n")
        (path.parent / "other").replace(path)
        return super().write(fd, data)


def test_appending_notices_that_the_file_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "log.md"
    path.write_bytes(b"one\n")
    with pytest.raises(FileMovedOn, match="replaced"):
        files.append(path, b"two\n", disk=Replacing())
    assert path.read_bytes() == b"from a merge\n"


class ShortWrites(files.Disk):
    """A disk that takes three bytes at a time."""

    def write(self, fd: int, data: memoryview) -> int:
        return super().write(fd, data[:3])


def test_short_writes_are_continued(tmp_path: Path) -> None:
    files.replace(tmp_path / "a", b"0123456789", disk=ShortWrites())
    files.append(tmp_path / "a", b"0123456789", disk=ShortWrites())
    assert (tmp_path / "a").read_bytes() == b"01234567890123456789"


def test_a_record_stays_a_line_of_its_own_after_a_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    files.append_record(path, '{"a":1}')
    with path.open("ab") as file:
        file.write(b'{"a"')
    files.append_record(path, '{"a":3}')
    assert path.read_text() == '{"a":1}\n{"a"\n{"a":3}\n'
    with pytest.raises(ValueError, match="one line"):
        files.append_record(path, "a\nb")


def test_a_new_file_takes_no_name_that_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files.create_exclusive(path, b"one", sync=True)
    with pytest.raises(FileExistsError):
        files.create_exclusive(path, b"two")
    assert path.read_bytes() == b"one"
    files.remove(path)
    files.remove(path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_refuses_leaves_the_old_bytes_and_names_the_path(tmp_path: Path, error: int) -> None:
    old = b"old text\n"
    for at in range(1, 12):
        path = tmp_path / "card.md"
        path.write_bytes(old)
        path.chmod(0o640)
        for write in (files.replace, files.append):
            disk = BreakingDisk(at, error=error)
            try:
                write(path, b"a longer new text\n", sync=True, disk=disk)
            except OSError as e:
                assert e.errno == error
                assert str(tmp_path) in str(e.filename)
                if "rename card.md" not in disk.log[:-1] and disk.log[-1] != "sync":
                    assert path.read_bytes() == old
            else:
                assert not disk.broke
            assert names(tmp_path) == ["card.md"]
            path.write_bytes(old)


def test_a_stop_at_any_moment_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "card.md"
    stopped = 0
    for at in range(1, 12):
        path.write_bytes(b"old")
        before = files.sha256(b"old")
        disk = BreakingDisk(at)
        try:
            files.swap(path, b"new text", tmp=".card.md.c1-aaaaaa.tmp", before=before, disk=disk)
        except Stopped:
            stopped += 1
            assert path.read_bytes() in (b"old", b"new text")
        else:
            assert path.read_bytes() == b"new text"
    assert stopped >= 4


@pytest.mark.parametrize("name", ["kiln.md", "_index.md", "a.b.csv"])
def test_leftover_names_are_known(name: str) -> None:
    assert files.is_tmp(files.tmp_name(name, "c42-k3x9ab"))
    assert not files.is_tmp(name)


def test_what_a_killed_write_left_is_taken_over_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "review.md"
    for at in range(1, 8):
        with suppress(Stopped):
            files.replace(path, b"half", disk=BreakingDisk(at))
    assert set(names(tmp_path)) <= {".review.md.new.tmp", "review.md"}
    with suppress(Stopped):
        files.replace(path, b"half", disk=BreakingDisk(2))
    assert not files.being_written(tmp_path / ".review.md.new.tmp")
    files.replace(path, b"whole")
    assert names(tmp_path) == ["review.md"]
    assert path.read_bytes() == b"whole"


class Meanwhile(files.Disk):
    """Another process that writes the same file while this one does."""

    def write(self, fd: int, data: memoryview) -> int:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        assert files.being_written(path)
        files.replace(path.with_name("review.md"), b"theirs")
        assert path.exists()
        return super().write(fd, data)


def test_two_who_write_at_once_do_not_take_each_others_file(tmp_path: Path) -> None:
    files.replace(tmp_path / "review.md", b"ours", disk=Meanwhile())
    assert (tmp_path / "review.md").read_bytes() == b"ours"
    assert names(tmp_path) == ["review.md"]


def test_a_link_or_folder_under_the_temporary_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".a.new.tmp").symlink_to("elsewhere")
    (tmp_path / ".b.new.tmp").mkdir()
    files.replace(tmp_path / "a", b"a")
    files.replace(tmp_path / "b", b"b")
    assert names(tmp_path) == [".a.new.tmp", ".b.new.tmp", "a", "b"]


def test_no_folder_is_made_where_the_one_that_it_belongs_to_was_moved_away(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    with pytest.raises(FileNotFoundError, match="ws"):
        files.make_folder(root / "staging" / "t1" / "inputs", within=root)
    assert not root.exists()
    root.mkdir()
    files.make_folder(root / "staging" / "t1" / "inputs", within=root)
    assert (root / "staging" / "t1" / "inputs").is_dir()


@pytest.mark.parametrize("write", [
    lambda path: files.replace(path, b"x"), lambda path: files.replace(path, b"x", tmp=".a.new.tmp"),
    lambda path: files.append(path, b"x"), lambda path: files.append_record(path, "x"),
    lambda path: files.create_exclusive(path, b"x"), lambda path: files.swap(path, b"x", tmp=".a.tmp", before=None),
    lambda path: os.close(files.open_log(path, most=9)),
])  # fmt: skip
def test_nobody_who_writes_a_file_makes_more_than_its_folder(write: Callable[[Path], None], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "ws" / "logs" / "a")
    assert names(tmp_path) == []
