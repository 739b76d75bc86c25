"""Secrets in a draft, as findings: named by kind and place, never repeated."""

from ..memory.text.secret import NONE, Held, Seen, mask, secrets_in
from .finding import Finding, at_most

__all__ = ["NONE", "Held", "Seen", "mask", "secret_findings", "secrets_in"]


def secret_findings(text: str, place: str = "", first_line: int = 1, held: Held = NONE) -> tuple[Finding, ...]:
    """A finding for each of the first 20 lines that hold a secret or something of its shape, the worst of a line.

    `place` names the text in messages; `first_line` is the number of its first line in the draft's file, 0 when it
    has none.
    """
    where = f" in {place}" if place else ""
    worst: dict[int, Seen] = {}
    for seen in secrets_in(text, held):
        worst.setdefault(seen.line, seen)
    return at_most(
        Finding(
            "secret",
            seen.level,
            f"{seen.kind}{where}: keep its name, not its value",
            first_line + line if first_line else 0,
        )
        for line, seen in worst.items()
    )
