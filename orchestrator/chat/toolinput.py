"""What the main agent's tools take, checked field by field."""

from datetime import date
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from ...subagents.toolbox.toolinput import Entry, ToolInput


def _day(value: object) -> object:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(f"is {value[:40]!r}, and must be a day such as 2026-11-29") from None
    return value


Day = Annotated[date, BeforeValidator(_day)]


class DecideDraft(ToolInput):
    id: str
    verdict: Literal["accept", "send_back", "refuse"]
    feedback: str = ""


class Delegate(ToolInput):
    agent: str
    task: str
    project: str | None = None
    target: str | None = None
    answer: bool = False


class ListDrafts(ToolInput):
    pass


class LogEvent(ToolInput):
    text: str


class ReadCard(ToolInput):
    card: str
    section: str | None = None
    start: int | None = Field(default=None, ge=1)


class ReadDraft(ToolInput):
    id: str


class SearchHistory(ToolInput):
    query: str
    since: Day | None = None
    until: Day | None = None
    where: list[Literal["cards", "log", "chat", "research"]] | None = None


class SetProjectStatus(ToolInput):
    project: str
    status: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")
    note: str


class WriteMemoryCard(ToolInput):
    project: str
    old_text: str = Field(validation_alias=AliasChoices("old_text", "old_str"))
    new_text: str = Field(validation_alias=AliasChoices("new_text", "new_str"))
    index_entry: Entry
