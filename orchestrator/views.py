"""From what lies in staging to the values that commands answer with."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .results import DraftView, TaskStatus, TaskView, UsageTotals
from .settings.models import follows_remarks
from .tasks.dossier import Dossier
from .tasks.plan import DraftState

if TYPE_CHECKING:
    from ..memory.history import Commit
    from .review.reviewer import Examined

_OVER = frozenset({"committed", "duplicate"})
Totals = Mapping[str, tuple[UsageTotals, float | None, float]]


def draft_view(dossier: Dossier, state: DraftState, examined: "Examined", *, with_diff: bool = False) -> DraftView:
    """The draft as it is now; one that is over has the findings that its verdict was given with."""
    draft = examined.draft
    return DraftView(
        id=state.id,
        task=dossier.task,
        agent=dossier.sheet.agent,
        client=dossier.space.client,
        target=str(draft.target) if draft is not None else state.facts.target,
        status=state.status,
        provenance=examined.provenance,
        findings=state.findings if state.status in _OVER else examined.findings,
        created=dossier.sheet.created,
        sha256=examined.bound.sha256,
        path=dossier.draft_path(state),
        title=(draft.title or "") if draft is not None else "",
        edit=draft.edit if draft is not None else "",
        section=draft.section if draft is not None else None,
        sources=draft.sources if draft is not None else (),
        diff=examined.diff if with_diff else None,
        reason=state.reason,
        commit=state.commit,
        stages=examined.stages,
        can_go_back=follows_remarks(dossier.sheet.model),
    )


def written(commit: "Commit") -> str:
    """What a commit did to memory, as its log tells it: text that went and text that came, file by file."""
    lines: list[str] = []
    for change in commit.changes:
        lines += [f"--- {change.path}", f"+++ {change.path}", f"@@ {change.section} @@" if change.section else "@@ @@"]
        lines += [f"-{line}" for line in change.old.splitlines()]
        lines += [f"+{line}" for line in change.new.splitlines()]
    return "".join(f"{line}\n" for line in lines)


def task_view(
    dossier: Dossier,
    drafts: tuple[DraftView, ...],
    totals: Totals,
    *,
    alive: bool,
    left_out: tuple[str, ...] = (),
) -> TaskView:
    """The task as it stands; `alive` says whether an orchestrator is running that may be working on it."""
    state = dossier.state
    nothing: tuple[UsageTotals, float | None, float] = (UsageTotals(), 0.0, 0.0)
    usage, cost, seconds = totals.get(dossier.task, nothing)
    status: TaskStatus = "interrupted" if state.status == "running" and not alive else state.status
    return TaskView(
        task=dossier.task,
        agent=dossier.sheet.agent,
        client=dossier.space.client,
        status=status,
        attempts=state.attempt,
        text=dossier.sheet.text,
        drafts=drafts,
        answer=state.answer or None,
        usage=usage,
        cost_usd=cost,
        seconds=seconds or state.seconds,
        reason=state.reason or _waiting_for(drafts) or _refused(dossier),
        created=dossier.sheet.created,
        left_out=left_out,
        target=dossier.sheet.target,
        model=dossier.sheet.model,
        inputs=dossier.sheet.inputs,
        batch=dossier.sheet.batch,
    )


def _waiting_for(drafts: tuple[DraftView, ...]) -> str:
    waiting = [d.id for d in drafts if d.status in {"waiting", "conflict"}]
    return f"a person decides on {', '.join(waiting)}" if waiting else ""


def _refused(dossier: Dossier) -> str:
    """Who refused the drafts of a task that came to nothing, and why."""
    if dossier.state.status != "refused":
        return ""
    refused = [(d, "the checks" if d.verdict is None else d.verdict.reviewer) for d in dossier.state.drafts]
    return "; ".join(f"{by} refused {d.id}" + (f": {d.reason}" if d.reason else "") for d, by in refused)
