import os
from pathlib import Path

import pytest

from onepen.staging.folder import TaskFolder, copy_inputs, look_at_inputs, read_input
from onepen.staging.inputs import MAX_BYTES, MAX_FILES, NoSuchInput


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("# A\r\nline\n", newline="")
    (folder / "sub" / "ü.md").write_text("ü\n")
    return folder


def test_files_keep_their_bytes_and_folders_their_names(folder: TaskFolder, docs: Path) -> None:
    (docs.parent / "cones.md").write_text("cones\n")
    copied, left = copy_inputs(folder, [docs, docs.parent / "cones.md"])
    assert (copied, left) == (("docs/a.md", "docs/sub/ü.md", "cones.md"), ())
    assert (folder.inputs / "docs" / "a.md").read_bytes() == b"# A\r\nline\n"
    assert read_input(folder, "docs/sub/ü.md") == "ü\n"


def test_a_link_that_a_person_names_is_followed(folder: TaskFolder, docs: Path) -> None:
    (docs.parent / "latest.md").symlink_to(docs / "a.md")
    copied, left = copy_inputs(folder, [docs.parent / "latest.md"])
    assert (copied, left) == (("a.md",), ())


def test_what_is_left_out_is_named_with_its_reason(folder: TaskFolder, docs: Path) -> None:
    (docs / ".hidden").write_text("x")
    (docs / ".git").mkdir()
    (docs / ".git" / "config").write_text("x")
    (docs / "photo.png").write_bytes(b"\x89PNG\x00\xff")
    (docs / "nul.md").write_bytes(b"a\x00b")
    (docs / "link.md").symlink_to("a.md")
    (docs / "linked").symlink_to("sub", target_is_directory=True)
    (docs / "large.md").write_bytes(b"x" * (MAX_BYTES + 1))
    (docs / 'a"quoted".md').write_text("x")
    (docs / "turned\u202e.md").write_text("x")
    os.mkfifo(docs / "fifo.md")
    copied, left = copy_inputs(folder, [docs])
    assert copied == ("docs/a.md", "docs/sub/ü.md")
    reasons = dict(message.rpartition(": ")[::2] for message in left)
    assert reasons == {
        "docs/.hidden": "hidden",
        "docs/.git": "hidden",
        "docs/photo.png": "no UTF-8 text",
        "docs/nul.md": "no UTF-8 text",
        "docs/link.md": "a link",
        "docs/linked": "a link",
        "docs/large.md": "larger than 1 MiB",
        'docs/a"quoted".md': "a name that can't be cited",
        "docs/turned\\u{202e}.md": "a name that can't be cited",
        "docs/fifo.md": "no regular file",
    }


def test_a_path_that_gives_no_file_at_all_is_refused_by_name(folder: TaskFolder, docs: Path) -> None:
    (docs / "photo.png").write_bytes(b"\xff")
    os.mkfifo(docs / "fifo")
    (docs / "empty").mkdir()
    (docs / "only").mkdir()
    (docs / "only" / "photo.png").write_bytes(b"\xff")
    for name, reason in (
        ("photo.png", "no UTF-8"),
        ("fifo", "no regular file"),
        ("empty", "an empty folder"),
        ("only", "only/photo.png: no UTF-8 text"),
    ):
        with pytest.raises(NoSuchInput, match=reason) as caught:
            copy_inputs(folder, [docs / "a.md", docs / name])
        assert name in caught.value.message and caught.value.exit_code == 2
    assert not folder.inputs.exists(), "nothing was copied"


def test_two_files_of_one_name_both_come_along(folder: TaskFolder, docs: Path) -> None:
    (docs / "sub" / "A.md").write_text("other\n")
    copied, _ = copy_inputs(folder, [docs / "a.md", docs / "sub" / "A.md", docs / "a.md"])
    assert copied == ("a.md", "A-2.md", "a-3.md")
    assert read_input(folder, "A-2.md") == "other\n"


def test_beyond_the_limits_the_rest_is_counted(folder: TaskFolder, docs: Path) -> None:
    many = docs.parent / "many"
    many.mkdir()
    for number in range(MAX_FILES + 150):
        (many / f"{number:04}.md").write_text("x")
    copied, left = copy_inputs(folder, [many])
    assert len(copied) == MAX_FILES
    assert len(left) == 101 and left[-1] == "and 50 more"


def test_the_bytes_of_all_inputs_are_bounded(folder: TaskFolder, docs: Path) -> None:
    for number in range(22):
        (docs / f"big-{number:02}.md").write_bytes(b"x" * 1_000_000)
    copied, left = copy_inputs(folder, [docs])
    assert len(copied) == 22 and [message.partition(": ")[2] for message in left] == ["more than 20 MiB in all"] * 2


def test_a_missing_input_ends_it_before_anything_is_copied(folder: TaskFolder, docs: Path) -> None:
    with pytest.raises(NoSuchInput) as caught:
        copy_inputs(folder, [docs, docs / "none.md"])
    assert caught.value.exit_code == 2 and "none.md" in str(caught.value)
    assert not folder.inputs.exists()


@pytest.mark.parametrize(
    "name", ["../run.jsonl", "/etc/passwd", "", ".", "..", "a/../../x", "none.md", "a\x00", "docs", "link", "x" * 300]
)
def test_no_name_reads_outside_the_inputs(folder: TaskFolder, docs: Path, name: str) -> None:
    copy_inputs(folder, [docs])
    folder.run_journal.write_text("secret")
    (folder.inputs / "link").symlink_to("../run.jsonl")
    with pytest.raises(NoSuchInput) as caught:
        read_input(folder, name)
    assert "secret" not in str(caught.value)


def test_looking_gives_what_copying_gives_and_makes_nothing(folder: TaskFolder, docs: Path) -> None:
    (docs / "photo.png").write_bytes(b"\x89PNG\x00\xff")
    (docs.parent / "a.md").write_text("another\n")
    seen = look_at_inputs([docs / "a.md", docs, docs.parent / "a.md"])
    assert not folder.inputs.exists()
    assert seen == copy_inputs(folder, [docs / "a.md", docs, docs.parent / "a.md"])
