"""What a person asks of batches without running one: where they stand, that one is to pause, or to end."""

from collections.abc import Mapping
from dataclasses import replace

from ...memory.clock import Clock
from ...memory.errors import OnepenError
from ...memory.workspace import Workspace
from ..errors import AmbiguousId, OrchestratorFault
from ..tasks.desk import Desk
from .answer import BatchesResult, BatchView
from .dossier import BatchDossier, open_batch
from .estimate import Estimate, from_pilot
from .events import BatchCancelled
from .folder import NoSuchBatch, batch_ids
from .report import report_text
from .running import RunningBatch
from .view import batch_view


class NoBatches(OrchestratorFault):
    """Raised when the latest batch is asked for where there is none."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__("no batch is in this workspace", hint="onepen batch run FILE")


def standing(workspace: Workspace, clock: Clock, batch: str | None, only: str | None = None) -> BatchView:
    """Where a batch stands, without a name the latest one; raises NoSuchBatch, NoBatches or AmbiguousId.

    `only`: batches that work for other clients, too, are not there.
    """
    return _view(workspace, clock, _opened(workspace, clock, batch, only))


def listed(workspace: Workspace, clock: Clock, only: str | None = None) -> BatchesResult:
    """All batches, the latest first; what can't be read is told, unless it could be another client's."""
    found: list[BatchView] = []
    notices: list[str] = []
    for name in batch_ids(workspace.root):
        try:
            one = open_batch(workspace, name, clock)
        except OnepenError as e:
            notices.append(f"batches/{name}: {e}")
            continue
        if _is_for(one, only):
            found.append(_view(workspace, clock, one))
    latest = tuple(sorted(found, key=lambda view: view.created, reverse=True))
    return BatchesResult(latest, tuple(notices) if only is None else ())


def outlook(
    workspace: Workspace, clock: Clock, batch: str, only: str | None = None, again: int | None = None
) -> Estimate | None:
    """What is left of a batch, or `again` so many, judged by its tasks that ran; None where none did, or for none.

    Raises NoSuchBatch or AmbiguousId.
    """
    found = _opened(workspace, clock, batch, only)
    ran = [facts for facts in found.state.tasks.values() if facts.ended_at and facts.task and facts.seconds]
    left = found.state.counts.pending if again is None else again
    if not ran or not left:
        return None
    concurrency = found.state.runs[-1].concurrency
    return from_pilot([facts.cost_usd for facts in ran], [facts.seconds for facts in ran], left, concurrency)


def report(workspace: Workspace, clock: Clock, batch: str | None, only: str | None = None) -> str:
    """The report as it would be written now; raises NoSuchBatch, NoBatches or AmbiguousId."""
    found = _opened(workspace, clock, batch, only)
    return report_text(found.spec, found.items, found.state, _view(workspace, clock, found), clock.now())


async def paused(desk: Desk, running: Mapping[str, RunningBatch], batch: str) -> BatchView:
    """The batch once what it ran has come to its end; one that doesn't run here is left as it is."""
    workspace = desk.view.workspace
    found = open_batch(workspace, batch, desk.clock)
    at_work = running.get(found.spec.batch)
    if at_work is None:
        return _told(_view(workspace, desk.clock, found), "it doesn't run: there is nothing to pause")
    at_work.pause()
    await at_work.done.wait()
    return standing(workspace, desk.clock, found.spec.batch)


async def cancelled(desk: Desk, running: Mapping[str, RunningBatch], batch: str, user: str) -> BatchView:
    """The batch once it has ended; only a person's word makes it go on."""
    workspace = desk.view.workspace
    found = open_batch(workspace, batch, desk.clock)
    at_work = running.get(found.spec.batch)
    if at_work is not None:
        at_work.cancel()
        await at_work.done.wait()
        found = open_batch(workspace, found.spec.batch, desk.clock)
    if found.state.done and found.state.runs:
        return _told(_view(workspace, desk.clock, found), "nothing was left to cancel")
    if not found.state.cancelled:
        with desk.scribe():
            found.happened(BatchCancelled(user))
    view = _view(workspace, desk.clock, found)
    if at_work is None and found.folder.sent_file.exists():
        return _told(view, "what is out in Message Batches ends at the server by itself; a resume would fetch it")
    return view


def _opened(workspace: Workspace, clock: Clock, batch: str | None, only: str | None) -> BatchDossier:
    if batch is not None and only is None:
        return open_batch(workspace, batch, clock)
    there = [view.batch for view in listed(workspace, clock, only).batches]
    if batch is None:
        if not there:
            raise NoBatches
        return open_batch(workspace, there[0], clock)
    named = [batch] if batch in there else sorted(one for one in there if batch and one.startswith(batch))
    if not named:
        raise NoSuchBatch(batch)
    if len(named) > 1:
        raise AmbiguousId("batch", batch, tuple(named))
    return open_batch(workspace, named[0], clock)


def _is_for(batch: BatchDossier, only: str | None) -> bool:
    return only is None or all(item.client == only for item in batch.items)


def _view(workspace: Workspace, clock: Clock, batch: BatchDossier) -> BatchView:
    batch.look_again(workspace, clock)
    place = f"batches/{batch.spec.batch}/report.md" if batch.folder.report_file.is_file() else ""
    running = batch.running(workspace)
    if running:
        for key in batch.state.unfinished():
            batch.state.begins(key)
    told = tuple(str(problem) for problem in batch.problems)
    return batch_view(batch.spec, batch.state, clock.now(), running=running, report=place, told=told)


def _told(view: BatchView, words: str) -> BatchView:
    return replace(view, told=(*view.told, words))
