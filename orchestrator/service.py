"""The one object that all commands call: what a person can ask of a workspace, and the values that answer.

Methods that run work are coroutines; the others return at once. Reading methods need no pen and read the files,
overlaid with a pending redo record; writing methods take the pen for their own moment and raise PenHeld after ten
seconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from ..memory.workspace import Workspace
from .results import (
    CommitResult,
    ContextResult,
    DecisionResult,
    DelegateResult,
    DoctorResult,
    DraftsResult,
    DraftView,
    HistoryResult,
    SearchResult,
    StatusResult,
)

Progress = Callable[["ProgressLine"], None]
Confirm = Callable[[DraftView, str], bool]


@dataclass(frozen=True)
class ProgressLine:
    """Something that a person may want to see while a task runs: which task, and one line of text."""

    task: str
    agent: str
    text: str


class StopSign:
    """How a person's Ctrl-C reaches running work: raised once, nothing new starts; twice, running work ends now."""

    def __init__(self) -> None:
        self.presses = 0
        self._listeners: list[Callable[[], None]] = []

    def press(self) -> None:
        self.presses += 1
        for listener in tuple(self._listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)


@dataclass(frozen=True)
class DelegateRequest:
    """What `delegate` was asked for. `inputs` are absolute paths, resolved by the command in its own folder.

    Agents pair with texts in order; one text goes to all agents; no agent means the researcher. `target` is
    relative to the client's space; without one a new research/<slug>.md is made. Limits left at None are those of
    the workspace; they can only be lowered.
    """

    texts: tuple[str, ...]
    agents: tuple[str, ...] = ()
    client: str | None = None
    project: str | None = None
    target: str | None = None
    inputs: tuple[Path, ...] = ()
    review: Literal["person", "auto"] = "person"
    answer: bool = False
    model: str | None = None
    max_turns: int | None = None
    time_limit: int | None = None


@dataclass(frozen=True)
class SearchRequest:
    """What `search` was asked for; dates are inclusive days in the workspace's zone."""

    text: str
    client: str | None = None
    all_clients: bool = False
    since: date | None = None
    until: date | None = None
    where: frozenset[str] = frozenset({"cards", "log", "chat", "research"})
    limit: int = 10


class Service:
    """Everything a person can ask of one workspace. Built by `compose.build_service`."""

    workspace: Workspace

    # -- adding ----------------------------------------------------------------------------------------------------
    def add_client(self, title: str, *, id: str | None = None) -> CommitResult: ...

    def add_project(
        self, title: str, *, client: str | None = None, id: str | None = None, text: str | None = None
    ) -> CommitResult: ...

    def add_research(
        self, title: str, *, client: str | None = None, id: str | None = None, text: str | None = None
    ) -> CommitResult: ...

    def add_agent(self, title: str, *, id: str | None = None, text: str | None = None) -> CommitResult: ...

    def log(self, text: str, *, client: str | None = None, kind: str = "note") -> CommitResult: ...

    # -- looking ---------------------------------------------------------------------------------------------------
    def status(self, client: str | None = None, *, all_clients: bool = False) -> StatusResult: ...

    def doctor(self) -> DoctorResult: ...

    def drafts(self, client: str | None = None, *, all_clients: bool = False, every: bool = False) -> DraftsResult:
        """Drafts that wait (with `every`: also those already decided)."""

    def show(self, prefix: str) -> DraftsResult:
        """One draft, or all drafts of a task, with their diffs; what was shown is noted for `approve`."""

    def search(self, request: SearchRequest) -> SearchResult: ...

    def context(self, client: str | None = None) -> ContextResult: ...

    def history(self, client: str | None = None, *, limit: int = 50) -> HistoryResult: ...

    # -- working ---------------------------------------------------------------------------------------------------
    async def delegate(
        self, request: DelegateRequest, *, on_progress: Progress | None = None, stop: StopSign | None = None
    ) -> DelegateResult: ...

    async def resume(
        self, task: str, *, on_progress: Progress | None = None, stop: StopSign | None = None
    ) -> DelegateResult: ...

    async def send_back(
        self,
        ids: Sequence[str],
        reason: str,
        *,
        on_progress: Progress | None = None,
        stop: StopSign | None = None,
    ) -> DelegateResult: ...

    # -- deciding --------------------------------------------------------------------------------------------------
    def draft_file(self, prefix: str) -> tuple[DraftView, Path]:
        """The draft and its absolute file, for an editor; raises DraftNotEditable."""

    def edited(self, prefix: str) -> DraftView:
        """Notes that a person edited the draft's file and shows it anew."""

    def approve(
        self, ids: Sequence[str], *, sha256: str | None = None, confirm: Confirm | None = None
    ) -> DecisionResult:
        """`confirm(draft with its new diff, what moved) -> bool` is asked when a draft is not what was shown."""

    def reject(self, ids: Sequence[str], reason: str) -> DecisionResult: ...
