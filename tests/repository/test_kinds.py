"""Each kind of problem is in the table that people look it up in, and each has a test."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from onepen.memory.index.reconcile import DriftKind
from onepen.orchestrator.kinds import KINDS

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("memory", "staging", "orchestrator")
# Told as notices by the command that met them, never by `doctor`.
NOTICES = {
    "machine_room_mended", "machine_room_made", "redo_made", "redo_torn", "redo_rolled_forward", "redo_pending",
    "checkpoint_failed", "hard_link", "not_reconciled", "passed_over", "pen_held", "kept_instead",
    "chat_line_unreadable", "client_buried", "not_buried",
}  # fmt: skip
# Written as names in the source, not as words.
NAMED = {
    "journal_damaged",
    "journal_line_unreadable",
    "batch_journal_unreadable",
    "usage_unreadable",
    "seal_unreadable",
    "tombstone_unreadable",
    *get_args(DriftKind),
}
TABLE = {kind.word: kind for kinds in KINDS.values() for kind in kinds}


def told() -> Iterator[tuple[str, str]]:
    """Kind and level of each problem that the source makes, where both are written out."""
    for room in ROOMS:
        for path in (REPOSITORY / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "Problem" and len(node.args) == 5:
                    kind, level = node.args[2:4]
                    words = [one.value for one in ast.walk(level) if isinstance(one, ast.Constant)]
                    if isinstance(kind, ast.Constant):
                        yield from ((str(kind.value), str(w)) for w in words if w in ("error", "warning", "info"))


def test_the_table_has_every_kind_with_its_levels_and_no_other() -> None:
    found = set(told())
    assert {kind for kind, _ in found} - NOTICES | NAMED == set(TABLE)
    assert not {(kind, level) for kind, level in found if kind in TABLE and level not in TABLE[kind].levels}


def test_every_kind_has_a_test() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "tests").rglob("test_*.py"))
    assert not [word for word in TABLE if not re.search(rf"[\"'/ ]{word}[\"' ,:]", tests)]


def test_what_the_table_calls_fixed_is_what_is_offered() -> None:
    source = (REPOSITORY / "memory/exam/remedy.py").read_text(encoding="utf-8")
    named = {word for word in TABLE if f'"{word}"' in source} - {"commit_unsettled", "redo_foreign", "room_unfit"}
    assert named == {word for word, kind in TABLE.items() if kind.fixed}
