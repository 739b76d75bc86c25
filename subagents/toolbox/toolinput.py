"""What the tools of a worker take, checked field by field: the model gets one clear error and can try again."""

import difflib
import json
from collections.abc import Mapping
from typing import Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from ..errors import SubagentFault
from ..messages import mend


class ToolRefused(SubagentFault):
    """Raised when a tool won't do what it was asked to; the message says which rule, and what to do instead."""


class ToolInput(BaseModel):
    """Base of all inputs: unknown fields are refused, values keep their types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ReadCard(ToolInput):
    card: str
    section: str | None = None
    start: int | None = Field(default=None, ge=1)


class ReadInput(ToolInput):
    name: str
    start: int | None = Field(default=None, ge=1)
    lines: int | None = Field(default=None, ge=1)


class Search(ToolInput):
    query: str
    limit: int | None = Field(default=None, ge=1)


class Entry(ToolInput):
    section_id: str | None = None
    summary: str
    keywords: list[str] | None = None


class RunCommand(ToolInput):
    command: str
    seconds: int | None = Field(default=None, ge=1)


class WriteDraft(ToolInput):
    text: str
    target: str | None = None
    file: str | None = None
    edit: Literal["create", "append", "replace", "remove"] | None = None
    section: str | None = None
    old_text: str | None = Field(default=None, validation_alias=AliasChoices("old_text", "old_str"))
    title: str | None = None
    index: list[Entry] | None = None
    sources: list[str] | None = None
    name: str | None = None


class EditDraft(ToolInput):
    name: str
    old_text: str = Field(validation_alias=AliasChoices("old_text", "old_str"))
    new_text: str = Field(validation_alias=AliasChoices("new_text", "new_str"))


class ProposeEdit(ToolInput):
    card: str
    section: str | None = None
    old_text: str = Field(validation_alias=AliasChoices("old_text", "old_str"))
    new_text: str = Field(validation_alias=AliasChoices("new_text", "new_str"))
    index_entry: Entry
    sources: list[str] | None = None


class ReportInput(ToolInput):
    summary: str
    answer: str | None = None
    complete: bool | None = None


I = TypeVar("I", bound=ToolInput)  # noqa: E741

_MOST_INPUT = 2 << 20
_SAMPLES: Mapping[str, str] = {
    "list": 'a list, such as ["glaze"]',
    "string": "a text",
    "int": "a whole number",
    "bool": "true or false",
    "model": "an object",
    "model_attributes": "an object",
    "model_type": "an object",
}


def parse_input(tool: str, kind: type[I], given: object) -> I:
    """The input of a call; raises ToolRefused that names the first field that is wrong and what belongs there."""
    if not isinstance(given, Mapping):
        raise ToolRefused(
            f"{tool}: the input must be an object with {_names(kind)}, not {json.dumps(given, default=str)[:40]}"
        )
    size = sum(len(value) for value in given.values() if isinstance(value, str))
    if size > _MOST_INPUT:
        raise ToolRefused(f"{tool}: the input has {size:,} characters, far more than a draft may have; send less")
    if mend(given) != given:
        raise ToolRefused(f"{tool}: the input holds half a character (a lone surrogate); send the whole character")
    try:
        return kind.model_validate(given)
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        raise ToolRefused(f"{tool}: {_told(kind, first['loc'], first['type'], first['msg'])}") from e


def _told(kind: type[ToolInput], loc: tuple[int | str, ...], error: str, message: str) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")
    if error == "missing":
        return f"{where} is missing; nothing was done"
    if error == "extra_forbidden":
        owner = Entry if len(loc) > 1 else kind
        near = difflib.get_close_matches(str(loc[-1]), owner.model_fields, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        return f"there is no {where[:60]}; {meant}It takes {_names(owner)}"
    wanted = _SAMPLES.get(error.removesuffix("_type"), _SAMPLES.get(error))
    return f"{where} must be {wanted}" if wanted else f"{where}: {message}"


def _names(kind: type[ToolInput]) -> str:
    return ", ".join(name if field.is_required() else f"{name}?" for name, field in kind.model_fields.items())
