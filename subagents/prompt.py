"""The prompt of a sub-agent: tools, then what all agents of a space share, then its own definition, then the task.

Worker and orchestrator each compute it from the same snapshot, and `prefix_sha` shows that they agree. What many
workers share stands first and is the same to the byte, so that a provider's cache can be used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from ..memory.guard import read_beneath
from .messages import Message, Text, well_formed
from .model import ToolSpec, canonical_sha
from .toolbox.toolset import tools

__all__ = ["WHOLE", "TaskWords", "first_message", "prefix_sha", "read_snapshot", "system_blocks", "task_words", "tools"]

_SHARED = ("RULES.md", "OPS.md", "BRIEF.md", "agents.md")
_INDEXES = ("projects.md", "research.md")
WHOLE = "whole"
"""The folder of a snapshot in which the files lie whole of which it shows only a part."""
_TITLES: Mapping[str, str] = {
    "RULES.md": "agents/RULES.md",
    "OPS.md": "OPS.md",
    "BRIEF.md": "BRIEF.md",
    "agents.md": "agents/_index.md",
    "projects.md": "projects/_index.md",
    "research.md": "research/_index.md",
}
_MOST_INPUTS = 200
_MOST_BYTES = 16 << 20
_TASK, _PROJECT, _TARGET, _FEEDBACK, _INPUTS, _ANSWER = "Task", "Project", "Target", "Feedback", "Inputs", "Answer"


class HasPrompt(Protocol):
    """An agent as far as its prompt goes."""

    @property
    def id(self) -> str: ...
    @property
    def prompt(self) -> str: ...


class HasTask(Protocol):
    """A task as far as its first message goes; the orchestrator's assignment and the worker's hello are both."""

    @property
    def text(self) -> str: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def target(self) -> str | None: ...
    @property
    def project(self) -> str | None: ...
    @property
    def feedback(self) -> str | None: ...
    @property
    def answer(self) -> bool: ...


@dataclass(frozen=True)
class TaskWords:
    """A task as its first message tells it; `inputs` are at most the first 200 names."""

    text: str
    inputs: tuple[str, ...] = ()
    target: str | None = None
    feedback: str | None = None
    answer: bool = False
    project: str | None = None


def system_blocks(snapshot_files: Sequence[tuple[str, str]], definition: HasPrompt) -> tuple[str, ...]:
    """The blocks before the conversation: shared texts | indexes | the agent's own prompt; each ends with a newline.

    `snapshot_files` are the pairs of name and text of a `Snapshot`; an empty text is left out.
    """
    texts = dict(snapshot_files)
    shared = "".join(_file(name, texts.get(name, "")) for name in _SHARED)
    indexes = "".join(_file(name, texts.get(name, "")) for name in _INDEXES)
    own = f'<agent id="{definition.id}">\n{_closed(well_formed(definition.prompt))}</agent>\n'
    return tuple(block for block in (shared, indexes, own) if block)


def read_snapshot(folder: Path) -> tuple[tuple[str, str], ...]:
    """Name and text of each file of a snapshot; raises UnsafeFile if one is missing or is no plain file.

    A worker reads them by itself: what loads a snapshot for the orchestrator knows the redo log, too.
    """
    return tuple((name, read_beneath(folder, name, max_bytes=_MOST_BYTES).decode()) for name in (*_SHARED, *_INDEXES))


def prefix_sha(model: str, system: Sequence[str], specs: Sequence[ToolSpec]) -> str:
    """Hex sha256 of what stands before the first message."""
    return _prefix_sha(model, tuple(system), tuple(specs))


@lru_cache(maxsize=16)
def _prefix_sha(model: str, system: tuple[str, ...], specs: tuple[ToolSpec, ...]) -> str:
    return canonical_sha({"model": model, "system": list(system), "tools": [spec.as_dict() for spec in specs]})


def first_message(task: HasTask) -> Message:
    """The task as the model gets it, a block for each part; `task_words` reads it back."""
    parts = [_part(_TASK, task.text)]
    if task.project is not None:
        free = task.target is None and not task.answer
        parts.append(_part(_PROJECT, _for_project(task.project) + (_where(task.project) if free else "")))
    if task.target is not None:
        parts.append(_part(_TARGET, f"The result goes to {task.target}"))
    if task.inputs:
        listed = [f"- {name}" for name in task.inputs[:_MOST_INPUTS]]
        more = len(task.inputs) - _MOST_INPUTS
        rest = [f"({more} more: search finds lines in all of them)"] if more > 0 else []
        parts.append(_part(_INPUTS, "\n".join(["Documents for read_input:", *listed, *rest])))
    if task.feedback is not None:
        parts.append(_part(_FEEDBACK, f"An earlier draft was sent back:\n{task.feedback}"))
    if task.answer:
        parts.append(_part(_ANSWER, "A person is waiting for words: put the answer into report, write no draft."))
    return Message("user", tuple(parts))


def task_words(message: Message) -> TaskWords | None:
    """What `first_message` told; None if the message isn't one."""
    parts: dict[str, str] = {}
    for block in message.content:
        if isinstance(block, Text):
            heading, _, rest = block.text.partition("\n\n")
            parts.setdefault(heading.removeprefix("# "), rest.removesuffix("\n"))
    if _TASK not in parts:
        return None
    target = parts.get(_TARGET)
    project = parts.get(_PROJECT)
    feedback = parts.get(_FEEDBACK)
    return TaskWords(
        text=parts[_TASK],
        inputs=tuple(line[2:] for line in parts.get(_INPUTS, "").split("\n") if line.startswith("- ")),
        target=None if target is None else target.removeprefix("The result goes to "),
        feedback=None if feedback is None else feedback.partition("\n")[2],
        answer=_ANSWER in parts,
        project=None if project is None else project.partition(":")[0].removeprefix("This is for the project "),
    )


def _for_project(project: str) -> str:
    return f"This is for the project {project}: its card is projects/{project}.md"


def _where(project: str) -> str:
    return (
        f"\nThe result goes to a new finding, research/<topic>.md, or where it belongs to the project itself, to its "
        f"card or a file of it, projects/{project}/<path>; other targets need a person's consent."
    )


def _part(heading: str, text: str) -> Text:
    return Text(f"# {heading}\n\n{_closed(well_formed(text))}")


def _file(name: str, text: str) -> str:
    return f'<file path="{_TITLES[name]}">\n{_closed(text)}</file>\n' if text.strip() else ""


def _closed(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
