"""From what lies in a batch's folder to the value that commands answer with."""

from collections.abc import Iterable
from datetime import datetime

from .answer import BatchState as Word
from .answer import BatchView, Waits
from .spec import BatchSpec
from .state import BatchState

_ENDINGS: dict[str, Word] = {
    "over_budget": "over_budget",
    "too_many_failures": "too_many_failures",
    "cancelled": "cancelled",
    "finished": "finished",
}


def batch_view(
    spec: BatchSpec,
    state: BatchState,
    now: datetime,
    *,
    running: bool,
    at_work: int = 0,
    live_usd: float = 0.0,
    waits: Waits | None = None,
    report: str = "",
    told: Iterable[str] = (),
) -> BatchView:
    """The batch as it stands; `live_usd` is what the tasks that are being worked on have cost until now."""
    counts, cost, last = state.counts, state.cost(), state.runs[-1] if state.runs else None
    seconds = state.seconds(now.isoformat(timespec="milliseconds") if running else None)
    cut, cut_usd = state.cut()
    concurrency = last.concurrency if last is not None else spec.concurrency or 0
    waits = waits or Waits()
    return BatchView(
        batch=spec.batch,
        name=spec.name,
        state=_word(state, running=running),
        counts=counts,
        cost_usd=None if cost is None else round(cost + live_usd, 6),
        seconds=seconds,
        client=spec.client,
        agent=spec.agent or "",
        model=spec.model or "",
        created=spec.created,
        review=last.review if last is not None else spec.review or "person",
        via=spec.via,
        budget_usd=last.budget_usd if last is not None else spec.budget_usd,
        concurrency=concurrency,
        tokens=state.tokens(),
        cached=state.cached(),
        left_seconds=_left(state, seconds) if running else None,
        idle=max(0, concurrency - at_work) if running and counts.pending else 0,
        reason="" if running or last is None else last.reason or _why(state),
        failures=state.failures(),
        waits=waits,
        paid_again=cut,
        again_usd=round(cut_usd, 6),
        report=report,
        told=tuple(told),
    )


def _word(state: BatchState, *, running: bool) -> Word:
    if running:
        return "running"
    if state.cancelled:
        return "cancelled"
    if not state.runs:
        return "planned"
    if state.concluded:
        return "finished"
    return _ENDINGS.get(state.runs[-1].why, "stopped") if state.runs[-1].why != "finished" else "stopped"


def _why(state: BatchState) -> str:
    """Why it doesn't run, where its last run gave no reason."""
    last = state.runs[-1]
    if state.concluded or state.cancelled:
        return ""
    if not last.ended:
        return "its orchestrator ended"
    return {"stopped": "a person stopped it", "sample": "its pilot is done"}.get(last.why, "")


def _left(state: BatchState, seconds: float) -> float | None:
    """How long what is left takes at the pace of this batch until now; None before anything is over."""
    counts = state.counts
    over = counts.done - state.twins + counts.failed
    left = counts.pending + counts.running
    return round(seconds / over * left, 1) if over > 0 and seconds > 0 else None
