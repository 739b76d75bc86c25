"""What may be asked over the socket: each operation with its arguments, checked where they come in.

Operations are methods of the service, their arguments the methods' own. `Setup` is checked as the rest is, and neither
it nor any argument is ever written to the log.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ...memory.exam.remedy import Fix
from ...memory.wording import in_words
from ..batch.request import BatchRequest, GoOn
from ..pruned import PruneWish
from ..requests import ChatRequest, DelegateRequest
from ..settings.setup import NOTHING, Setup
from .protocol import Garbled, Line

Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8,64}$")]


class Args(BaseModel):
    """Arguments of an operation; one that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Log(Args):
    """A line in the day log."""

    text: str
    client: str | None = None
    kind: str = "note"
    allow_secret: bool = False


class AddClient(Args):
    """A new client."""

    title: str
    id: str | None = None
    allow_secret: bool = False


class AddCard(Args):
    """A new project or finding."""

    title: str
    client: str | None = None
    id: str | None = None
    text: str | None = None
    allow_secret: bool = False


class AddAgent(Args):
    """A new agent."""

    title: str
    id: str | None = None
    text: str | None = None
    allow_secret: bool = False


class Rename(Args):
    """A card that is to get another id or title."""

    card: str
    new: str
    title: str | None = None
    client: str | None = None
    allow_secret: bool = False


class Archive(Args):
    """A card to put to rest, or with `undo` to bring back."""

    card: str
    undo: bool = False
    client: str | None = None


class Undo(Args):
    """A commit to take back; the last one of the client's space where none is named."""

    commit: str | None = None
    client: str | None = None
    allow_secret: bool = False


class Prune(Args):
    """What is to be removed of finished work."""

    wish: PruneWish


class RemoveClient(Args):
    """A client of whom all is to be removed."""

    client: str


class Approve(Args):
    """Drafts to commit; `sha256` vouches for the one that is named."""

    ids: tuple[str, ...]
    sha256: str | None = None


class Reject(Args):
    """Drafts to refuse for good."""

    ids: tuple[str, ...]
    reason: str


class Cancel(Args):
    """Tasks to end; the answer comes when their workers have ended."""

    tasks: tuple[str, ...]


class PutRight(Args):
    """What `onepen doctor --fix` showed, and is to be put right."""

    fixes: tuple[Fix, ...]


class Delegate(Args):
    """Tasks for sub-agents."""

    request: DelegateRequest


class Resume(Args):
    """A task to go on with."""

    task: str
    budget_usd: float | None = None


class SendBack(Args):
    """Drafts to send back to their sub-agents."""

    ids: tuple[str, ...]
    reason: str


class Turn(Args):
    """A message to the main agent."""

    request: ChatRequest


class Renew(Args):
    """The synthesis of a space to be renewed, and a chat to begin anew with it."""

    client: str | None = None
    session: str | None = None
    why: str | None = None


class BatchRun(Args):
    """A batch to be run."""

    request: BatchRequest


class BatchGoOn(Args):
    """A batch to go on with, or whose failed tasks are to be tried again."""

    wanted: GoOn


class OneBatch(Args):
    """A batch to pause or to cancel; the answer comes when what it ran has come to its end."""

    batch: str


class Down(Args):
    """The orchestrator is to end: after what runs, `now`, or only if it is idle."""

    now: bool = False
    idle_only: bool = False


SHORT: Mapping[str, type[Args]] = {
    "log": Log,
    "add_client": AddClient,
    "add_project": AddCard,
    "add_research": AddCard,
    "add_agent": AddAgent,
    "rename": Rename,
    "archive": Archive,
    "undo": Undo,
    "prune": Prune,
    "remove_client": RemoveClient,
    "approve": Approve,
    "reject": Reject,
    "cancel": Cancel,
    "fix": PutRight,
    "batch_pause": OneBatch,
    "batch_cancel": OneBatch,
}
"""Done in a moment, one after the other."""

ONCE = frozenset({"log", "add_client", "add_project", "add_research", "add_agent", "archive", "rename", "undo"})
"""Done once for a request's id, however often it comes."""

WORK: Mapping[str, type[Args]] = {
    "delegate": Delegate,
    "resume": Resume,
    "send_back": SendBack,
    "turn": Turn,
    "renew": Renew,
    "batch_run": BatchRun,
    "batch_go_on": BatchGoOn,
}
"""Goes on for as long as it takes, with events, and without the client if that goes away."""

DOWN = "down"
WATCH = "watch"


class Watch(Args):
    """Who is at work now, told again and again for as long as the client listens."""


class Scope(Args):
    """Where ids are looked up: in client `only`'s space, or everywhere with `first`'s before others."""

    only: str | None = None
    first: str | None = None


class Envelope(BaseModel):
    """A request as it came in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    op: str
    id: Id
    args: dict[str, object]
    scope: Scope = Scope()
    setup: Setup | None = Field(default=None, repr=False)


class Asked:
    """A request, checked: `args` are the arguments of the service's method `op`."""

    def __init__(self, envelope: Envelope, args: Args) -> None:
        self.op = envelope.op
        self.id = envelope.id
        self.scope = envelope.scope
        self.setup = envelope.setup or NOTHING
        self.args = {name: getattr(args, name) for name in type(args).model_fields}

    @property
    def works(self) -> bool:
        return self.op in WORK


def asked(line: Line) -> Asked:
    """The request on a line; raises Garbled, without the values that it came with."""
    try:
        envelope = Envelope.model_validate(line)
        kinds: dict[str, type[Args]] = {**SHORT, **WORK, DOWN: Down, WATCH: Watch}
        if envelope.op not in kinds:
            raise Garbled(f"op {envelope.op!r} is none of {', '.join(kinds)}")
        return Asked(envelope, kinds[envelope.op].model_validate(envelope.args))
    except ValidationError as e:
        first = e.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Garbled(f"{place}: {in_words(dict(first))}") from None
