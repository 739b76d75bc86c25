"""What `doctor` answers: what is wrong, what of it can be put right, and what became of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..memory.exam.remedy import Fix
    from ..memory.problem import Problem
    from .results import Json


@dataclass(frozen=True)
class Fixed:
    """A fix that `doctor` offers or made: `outcome` is "possible", "done" or "failed", `note` says why or what became.

    `commit` is the commit that it was made in, if it is one.
    """

    fix: Fix
    outcome: str = "possible"
    note: str = ""
    commit: str | None = None

    def as_json(self) -> Json:
        return {
            "kind": self.fix.kind,
            "path": self.fix.path,
            "line": self.fix.line,
            "what": self.fix.what,
            "outcome": self.outcome,
            "note": self.note,
            "commit": self.commit,
        }


@dataclass(frozen=True)
class FixResult:
    """What became of the fixes that were asked for, in their order."""

    fixes: tuple[Fixed, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class DoctorResult:
    """The answer of `doctor`; `ok` is False when a problem is an error.

    `fixes` are what could be put right without a person's decision or, with --fix, what was; `left` are the problems
    that no fix is for, information aside. `sandbox` is the level that holds workers here, `sandbox_gaps` what it
    leaves open.
    """

    problems: tuple[Problem, ...]
    fixes: tuple[Fixed, ...] = ()
    left: tuple[Problem, ...] = ()
    dry_run: bool = False
    sandbox: str = ""
    sandbox_gaps: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not any(p.level == "error" for p in self.problems)

    @property
    def exit_code(self) -> int:
        failed = any(fixed.outcome == "failed" for fixed in self.fixes)
        return 0 if self.ok and not failed else 1

    def as_json(self) -> Json:
        return {
            "ok": self.ok,
            "problems": [
                {"path": p.path, "line": p.line, "kind": p.kind, "level": p.level, "message": p.message}
                for p in self.problems
            ],
            "fixes": [fixed.as_json() for fixed in self.fixes],
            "dry_run": self.dry_run,
            "sandbox": self.sandbox,
            "sandbox_gaps": list(self.sandbox_gaps),
        }
