"""What stands in onepen.toml, or in its place, is told with its line, its cause and what to write instead."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.memory.settings import SettingsUnreadable, parse_settings
from onepen.memory.workspace import NoWorkspace, find_workspace, open_workspace


def told(text: str) -> str:
    with pytest.raises(SettingsUnreadable) as caught:
        parse_settings(text)
    assert caught.value.hint is None
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'onepen.toml: id is missing: add a line such as id = "'),
        ("# x\nid = 5\n", "onepen.toml: line 2: id must be a text: add a line"),
        ('id = "Kiln House"\n', "onepen.toml: line 1: id is 'Kiln House', which can't be one: add a line"),
        ('id = "abcdefgh"\ntimezone = "Mars"\n', "onepen.toml: line 2: timezone is 'Mars', which names no time zone"),
        ('id = "abcdefgh"\n[limits]\nturns = 0\n', "onepen.toml: line 3: limits.turns must be at least 1"),
        ('id = "abcdefgh"\nlimits.turns = 2000\n', "onepen.toml: line 2: limits.turns must be at most 1000"),
        ('id = "abcdefgh"\n[limits]\nturns = "x"\n', "onepen.toml: line 3: limits.turns must be a whole number"),
        ('id = "abcdefgh"\n\n[hooks]\nrun = 1\n', "onepen.toml: line 3: hooks is not for a workspace to say"),
        ('id = "abcdefgh"\nid = "abcdefgi"\n', "onepen.toml: this is not TOML: line 2, column "),
        ("id = \n", "onepen.toml: this is not TOML: line 1, column 6: invalid value"),
    ],
)
def test_each_fault_is_told_with_its_line(text: str, message: str) -> None:
    assert told(text).startswith(message)


def test_all_faults_are_told_at_once_and_in_plain_words() -> None:
    message = told('name = 5\ntimezone = "Mars"\n[limits]\nturns = 0\ncolour = "red"\n')
    for part in ("id is missing", "line 1: name", "line 2: timezone", "line 4: limits.turns", "line 5: limits.colour"):
        assert part in message
    assert message.count("\n") == 0
    for word in ("Value error", "Input should", "Field required", "Extra inputs"):
        assert word not in message


def test_a_byte_order_mark_is_passed_over() -> None:
    assert parse_settings('\ufeffid = "abcdefgh"\r\n').id == "abcdefgh"


def test_what_is_no_utf_8_is_told_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "onepen.toml").write_bytes(b'id = "abcdefgh"\nname = "M\xfcller"\n')
    with pytest.raises(SettingsUnreadable, match=r"onepen\.toml: line 2: not UTF-8 text \(byte 25\): save it as UTF-8"):
        open_workspace(tmp_path)


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda path: path.mkdir(), "a folder: put a file in its place"),
        (lambda path: path.symlink_to("/dev/zero"), "a link to /dev/zero, no regular file"),
        (lambda path: path.symlink_to("gone.toml"), r"a link to gone\.toml, where nothing is"),
        (lambda path: path.symlink_to("onepen.toml"), "Too many levels of symbolic links"),
        (lambda path: os.mkfifo(path), "no regular file"),
        (lambda path: path.write_text("#" * 70_000), "larger than 64 KiB"),
    ],
)
def test_what_stands_in_its_place_is_named(tmp_path: Path, make: Callable[[Path], None], cause: str) -> None:
    make(tmp_path / "onepen.toml")
    assert find_workspace(tmp_path) == tmp_path
    with pytest.raises(SettingsUnreadable, match=rf"^onepen\.toml: .*{cause}"):
        open_workspace(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_file_that_may_not_be_read_is_named() -> None:
    with tempfile.TemporaryDirectory(prefix="onepen-test-") as made:
        root = Path(made)
        root.chmod(0o755)
        (root / "onepen.toml").write_text('id = "abcdefgh"\n')
        (root / "onepen.toml").chmod(0)
        os.seteuid(65534)
        try:
            with pytest.raises(SettingsUnreadable, match=r"onepen\.toml: can't be read: Permission denied"):
                open_workspace(root)
        finally:
            os.seteuid(0)


def test_a_folder_without_one_is_no_workspace(tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace):
        open_workspace(tmp_path)
    with pytest.raises(NoWorkspace):
        open_workspace(tmp_path / "gone")
