"""What a process that commits (hand.py) does: change after change, the same each time.

Each changes several files at once, and no two leave the same state, so a mixture of two states is seen for what it is.
"""

from datetime import date
from pathlib import Path
from typing import Any

from ..memory.change import Change, FileEntry, Put, Remove
from ..memory.commit.pen import Pen
from ..memory.files import sha256
from ..memory.ids import CardId
from ..memory.index.index import IndexEntry
from ..memory.scaffold import init
from ..memory.target import CardTarget
from ..memory.text.card import CardEdit
from ..memory.workspace import open_workspace
from .clock import FixedClock

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
_KILN = CardTarget("projects", CardId("kiln"))


def new_machine() -> str:
    return "k3x9ab"


def begin(root: Path) -> None:
    """A workspace with one card, in which yesterday is still to be sealed."""
    init(root, id="abcdefgh12345678", name="Kiln", today=date(2026, 11, 29))
    (root / "projects" / "kiln.md").write_text(
        "---\ntitle: Kiln\nupdated: 2026-11-02\n---\n\n# Kiln\n\n## Count\n\nnumber 0\n\n## Glaze\n\nCeladon.\n"
    )
    (root / "memory").mkdir(exist_ok=True)
    (root / "memory" / "2026-11-29.md").write_text("- 09:00+01:00 [note] old\n")
    with Pen.open(open_workspace(root), CLOCK, new_machine=new_machine) as pen:
        pen.reconcile(open_workspace(root).house)


def work(n: int, root: Path) -> Change:
    """The n-th change, from 1: an edit, a new card, or a project's file with its index line, in turn.

    The sixth takes the file of the third away, the eighth the card of the second.
    """
    told: dict[str, Any] = {"log": (("count", f"number {n}"),), "key": f"k{n}"}
    if n == 6:
        return _without("projects/kiln/n3/note.md", root, **told)
    if n == 8:
        return _without("research/find-2.md", root, **told)
    if n % 3 == 1:
        edit = CardEdit(_KILN, "replace", "count", f"number {max(n - 3, 0)}\n", f"number {n}\n")
        index = (IndexEntry("count", f"Now at {n}."),)
        return Change(None, f"projects/kiln.md: {n}", "user:ana", edit=edit, index=index, **told)
    if n % 3 == 2:
        text = f"## What I found\n\nIt was {n}.\n\n## Sources\n\nNone.\n"
        edit = CardEdit(CardTarget("research", CardId(f"find-{n}")), "create", text=text, title=f"Find {n}")
        index = (IndexEntry("what-i-found", f"It was {n}."),)
        return Change(None, f"research/find-{n}.md: created", "user:ana", edit=edit, index=index, **told)
    put = Put(f"projects/kiln/n{n}/note.md", f"Note {n}.\n".encode() * 40)
    entry = FileEntry(CardId("kiln"), f"n{n}/note.md", IndexEntry(f"n{n}/note.md", f"Note {n}."))
    edit = CardEdit(_KILN, "append", "glaze", text=f"Layer {n}.\n")
    return Change(None, f"projects/kiln: {n}", "user:ana", edit=edit, puts=(put,), files=(entry,), **told)


def _without(path: str, root: Path, **told: Any) -> Change:
    file = root / path
    before = sha256(file.read_bytes()) if file.exists() else ""
    return Change(None, f"{path}: taken away", "user:ana", removes=(Remove(path, before),), **told)
