"""The orchestrator as a command sees it: the service's methods, carried out over there.

A short writer gives what the service would give, or raises what was told. Work is handed over with its settings, tells
how it goes on, and answers when it is done.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from .codec import plain, read
from .errors import BatchCut, ChatCut, Gone
from .link import Link, handing_on
from .protocol import Garbled, Line

if TYPE_CHECKING:
    from ...memory.exam.remedy import Fix
    from ..batch.answer import BatchView
    from ..batch.happening import Happening, OnHappening
    from ..cancelled import CancelResult
    from ..chat.answer import RenewalResult, TurnResult
    from ..decision import DecisionResult
    from ..diagnosis import FixResult
    from ..kept import RenameResult
    from ..past import UndoResult
    from ..pruned import PruneResult, PruneWish, RemovalResult
    from ..requests import ChatRequest, OnEvent, ProgressLine
    from ..results import CommitResult, DelegateResult, TaskView
    from ..settings.setup import Setup
    from ..watched import WorkersView


class Detached(Exception):
    """Raised inside to stop listening once the tasks are made."""


class Remote:
    """One request to the orchestrator behind `link`; ids are looked up as `scope` says."""

    def __init__(self, link: Link, scope: Mapping[str, str | None]) -> None:
        self._link = link
        self._scope = scope
        self._id = os.urandom(8).hex()

    # -- short writers -------------------------------------------------------------------------------------------------

    def log(self, text: str, *, dry_run: bool = False, **options: object) -> "CommitResult":
        return cast("CommitResult", self._short("log", dry_run, text=text, **options))

    def add_client(self, title: str, *, dry_run: bool = False, **options: object) -> "CommitResult":
        return cast("CommitResult", self._short("add_client", dry_run, title=title, **options))

    def add_project(self, title: str, *, dry_run: bool = False, **options: object) -> "CommitResult":
        return cast("CommitResult", self._short("add_project", dry_run, title=title, **options))

    def add_research(self, title: str, *, dry_run: bool = False, **options: object) -> "CommitResult":
        return cast("CommitResult", self._short("add_research", dry_run, title=title, **options))

    def add_agent(self, title: str, *, dry_run: bool = False, **options: object) -> "CommitResult":
        return cast("CommitResult", self._short("add_agent", dry_run, title=title, **options))

    def rename(self, card: str, new: str, *, dry_run: bool = False, **options: object) -> "RenameResult":
        return cast("RenameResult", self._short("rename", dry_run, card=card, new=new, **options))

    def archive(self, card: str, *, dry_run: bool = False, **options: object) -> "CommitResult":
        return cast("CommitResult", self._short("archive", dry_run, card=card, **options))

    def undo(self, commit: str | None = None, *, dry_run: bool = False, **options: object) -> "UndoResult":
        return cast("UndoResult", self._short("undo", dry_run, commit=commit, **options))

    def prune(self, wish: "PruneWish") -> "PruneResult":
        return cast("PruneResult", self._short("prune", dry_run=False, wish=wish))

    def remove_client(self, client: str) -> "RemovalResult":
        return cast("RemovalResult", self._short("remove_client", dry_run=False, client=client))

    def approve(self, ids: Sequence[str], *, sha256: str | None = None, dry_run: bool = False) -> "DecisionResult":
        return cast("DecisionResult", self._short("approve", dry_run, ids=tuple(ids), sha256=sha256))

    def reject(self, ids: Sequence[str], reason: str, *, dry_run: bool = False) -> "DecisionResult":
        return cast("DecisionResult", self._short("reject", dry_run, ids=tuple(ids), reason=reason))

    def cancel(self, tasks: Sequence[str], *, dry_run: bool = False) -> "CancelResult":
        return cast("CancelResult", self._short("cancel", dry_run, tasks=tuple(tasks)))

    def batch_pause(self, batch: str) -> "BatchView":
        return cast("BatchView", self._waited_for("batch_pause", batch=batch))

    def batch_cancel(self, batch: str) -> "BatchView":
        return cast("BatchView", self._waited_for("batch_cancel", batch=batch))

    def fix(self, fixes: "tuple[Fix, ...]") -> "FixResult":
        return cast("FixResult", self._short("fix", False, fixes=fixes))

    def _short(self, op: str, dry_run: bool, request: object = None, **args: object) -> object:
        """The request's name goes with it as its id."""
        assert not dry_run, "a rehearsal asks nobody"
        return read(self._link.ask(op, str(request or self._id), _object(plain(args)), scope=self._scope))

    def _waited_for(self, op: str, **args: object) -> object:
        """The same for what waits until work has come to its end, however long that takes."""
        return read(self._link.ask(op, self._id, _object(plain(args)), scope=self._scope, seconds=None))

    def watch(self, on_seen: Callable[["WorkersView"], None]) -> None:
        """Tells who is at work over there, again and again, until the orchestrator ends; raises Told or Garbled."""

        def heard(line: Line) -> None:
            if line.get("event") == "workers":
                on_seen(cast("WorkersView", read(line.get("seen"))))

        with suppress(Gone):
            self._link.ask("watch", self._id, {}, on_event=heard, seconds=None)

    # -- work ----------------------------------------------------------------------------------------------------------

    def work(
        self,
        op: str,
        args: Mapping[str, object],
        setup: "Setup",
        *,
        on_progress: Callable[["ProgressLine"], None],
        on_press: Callable[[int], None],
        detach: bool = False,
    ) -> "DelegateResult":
        """Hand work over and wait until it is done; with `detach` only until its tasks are made.

        `on_press` is told of each Ctrl-C that is handed on. Raises Told, Garbled, or Gone with the tasks that are
        known.
        """
        from ..requests import ProgressLine
        from ..results import DelegateResult

        tasks: tuple[TaskView, ...] = ()
        known: dict[str, None] = {}

        def heard(line: Line) -> None:
            nonlocal tasks
            match line:
                case {"event": "progress", "task": str(task), "agent": str(agent), "text": str(text)}:
                    known[task] = None
                    lasting, ended = line.get("lasting") is True, line.get("ended") is True
                    on_progress(ProgressLine(task, agent, text, lasting, ended))
                case {"event": "made", "tasks": list(made)}:
                    tasks = cast("tuple[TaskView, ...]", read(made))
                    known.update(dict.fromkeys(task.task for task in tasks))
                    if detach:
                        raise Detached

        try:
            with handing_on(self._link, on_press):
                answer = self._link.ask(
                    op, self._id, _object(plain(args)), scope=self._scope, setup=plain(setup), on_event=heard,
                    seconds=None,
                )  # fmt: skip
        except Detached:
            return DelegateResult(tasks)
        except Gone as e:
            raise Gone(e.pid, tuple(known), accepted=e.accepted) from None
        return cast("DelegateResult", read(answer))

    def batch(
        self,
        op: str,
        args: Mapping[str, object],
        setup: "Setup",
        *,
        on_happening: "OnHappening",
        on_press: Callable[[int], None],
        detach: bool = False,
    ) -> "BatchView":
        """A batch run over there; with `detach` only until it is on the disk. Raises Told, Garbled or BatchCut."""
        from ..batch.happening import Launch

        launched: BatchView | None = None

        def heard(line: Line) -> None:
            nonlocal launched
            if line.get("event") != "batch":
                return
            happening = cast("Happening", read(line.get("said")))
            if isinstance(happening, Launch):
                launched = happening.view
            on_happening(happening)
            if detach and launched is not None:
                raise Detached

        try:
            with handing_on(self._link, on_press):
                answer = self._link.ask(
                    op, self._id, _object(plain(args)), scope=self._scope, setup=plain(setup), on_event=heard,
                    seconds=None,
                )  # fmt: skip
        except Detached:
            assert launched is not None
            return launched
        except Gone as e:
            if launched is not None or e.accepted:
                raise BatchCut(e.pid, None if launched is None else launched.batch) from None
            raise
        return cast("BatchView", read(answer))

    def turn(
        self, request: "ChatRequest", setup: "Setup", *, on_event: "OnEvent", on_press: Callable[[int], None]
    ) -> "TurnResult":
        """One message of a chat; raises Told, Garbled, ChatCut, or Gone where it was not begun."""
        from ..requests import ChatBegun
        from .turns import turn_event

        session = request.session

        def heard(line: Line) -> None:
            nonlocal session
            if (event := turn_event(line)) is not None:
                session = event.session if isinstance(event, ChatBegun) else session
                on_event(event)

        try:
            with handing_on(self._link, on_press):
                answer = self._link.ask(
                    "turn", self._id, {"request": plain(request)}, scope=self._scope, setup=plain(setup),
                    on_event=heard, seconds=None,
                )  # fmt: skip
        except Gone as e:
            raise ChatCut(e.pid, session) if e.accepted else e from None
        return cast("TurnResult", read(answer))

    def renew(
        self,
        client: str | None,
        session: str | None,
        setup: "Setup",
        *,
        on_event: "OnEvent",
        on_press: Callable[[int], None],
    ) -> "RenewalResult":
        """The synthesis of a space renewed, and a chat begun anew with it; raises Told, Garbled or Gone."""
        from .turns import turn_event

        def heard(line: Line) -> None:
            if (event := turn_event(line)) is not None:
                on_event(event)

        with handing_on(self._link, on_press):
            answer = self._link.ask(
                "renew", self._id, {"client": client, "session": session}, scope=self._scope, setup=plain(setup),
                on_event=heard, seconds=None,
            )  # fmt: skip
        return cast("RenewalResult", read(answer))


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise Garbled("arguments that are no object")
    return value
