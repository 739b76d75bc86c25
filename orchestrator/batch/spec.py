"""batch.toml: what a batch was asked to do, as a file that a person can read.

It is written once. What a person allowed for it (review without them, a budget) is bound to its hash, so that neither
a clone nor a change by hand switches anything on.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ...memory.errors import MemoryFault
from ...memory.ids import AgentId, CardId, ClientId, Id
from ...memory.misfit import misfits
from ..errors import OrchestratorFault
from .request import Review, Via

SPEC = "batch.toml"
_VERSION = 1
# What may stand in a TOML text between ''' and ''' as it is; it may end with no quote of its own.
_PLAIN = re.compile(r"(?!.*''')[^\x00-\x08\x0b-\x1f\x7f]*(?<!')", re.DOTALL)
_WANTED: Mapping[str, str] = {
    "input": "the name of the copy beside this file, such as input.csv",
    "input_sha256": "64 hex digits",
    "tasks_sha256": "64 hex digits",
}
_REMARKS: Mapping[str, str] = {
    "version": "What this batch was asked to do. Its tasks are in tasks.jsonl, what became of them in run.jsonl.\n"
    "# It is begun: a change here starts nothing anew, and takes back what was allowed for it.",
    "input": "The rows as they came, and the tasks that were made of them.",
    "prompt": "What each task is told, and where its result goes: {field} is a row's field. Without a prompt a row's\n"
    "# text is the task; a row's own client, project, agent or target comes before what stands here.",
    "review": "How it runs. Review and budget count where a person gave them on this machine, and only then.",
}


class SpecUnreadable(OrchestratorFault):
    """Raised when a batch.toml is none, or was changed into something that is none; `line` is 0 for all of it."""

    def __init__(self, reason: str, line: int = 0, place: str = SPEC) -> None:
        super().__init__(f"{place}{f':{line}' if line else ''}: {reason}")
        self.reason = reason
        self.line = line


class BatchId(Id):
    """A batch, and the folder `batches/<id>/`."""

    kind = "batch id"
    __slots__ = ()


@dataclass(frozen=True)
class BatchSpec:
    """What one batch is; what is None is as usual, and what the rows say comes before it.

    `input` is the name of the raw copy in the batch's folder, `name` what people call it; `created` is ISO 8601 with
    offset; `inputs` are names below inputs/.
    """

    batch: BatchId
    name: str
    created: str
    by: str
    input: str
    input_sha256: str
    tasks_sha256: str
    tasks: int
    prompt: str | None = None
    target: str | None = None
    agent: str | None = None
    client: str | None = None
    project: str | None = None
    inputs: tuple[str, ...] = ()
    answer: bool = False
    model: str | None = None
    review: Review | None = None
    via: Via = "messages"
    review_via: Via | None = None
    concurrency: int | None = None
    budget_usd: float | None = None
    max_failures: int | None = None
    max_turns: int | None = None
    time_limit: int | None = None


_Line = Annotated[str, StringConstraints(min_length=1, max_length=400)]
_Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: Literal[1]
    """The version of this file's form."""
    batch: str
    """The batch's id, which is also its folder's name."""
    name: _Line
    """What people call its input."""
    created: _Line
    """When it was asked for."""
    by: _Line
    """Who asked for it."""
    input: Annotated[str, StringConstraints(pattern=r"^input(\.[a-z]{1,8})?$")]
    """The copy of the rows as they came."""
    input_sha256: _Sha
    """The hash of that copy."""
    tasks: int = Field(ge=1, le=10_000_000)
    """How many tasks were made of the rows."""
    tasks_sha256: _Sha
    """The hash of tasks.jsonl."""
    prompt: str | None = None
    """The template of what each task is told."""
    target: str | None = None
    """The template of where its result goes."""
    agent: str | None = None
    """The agent that works where a row names none."""
    client: str | None = None
    """The client for whom it works where a row names none."""
    project: str | None = None
    """The project to which tasks belong where a row names none."""
    inputs: list[_Line] = []
    """The names of the inputs that each task gets, below inputs/."""
    answer: bool = False
    """Whether only answers are wanted."""
    model: _Line | None = None
    """The model that was asked for."""
    review: Review | None = None
    """Who has to agree to drafts."""
    via: Via = "messages"
    """How models are asked."""
    review_via: Via | None = None
    """How the reviewing model is asked, where that is another way."""
    concurrency: int | None = Field(default=None, ge=1, le=100_000)
    """How many tasks run at the same time."""
    budget_usd: float | None = Field(default=None, ge=0, le=1_000_000, allow_inf_nan=False)
    """What all of it may cost, in US dollars."""
    max_failures: int | None = Field(default=None, ge=0, le=10_000_000)
    """After how many failed tasks nothing more is started."""
    max_turns: int | None = Field(default=None, ge=1, le=1_000)
    """How many model calls one attempt may make."""
    time_limit: int | None = Field(default=None, ge=1, le=86_400)
    """How long one attempt may take, in seconds."""


def render_spec(spec: BatchSpec) -> str:
    """The text of batch.toml; `parse_spec` gives the same value back."""
    return "".join(_lines(spec)).lstrip("\n")


def _lines(spec: BatchSpec) -> Iterator[str]:
    said: Mapping[str, object] = {"version": _VERSION, **vars(spec), "inputs": list(spec.inputs)}
    for name in _File.model_fields:
        value = said[name]
        if name in _REMARKS:
            yield f"\n# {_REMARKS[name]}\n"
        if not (value is None or value is False or value == []):
            yield f"{name} = {_value(value)}\n"


def parse_spec(text: str) -> BatchSpec:
    """The batch that a batch.toml describes; raises SpecUnreadable."""
    try:
        fields = _File.model_validate(tomllib.loads(text.removeprefix("\ufeff")))
    except tomllib.TOMLDecodeError as e:
        raise SpecUnreadable(f"this is not TOML: {e}") from e
    except ValidationError as e:
        found = misfits(text, [dict(error) for error in e.errors(include_url=False)], _WANTED)
        raise SpecUnreadable("; ".join(f"{one.key} {one.reason}" for one in found), found[0].line) from e
    said = dict(fields)
    del said["version"]
    try:
        said["batch"] = BatchId(fields.batch)
        for name, kind in (("agent", AgentId), ("client", ClientId), ("project", CardId)):
            said[name] = None if said[name] is None else kind(str(said[name]))
    except MemoryFault as e:
        raise SpecUnreadable(e.message) from e
    return BatchSpec(**{**said, "inputs": tuple(fields.inputs)})


def _value(value: object) -> str:
    """A value as TOML writes it; a text of several lines stands there as it is, where TOML allows that."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if not isinstance(value, str):
        return repr(value)
    if "\n" not in value.strip("\n"):
        return _quoted(value)
    if _PLAIN.fullmatch(value):
        return f"'''\n{value}'''"
    lines = (_quoted(line)[1:-1] for line in value.split("\n"))
    return '"""\n' + "\n".join(lines) + '"""'


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
