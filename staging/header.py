"""The front matter of a draft: which keys it may have, and what to say when it has others."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from ..memory.text.block import line_at
from ..memory.text.frontmatter import FrontMatter, parse_front_matter
from ..memory.wording import in_words, key_of
from .finding import Finding
from .secret import mask

_MOST_MISFITS = 10


class EntryFields(BaseModel):
    """One entry for the index, as it stands in a draft."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    section_id: str
    """The section that the entry describes; for a file of a project, its path."""
    summary: str
    """One line that says what stands there."""
    keywords: tuple[str, ...] = ()
    """Words by which it is found."""

    @field_validator("keywords", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return _list(value)


class Header(BaseModel):
    """The front matter of a draft."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: str
    """Where the change goes, relative to the space."""
    edit: Literal["create", "append", "replace", "remove"]
    """What kind of change it is."""
    section: str | None = None
    """The section it changes; without one, the whole document."""
    old_text: str = ""
    """The text that goes; it must stand there exactly once."""
    title: str | None = None
    """The title of a new card."""
    index: tuple[EntryFields, ...] = ()
    """Entries for the index, one for each section that changes."""
    sources: tuple[str, ...] = ()
    """Where it was read: `path:line` or the address of a web page."""
    provenance: Literal["user", "agent", "external"] = "external"
    """Whose words these are; without it, the least trusted."""
    file: str | None = None
    """The file beside the draft that holds the bytes of a project's file."""

    @field_validator("sources", "index", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return _list(value)


@dataclass(frozen=True)
class HeaderBlock:
    """A header that could be read, and the offset where the body behind it begins."""

    header: Header
    end: int


def read_header(text: str) -> HeaderBlock | tuple[Finding, ...]:
    """The front matter of a draft's text; else what is wrong with it."""
    front = parse_front_matter(text)
    if front.problem is not None:
        return (Finding("front_matter", "block", mask(front.problem.message), front.problem.line),)
    if not front.present:
        return (
            Finding("front_matter", "block", "no front matter at the top: it must say where the text should go", 1),
        )
    try:
        return HeaderBlock(Header.model_validate(_given(front.values)), front.end)
    except ValidationError as e:
        errors = e.errors(include_url=False, include_input=False)[:_MOST_MISFITS]
        return tuple(_misfit(text, front, dict(error)) for error in errors)


def _misfit(text: str, front: FrontMatter, error: Mapping[str, object]) -> Finding:
    """What does not fit, in words, with the line where the key stands; values are not repeated."""
    place = error["loc"]
    path = [str(part) for part in place] if isinstance(place, tuple) else []
    key = path[0] if path else ""
    found = re.search(rf"^{re.escape(key)}[ \t]*:", front.block, re.MULTILINE) if key else None
    offset = text.find(front.block, front.start) if found else -1
    line = line_at(text, offset + found.start()) if found and offset >= 0 else 1
    fields = EntryFields if key == "index" else Header
    entry = "an entry is a block with section_id, summary and, if you like, keywords"
    message = in_words(error)
    if error["type"] == "extra_forbidden":
        message = "unknown; known are " + ", ".join(fields.model_fields)
    elif error["type"] == "model_type":
        message = entry
    elif error["type"] == "missing" and key == "index":
        message = f"missing; {entry}"
    elif error["type"] == "missing":
        message = "missing"
    return Finding("front_matter", "block", mask(f"{key_of(path)}: {message}"), line)


def _given(values: Mapping[str, object]) -> dict[str, object]:
    """The keys that have a value: `section:` with nothing behind it is as good as none."""
    return {key: _plain(value) for key, value in values.items() if value != ""}


def _plain(value: object) -> object:
    """Front matter values as pydantic takes them: real dicts and lists."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _list(value: object) -> object:
    """A list of what stands there: one scalar counts as one, an empty one as none."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [value] if isinstance(value, Mapping) else value
