"""A state machine that breaks the pen: commits, groups, hand edits, crashes, errors, recovery, in any order.

Beside it stands a plain dictionary, which is what memory should hold. Whatever happens, memory equals the accepted
changes, each once, and the index matches the cards.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from onepen.memory.change import Change, Remove
from onepen.memory.commit.pen import AlreadyCommitted, Pen, RecoveryNeeded
from onepen.memory.errors import MemoryFault
from onepen.memory.files import sha256
from onepen.memory.ids import CardId
from onepen.memory.index.index import IndexEntry
from onepen.memory.index.reconcile import drift
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit, CardExists, EditRefused
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.testing import evidence
from onepen.testing.clock import FixedClock
from onepen.testing.disk import BreakingDisk, Stopped

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
CARDS = ("cup", "kiln", "glaze")
FAST = Path("/dev/shm")
cards = st.sampled_from(CARDS)
Model = tuple[dict[str, list[str]], list[str]]
"""The lines of each card, and those of the day log."""


class Workshop(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="onepen-test-", dir=FAST if os.access(FAST, os.W_OK) else None))
        self.root = self.folder / "ws"
        (self.root / "research").mkdir(parents=True)
        (self.root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
        self.cards: dict[str, list[str]] = {}
        self.log: list[str] = []
        self.keys: list[str] = []
        self.number = 0
        self.by_hand = False
        self.disk = BreakingDisk()
        self.pen = self.opened()

    def opened(self) -> Pen:
        self.disk = BreakingDisk()
        return Pen.open(open_workspace(self.root), CLOCK, wait=0, disk=self.disk)

    def teardown(self) -> None:
        with suppress(Stopped):
            self.pen.close()
        shutil.rmtree(self.folder)

    def word(self) -> str:
        self.number += 1
        return f"line {self.number}"

    # -- changes, each with what it makes of the model -----------------------------------------------------------------

    def change(self, kind: str, card: str, model: Model) -> Change:
        """A change of this kind, which is carried out in the model, too."""
        held, log = model
        key, line = f"k{self.number}", self.word()
        target = CardTarget("research", CardId(card))
        told = {"what": f"{kind} {card}", "who": "user:ana", "log": (("note", line),), "key": key}
        log.append(line)
        entry = (IndexEntry("notes", f"{line}."),)
        if kind == "create":
            held[card] = [line]
            edit = CardEdit(target, "create", text=f"## Notes\n\n- {line}\n", title=card.title())
            return Change(None, edit=edit, index=entry, **told)  # type: ignore[arg-type]
        if kind == "append":
            held[card].insert(sum(one.startswith("line") for one in held[card]), line)
            edit = CardEdit(target, "append", "notes", text=f"- {line}\n")
            return Change(None, edit=edit, index=entry, **told)  # type: ignore[arg-type]
        if kind == "replace":
            old, held[card][0] = held[card][0], line
            edit = CardEdit(target, "replace", "notes", old_text=f"- {old}\n", text=f"- {line}\n")
            return Change(None, edit=edit, index=entry, **told)  # type: ignore[arg-type]
        del held[card]
        stands = sha256((self.root / f"research/{card}.md").read_bytes())
        return Change(None, removes=(Remove(f"research/{card}.md", stands),), **told)  # type: ignore[arg-type]

    def fits(self, kind: str, card: str, model: Model) -> bool:
        return (card in model[0]) != (kind == "create")

    def copied(self) -> Model:
        return {card: list(lines) for card, lines in self.cards.items()}, list(self.log)

    def take(self, model: Model, *keys: str | None) -> None:
        self.cards, self.log = model
        self.keys += [key for key in keys if key]

    # -- what may happen -----------------------------------------------------------------------------------------------

    @rule(kind=st.sampled_from(("create", "append", "replace", "remove")), card=cards)
    def commit(self, kind: str, card: str) -> None:
        model = self.copied()
        if not self.fits(kind, card, model):
            return
        change = self.change(kind, card, model)
        self.pen.commit(change)
        self.take(model, change.key)
        with pytest.raises(AlreadyCommitted):
            self.pen.commit(change)

    @rule(card=cards)
    def refused(self, card: str) -> None:
        """What can't be done changes nothing."""
        kind = "create" if card in self.cards else "append"
        model: Model = ({card: []}, [])
        with pytest.raises((CardExists, EditRefused)):
            self.pen.commit(self.change(kind, card, model))

    @rule(wanted=st.lists(st.tuples(st.sampled_from(("create", "append", "replace")), cards), min_size=2, max_size=5))
    def commit_together(self, wanted: Sequence[tuple[str, str]]) -> None:
        """Those that are refused leave no trace in those that aren't."""
        model = self.copied()
        changes, fit = [], []
        for kind, card in wanted:
            fit.append(self.fits(kind, card, model))
            changes.append(self.change(kind, card, model if fit[-1] else ({card: ["nowhere"]}, [])))
        outcomes = self.pen.commit_group(changes)
        assert [not isinstance(one, MemoryFault | OSError) for one in outcomes] == fit
        self.take(model, *(change.key for change, good in zip(changes, fit, strict=True) if good))

    @rule(card=cards)
    def edited_by_hand(self, card: str) -> None:
        """A person adds a section with an editor."""
        if card in self.cards:
            path, line = self.root / f"research/{card}.md", f"by hand, {self.word()}"
            with path.open("a") as file:
                file.write(f"\n## By hand {self.number}\n\n- {line}\n")
            self.cards[card].append(line)
            self.by_hand = True

    @rule()
    def reconcile(self) -> None:
        self.pen.reconcile(open_workspace(self.root).house)
        self.by_hand = False

    @rule()
    def open_again(self) -> None:
        self.pen.close()
        self.pen = self.opened()

    @rule(kind=st.sampled_from(("create", "append", "replace", "remove")), card=cards, after=st.integers(1, 60))
    def crash(self, kind: str, card: str, after: int) -> None:
        """The process dies at some operation of a commit, or while it puts the pen down."""
        self.broken(kind, card, after, None, for_good=False)

    @rule(
        kind=st.sampled_from(("create", "append", "replace", "remove")),
        card=cards,
        after=st.integers(1, 60),
        error=st.sampled_from((errno.EIO, errno.ENOSPC)),
        for_good=st.booleans(),
    )
    def fail(self, kind: str, card: str, after: int, error: int, for_good: bool) -> None:
        """An operation of a commit fails, once or from then on."""
        self.broken(kind, card, after, error, for_good=for_good)

    @rule(after=st.integers(1, 40), again=st.integers(1, 40))
    def crash_twice(self, after: int, again: int) -> None:
        """The next opening dies, too."""
        self.broken("append" if "cup" in self.cards else "create", "cup", after, None, for_good=False, again=again)

    def broken(
        self, kind: str, card: str, after: int, error: int | None, *, for_good: bool, again: int | None = None
    ) -> None:
        model = self.copied()
        if not self.fits(kind, card, model):
            return
        change = self.change(kind, card, model)
        self.disk.arm(after, error=error, for_good=for_good)
        acknowledged = doubted = False
        try:
            self.pen.commit(change)
            acknowledged = True
        except (Stopped, RecoveryNeeded):
            doubted = True
        except OSError as e:
            assert e.errno == error
        with suppress(Stopped):
            self.pen.close()
        if again is not None:
            disk = BreakingDisk(again)
            with suppress(Stopped):
                Pen.open(open_workspace(self.root), CLOCK, wait=0, disk=disk).close()
        self.pen = self.opened()
        assert change.key is not None
        found = self.pen.commit_of(open_workspace(self.root).house, change.key) is not None
        assert found or not acknowledged, "an acknowledged commit is gone"
        assert doubted or acknowledged == found, "what was said to have failed was committed"
        if found:
            self.take(model, change.key)

    # -- what is always true -------------------------------------------------------------------------------------------

    @invariant()
    def memory_is_the_accepted_changes(self) -> None:
        now = evidence.state(self.root)
        lines = {
            path: [line[2:] for line in data.decode().splitlines() if line[:2] == "- "] for path, data in now.items()
        }
        held = {card: lines[f"research/{card}.md"] for card in CARDS if f"research/{card}.md" in lines}
        assert held == self.cards
        logged = [line.partition("] ")[2] for line in lines.get("memory/2026-11-30.md", [])]
        assert [line for line in logged if line.startswith("line ")] == self.log
        assert [key for key in evidence.keys(now) if key.startswith("k")] == self.keys
        assert not [path for path in now if path.endswith(".tmp") or ".due-" in path or ".kept-" in path]

    @invariant()
    def the_index_matches(self) -> None:
        if self.by_hand:
            return
        view = View(open_workspace(self.root))
        house = view.workspace.house
        documents = {card: view.document(house, CardTarget("research", CardId(card))) for card in self.cards}
        assert drift(view.index(house, "research"), {card: doc for card, doc in documents.items() if doc}) == ()
        assert sorted(documents) == sorted(view.cards(house, "research"))


def test_the_pen_and_a_dictionary_agree() -> None:
    run_state_machine_as_test(Workshop, settings=settings(max_examples=25, stateful_step_count=20))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_pen_and_a_dictionary_agree_for_long() -> None:
    run_state_machine_as_test(Workshop, settings=settings(max_examples=400, stateful_step_count=40))
