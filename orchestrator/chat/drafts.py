"""What the main agent sees of drafts, and where it may decide on one: never on its own, never in a person's place."""

from collections.abc import Sequence

from ...memory.fence import Fences
from ...memory.text.clip import clip
from ...staging.finding import blocked
from ...staging.verdict import Accepted, Escalated, Refused, SentBack
from ...subagents.toolbox.toolinput import ToolRefused
from ..commit import Written
from ..results import DraftView
from ..tasks.events import Judged
from .gate import WHO
from .house import House
from .prompt import MAIN
from .toolinput import DecideDraft

_MOST = 24_000


def drafts_text(drafts: Sequence[DraftView]) -> str:
    """The drafts that wait, one a line."""
    if not drafts:
        return "No draft waits."
    return "\n".join(
        f"{d.id}: {d.target} ({d.edit}, {d.provenance}) by {d.agent}, {d.status}; {_who(d)}" for d in drafts
    )


def look(view: DraftView, fences: Fences) -> str:
    """A draft as its reviewer sees it."""
    head = [f"draft {view.id} by {view.agent}: {view.status}; {_who(view)}", f"target: {view.target} ({view.edit})"]
    if view.sources:
        head.append(f"sources: {', '.join(view.sources)}")
    head += [f"{finding.level}: {finding}" for finding in view.findings]
    if view.reason:
        head.append(f"reason: {view.reason}")
    body = view.diff or ""
    cut = "\n(… the rest is not shown)" if len(body) > _MOST else ""
    outside = ", made from text from outside" if view.provenance == "external" else ""
    return "\n".join([*head, "", fences.around(f"draft {view.id}{outside}", clip(body, _MOST, "") + cut)])


async def decided(given: DecideDraft, house: House) -> tuple[str, str | None]:
    """Carries out a decision that the policy leaves to the main agent; what came of it, and the commit.

    Raises ToolRefused where somebody else decides.
    """
    view = house.draft(given.id.strip())
    if view.status in {"committed", "duplicate"}:
        raise ToolRefused(f"draft {view.id}: it is {view.status} already")
    if view.agent == MAIN:
        raise ToolRefused(f"draft {view.id}: it is your own, so {_person(view)}")
    dossier, state = house.desk.find_draft(view.id)
    if "person" in view.stages or blocked(view.findings) or isinstance(state.verdict, Escalated):
        raise ToolRefused(f"draft {view.id}: {_person(view)}")
    if given.verdict != "accept" and not given.feedback.strip():
        raise ToolRefused("decide_draft: feedback is empty; say why, and what to change")
    examined = house.desk.reviewer(house.space).examine(dossier, state)
    if given.verdict == "refuse":
        dossier.happened(Judged(state.id, Refused(WHO, examined.bound, given.feedback), examined.findings))
        return f"draft {view.id}: refused", None
    if given.verdict == "send_back":
        dossier.happened(Judged(state.id, SentBack(WHO, examined.bound, given.feedback), examined.findings))
        result = await house.resume(dossier.task)
        ids = ", ".join(d.id for task in result.tasks for d in task.drafts if d.status == "waiting") or "none"
        return f"draft {view.id}: sent back; drafts that wait now: {ids}", None
    verdict = Accepted(WHO, examined.bound, given.feedback)
    dossier = dossier.happened(Judged(state.id, verdict, examined.findings))
    approved = dossier.state.draft(state.id)
    assert approved is not None
    with house.desk.scribe() as scribe:
        event, came = await scribe.carry_out_shared(dossier, approved, verdict, examined)
    dossier.happened(event)
    if isinstance(came, Written):
        return f"draft {view.id}: committed as {came.commit}", came.commit
    raise ToolRefused(f"draft {view.id}: {came.reason}")


def _who(view: DraftView) -> str:
    return _person(view) if "person" in view.stages or view.agent == MAIN else "you may decide"


def _person(view: DraftView) -> str:
    return f"a person decides: onepen approve {view.id}"
