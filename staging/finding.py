"""What is wrong with a worker's draft, as a value: shown to the reviewer, never raised."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

FindingLevel = Literal["block", "warn"]


@dataclass(frozen=True)
class Finding:
    """One thing a reviewer should know about a draft; `line` counts from 1 in the draft's file (0: the whole draft).

    `kind` is a stable word for programs. A draft with a `block` can't stand as it is; a `warn` is for the reviewer to
    judge. The message never repeats a secret.
    """

    kind: str
    level: FindingLevel
    message: str
    line: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


def blocked(findings: Iterable[Finding]) -> bool:
    """Whether one of these findings keeps the draft from standing."""
    return any(finding.level == "block" for finding in findings)


def at_most(findings: Iterable[Finding], limit: int = 20) -> tuple[Finding, ...]:
    """The first `limit` findings, and one that counts the others, so that no draft can flood its reviewer.

    The counting one blocks if any of those that it counts does: nothing hides behind a flood of warnings.
    """
    every = iter(findings)
    first = tuple(islice(every, limit))
    count, kind = 0, ""
    level: FindingLevel = "warn"
    for finding in every:
        count += 1
        kind = finding.kind
        if finding.level == "block":
            level = "block"
    return (*first, Finding(kind, level, f"and {count:,} more like these")) if count else first
