"""Carry out a request against the service, and make an answer of whatever comes of it."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ...memory.errors import OnepenError
from ..requests import ProgressLine, TurnEvent
from .asked import ONCE
from .codec import typed
from .errors import error_line
from .job import Job
from .protocol import Line, encode
from .turns import turn_line

if TYPE_CHECKING:
    from ..batch.happening import Happening
    from ..results import TaskView
    from ..service import Service


_SHARED = frozenset({"log", "approve", "cancel", "batch_pause", "batch_cancel"})
"""Calls that wait, for a sync that several clients' share or for a worker's end: meanwhile others are answered."""


class Failure(Protocol):
    """An error as it is told to a person."""

    @property
    def message(self) -> str: ...
    @property
    def hint(self) -> str | None: ...
    @property
    def exit_code(self) -> int: ...


class Notes(Protocol):
    """The process's own log."""

    def note(self, event: str, **facts: object) -> None: ...
    def failed(self, event: str, error: BaseException, **facts: object) -> None: ...
    def catch_up(self) -> None: ...


class Calls:
    """Calls of one service, each answered with a result or with the error that `told` makes of what was raised."""

    def __init__(
        self,
        service: "Service",
        notes: Notes,
        told: Callable[[BaseException], Failure],
        mask: Callable[[str], str] = str,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._notes = notes
        self._told = told
        self._mask = mask
        self._seconds = seconds

    async def answer(self, job: Job) -> Line:
        """The last line of a request's answer; whatever goes wrong is told to its client, and nobody else is hurt."""
        return await self._noted(job, job.asked.op, self._answered)

    async def after(self, job: Job) -> None:
        """What a request leaves to be done when its client has its answer; nobody waits for it."""
        if job.after is not None:
            await self._noted(job, "renew", self._followed)

    async def _noted(self, job: Job, op: str, work: Callable[[Job], Awaitable[Line]]) -> Line:
        request, began = job.asked.id, self._seconds()
        try:
            line = await work(job)
        except Exception as e:  # noqa: BLE001 - the edge of a request: an error is this client's answer
            failure = self._told(e)
            facts = {"op": op, "request": request, "seconds": round(self._seconds() - began, 3)}
            if isinstance(e, OnepenError):  # its words are the client's: they may quote a card, and the log is for all
                self._notes.note("refused", **facts, error=type(e).__name__)
            else:
                self._notes.failed("failed", e, **facts)
            return error_line(type(e).__name__, self._mask(failure.message), failure.hint, failure.exit_code)
        self._notes.note("done", op=op, request=request, seconds=round(self._seconds() - began, 3))
        return line

    async def _answered(self, job: Job) -> Line:
        line: Line = {"result": typed(await self._called(job))}
        encode(line)
        return line

    async def _followed(self, job: Job) -> Line:
        assert job.after is not None
        return {"result": typed(await job.after(stop=job.stop))}

    async def watched(self) -> AsyncIterator[Line]:
        """Who is at work, as events without an end."""
        async for seen in self._service.watch():
            yield {"event": "workers", "seen": typed(seen)}

    async def _called(self, job: Job) -> object:
        asked = job.asked
        service = self._service.afresh().seen_from(only=asked.scope.only, first=asked.scope.first)
        method = getattr(service, asked.op)
        if asked.op in _SHARED:
            shared = getattr(service, f"{asked.op}_shared")
            return await shared(**asked.args, **({"request": asked.id} if asked.op in ONCE else {}))
        if not asked.works:
            return method(**asked.args, **({"request": asked.id} if asked.op in ONCE else {}))

        def progress(line: ProgressLine) -> None:
            job.know([line.task])
            more = {name: True for name, said in (("lasting", line.lasting), ("ended", line.ended)) if said}
            job.tell({"event": "progress", "task": line.task, "agent": line.agent, "text": line.text, **more})

        def made(tasks: "tuple[TaskView, ...]") -> None:
            job.know([task.task for task in tasks])
            job.tell({"event": "made", "tasks": typed(tasks)})

        def happened(event: TurnEvent) -> None:
            if isinstance(event, ProgressLine):
                progress(event)
            else:
                job.tell(turn_line(event))

        if asked.op == "turn":
            result = await method(**asked.args, setup=asked.setup, on_event=happened, stop=job.stop)
            if result.renewal:
                client, session = asked.args["request"].client, result.session
                job.after = partial(service.renew, client, session, why=result.renewal, setup=asked.setup)
            return result
        if asked.op == "renew":
            return await method(**asked.args, setup=asked.setup, on_event=happened, stop=job.stop)
        if asked.op in {"batch_run", "batch_go_on"}:

            def heard(happening: "Happening") -> None:
                job.tell({"event": "batch", "said": typed(happening)})

            return await method(**asked.args, setup=asked.setup, on_happening=heard, stop=job.stop)
        told: dict[str, object] = {"on_made": made} if asked.op == "delegate" else {}
        return await method(**asked.args, **told, setup=asked.setup, on_progress=progress, stop=job.stop)
