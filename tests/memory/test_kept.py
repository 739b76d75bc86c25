"""What a commit leaves as it was: line ends, the last newline, modes, owners and links; a table of old and new."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

import pytest

from onepen.memory.change import Change, Put, Remove
from onepen.memory.commit.identity import machine_mark
from onepen.memory.commit.pen import Durability, Pen
from onepen.memory.files import sha256
from onepen.memory.ids import CardId
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.memory.workspace import open_workspace
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")


@dataclass(frozen=True)
class Row:
    """A card before and after; `text` goes to its section Firing, or takes the place of `instead`."""

    name: str
    old: bytes
    new: bytes
    text: str = "- soak\n"
    instead: str = ""


ROWS = (
    Row("unix", b"# K\n\n## Firing\n\n- hot\n", b"# K\n\n## Firing\n\n- hot\n- soak\n"),
    Row("windows", b"# K\r\n\r\n## Firing\r\n\r\n- hot\r\n", b"# K\r\n\r\n## Firing\r\n\r\n- hot\r\n- soak\r\n"),
    Row("mostly windows", b"# K\r\n\n## Firing\r\n\r\n- hot\r\n", b"# K\r\n\n## Firing\r\n\r\n- hot\r\n- soak\r\n"),
    Row("old mac", b"# K\n\n## Firing\n\n- a\rb\n", b"# K\n\n## Firing\n\n- a\rb\n- soak\n"),
    Row("no newline at the end", b"# K\n\n## Firing\n\n- hot", b"# K\n\n## Firing\n\n- hot\n- soak\n"),
    Row("windows, none at the end",
        b"# K\r\n\r\n## Firing\r\n\r\n- hot",
        b"# K\r\n\r\n## Firing\r\n\r\n- hot\r\n- soak\r\n"),
    Row("none at the end, elsewhere",
        b"# K\n\n## Firing\n\n- hot\n\n## Z\n\nend",
        b"# K\n\n## Firing\n\n- hot\n- soak\n\n## Z\n\nend"),
    Row("a replaced line",
        b"# K\r\n\r\n## Firing\r\n\r\n- hot\r\nend",
        b"# K\r\n\r\n## Firing\r\n\r\n- soak\r\nend", instead="- hot\n"),
    Row("blanks and tabs", b"# K  \n\n## Firing\t\n\n-  hot \t\n", b"# K  \n\n## Firing\t\n\n-  hot \t\n- soak\n"),
    Row("a mark of byte order",
        b"\xef\xbb\xbf# K\n\n## Firing\n\n- hot\n",
        b"\xef\xbb\xbf# K\n\n## Firing\n\n- hot\n- soak\n"),
    Row("other scripts", "# K\n\n## Firing\n\n- 熱い é\n".encode(), "# K\n\n## Firing\n\n- 熱い é\n- soak\n".encode()),
    Row("forms of a letter",
        "# K\n\n## Firing\n\n- e\u0301\n".encode(),
        "# K\n\n## Firing\n\n- e\u0301\n- soak\n".encode()),
)  # fmt: skip
MODES = (0o600, 0o640, 0o644, 0o664, 0o755, 0o400, 0o440)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "projects").mkdir(parents=True)
    (root / ".onepen").mkdir()
    (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    (root / ".onepen" / "machine").write_text(f"k3x9ab {machine_mark(root)}\n")
    return root


def edit(row: Row) -> Change:
    kind = "replace" if row.instead else "append"
    made = CardEdit(CardTarget("projects", CardId("k")), kind, "firing", old_text=row.instead, text=row.text)  # type: ignore[arg-type]
    return Change(None, "x", "user:ana", edit=made)


@pytest.mark.parametrize("durability", Durability)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_only_what_was_meant_is_changed(root: Path, row: Row, durability: Durability) -> None:
    card = root / "projects" / "k.md"
    card.write_bytes(row.old)
    with Pen.open(open_workspace(root), CLOCK, durability=durability) as pen:
        pen.commit(edit(row))
    assert card.read_bytes() == row.new


@pytest.mark.parametrize("mode", MODES, ids=oct)
def test_modes_stay_also_where_several_commits_share_a_record(root: Path, mode: int) -> None:
    card = root / "projects" / "k.md"
    card.write_bytes(ROWS[0].old)
    card.chmod(mode)
    (root / "projects" / "_index.md").write_text("# Projects\n")
    (root / "projects" / "_index.md").chmod(mode)
    with Pen.open(open_workspace(root), CLOCK) as pen:
        pen.commit_group([edit(ROWS[0]), edit(ROWS[0])])
    for path in (card, root / "projects" / "_index.md"):
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE((root / "logs").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (root / "logs").iterdir()} == {0o600}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owners_stay(root: Path) -> None:
    card = root / "projects" / "k.md"
    card.write_bytes(ROWS[0].old)
    os.chown(card, 1234, 2345)
    with Pen.open(open_workspace(root), CLOCK) as pen:
        pen.commit(edit(ROWS[0]))
    assert (card.stat().st_uid, card.stat().st_gid) == (1234, 2345)
    assert card.read_bytes() == ROWS[0].new


@pytest.mark.parametrize("target", ["../shared/k.md", "../shared/deep/../k.md", "other.txt"])
def test_a_link_within_the_workspace_stays_one_and_what_it_leads_to_gets_the_text(root: Path, target: str) -> None:
    (root / "shared" / "deep").mkdir(parents=True)
    card = root / "projects" / "k.md"
    card.symlink_to(target)
    real = card.resolve()
    real.write_bytes(ROWS[1].old)
    real.chmod(0o640)
    with Pen.open(open_workspace(root), CLOCK) as pen:
        pen.commit(edit(ROWS[1]))
        assert pen.recovered == ()
    assert os.fspath(card.readlink()) == target
    assert real.read_bytes() == ROWS[1].new
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_hard_link_is_told_of_and_the_other_name_keeps_its_text(root: Path, tmp_path: Path) -> None:
    card, other = root / "projects" / "k.md", tmp_path / "other.md"
    card.write_bytes(ROWS[0].old)
    os.link(card, other)
    with Pen.open(open_workspace(root), CLOCK) as pen:
        pen.commit(edit(ROWS[0]))
        assert [(p.path, p.kind, p.level) for p in pen.recovered] == [("projects/k.md", "hard_link", "info")]
        pen.commit(edit(ROWS[0]))
        assert len(pen.recovered) == 1
    assert other.read_bytes() == ROWS[0].old
    assert card.read_bytes() == ROWS[0].new + b"- soak\n"


def test_a_file_of_bytes_stays_one(root: Path) -> None:
    data = bytes(range(256)) * 3
    place = root / "projects" / "k" / "data.bin"
    with Pen.open(open_workspace(root), CLOCK) as pen:
        pen.commit(Change(None, "x", "user:ana", puts=(Put("projects/k/data.bin", data),)))
        place.chmod(0o750)
        pen.commit(Change(None, "x", "user:ana", puts=(Put("projects/k/data.bin", data[::-1], sha256(data)),)))
        assert (place.read_bytes(), stat.S_IMODE(place.stat().st_mode)) == (data[::-1], 0o750)
        pen.commit(Change(None, "x", "user:ana", removes=(Remove("projects/k/data.bin", sha256(data[::-1])),)))
    assert not place.parent.exists()
