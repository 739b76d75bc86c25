"""A task given to a sub-agent from within a chat: what is asked for, and what the main agent is told of the result."""

from ...memory.fence import Fences
from ...memory.text.clip import clip
from ...staging.secret import secret_findings
from ...subagents.toolbox.toolinput import ToolRefused
from ..origin import Origins, from_outside
from ..requests import DelegateRequest
from ..results import DraftView, TaskView
from ..tasks.transcript import traces_in
from .gate import HoldsSecret
from .house import House, OnMade
from .toolinput import Delegate

_ANSWER = 16_000
_DRAFT = 4_000


async def handed_over(
    given: Delegate,
    house: House,
    model: str | None,
    on_made: OnMade,
    origins: Origins,
    fences: Fences,
    *,
    external: bool,
) -> tuple[str, tuple[str, ...], bool]:
    """Words for the model, the ids of drafts, and whether text from outside is among it; raises what delegate does.

    `external`: the chat has read such text, so the task's own words may come from there.
    """
    if not given.task.strip():
        raise ToolRefused("delegate: task is empty; say what is to be done")
    secrets = [f for f in secret_findings(given.task, "the task") if f.level == "block"]
    if secrets:
        raise HoldsSecret(f"{secrets[0].message}; no task was started")
    request = DelegateRequest(
        texts=(given.task,),
        agents=(given.agent.strip(),),
        client=house.space.client,
        project=given.project,
        target=given.target,
        answer=given.answer,
        model=model,
        external=external,
    )
    result = await house.delegate(request, on_made)
    parts, ids, external = [], [], False
    for task in result.tasks:
        drafts = [house.draft(d.id) for d in task.drafts]
        ids += [d.id for d in drafts]
        external = external or any(_outside(d, origins) for d in drafts) or _read_outside(task.task, house, origins)
        parts.append(_told(task, drafts, fences))
    return "\n\n".join([*parts, *result.notices]), tuple(ids), external


def _told(task: TaskView, drafts: list[DraftView], fences: Fences) -> str:
    lines = [f"task {task.task} ({task.agent}): {task.status}" + (f"; {task.reason}" if task.reason else "")]
    if task.answer:
        answer = fences.around(f"the answer of {task.agent}", clip(task.answer, _ANSWER, " …"))
        lines.append(f"It answers (nobody has checked it):\n{answer}")
    for draft in drafts:
        lines.append(f"draft {draft.id} for {draft.target}: {draft.status}; read_draft shows all of it")
        if draft.diff and not task.answer:
            lines.append(fences.around(f"draft {draft.id}", clip(draft.diff, _DRAFT, "\n…")))
    return "\n".join(lines)


def _read_outside(task: str, house: House, origins: Origins) -> bool:
    """Whether a task's transcripts show text from outside: inputs, or cards that hold some."""
    folder = house.desk.find_task(task).folder
    shown = (path for n in folder.attempts() for path in traces_in(folder.transcript(n)).shown)
    return any(from_outside((path,)) or origins.external(path) for path in shown)


def _outside(draft: DraftView, origins: Origins) -> bool:
    cited = (source.rpartition(":")[0] or source for source in draft.sources)
    return draft.provenance == "external" or from_outside(draft.sources) or any(map(origins.external, cited))
