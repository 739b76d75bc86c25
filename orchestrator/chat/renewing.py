"""Renews the synthesis of a space: the synthesizer's answer is checked, and committed with what is to be logged.

One commit holds both, so that nothing is dropped from a chat before it stands somewhere else; each chat of the space
begins anew from it with its next message (talk.py). Whatever ends this before the commit leaves everything as it was.

The synthesizer is a sub-agent like any other: its task lies in staging/, its cost is booked, its model is asked through
the gateway. Where it can't be had, a synthesis is extracted, and that is said.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import anyio.to_thread

from ...memory.budget import fitting, lines_of
from ...memory.errors import OnepenError
from ...memory.fence import fences_of
from ...memory.files import sha256
from ...memory.ids import AgentId
from ...memory.text.clip import clip
from ...memory.text.daylog import parse_day
from ...memory.workspace import SYNTHESIS
from ...staging.secret import mask
from ...subagents.definition import parse_definition
from ..changes import MOST_WHAT, NewSynthesis
from ..commit import Broken, PutRefused
from ..door import SecretRefused
from ..errors import OrchestratorFault
from ..requests import DelegateRequest
from ..settings.choice import INHERIT
from ..settings.models import OFFLINE
from .answer import RenewalResult
from .coverage import coverage, key_of, latest_synthesis, sources
from .house import House
from .renewal import due
from .said import Exchange, exchanges, page, spans, within
from .store import Chats
from .synthesis import NoSynthesis, Synthesis, extracted, loggable, parse_synthesis
from .unfinished import BEFORE, SAID, call_off, covered, unfinished

SYNTHESIZER = "synthesizer"
READ_TOKENS = 20_000
"""How many tokens (estimated) of what was said one renewal tells; what is left is told by the next."""
_LOG_TOKENS = 2_000
_TRIES = 3
_TASK = (
    "Renew the synthesis. inputs/synthesis.md is the one that there is, inputs/said.md what was said since, "
    "inputs/log.md the day logs of these days. Answer with the whole new synthesis, at most 300 words, and behind it, "
    "under the heading `## Log`, a line for each thing that belongs in the day log and does not stand there yet."
)


class RenewalRuns(OrchestratorFault):
    """Raised when the synthesis of a space is being renewed already."""

    exit_code = 5

    def __init__(self, place: str) -> None:
        super().__init__(f"{place}: it is being renewed at this moment", hint="onepen status")


class _Unwritten(Exception):
    """Raised inside when the synthesizer gave nothing that can be used; says why."""


class _Stopped(Exception):
    """Raised inside when the person, or the end of the process, stopped the synthesizer."""


@dataclass(frozen=True)
class _Source:
    """What a synthesis is made from: the one before, and what was said since."""

    before: bytes | None
    said: tuple[Exchange, ...]
    key: str

    @property
    def text(self) -> str:
        return (self.before or b"").decode("utf-8", "replace")


class Renewing:
    """Renewals of one space's synthesis; `model` is the name of the model of the chat that asks for one."""

    def __init__(self, house: House, model: str) -> None:
        self._house = house
        self._chats = Chats(house.space)
        self._model = model

    async def due(self, chat_tokens: int) -> str:
        """Why the synthesis is due after an answer in a chat of so many tokens; "" when it isn't.

        The first look of a process reads every chat of the space, in a thread: others go on meanwhile.
        """
        told = coverage(self._house.commits())
        untold = await anyio.to_thread.run_sync(self._house.heard.untold, self._chats, told)
        return due(sum(untold.values()), chat_tokens, self._house.view.workspace.settings.limits)

    async def renew(self, why: str) -> RenewalResult:
        """The synthesis renewed; nothing is done where nothing was said since. Raises RenewalRuns.

        One that was changed meanwhile, by an editor or another chat, is what the next try goes on from.
        """
        with self._alone():
            notices: tuple[str, ...] = ()
            for _ in range(_TRIES):
                source = self._source()
                if not source.said:
                    break
                source, left = await self._taken_up(source)
                try:
                    return await self._renewed(source, why, notices, left)
                except _Stopped:
                    return RenewalResult(why, notices=(*notices, "the renewal was stopped; the synthesis is as it was"))
                except PutRefused:
                    notices = ("the synthesis was changed while it was being renewed, so it was begun again from that",)
            return RenewalResult(why, notices=notices or ("nothing was said since the synthesis was renewed last",))

    # -- one try ---------------------------------------------------------------------------------------------------

    def _source(self) -> _Source:
        commits = self._house.commits()
        told = coverage(commits)
        untold = self._house.heard.untold(self._chats, told)
        said = exchanges(self._chats, untold, told)
        said = within(said, READ_TOKENS) if said else ()
        before = self._house.view.bytes(self._house.space.path(SYNTHESIS))
        return _Source(before, said, key_of(latest_synthesis(commits, self._house.space), spans(said)))

    async def _taken_up(self, source: _Source) -> tuple[_Source, str | None]:
        """What is told by a task that was interrupted, and its id; all of it and None where there is none such."""
        house = self._house
        tasks = await anyio.to_thread.run_sync(unfinished, house.space, house.clock, SYNTHESIZER)
        before = self._synthesis(source)
        for task in () if self._model == OFFLINE else tasks:
            if said := covered(task, source.said, before, self._page):
                call_off(one for one in tasks if one is not task)
                key = key_of(latest_synthesis(house.commits(), house.space), spans(said))
                return replace(source, said=said, key=key), task.task
        call_off(tasks)
        return source, None

    async def _renewed(
        self, source: _Source, why: str, notices: Sequence[str], left: str | None = None
    ) -> RenewalResult:
        """The synthesis that the synthesizer wrote, committed; where it could not, the extracted one.

        `left` is a task that goes on; without it a new one is made.
        """
        try:
            if self._model == OFFLINE:
                raise _Unwritten("the offline model writes no prose")
            task, written = await self._written(source, left)
            commit = self._commit(source, written, why, SYNTHESIZER, task)
            return RenewalResult(why, commit, SYNTHESIZER, task, len(source.said), notices=tuple(notices))
        except (_Unwritten, SecretRefused) as e:
            reason = e.message if isinstance(e, OnepenError) else str(e)
        new = extracted(self._masked(source.said), self._mask(source.text))
        told = f"the synthesis was extracted, not written: {reason}"
        # The history says so, too: where nobody waits for this, the next message of each chat tells it from there.
        commit = self._commit(source, new, clip(f"{why}; {self._mask(told)}", MOST_WHAT), "main", None)
        return RenewalResult(why, commit, "extracted", "", len(source.said), notices=(*notices, told))

    async def _written(self, source: _Source, left: str | None) -> tuple[str, Synthesis]:
        """The task that wrote it, and what it answered; one that is no synthesis is asked for once more."""
        reason = ""
        for _ in range(2):
            task, answer = await self._asked(source, reason, left)
            try:
                return task, parse_synthesis(answer)
            except NoSynthesis as e:
                reason, left = str(e), None
        raise _Unwritten(f"what the synthesizer answered can't be used, since {reason}")

    async def _asked(self, source: _Source, wrong: str, left: str | None) -> tuple[str, str]:
        house = self._house
        text = _TASK + (f" The answer to this task was not usable before: {wrong}." if wrong else "")
        request = DelegateRequest(
            texts=(text,),
            agents=(SYNTHESIZER,),
            client=house.space.client,
            answer=True,
            model=self._asked_model(),
            external=any(one.external for one in source.said),
            papers=(
                (BEFORE, self._synthesis(source)),
                (SAID, self._page(source.said)),
                ("log.md", self._mask(self._log(source.said)) or "(nothing was logged)\n"),
            ),
        )
        try:
            result = await (house.delegate(request, lambda made: None) if left is None else house.resume(left))
        except (OnepenError, OSError) as e:
            if isinstance(e, Broken):
                raise
            raise _Unwritten(e.message if isinstance(e, OnepenError) else str(e.strerror or e)) from e
        (view,) = result.tasks
        if result.interrupted or view.status == "interrupted":
            raise _Stopped
        if view.status != "answered" or view.answer is None:
            raise _Unwritten(f"task {view.task} is {view.status}" + (f": {view.reason}" if view.reason else ""))
        return view.task, view.answer

    def _synthesis(self, source: _Source) -> str:
        """The synthesis that there is, as the synthesizer is given it."""
        return self._mask(source.text) or "(there is none yet)\n"

    def _page(self, said: Sequence[Exchange]) -> str:
        """What was said, as the synthesizer is given it."""
        return page(said, fences_of(self._house.space.root), self._mask)

    def _asked_model(self) -> str | None:
        """The chat's own model, unless the synthesizer's definition names another."""
        text = self._house.view.text(f"agents/{SYNTHESIZER}.md")
        if text is None or parse_definition(AgentId(SYNTHESIZER), text).model == INHERIT:
            return self._model
        return None

    def _log(self, said: Sequence[Exchange]) -> str:
        """The day logs of the days on which this was said, the newest lines within a budget."""
        lines = lines_of("\n".join(f"# {day}\n{text}" for day, text in self._days(said)))
        fit = fitting(lines[::-1], _LOG_TOKENS)
        cut = len(lines) - fit
        return (f"(… {cut} earlier lines are not shown here)\n" if cut else "") + "".join(lines[cut:])

    def _days(self, said: Sequence[Exchange]) -> Iterator[tuple[str, str]]:
        """The days from the first of these exchanges on, and their logs."""
        first = min(one.at for one in said)[:10]
        view, space = self._house.view, self._house.space
        for day in (day.isoformat() for day in view.days(space)):
            if day >= first:
                yield day, view.text(space.path(f"memory/{day}.md")) or ""

    def _commit(self, source: _Source, new: Synthesis, why: str, agent: str, task: str | None) -> str:
        """Commits it; raises PutRefused where the synthesis is not what this was made from, SecretRefused."""
        kind = "external" if any(one.external for one in source.said) else "event"
        logged = {line.text for _, text in self._days(source.said) for line in parse_day(text)}
        log = [(kind, line) for line in dict.fromkeys(new.log) if line not in logged and loggable(kind, line)]
        if new.text == source.text:
            log.append(("synthesis", f"unchanged after {why}"))
        with self._house.desk.scribe() as scribe:
            given = NewSynthesis(
                new.text,
                tuple(log),
                before=None if source.before is None else sha256(source.before),
                why=why,
                who=f"agent:{agent}",
                key=source.key,
                task=task,
                sources=sources(spans(source.said)),
            )
            return scribe.renew_synthesis(self._house.space, given).commit

    # -- inside ----------------------------------------------------------------------------------------------------

    def _mask(self, text: str) -> str:
        return mask(text, self._house.desk.held)

    def _masked(self, said: Sequence[Exchange]) -> tuple[Exchange, ...]:
        return tuple(
            replace(
                one,
                asked=self._mask(one.asked),
                answer=self._mask(one.answer),
                done=tuple(map(self._mask, one.done)),
            )
            for one in said
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        key = self._house.space.prefix
        if key in self._house.renewing:
            raise RenewalRuns(self._house.space.path(SYNTHESIS))
        self._house.renewing.add(key)
        try:
            yield
        finally:
            self._house.renewing.discard(key)
