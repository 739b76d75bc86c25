"""A turn from the person's message to its answer: a chat is found or begun, what a crash left is told, then it runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import anyio

from ...memory.errors import OnepenError
from ...memory.ids import AgentId
from ...memory.problem import Problem
from ...staging.secret import secrets_in
from ...subagents.definition import AgentDefinition, parse_definition
from ...subagents.messages import Text, user, well_formed
from ..errors import BadRequest, OrchestratorFault
from ..loud import outgrown_lines
from ..requests import ChatBegun, ChatRequest, Notice, OnEvent
from ..stop import StopSign
from ..tasks.dossier import find_task
from . import repair
from .answer import RenewalResult, TurnResult
from .beginning import prompt_now
from .booking import CUT, Booked, booked
from .coverage import coverage, latest_synthesis
from .house import House
from .lines import Begun, Ended, Prompt, Renewed, Resulted
from .message import message
from .prompt import MAIN, conversation_tokens
from .renewal import first_kept, renewed_line
from .renewing import Renewing
from .session import Session, messages
from .store import Chats
from .tally import ended, result_of
from .tools import Sight, Toolbox
from .turn import Ask, Over, Turn

LONG = 100_000
"""Tokens of a prompt from which on the person is told that a new chat is cheaper."""
ASKED = "a person's word"
"""Why a synthesis is renewed that nothing else makes due."""
MOST_MESSAGE = 64 << 10
"""Bytes of one message of the person."""


class ChatBusy(OrchestratorFault):
    """Raised when a chat is answering another message."""

    exit_code = 5

    def __init__(self, session: str) -> None:
        super().__init__(f"chat {session}: it is answering another message", hint="onepen chat")


@dataclass(frozen=True)
class Line:
    """The model of a turn: its name as it is kept, and how it is asked on a chat's account."""

    name: str
    on_account_of: Callable[[Session], Ask]


def main_definition() -> AgentDefinition:
    """The main agent as a model's resolver sees it."""
    return parse_definition(AgentId(MAIN), "---\nname: main\nonepen:\n  offline: true\n---\n")


class Talk:
    """The chats of one space as a process serves them; `busy` holds those that are answering."""

    def __init__(
        self,
        house: House,
        busy: set[str],
        connect: Callable[[Session | None, str | None], Line],
        book: Callable[[Booked], None],
        new_id: Callable[[], str],
    ) -> None:
        self._house = house
        self._chats = Chats(house.space)
        self._busy = busy
        self._connect = connect
        self._book = book
        self._new_id = new_id

    def rehearse(self, request: ChatRequest) -> TurnResult:
        """What a message would be sent with, by whom it would be answered; nothing is sent or written.

        Raises what `turn` raises before its first call.
        """
        words = _said(request)
        session, problems = self._found(request)
        line = self._connect(session, request.model)
        renewal = None if session is None else self._renewal(session, line.name, keep=False)
        session = session if session is None or renewal is None else session.plus(renewal)
        prompt = self._prompt(line.name, keep=False) if session is None else session.prompt
        before = () if session is None else messages(session)
        sent = {**prompt.layers, **conversation_tokens((*before, user(Text(words))))}
        return TurnResult(
            session="" if session is None else session.id,
            turn=1 if session is None else session.turn + 1,
            answer="",
            stop_reason="rehearsed",
            layers=sent,
            notices=tuple(map(str, problems)),
            model=line.name,
            dry_run=True,
        )

    async def turn(self, request: ChatRequest, on_event: OnEvent, stop: StopSign) -> TurnResult:
        """The answer to one message.

        Raises BadRequest, NoSuchChat, AmbiguousId, ChatUnreadable, ChatBusy, what finding the model raises, and what a
        model call raises that can't be made: then the chat goes on with the next message.
        """
        words = _said(request)
        started = anyio.current_time()
        notices = (*self._indexed(), *(() if request.session else self._outgrown()))
        session, problems = self._found(request)
        line = self._connect(session, request.model)
        session = self._begun(line.name) if session is None else session
        with self._answering(session.id):
            on_event(ChatBegun(session.id))
            session = self._renewed(self._repaired(session), line.name, on_event)
            session = self._chats.add(session, message(self._house, session, words, line.name, on_event))
            turn = self._prepared(session, line.on_account_of(session), on_event, stop, request.model)
            over = await self._over(turn, line, started)
            secret = self._secret_in(words, session)
            told = (
                *map(str, problems),
                *notices,
                *secret,
                *_long(turn.session),
                *((over.notice,) if over.notice else ()),
            )
            result = result_of(turn.session, self._house.space, line.name, anyio.current_time() - started, told)
            tokens = sum(conversation_tokens(messages(turn.session)).values())
            return replace(result, renewal=await Renewing(self._house, line.name).due(tokens))

    async def renew(self, session: str | None, why: str | None = None, *, anew: bool = True) -> RenewalResult:
        """The synthesis of the space renewed, whether it is due or not; with `anew` the chat begins anew at once.

        Its model is that of the chat `session`.

        Raises RenewalRuns, ChatBusy, NoSuchChat, AmbiguousId, ChatUnreadable and what finding the model raises.
        """
        known = None if session is None else self._chats.load(self._chats.find(session))[0]
        name = self._connect(known, None).name
        result = await Renewing(self._house, name).renew(why or ASKED)
        if known is None or not anew:
            return result
        with self._answering(known.id):
            known, _ = self._chats.load(known.id)
            if (renewal := self._renewal(self._repaired(known), name, anew=True)) is None:
                return result
            self._chats.add(known, renewal)
            return replace(result, chat=renewal.why)

    # -- before ----------------------------------------------------------------------------------------------------

    def _indexed(self) -> tuple[str, ...]:
        """Brings the indexes in line with cards edited by hand, so that the agent sees what is there."""
        with self._house.desk.scribe() as scribe:
            scribe.reconcile((self._house.space,))
            return scribe.notices()

    def _outgrown(self) -> tuple[str, ...]:
        """What the prompt of a new chat shows only in part; said at the beginning of each."""
        house = self._house
        return outgrown_lines(house.view, house.space, house.clock.now().date())

    def _found(self, request: ChatRequest) -> tuple[Session | None, tuple[Problem, ...]]:
        if request.session is None:
            return None, ()
        return self._chats.load(self._chats.find(request.session))

    def _secret_in(self, words: str, session: Session) -> tuple[str, ...]:
        """That a message holds a secret: it becomes no memory, but a chat is kept as it was said."""
        kind = next((seen.kind for seen in secrets_in(words) if seen.level == "block"), None)
        place = self._chats.shown(session.id)
        return () if kind is None else (f"your message holds {kind}; it stands in {place} and went to the model",)

    def _begun(self, model: str) -> Session:
        """A new chat."""
        now, client = self._house.clock.now(), self._house.space.client
        prompt, at = self._prompt(model), now.isoformat(timespec="seconds")
        while True:
            try:
                id_ = f"{now.date().isoformat()}-{self._new_id()}"
                return self._chats.begin(Begun(**vars(prompt), session=id_, client=client, at=at))
            except FileExistsError:
                continue

    def _prompt(self, model: str, *, keep: bool = True) -> Prompt:
        """The layers as they are now."""
        house = self._house
        return prompt_now(house.view, house.space, house.clock, house.commits(), model, keep=keep)

    def _renewed(self, session: Session, model: str, on_event: OnEvent) -> Session:
        """The chat, begun anew where the synthesis was renewed since its layers were put together."""
        renewal = self._renewal(session, model)
        if renewal is None:
            return session
        on_event(Notice(renewal.why))
        return self._chats.add(session, renewal)

    def _renewal(self, session: Session, model: str, *, keep: bool = True, anew: bool = False) -> Renewed | None:
        """How a chat begins anew; None as long as its prompt holds the synthesis that there is, but for `anew`."""
        commits, space = self._house.commits(), self._house.space
        newest = latest_synthesis(commits, space)
        if newest is None or (newest.id == session.prompt.synthesis and not anew):
            return None
        first = first_kept(session, coverage(commits), self._house.view.workspace.settings.limits)
        return Renewed(
            **{**vars(self._prompt(model, keep=keep)), "known": session.known},
            at=self._house.clock.now().isoformat(timespec="seconds"),
            first=first,
            why=renewed_line(newest, session.turn + 1 - first),
        )

    def _repaired(self, session: Session) -> Session:
        """The chat with all that a crash left open answered, and its last turn ended and booked."""
        commits = self._house.commits()
        session = self._chats.add(session, *repair.results(session, commits, self._standing))
        if (cut := repair.unended(session)) is not None:
            session = self._ended(session, cut, CUT, session.model, 0.0, again=True)
        return session

    def _standing(self, task: str) -> str:
        return find_task(self._house.view.workspace, task, self._house.clock).state.status

    def _prepared(self, session: Session, ask: Ask, on_event: OnEvent, stop: StopSign, model: str | None) -> Turn:
        def sight() -> Sight:
            results = [one for one in turn.session.lines if isinstance(one, Resulted)]
            shown = tuple(place for one in results for place in one.shown)
            return Sight(turn.session.external, shown, turn.session.seen)

        box = Toolbox(self._house, session.id, sight, model)
        house = self._house
        turn = Turn(self._chats, session, ask, box.run, house.clock, on_event, stop, house.lately())
        return turn

    # -- after -----------------------------------------------------------------------------------------------------

    async def _over(self, turn: Turn, line: Line, started: float) -> Over:
        """Runs the turn and writes its end, however it ends."""
        number = turn.session.turn
        try:
            over = await turn.run(line.name)
        except BaseException as e:
            reason = e.message if isinstance(e, OnepenError) else type(e).__name__
            kind = "failed" if isinstance(e, Exception) else "interrupted"
            self._end(turn, number, Over(kind, reason), line.name, started)
            raise
        self._end(turn, number, over, line.name, started)
        return over

    def _end(self, turn: Turn, number: int, over: Over, model: str, started: float) -> None:
        turn.session = self._ended(turn.session, number, over, model, anyio.current_time() - started)

    def _ended(
        self, session: Session, number: int, over: Over, model: str, seconds: float, *, again: bool = False
    ) -> Session:
        """The chat with the turn's end, which is booked first: booking it again after a crash changes nothing."""
        end = ended(session, number, over, self._house.clock.now().isoformat(timespec="seconds"))
        self._book(booked(session, end, model, seconds, again=again))
        return self._chats.add(session, end)

    # -- inside ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _answering(self, session: str) -> Iterator[None]:
        key = f"{self._house.space.prefix}{session}"
        if key in self._busy:
            raise ChatBusy(session)
        self._busy.add(key)
        try:
            yield
        finally:
            self._busy.discard(key)


def _long(session: Session) -> tuple[str, ...]:
    """That a chat has grown so long that each answer is dear, and soon none will fit."""
    end = session.lines[-1]
    tokens = sum(end.layers.values()) if isinstance(end, Ended) else 0
    if tokens < LONG:
        return ()
    return (f"this chat sends about {tokens:,} tokens with each message; a new one is cheaper (next: onepen chat)",)


def _said(request: ChatRequest) -> str:
    """The person's words; raises BadRequest for none, or too many."""
    words = well_formed(request.text)
    if not words.strip():
        raise BadRequest("say something: the message is empty", hint='onepen ask "TEXT"')
    if len(words.encode()) > MOST_MESSAGE:
        hint = "onepen add research TITLE --from FILE"
        raise BadRequest(f"a message has at most {MOST_MESSAGE >> 10} KiB", hint=hint)
    return words
