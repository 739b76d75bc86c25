"""Carries out what `doctor --fix` showed: each fix by itself, with the pen held, and each only if it is still right.

A fix is a commit, or a file that is renamed or swapped in one step, so one that is interrupted was done or was not, and
the next `doctor` shows what is left. A fix that can't be done keeps none of the others from it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from ..memory import aside
from ..memory.errors import MemoryFault
from ..memory.exam.git import with_lines
from ..memory.exam.remedy import Fix, may_go, space_of_path
from ..memory.files import FileMovedOn
from ..memory.ids import AgentId
from ..memory.text.refusal import NothingToChange
from ..memory.view import View
from ..subagents.definition import parse_definition
from .diagnosis import Fixed

if TYPE_CHECKING:
    from .commit import Scribe


class Fixing:
    """One run over the fixes that a person agreed to; `who` stands in the history."""

    def __init__(self, view: View, scribe: "Scribe", who: str) -> None:
        self._view = view
        self._root = view.workspace.root
        self._scribe = scribe
        self._who = who
        self._ways: dict[str, Callable[[Fix], tuple[str, str | None]]] = {
            "settle": self._settle,
            "index": self._index,
            "registry": self._registry,
            "seal": self._seal,
            "aside": self._aside,
            "line": self._line,
            "git": self._git,
        }

    def all(self, fixes: Iterable[Fix]) -> tuple[Fixed, ...]:
        """What became of each; raises PenLost or RecoveryNeeded, which end the pen."""
        return tuple(self._one(fix) for fix in fixes)

    def _one(self, fix: Fix) -> Fixed:
        from .commit import PenLost, RecoveryNeeded

        try:
            note, commit = self._ways[fix.kind](fix)
        except (PenLost, RecoveryNeeded):
            raise
        except NothingToChange:
            return Fixed(fix, "done", "it is in order already")
        except FileMovedOn:
            return Fixed(fix, "failed", "another program wrote it at the same moment: run onepen doctor again")
        except MemoryFault as e:
            return Fixed(fix, "failed", e.message)
        except OSError as e:
            return Fixed(fix, "failed", e.strerror or str(e))
        return Fixed(fix, "done", note, commit)

    def _settle(self, fix: Fix) -> tuple[str, str | None]:
        return "", None  # whoever opens the pen finishes them first

    def _index(self, fix: Fix) -> tuple[str, str | None]:
        told = len(self._scribe.recovered)
        before = len(self._scribe.reconciled)
        self._scribe.reconcile((space_of_path(self._view, fix.path),))
        problems = self._scribe.recovered[told:]
        made = self._scribe.reconciled[before:]
        if not made and problems:
            raise MemoryFault(problems[-1].message)
        return "", made[-1].id if made else None

    def _registry(self, fix: Fix) -> tuple[str, str | None]:
        agent = AgentId(fix.path.removeprefix("agents/").removesuffix(".md"))
        text = self._view.text(fix.path)
        if text is None:
            raise aside.NotThatAnyMore(fix.path)
        description = parse_definition(agent, text).description or agent
        return "", self._scribe.list_agent(agent, description, self._who).id

    def _seal(self, fix: Fix) -> tuple[str, str | None]:
        space = space_of_path(self._view, fix.path)
        commit = self._scribe.seal(space, self._who).id
        with suppress(NothingToChange):
            while True:
                commit = self._scribe.seal(space, self._who).id
        return "", commit

    def _aside(self, fix: Fix) -> tuple[str, str | None]:
        self._check(fix)
        return f"kept as {aside.file_aside(self._root, fix.path)}", None

    def _line(self, fix: Fix) -> tuple[str, str | None]:
        self._check(fix)
        return f"kept as {aside.line_aside(self._root, fix.path, fix.line, fix.sha256)}", None

    def _git(self, fix: Fix) -> tuple[str, str | None]:
        if fix.path not in (".gitattributes", ".gitignore"):
            raise aside.NotThatAnyMore(fix.path)
        before = self._view.text(fix.path)
        after = with_lines(fix.path, before or "")
        if after != (before or ""):
            aside.lines_added(self._root, fix.path, after, before)
        return "", None

    def _check(self, fix: Fix) -> None:
        """A request may come from anywhere that this user's programs are: only leftovers of our own ever move."""
        if not may_go(fix.path, fix.line):
            raise aside.NotThatAnyMore(fix.path)
