import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.memory import guard
from onepen.memory.guard import UnsafeFile, leads_straight, list_beneath, read_beneath

LIMIT = 1 << 20


@pytest.fixture(params=["openat2", "by parts"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs with the kernel's openat2 and as on a system without it."""
    if request.param == "by parts":
        monkeypatch.setattr(guard, "_openat2", lambda top, relative, flags: None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "drafts"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_bytes(b"draft\r\n")
    (folder / "sub" / "b.md").write_bytes(b"deep")
    (tmp_path / "secret").write_bytes(b"SECRET")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "c.md").write_bytes(b"SECRET")
    return folder


def kind_of(root: Path, path: str, **options: bool) -> str:
    with pytest.raises(UnsafeFile) as caught:
        read_beneath(root, path, max_bytes=LIMIT, **options)
    assert "SECRET" not in str(caught.value)
    return caught.value.kind


def test_plain_files_are_read(root: Path) -> None:
    assert read_beneath(root, "a.md", max_bytes=LIMIT) == b"draft\r\n"
    assert read_beneath(root, "sub/b.md", max_bytes=4) == b"deep"


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "sub/../../secret", "", ".", "a//b", "./a.md", "a\0.md"])
def test_paths_that_are_not_below_are_refused(root: Path, path: str) -> None:
    assert kind_of(root, path) == "outside"


def fifo(path: Path) -> None:
    os.mkfifo(path)


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def giant(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 << 30)


HOSTILE: list[tuple[str, Callable[[Path], None], str]] = [
    ("link to a file", lambda p: p.symlink_to("../secret"), "link"),
    ("link that dangles", lambda p: p.symlink_to("nothing"), "link"),
    ("link to itself", lambda p: p.symlink_to(p.name), "link"),
    ("magic link", lambda p: p.symlink_to("/proc/self/environ"), "link"),
    ("hard link", lambda p: p.hardlink_to(p.parent.parent / "secret"), "hard_link"),
    ("fifo", fifo, "not_regular"),
    ("socket", bound_socket, "not_regular"),
    ("folder", lambda p: p.mkdir(), "not_regular"),
    ("sparse giant", giant, "too_large"),
    ("nothing", lambda p: None, "missing"),
]


@pytest.mark.parametrize(("make", "kind"), [(h[1], h[2]) for h in HOSTILE], ids=[h[0] for h in HOSTILE])
def test_what_is_no_plain_file_is_named_and_not_read(
    root: Path, make: Callable[[Path], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)  # a socket's path is short
    make(root / "x.md")
    assert kind_of(root, "x.md") == kind


def test_a_folder_that_is_a_link_is_refused(root: Path) -> None:
    (root / "way").symlink_to("../outside")
    assert kind_of(root, "way/c.md") == "link"
    assert kind_of(root, "a.md/c.md") == "missing"
    assert kind_of(root, "x" * 300) == "missing"


def test_a_device_is_refused(root: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes devices")
    os.mknod(root / "zero", 0o20600, os.makedev(1, 5))
    assert kind_of(root, "zero") == "not_regular"


def test_a_second_name_can_be_allowed(root: Path) -> None:
    (root / "twin.md").hardlink_to(root / "a.md")
    assert read_beneath(root, "a.md", max_bytes=LIMIT, one_link=False) == b"draft\r\n"
    assert kind_of(root, "a.md") == "hard_link"


def test_the_size_limit_is_exact(root: Path) -> None:
    (root / "x.md").write_bytes(b"0123456789")
    assert len(read_beneath(root, "x.md", max_bytes=10)) == 10
    with pytest.raises(UnsafeFile, match="at most 9"):
        read_beneath(root, "x.md", max_bytes=9)


def test_a_swapped_file_never_leaks_what_is_outside(root: Path) -> None:
    """Somebody exchanges a draft for a link, as fast as they can, while it is read."""
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (root / "tmp").symlink_to("../secret")
            (root / "tmp").replace(root / "raced.md")
            (root / "tmp").write_bytes(b"harmless")
            (root / "tmp").replace(root / "raced.md")

    (root / "raced.md").write_bytes(b"harmless")
    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[bytes | str] = set()
    try:
        for _ in range(1500):
            try:
                seen.add(read_beneath(root, "raced.md", max_bytes=LIMIT))
            except UnsafeFile as e:
                seen.add(e.kind)
    finally:
        done.set()
        swapper.join()
    assert seen <= {b"harmless", b"", "link", "changing"}


def test_listing_names_everything_and_follows_nothing(root: Path) -> None:
    (root / "link").symlink_to("../outside")
    os.mkfifo(root / "sub" / "pipe")
    (root / "empty").mkdir()
    (root / ".hidden").write_bytes(b"")
    assert list_beneath(root, max_files=100) == (".hidden", "a.md", "link", "sub/b.md", "sub/pipe")


def test_listing_stops_at_a_flood(root: Path) -> None:
    for k in range(50):
        (root / f"{k}").mkdir()
    with pytest.raises(UnsafeFile) as caught:
        list_beneath(root, max_files=40)
    assert caught.value.kind == "too_many"


def test_listing_survives_deep_folders_and_strange_names(root: Path) -> None:
    here = os.open(root, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 20, dir_fd=here)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_bytes(b"")
    found = list_beneath(root, max_files=1000)
    assert "\udcff.md" in found
    assert read_beneath(root, "\udcff.md", max_bytes=1) == b""


def test_a_hard_link_that_drops_its_own_name_once_opened_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = root.parent / "secret.md"
    secret.write_bytes(b"somebody's")
    os.link(secret, root / "draft.md")
    check = guard._check_plain

    def drop_then_check(fd: int, relative: str, *, one_link: bool) -> os.stat_result:
        (root / "draft.md").unlink(missing_ok=True)
        return check(fd, relative, one_link=one_link)

    monkeypatch.setattr(guard, "_check_plain", drop_then_check)
    with pytest.raises(UnsafeFile) as caught:
        read_beneath(root, "draft.md", max_bytes=LIMIT)
    assert caught.value.kind == "missing"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is told at once")
def test_a_path_leads_straight_unless_a_part_of_it_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_text("x")
    (tmp_path / "way").symlink_to("folder")
    (tmp_path / "folder/link").symlink_to("file")
    (tmp_path / "folder/loose").symlink_to("nowhere")
    real = tmp_path.resolve()
    assert leads_straight(real / "folder/file") is True
    assert leads_straight(real / "folder") is True
    assert leads_straight(real / "way/file") is False
    assert leads_straight(real / "folder/link") is False
    assert leads_straight(real / "folder/loose") is False
    assert leads_straight(real / "folder/none") is None


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc here")
def test_a_name_that_went_and_came_back_is_not_the_one_that_was_opened(tmp_path: Path) -> None:
    """So of a link to somebody's file two looks may each see the one name, and neither is ours."""
    theirs, ours = tmp_path / "MEMORY.md", tmp_path / "x (deleted).md"
    theirs.write_text("MEMORY-77\n")
    ours.hardlink_to(theirs)
    fd = os.open(ours, os.O_RDONLY)
    try:
        guard._check_name_was_kept(fd, ours.name)
        ours.unlink()
        ours.hardlink_to(theirs)
        assert os.path.samestat(os.fstat(fd), ours.stat())
        with pytest.raises(UnsafeFile, match="is being exchanged"):
            guard._check_name_was_kept(fd, ours.name)
    finally:
        os.close(fd)
