"""What prompts get of an index with cards at rest, and what the history tells of their rest."""

from pathlib import Path

from onepen.memory.archive import rested
from onepen.memory.history import Commit, TextChange
from onepen.memory.ids import CardId
from onepen.memory.index.index import parse_index
from onepen.memory.index.reconcile import drift, reconcile
from onepen.memory.target import CardTarget
from onepen.memory.text.document import parse_document
from onepen.memory.workspace import Space

KILN = CardTarget("projects", CardId("kiln"))


def test_its_entries_leave_the_index_and_nothing_else_does() -> None:
    before = parse_index(
        "# P\n\n## [Kiln](kiln.md)\nstatus: archived\n\n- [a](kiln.md#a) — A.\n- [b](kiln.md#b) — B.\nMy own line.\n\n"
        "## [Roof](roof.md)\nstatus: active\n\n- [t](roof.md#t) — T.\n- [c](kiln.md#c) — C, out of place.\n"
    )
    after = before.without_entries("kiln").text
    assert after == (
        "# P\n\n## [Kiln](kiln.md)\nstatus: archived\nMy own line.\n\n"
        "## [Roof](roof.md)\nstatus: active\n\n- [t](roof.md#t) — T.\n"
    )


def test_reconciling_adds_nothing_to_a_card_at_rest_and_takes_nothing_from_it() -> None:
    card = parse_document("---\ntitle: Kiln\nstatus: archived\n---\n\n# Kiln\n\n## A\n\nText.\n\n## B\n\nMore.\n")
    bare = parse_index("# P\n\n## [Kiln](kiln.md)\nstatus: archived\n")
    assert reconcile(bare, {"kiln": card}).text == bare.text
    assert drift(bare, {"kiln": card}) == ()
    by_hand = parse_index("# P\n\n## [Kiln](kiln.md)\nstatus: active\n\n- [a](kiln.md#a) — Mine.\n")
    assert reconcile(by_hand, {"kiln": card}).text == by_hand.text.replace("active", "archived")


def commit(number: int, *changes: TextChange) -> Commit:
    return Commit(1, f"c{number}-aaaaaa", None, "", "", "", None, None, None, None, (), (), changes)


def test_what_archiving_took_is_read_from_the_latest_one() -> None:
    space = Space(Path(), None)
    card, index = "projects/kiln.md", "projects/_index.md"
    line = "- [a](kiln.md#a) — Mine. `x, y`\n- [other](roof.md#o) — Not this card's.\n"
    rest = TextChange(card, None, "status: done\n", "status: archived\n")
    commits = (
        commit(1, rest, TextChange(index, None, line.replace("Mine", "Older"), "")),
        commit(2, rest, TextChange(index, None, line, "")),
        commit(3, TextChange(card, None, "status: archived\n", "status: active\n")),
    )
    found = rested(commits, space, KILN)
    assert found is not None
    assert found.status == "done"
    assert [(e.section_id, e.summary, e.keywords) for e in found.entries] == [("a", "Mine.", ("x", "y"))]
    assert rested(commits[2:], space, KILN) is None
