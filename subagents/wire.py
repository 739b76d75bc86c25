"""The wire between orchestrator and worker: one JSON object per line, on the worker's stdin and stdout.

A program in any language can be a sub-agent: it reads `hello`, asks for replies of a model (`model_request`) and for
tools that the orchestrator answers (`tool_request`), leaves drafts in its folder, sends `report` and ends. Every
message carries `v`, `task`, `attempt` and `type`; the worker repeats the `task` and `attempt` of its `hello`.

What else a worker prints is noise: it is kept in worker.log and means nothing. A line has at most 4 MiB. Text is
UTF-8; half a character (a lone surrogate escape) becomes U+FFFD.
"""

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic_core import PydanticSerializationError

from .errors import SubagentFault
from .messages import Block, Message, ToolResult, well_formed
from .splitter import MAX_LINE, LineSplitter, Noise

__all__ = [
    "FROM_WORKER",
    "MAX_LINE",
    "TO_WORKER",
    "VERSION",
    "AgentOnWire",
    "Cancel",
    "Folders",
    "FromWorker",
    "Hello",
    "HelloBack",
    "LineSplitter",
    "LineTooLong",
    "ModelReplied",
    "ModelRequested",
    "Noise",
    "Progress",
    "Report",
    "ToWorker",
    "ToolReplied",
    "ToolRequested",
    "WorkerLimits",
    "encode",
]

VERSION = 1


class LineTooLong(SubagentFault):
    """Raised when a message doesn't fit into a line of the wire."""

    def __init__(self, kind: str, size: int) -> None:
        super().__init__(f"{kind}: {size} bytes, a line of the wire has at most {MAX_LINE}")


class _Wired(BaseModel):
    model_config = ConfigDict(frozen=True)

    v: Literal[1] = 1
    """Version of the wire."""
    task: str
    """Id of the task."""
    attempt: int
    """Which try at the task, counted from 1."""


class AgentOnWire(BaseModel):
    """Who the worker is to be."""

    model_config = ConfigDict(frozen=True)

    id: str
    """Id of the agent."""
    prompt: str
    """The agent's own prompt: the body of its definition."""
    tools: tuple[str, ...]
    """The tools it may use; a call of another one must be refused."""
    asks: tuple[str, ...] = ()
    """Tools that its definition asks for and that no person has allowed."""


class Folders(BaseModel):
    """Where things are, as absolute paths."""

    model_config = ConfigDict(frozen=True)

    snapshot: str
    """What every sub-agent starts from: rules, indexes, registry; in `whole/` the files shown in part. Read only."""
    space: str
    """The client's space; only `projects/` and `research/` in it may be read."""
    inputs: str
    """Copies of the task's inputs. Read only."""
    drafts: str
    """The folder that the worker writes its drafts to."""
    work: str | None = None
    """Where commands run, and what they make lies; null: this agent may run none."""


class WorkerLimits(BaseModel):
    """How much the attempt may take; the orchestrator ends a worker that goes beyond."""

    model_config = ConfigDict(frozen=True)

    seconds: float
    """Seconds in all."""
    silence: float
    """Seconds without a message of the worker, while nothing is owed to it."""
    turns: int
    """Model calls."""


class Hello(_Wired):
    """The first line that a worker gets: its assignment."""

    type: Literal["hello"] = "hello"
    agent: AgentOnWire
    """Who the worker is to be."""
    text: str
    """What to do, in the person's words."""
    target: str | None = None
    """Where the result should go, such as `projects/kiln.md`; null: the worker names a place."""
    project: str | None = None
    """Id of the project that the task is for; its card is `projects/<id>.md`."""
    feedback: str | None = None
    """What a reviewer said of the attempt before; null at the first one."""
    answer: bool = False
    """True: a person asks and wants words in the report, no draft."""
    inputs: tuple[str, ...] = ()
    """Names of the files in the inputs folder."""
    unsafe: bool = False
    """True: a person let programs run although nothing may confine them; what they make counts as external."""
    folders: Folders
    """Where to read and write."""
    limits: WorkerLimits
    """How much the attempt may take."""
    model: str
    """The model's name, which is a part of the prefix that both sides compute."""
    fence: str = ""
    """Key (hex) of the marks that our own worker puts around what it reads; a program may do without."""


class ModelReplied(_Wired):
    """The answer to a `model_request`."""

    type: Literal["model_reply"] = "model_reply"
    id: int
    """The request that is answered."""
    content: tuple[Block, ...] = ()
    """Blocks of the reply: `text` and `tool_use`."""
    stop_reason: str = ""
    """Why the model stopped: `tool_use`, `end_turn`, `max_tokens`, …; tools are run on `tool_use` only."""
    done: tuple[ToolResult, ...] = ()
    """Results of calls of this reply that an earlier attempt made: a command among them must not be run again."""
    error: str | None = None
    """Set if the request was refused: the attempt is over, and the worker should end."""


class ToolReplied(_Wired):
    """The answer to a `tool_request`."""

    type: Literal["tool_reply"] = "tool_reply"
    id: int
    """The request that is answered."""
    content: str
    """What the model is to read."""
    is_error: bool = False
    """True if the tool could not do it; `content` says why."""


class Cancel(_Wired):
    """The attempt is to end: the worker has a moment to stop by itself before it is killed."""

    type: Literal["cancel"] = "cancel"


class HelloBack(_Wired):
    """The first line that a worker sends."""

    type: Literal["hello"] = "hello"
    version: str
    """Version of the worker's program."""
    pid: int
    """Its process id, for messages only."""


class Progress(_Wired):
    """What the worker is doing, for a person who watches; also a sign of life."""

    type: Literal["progress"] = "progress"
    text: str
    """One line; what goes beyond 200 characters is cut."""


class ModelRequested(_Wired):
    """Asks for a reply of the model. The orchestrator has the conversation; a request brings what is new in it."""

    type: Literal["model_request"] = "model_request"
    id: int
    """Chosen by the worker; the reply repeats it."""
    prefix_sha: str = ""
    """Hex sha256 of model, system blocks and tools as the worker computed them; another one than ours is refused.

    Empty: the worker takes them as the orchestrator has them.
    """
    delta: tuple[Message, ...]
    """Messages since the last reply: the task, or the results of all tools that the last reply asked for."""


class ToolRequested(_Wired):
    """Asks for a tool that the orchestrator answers, such as `search`."""

    type: Literal["tool_request"] = "tool_request"
    id: int
    """Chosen by the worker; the reply repeats it."""
    name: str
    """The tool."""
    input: dict[str, object]
    """Its input, an object."""


class Report(_Wired):
    """The worker's last word; what it left in its drafts folder counts, not what it says here."""

    type: Literal["report"] = "report"
    summary: str
    """What was done, in a sentence or two."""
    answer: str | None = None
    """The answer in words, if the task was a question."""
    complete: bool = True
    """False if something is missing; the summary says what."""


ToWorker = Annotated[Hello | ModelReplied | ToolReplied | Cancel, Field(discriminator="type")]
FromWorker = Annotated[HelloBack | Progress | ModelRequested | ToolRequested | Report, Field(discriminator="type")]

TO_WORKER: TypeAdapter[ToWorker] = TypeAdapter(ToWorker)
FROM_WORKER: TypeAdapter[FromWorker] = TypeAdapter(FromWorker)


def encode(message: ToWorker | FromWorker) -> bytes:
    """The message as a line; raises LineTooLong."""
    try:
        line = message.model_dump_json().encode() + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError):  # a half of a character
        text = json.dumps(message.model_dump(), ensure_ascii=False, separators=(",", ":"))
        line = well_formed(text).encode() + b"\n"
    if len(line) > MAX_LINE:
        raise LineTooLong(message.type, len(line))
    return line
