"""A batch as it lies in `batches/`: what was asked, its tasks, its run journal replayed."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from ...memory.clock import Clock
from ...memory.files import sha256
from ...memory.guard import UnsafeFile, read_beneath
from ...memory.holder import holder
from ...memory.ids import TaskId
from ...memory.problem import Problem
from ...memory.workspace import Space, Workspace
from ..errors import NoSuchTask, OrchestratorFault
from ..premises import own_batch
from ..tasks.dossier import NOT_OPENED, open_dossier
from .events import Event
from .folder import BatchFolder, find_batch
from .item import Item
from .journal import BatchJournal
from .key import task_key
from .outcome import OVER, place_of
from .preparing import load
from .spec import BatchSpec
from .state import BatchState, TaskFacts

_MOST_INPUT = 256 << 20


class InputsChanged(OrchestratorFault):
    """Raised when a batch is to go on whose inputs are not any more what they were when it began."""

    def __init__(self, batch: str, name: str = "") -> None:
        where = f"batches/{batch}/inputs/{name}"
        super().__init__(
            f"{where}: not as it was when the batch began; put it back, or run the rows with it as another batch",
            hint="onepen batch run FILE --input PATH",
        )


@dataclass
class BatchDossier:
    """One batch; `state` is kept as events are added, `problems` are lines of its journal that can't be read."""

    folder: BatchFolder
    spec: BatchSpec
    items: tuple[Item, ...]
    state: BatchState
    journal: BatchJournal
    problems: tuple[Problem, ...]

    def happened(self, event: Event) -> None:
        """Journals an event, synced when this returns."""
        entry = self.journal.append(event)
        self.state.take(event, entry.at)

    def running(self, workspace: Workspace) -> bool:
        """Whether the process that began its last run holds the pen, and has not ended the run."""
        last = self.state.runs[-1] if self.state.runs else None
        if last is None or last.ended:
            return False
        held = holder(workspace.root)
        return held is not None and held.pid == last.pid

    def look_again(self, workspace: Workspace, clock: Clock) -> None:
        """Takes in what persons have decided since on drafts of its tasks: it stands in the tasks' own journals."""
        there = workspace.clients()
        clients = {item.client for item in self.items if item.client is None or item.client in there}
        spaces = {client: workspace.space(client) for client in clients}
        of = {item.key: spaces[item.client] for item in self.items if item.client in spaces}
        for facts in tuple(self._gone(of)):
            self.state.loses(facts.key, f"its folder staging/{facts.task} is gone, and its drafts with it")
        for facts in self._touched(of):
            try:
                dossier = open_dossier(of[facts.key], TaskId(facts.task), clock)
            except (*NOT_OPENED, NoSuchTask, OSError):
                continue
            place, kind = place_of(dossier.state)
            if place in OVER and kind is None:
                commits = tuple(d.commit for d in dossier.state.drafts if d.commit is not None)
                self.state.moves(facts.key, place, dossier.state.status, commits)

    def _gone(self, of: Mapping[str, Space]) -> Iterator[TaskFacts]:
        """Tasks whose drafts wait for somebody, and whose folder somebody has taken away."""
        for facts in self.state.tasks.values():
            waits = facts.place == "in_review" and facts.task and facts.key in of
            if waits and not os.path.lexists(f"{of[facts.key].folder}/staging/{facts.task}"):
                yield facts

    def _touched(self, of: Mapping[str, Space]) -> Iterator[TaskFacts]:
        """Tasks with drafts whose journals were written since they were over."""
        for facts in self.state.tasks.values():
            if facts.place not in {"in_review", "committed", "refused"} or not facts.task or not facts.drafts:
                continue
            if facts.key not in of:
                continue
            try:
                at = os.lstat(f"{of[facts.key].folder}/staging/{facts.task}/run.jsonl").st_mtime
            except OSError:
                continue
            if at > _stamp(facts.ended_at):
                yield facts


def open_batch(workspace: Workspace, prefix: str, clock: Clock) -> BatchDossier:
    """The batch of an id or a prefix of one.

    Raises NoSuchBatch, AmbiguousId, SpecUnreadable, TasksUnreadable or LinkLeadsOut.
    """
    folder = find_batch(workspace.root, prefix)
    spec, items = load(folder)
    own_batch(workspace, spec.batch, "run.jsonl")  # no link
    journal = BatchJournal(folder.run_journal, clock, f"batches/{spec.batch}/run.jsonl")
    entries, problems = journal.read()
    return BatchDossier(folder, spec, items, BatchState.begin(items, entries), journal, problems)


def check_inputs(batch: BatchDossier) -> None:
    """Raises InputsChanged where its inputs are not those that its tasks were made for: their keys tell it.

    What a person agreed to was said of tasks with these inputs, and of no others.
    """
    spec, folder = batch.spec, batch.folder.inputs
    if not batch.items or not spec.inputs:
        return
    found = {}
    for name in spec.inputs:
        try:
            found[name] = sha256(read_beneath(folder, name, max_bytes=_MOST_INPUT))
        except (UnsafeFile, OSError) as e:
            raise InputsChanged(spec.batch, name) from e
    item = batch.items[0]
    asked = partial(
        task_key, client=item.client, project=item.project, agent=item.agent, model=item.model, text=item.text,
        inputs=found, template=spec.prompt or "", answer=spec.answer,
    )  # fmt: skip
    if item.key not in {asked(target=item.target), asked(target=None)}:  # one that onepen chose is no part of the key
        raise InputsChanged(spec.batch)


def _stamp(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0
