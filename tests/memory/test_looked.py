"""A pen that is held for long reads again only the cards that changed, and misses none."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepen.memory.change import Change
from onepen.memory.commit.looked import CACHE, Looked
from onepen.memory.commit.pen import Pen
from onepen.memory.commit.standing import Standing
from onepen.memory.scaffold import init
from onepen.memory.target import CardTarget, parse_target
from onepen.memory.text.card import CardEdit
from onepen.memory.workspace import Workspace, open_workspace
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-29T09:30:00+01:00")
LATER = 10_000_000_000


@pytest.fixture
def workspace(root: Path) -> Workspace:
    for name in ("kiln", "loom"):
        card(root, name, f"# {name}\n\n## One\n\nFirst of {name}.\n")
    return open_workspace(root)


@pytest.fixture
def pen(workspace: Workspace) -> Iterator[Pen]:
    with Pen.open(workspace, CLOCK, wait=0) as held:
        settle(held)
        yield held


def settle(pen: Pen) -> None:
    """Lets the pen look as if some time had passed since the last change."""
    pen._looked._now = lambda: time.time_ns() + LATER


def card(root: Path, name: str, text: str) -> None:
    (root / f"projects/{name}.md").write_text(text)


def rewritten(place: Path, text: str | None, number: int) -> None:
    """A card as somebody leaves it after so many edits, None: they removed it; no two within a tick."""
    place.unlink(missing_ok=True)
    if text is not None:
        place.write_text(text)
        os.utime(place, ns=(number * 1_000_000_001, number * 1_000_000_001))


class Counting(Standing):
    """Notes which files of memory were read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.seen: list[str] = []

    def read(self, path: str) -> bytes | None:
        if path.startswith(("projects/", "research/")):
            self.seen.append(path)
        return super().read(path)


def reads(pen: Pen, workspace: Workspace, act: Callable[[], object]) -> list[str]:
    source = pen._source = Counting(workspace.root)
    act()
    return source.seen


def test_what_did_not_change_is_not_read_again(pen: Pen, workspace: Workspace) -> None:
    def look() -> object:
        return pen.reconcile(workspace.house)

    assert {"projects/kiln.md", "projects/loom.md"} <= set(reads(pen, workspace, look))
    assert reads(pen, workspace, look) == []
    card(workspace.root, "kiln", "# kiln\n\n## Two\n\nSecond.\n")
    assert reads(pen, workspace, look) == ["projects/_index.md", "projects/kiln.md", "research/_index.md"]
    assert reads(pen, workspace, look) == []


def test_after_a_commit_of_its_own_only_that_card_is_read(pen: Pen, workspace: Workspace) -> None:
    pen.reconcile(workspace.house)
    target = parse_target("projects/kiln.md")
    assert isinstance(target, CardTarget)
    edit = CardEdit(target, "append", section="one", text="More.\n\n## Three\n\nThird.\n")
    pen.commit(Change(None, "more", "user:ana", edit=edit))
    seen = reads(pen, workspace, lambda: pen.reconcile(workspace.house))
    assert "projects/loom.md" not in seen
    assert reads(pen, workspace, lambda: pen.reconcile(workspace.house)) == []


def test_an_index_that_was_edited_is_made_whole_again(pen: Pen, workspace: Workspace) -> None:
    pen.reconcile(workspace.house)
    index = workspace.root / "projects/_index.md"
    whole = index.read_text()
    index.write_text(whole[: whole.index("## [loom]")])
    target = parse_target("projects/kiln.md")
    assert isinstance(target, CardTarget)
    edit = CardEdit(target, "append", section="one", text="More.\n\n## Three\n\nThird.\n")
    pen.commit(Change(None, "more", "user:ana", edit=edit))
    assert pen.reconcile(workspace.house) is not None
    assert "## [loom]" in index.read_text()


def test_a_change_that_leaves_size_and_inode_is_seen(pen: Pen, workspace: Workspace) -> None:
    """Two edits within one tick of the kernel's clock look the same to stat: what is that young is read again."""
    pen._looked._now = time.time_ns
    for word in ("Alpha", "Gamma", "Delta", "Sigma"):
        card(workspace.root, "kiln", f"# kiln\n\n## One\n\n{word}.\n")
        pen.reconcile(workspace.house)
        assert word in (workspace.root / "projects/_index.md").read_text()


def test_a_link_is_read_each_time(pen: Pen, workspace: Workspace) -> None:
    root = workspace.root
    (root / "shared").mkdir()
    (root / "shared/one.md").write_text("# One\n\n## A\n\nFirst.\n")
    (root / "projects/one.md").symlink_to("../shared/one.md")
    pen.reconcile(workspace.house)
    (root / "shared/one.md").write_text("# One\n\n## B\n\nOther.\n")
    pen.reconcile(workspace.house)
    assert "one.md#b" in (root / "projects/_index.md").read_text()


def test_what_could_not_be_read_is_told_each_time(pen: Pen, workspace: Workspace) -> None:
    (workspace.root / "projects/bad.md").write_bytes(b"\xff\xfe")
    for count in (1, 2, 3):
        pen.reconcile(workspace.house)
        assert [p.path for p in pen.recovered if p.kind == "passed_over"] == ["projects/bad.md"] * count


def test_times_of_a_coarse_clock_are_trusted_later(root: Path) -> None:
    workspace = open_workspace(root)
    card(root, "kiln", "# kiln\n")
    place = root / "projects/kiln.md"
    whole = time.time_ns() // 1_000_000_000 * 1_000_000_000
    os.utime(place, ns=(whole, whole))
    assert "projects/kiln.md" not in Looked(root, lambda: whole + 1_000_000_000).look(workspace.house).stamps
    assert "projects/kiln.md" in Looked(root, lambda: whole + LATER).look(workspace.house).stamps


_TEXTS = st.sampled_from(
    [
        "# A\n\n## One\n\nFirst.\n",
        "# A\n\n## One\n\nOther.\n",
        "# A\n\n## Two\n\nSecond.\n\n## One\n\nFirst.\n",
        "no heading\n",
        None,
    ]
)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("card"), st.sampled_from(["kiln", "loom", "new"]), _TEXTS),
        st.tuples(st.just("index"), st.sampled_from(["empty", "cut", "gone"]), st.none()),
        st.tuples(st.just("look"), st.just(""), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=40)
@given(steps=_STEPS)
def test_a_held_pen_and_a_new_one_come_to_the_same(
    steps: list[tuple[str, str, str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("looked") / "ws"
    init(root, id="0123456789abcdef", name="", today=CLOCK.now().date())
    index = root / "projects/_index.md"
    workspace = open_workspace(root)
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        settle(pen)
        for number, (kind, what, text) in enumerate(steps, 1):
            match kind, what:
                case "card", _:
                    rewritten(root / f"projects/{what}.md", text, number)
                case "index", "empty":
                    index.write_text("")
                case "index", "cut":
                    lines = index.read_text().splitlines(keepends=True) if index.exists() else []
                    index.write_text("".join(lines[:-1]))
                case "index", "gone":
                    index.unlink(missing_ok=True)
                case _:
                    pen.reconcile(workspace.house)
        pen.reconcile(workspace.house)
    held = index.read_text() if index.exists() else None
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        assert pen.reconcile(workspace.house) is None
    assert held == (index.read_text() if index.exists() else None)


def opened(workspace: Workspace) -> Pen:
    pen = Pen.open(workspace, CLOCK, wait=0)
    settle(pen)
    return pen


def looked_anew(workspace: Workspace) -> list[str]:
    """The cards that a new pen reads when it brings the house's indexes into line."""
    with opened(workspace) as pen:
        return [path for path in reads(pen, workspace, lambda: pen.reconcile(workspace.house)) if "_index" not in path]


def test_the_next_pen_reads_only_what_changed_since(workspace: Workspace) -> None:
    """Field case 28: a command that writes one line doesn't read thousands of cards."""
    assert looked_anew(workspace) == ["projects/kiln.md", "projects/loom.md"]
    assert looked_anew(workspace) == []
    card(workspace.root, "kiln", "# kiln\n\n## Two\n\nSecond.\n")
    assert looked_anew(workspace) == ["projects/kiln.md"]
    assert "(kiln.md#two)" in (workspace.root / "projects/_index.md").read_text()
    index = workspace.root / "projects/_index.md"
    lines = index.read_text().splitlines(keepends=True)
    index.write_text("".join(line for line in lines if "(kiln.md#two)" not in line))
    assert looked_anew(workspace) == ["projects/kiln.md"]
    assert "(kiln.md#two)" in index.read_text()


def appended(text: str) -> Change:
    target = parse_target("projects/kiln.md")
    assert isinstance(target, CardTarget)
    return Change(None, "more", "user:ana", edit=CardEdit(target, "append", section="one", text=text))


@pytest.mark.parametrize("by_hand", [False, True], ids=["as it was written", "edited since"])
def test_a_card_that_the_last_pen_wrote_is_known_as_long_as_it_is_what_was_written(
    workspace: Workspace, *, by_hand: bool
) -> None:
    with opened(workspace) as pen:
        pen.reconcile(workspace.house)
        pen.commit(appended("More.\n\n## Three\n\nThird.\n"))
        if by_hand:
            place = workspace.root / "projects/kiln.md"
            place.write_text(place.read_text().replace("## Three", "## Seven"))
    assert looked_anew(workspace) == (["projects/kiln.md"] if by_hand else [])
    assert ("(kiln.md#seven)" in (workspace.root / "projects/_index.md").read_text()) is by_hand


def test_a_pen_that_was_killed_leaves_what_it_knew_some_seconds_before(workspace: Workspace) -> None:
    """The index is another one by then: what was known holds for the cards whose blocks are the same."""
    with opened(workspace) as pen:
        pen.reconcile(workspace.house)
    kept = (workspace.root / CACHE).read_bytes()
    with opened(workspace) as pen:
        pen.reconcile(workspace.house)
        pen.commit(appended("More.\n\n## Three\n\nThird.\n"))
    (workspace.root / CACHE).write_bytes(kept)
    assert looked_anew(workspace) == ["projects/kiln.md"]


_EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("card"), st.sampled_from(["kiln", "loom", "new"]), _TEXTS),
        st.tuples(
            st.just("index"),
            st.sampled_from(["kiln", "loom"]),
            st.sampled_from(
                [
                    "",
                    "{1}",
                    "{0}{1}",
                    "{1}{0}",
                    "{0}{0}",
                    "```\n{0}",
                    "{0}- [x](loom.md#x) — X.\n",
                    "\n{0}\n\n",
                    "## Other\n\n{0}",
                ]
            ),
        ),
    ),
    max_size=6,
)


def edited(block: str, how: str) -> str:
    """A block as somebody leaves it: {0} is the whole, {1} it without its entries."""
    bare = "".join(line for line in block.splitlines(keepends=True) if not line.startswith("- ["))
    return how.replace("{0}", block).replace("{1}", bare)


@settings(max_examples=60)
@given(edits=_EDITS)
def test_with_a_cache_as_much_is_brought_into_line_as_without(
    edits: list[tuple[str, str, str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("looked") / "ws"
    init(root, id="0123456789abcdef", name="", today=CLOCK.now().date())
    workspace, index = open_workspace(root), root / "projects/_index.md"
    for name in ("kiln", "loom"):
        card(root, name, f"# {name}\n\n## One\n\nFirst of {name}.\n")
    with opened(workspace) as pen:
        pen.reconcile(workspace.house)
    for number, (kind, what, text) in enumerate(edits, 1):
        if kind == "card":
            rewritten(root / f"projects/{what}.md", text, number)
        elif text is not None:
            first, *blocks = index.read_text().split("\n## ")
            made = [edited(f"## {block}\n", text) if what in block else f"## {block}\n" for block in blocks]
            index.write_text("".join((first, "\n", *made)))
    with opened(workspace) as pen:
        pen.reconcile(workspace.house)
    brought = index.read_text()
    (root / CACHE).unlink()
    with opened(workspace) as pen:
        pen.reconcile(workspace.house)
    assert index.read_text() == brought


def test_a_card_that_was_written_this_very_moment_is_read_again(workspace: Workspace) -> None:
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        settle(pen)
        pen.reconcile(workspace.house)
        pen._looked._now = lambda: (workspace.root / "projects/kiln.md").stat().st_ctime_ns
        pen.commit(appended("More.\n"))
    assert looked_anew(workspace) == ["projects/kiln.md"]


def _to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _to_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text('{"v": 1}{"v": 1}'),
        lambda path: path.write_text('{"v": 2, "cards": [], "indexes": null, "texts": 1}'),
        lambda path: path.write_text(path.read_text().replace('"v": 2', '"v": 3')),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_bytes(path.read_bytes()[:40]),
        lambda path: path.write_bytes(b"\xff"),
        Path.unlink,
        _to_folder,
        _to_pipe,
    ],
    ids=["glued", "other", "newer", "deep", "cut", "binary", "gone", "folder", "pipe"],
)
def test_a_cache_that_makes_no_sense_costs_a_look_and_no_more(
    workspace: Workspace, damage: Callable[[Path], object]
) -> None:
    looked_anew(workspace)
    damage(workspace.root / CACHE)
    assert looked_anew(workspace) == ["projects/kiln.md", "projects/loom.md"]


def test_a_copy_of_the_folder_believes_no_cache(workspace: Workspace, tmp_path: Path) -> None:
    looked_anew(workspace)
    shutil.copytree(workspace.root, tmp_path / "copy")
    assert looked_anew(open_workspace(tmp_path / "copy")) == ["projects/kiln.md", "projects/loom.md"]


def test_a_cache_that_is_a_link_is_neither_read_nor_written(workspace: Workspace, tmp_path: Path) -> None:
    looked_anew(workspace)
    kept = (workspace.root / CACHE).read_bytes()
    shutil.rmtree(workspace.root / ".onepen/cache")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/looked").write_bytes(kept)
    (workspace.root / ".onepen/cache").symlink_to(tmp_path / "elsewhere")
    assert looked_anew(workspace) == ["projects/kiln.md", "projects/loom.md"]
    assert (tmp_path / "elsewhere/looked").read_bytes() == kept


def test_what_could_not_be_read_is_looked_at_again_by_the_next_pen(workspace: Workspace) -> None:
    (workspace.root / "projects/kiln.md").write_bytes(b"\xff")
    for _ in range(2):
        assert "projects/kiln.md" in looked_anew(workspace)
