"""task.md: what a task was asked to do, as a file that a person can read.

    ---
    task: k3x9ab
    agent: researcher
    …
    ---
    the task's text, exactly as it was given

    <!-- inputs -->
    - cones.md

Everything before the last `<!-- inputs -->` line is the text; the list behind it names the copies in inputs/.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from ..memory.errors import MemoryFault
from ..memory.ids import AgentId, CardId, ClientId, TaskId
from ..memory.wording import in_words, key_of
from .errors import StagingFault

_MARK = "\n\n<!-- inputs -->\n"

Review = Literal["person", "auto"]
Line = Annotated[str, StringConstraints(min_length=1, max_length=400)]
BatchName = Annotated[str, StringConstraints(pattern=r"^([a-z0-9][a-z0-9-]{0,63})?$")]
Key = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{32})?$")]


class SheetUnreadable(StagingFault):
    """Raised when a task.md is not one, or was changed into something that is none."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(f"task.md{f':{line}' if line else ''}: {reason}")


@dataclass(frozen=True)
class TaskSheet:
    """What one task is: who does it, for whom, where the result may go, and within which limits.

    `created` is ISO 8601 with offset; `seconds`, `silence` and `turns` bound one attempt, `budget_usd` all of them
    together (None: no bound of its own); `inputs` are names below inputs/. `answer` asks for an answer only, so
    nothing is drafted. `external`: the text itself may come from outside, so what is made of it counts as that.
    A task of a `batch` has the line of its row and its `key` there; "", 0 and "" for any other.
    """

    task: TaskId
    agent: AgentId
    client: ClientId | None
    project: CardId | None
    target: str | None
    text: str
    created: str
    review: Review = "person"
    answer: bool = False
    model: str = "offline"
    seconds: int = 600
    silence: int = 120
    turns: int = 40
    budget_usd: float | None = None
    inputs: tuple[str, ...] = ()
    external: bool = False
    batch: str = ""
    row: int = 0
    key: str = ""


class _Front(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    task: str
    """The task's id."""
    agent: str
    """The agent that does it."""
    client: str | None = None
    """The client whose space it works in; without one, the house's own."""
    project: str | None = None
    """The project it belongs to."""
    target: Line | None = None
    """The one place where its draft may go."""
    created: Line
    """When it was asked for."""
    review: Review = "person"
    """Whether a person has to agree in any case."""
    answer: bool = False
    """Whether only an answer is wanted."""
    model: Line = "offline"
    """The model that was asked for."""
    seconds: int = Field(default=600, ge=1, le=86_400)
    """How long one attempt may take."""
    silence: int = Field(default=120, ge=1, le=86_400)
    """How long a worker may say nothing."""
    turns: int = Field(default=40, ge=1, le=1_000)
    """How many model calls one attempt may make."""
    budget_usd: float | None = Field(default=None, ge=0)
    """What the task may cost in all, in US dollars."""
    external: bool = False
    """Whether the text of the task may come from outside."""
    batch: BatchName = ""
    """The batch that it belongs to."""
    row: int = Field(default=0, ge=0, le=10**9)
    """The line of the batch's input that asked for it."""
    key: Key = ""
    """What stands in the keys of its commits in the place of the task's id: the same in each batch that asks for it."""

    @field_validator("client", "project", "target", "budget_usd", mode="before")
    @classmethod
    def _nothing(cls, value: object) -> object:
        return None if value == "" else value


def render_sheet(sheet: TaskSheet) -> str:
    """The text of task.md; `parse_sheet` gives the same sheet back."""
    from ..memory.text.frontmatter import render_front_matter  # YAML, as below

    values: Mapping[str, object] = {
        "task": str(sheet.task),
        "agent": str(sheet.agent),
        "client": str(sheet.client or ""),
        "project": str(sheet.project or ""),
        "target": sheet.target or "",
        "created": sheet.created,
        "review": sheet.review,
        "answer": "true" if sheet.answer else "false",
        "model": sheet.model,
        "seconds": str(sheet.seconds),
        "silence": str(sheet.silence),
        "turns": str(sheet.turns),
        "budget_usd": "" if sheet.budget_usd is None else repr(sheet.budget_usd),
        "external": "true" if sheet.external else "",
        "batch": sheet.batch,
        "row": str(sheet.row or ""),
        "key": sheet.key,
    }
    given = {key: value for key, value in values.items() if value != ""}
    return f"{render_front_matter(given)}{sheet.text}{_MARK}" + "".join(f"- {name}\n" for name in sheet.inputs)


def parse_sheet(text: str) -> TaskSheet:
    """The sheet in a task.md; raises SheetUnreadable."""
    from ..memory.text.frontmatter import parse_front_matter  # YAML: a fifth of `status` where there is no task

    front = parse_front_matter(text)
    if front.problem is not None:
        raise SheetUnreadable(front.problem.message, front.problem.line)
    if not front.present:
        raise SheetUnreadable("no front matter at the top", 1)
    body, mark, names = text[front.end :].rpartition(_MARK)
    try:
        fields = _Front.model_validate(dict(front.values))
        return TaskSheet(
            task=TaskId(fields.task),
            agent=AgentId(fields.agent),
            client=ClientId(fields.client) if fields.client else None,
            project=CardId(fields.project) if fields.project else None,
            target=fields.target,
            text=body if mark else names,
            created=fields.created,
            review=fields.review,
            answer=fields.answer,
            model=fields.model,
            seconds=fields.seconds,
            silence=fields.silence,
            turns=fields.turns,
            budget_usd=fields.budget_usd,
            external=fields.external,
            batch=fields.batch,
            row=fields.row,
            key=fields.key,
            inputs=tuple(name.removeprefix("- ") for name in names.split("\n") if name.startswith("- "))
            if mark
            else (),
        )
    except ValidationError as e:
        first = e.errors()[0]
        raise SheetUnreadable(f"{key_of(first['loc'])}: {in_words(dict(first))}") from e
    except MemoryFault as e:
        raise SheetUnreadable(e.message) from e
