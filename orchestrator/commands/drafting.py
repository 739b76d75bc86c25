"""Drafts as people read them: the list, one draft with its change, and what became of a decision."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from . import ink as colours
from .ink import ink
from .terminal import Terminal
from .text import count, one_line, table, visible, width, wrap

if TYPE_CHECKING:
    from ..decision import Decision, DecisionResult
    from ..results import Beside, DraftsResult, DraftView

_FEWEST = 32  # rows of a change that are shown before a question, however low the screen: most changes are no longer

_OUTCOMES = {
    "committed": "committed",
    "already": "was committed before",
    "duplicate": "not committed, a draft of this task and target already was",
    "conflict": "not committed, it no longer fits",
    "blocked": "not committed, it can't stand",
    "needs_person": "not committed, it needs your answer",
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
        return "No draft waits.\n"  # with --all there is none at all, which says the same
    waiting = [draft.id for draft in result.drafts if draft.undecided]
    following = f"Next: onepen show {waiting[0]}\n" if waiting else ""
    return table([_row(draft) for draft in result.drafts], terminal.columns) + following


def _row(draft: "DraftView") -> tuple[str, ...]:
    place = f"clients/{draft.client}/{draft.target}" if draft.client else draft.target
    flags = count(len(draft.findings), "finding") if draft.findings and draft.undecided else ""
    beside = "beside " + " and ".join(other.id for other in draft.beside) if draft.beside else ""
    words = (
        draft.agent,
        beside,
        flags,
        draft.provenance,
        draft.created[:16].replace("T", " "),
    )  # a narrow screen cuts the end
    return (draft.id, draft.status, one_line(place), one_line(", ".join(filter(None, words))))


def shown(result: "DraftsResult", terminal: Terminal) -> str:
    """Each draft: what it is, what was found, the change line by line, and how to decide."""
    return "\n".join(one(draft, terminal) for draft in result.drafts)


def one(draft: "DraftView", terminal: Terminal) -> str:
    """One draft with all that a person needs to decide on it."""
    parts = (_facts, _change, _against, _following)
    return "".join(line for part in parts for line in part(draft, terminal))


def question(draft: "DraftView", terminal: Terminal) -> str:
    """The draft as it is asked about: of a change that is longer than the screen the beginning, and how to see all."""
    facts = "".join(_facts(draft, terminal))
    change = "".join(_change(draft, terminal)).splitlines(keepends=True)
    used = sum(_rows(line, terminal) for line in facts.splitlines())
    room, kept = max(_FEWEST, terminal.rows - used - 4), 0
    for line in change:
        room -= _rows(line, terminal)
        if room < 0:
            break
        kept += 1
    hidden = len(change) - kept
    more = f"… {count(hidden, 'more line')} not shown; all of it: onepen show {draft.id}\n" if hidden else ""
    return facts + "".join(change[:kept]) + wrap(more, terminal.columns) + "\n"


def _rows(line: str, terminal: Terminal) -> int:
    return max(1, -(-width(line.rstrip("\n")) // terminal.columns))


def _facts(draft: "DraftView", terminal: Terminal) -> Iterator[str]:
    section = f" (section {one_line(draft.section)})" if draft.section else ""
    facts = [
        ("draft", f"{draft.id}  {draft.status}" + (f", {one_line(draft.reason)}" if draft.reason else "")),
        ("target", f"{one_line(_place(draft))}{section}  {draft.edit}".rstrip()),
        ("from", f"agent {one_line(draft.agent)}, task {draft.task}, {draft.created}"),
        ("provenance", draft.provenance),
        ("sources", one_line(", ".join(draft.sources))),
        ("file", one_line(draft.path)),
        ("sha256", draft.sha256),
        ("commit", draft.commit or ""),
        ("changed", one_line(", ".join(draft.changed))),
        ("beside", one_line("; ".join(_beside(other, draft) for other in draft.beside))),
    ]
    for name, value in facts:
        if value:
            yield wrap(f"{ink(name + ':', 'dim', terminal)} {value}\n", terminal.columns)
    for finding in () if draft.status == "committed" else draft.findings:
        level = ink(finding.level, "red" if finding.level == "block" else "yellow", terminal)
        place = f" line {finding.line}" if finding.line else ""
        yield wrap(f"{level}{place}: {one_line(finding.message)}\n", terminal.columns)


def _change(draft: "DraftView", terminal: Terminal) -> Iterator[str]:
    if draft.diff:
        yield "\n" + colours.diff(visible(draft.diff).rstrip("\n"), terminal) + "\n"


def _beside(other: "Beside", draft: "DraftView") -> str:
    """Another draft for the same place, in a few words."""
    where = draft.target if other.section is None else f"section {other.section}"
    which = " of it" if other.same == "elsewhere" else ", too"
    return f"{other.id} by {other.agent} waits for {where}{which} ({other.edit})"


def _against(draft: "DraftView", terminal: Terminal) -> Iterator[str]:
    """What the others for the same target would make of it, set against this draft."""
    for other in draft.beside:
        if other.diff:
            yield wrap(f"\nWith {other.id} in the place of this draft:\n", terminal.columns)
            yield colours.diff(visible(other.diff).rstrip("\n"), terminal) + "\n"
        elif other.diff is not None:
            yield wrap(f"\nWith {other.id} in the place of this draft it would read the same.\n", terminal.columns)


def _following(draft: "DraftView", terminal: Terminal) -> Iterator[str]:
    if draft.undecided:
        yield wrap(f"\nNext: {_next(draft)}\n", terminal.columns)


def _next(draft: "DraftView") -> str:
    """What can be done with it: what can't stand can't be approved, what can't be read can't be edited."""
    ways = ["send-back -m"] if draft.can_go_back else []
    if not draft.blocked:
        ways = ["approve", "edit", *ways]
    elif draft.sha256:
        ways = ["edit", *ways]
    first, *others = [*ways, "reject -m"]
    verb, _, reason = first.partition(" ")
    command = f"onepen {verb} {draft.id}{f' {reason} REASON' if reason else ''}"
    return f"{command}, or {', '.join(others)}" if others else command


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
    draft = decision.draft
    if decision.outcome == "not_approved":
        return f"not approved: {draft.id} stays as it is\n"
    good = decision.outcome in {"committed", "already", "refused", "sent_back"}
    decided = decision.outcome == "blocked" and not draft.undecided
    said = "can't be rejected" if decided else outcomes[decision.outcome]
    words = ink(said, "green" if good else "yellow", terminal)
    commit = f" as {decision.commit}" if decision.commit else ""
    note = f": {one_line(decision.note)}" if decision.note else ""
    lines = [wrap(f"{draft.id}: {words}{commit}{note}\n", terminal.columns)]
    lines.extend(f"  {one_line(path)}\n" for path in decision.paths)
    if decision.outcome == "needs_person":
        if change := "".join(_change(draft, terminal)):
            lines.append(change + "\n")
        lines.append(f"Next: onepen approve {draft.id} --sha256 {draft.sha256}\n")
    if decision.outcome in {"blocked", "conflict"} and draft.undecided:
        lines.append(wrap(f"Next: {_next(draft)}\n", terminal.columns))
    return "".join(lines)
