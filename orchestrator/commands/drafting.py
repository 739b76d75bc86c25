"""Drafts as people read them: the list, one draft with its change, and what became of a decision."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from . import ink as colours
from .ink import ink
from .terminal import Terminal
from .text import count, one_line, table, visible

if TYPE_CHECKING:
    from ..results import Decision, DecisionResult, DraftsResult, DraftView

_OUTCOMES = {
    "committed": "committed",
    "already": "was committed before",
    "duplicate": "not committed, a draft of this task and target already was",
    "conflict": "not committed, it no longer fits",
    "blocked": "not committed, it can't stand",
    "needs_person": "not committed, it is not what was shown",
    "refused": "refused",
    "sent_back": "sent back",
}
_WOULD = {
    **{outcome: f"would {text.replace('not committed', 'not be committed')}" for outcome, text in _OUTCOMES.items()},
    "committed": "would be committed",
    "already": "was committed before",
    "refused": "would be refused",
    "sent_back": "would be sent back",
}


def listed(result: "DraftsResult", terminal: Terminal) -> str:
    """One draft a line, oldest first."""
    if not result.drafts:
        return "No draft waits.\n"
    return (
        table([_row(draft) for draft in result.drafts], terminal.columns) + f"Next: onepen show {result.drafts[0].id}\n"
    )


def _row(draft: "DraftView") -> tuple[str, ...]:
    place = f"clients/{draft.client}/{draft.target}" if draft.client else draft.target
    flags = f"{count(len(draft.findings), 'finding')}" if draft.findings else ""
    words = (draft.agent, draft.provenance, draft.created[:16].replace("T", " "), flags)
    return (draft.id, draft.status, one_line(place), one_line(", ".join(filter(None, words))))


def shown(result: "DraftsResult", terminal: Terminal) -> str:
    """Each draft: what it is, what was found, the change line by line, and how to decide."""
    return "\n".join(one(draft, terminal) for draft in result.drafts)


def one(draft: "DraftView", terminal: Terminal) -> str:
    """One draft with all that a person needs to decide on it."""
    section = f" (section {draft.section})" if draft.section else ""
    facts = [
        ("draft", f"{draft.id}  {draft.status}" + (f", {one_line(draft.reason)}" if draft.reason else "")),
        ("target", f"{one_line(_place(draft))}{one_line(section)}  {draft.edit}".rstrip()),
        ("from", f"agent {one_line(draft.agent)}, task {draft.task}, {draft.created}"),
        ("provenance", draft.provenance),
        ("sources", one_line(", ".join(draft.sources))),
        ("file", one_line(draft.path)),
        ("sha256", draft.sha256),
        ("commit", draft.commit or ""),
    ]
    lines = [f"{ink(name + ':', 'dim', terminal)} {value}\n" for name, value in facts if value]
    for finding in () if draft.status == "committed" else draft.findings:
        level = ink(finding.level, "red" if finding.level == "block" else "yellow", terminal)
        place = f" line {finding.line}" if finding.line else ""
        lines.append(f"{level}{place}: {one_line(finding.message)}\n")
    if draft.diff is not None:
        lines.append("\n" + colours.diff(visible(draft.diff).rstrip("\n"), terminal) + "\n")
    if draft.status in {"waiting", "conflict"}:
        lines.append(f"\nNext: {_next(draft)}\n")
    return "".join(lines)


def _next(draft: "DraftView") -> str:
    """What can be done with it: what can't stand can't be approved, what can't be read can't be edited."""
    if not draft.blocked:
        return f"onepen approve {draft.id}, or edit, send-back -m, reject -m"
    if draft.sha256:
        return f"onepen edit {draft.id}, or send-back -m, reject -m"
    return f"onepen send-back {draft.id} -m REASON, or reject -m"


def _place(draft: "DraftView") -> str:
    return f"clients/{draft.client}/{draft.target}" if draft.client else draft.target


def decided(result: "DecisionResult", terminal: Terminal) -> str:
    """What became of each draft, with the files that changed; of a rehearsal, what would become of it."""
    if not result.dry_run:
        return "".join(_decision(d, terminal, _OUTCOMES) for d in result.decisions)
    lines = []
    for one in result.decisions:
        lines.append(_decision(one, terminal, _WOULD))
        lines.append(f"  by the policy it has to pass: {', '.join(one.draft.stages)}\n")
    return "".join(lines) + "Nothing was written.\n"


def _decision(decision: "Decision", terminal: Terminal, outcomes: Mapping[str, str]) -> str:
    good = decision.outcome in {"committed", "already", "refused", "sent_back"}
    words = ink(outcomes[decision.outcome], "green" if good else "yellow", terminal)
    commit = f" as {decision.commit}" if decision.commit else ""
    note = f": {one_line(decision.note)}" if decision.note else ""
    lines = [f"{decision.draft.id}: {words}{commit}{note}\n"]
    lines.extend(f"  {one_line(path)}\n" for path in decision.paths)
    if decision.outcome == "needs_person":
        if decision.draft.diff is not None:
            lines.append("\n" + colours.diff(visible(decision.draft.diff).rstrip("\n"), terminal) + "\n\n")
        lines.append(f"Next: onepen approve {decision.draft.id} --sha256 {decision.draft.sha256}\n")
    return "".join(lines)
