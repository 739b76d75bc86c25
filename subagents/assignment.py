"""One attempt of a task, as the pool gets it: who, what, where, and how much."""

from dataclasses import dataclass
from pathlib import Path

from ..memory.ids import TaskId
from . import wire
from .definition import AgentDefinition
from .messages import well_formed


@dataclass(frozen=True)
class Limits:
    """How much one attempt may take.

    `seconds` in all, `silence` seconds without a message while nothing is owed to the worker, `turns` model calls,
    `log_bytes` kept of stderr and noise. It is ended when it prints more than `noise_bytes` beside the wire or
    `stderr_bytes` on stderr, or leaves more than `draft_files` or `draft_bytes`, in its work folder `work_files` or
    `work_bytes`.
    """

    seconds: float = 600.0
    silence: float = 120.0
    turns: int = 40
    log_bytes: int = 1 << 20
    noise_bytes: int = 8 << 20
    stderr_bytes: int = 64 << 20
    draft_files: int = 4_000
    draft_bytes: int = 64 << 20
    work_files: int = 50_000
    work_bytes: int = 1 << 30


@dataclass(frozen=True)
class Assignment:
    """One attempt: `snapshot`, `space` and `folder` (`staging/<task>/`) are absolute; `inputs` are names in inputs/.

    `target` is where the result should go, as a target's text (None: the worker names one); `project` is the id of the
    project that it is for; `feedback` is what a
    reviewer said of the attempt before; `answer` means that a person asks and wants words, not a draft. `commands` says
    that a person allowed this agent to run commands. `program` is the command line of somebody else's worker (empty:
    ours). With `unsafe` the person has said that both may run where nothing confines them. `fence` is the key, in hex,
    of the fences around what the worker reads.
    """

    task: TaskId
    attempt: int
    agent: AgentDefinition
    text: str
    snapshot: Path
    space: Path
    folder: Path
    inputs: tuple[str, ...] = ()
    target: str | None = None
    feedback: str | None = None
    limits: Limits = Limits()
    model: str = "offline"
    answer: bool = False
    project: str | None = None
    commands: bool = False
    program: tuple[str, ...] = ()
    unsafe: bool = False
    fence: str = ""

    @property
    def inputs_folder(self) -> Path:
        return self.folder / "inputs"

    @property
    def drafts_folder(self) -> Path:
        """The one folder that the worker writes, but for `work_folder` where it may run commands."""
        return self.folder / str(self.attempt) / "drafts"

    @property
    def work_folder(self) -> Path:
        """Where commands run, with a private folder for temporary files in it; nothing of it is believed."""
        return self.folder / str(self.attempt) / "work"

    @property
    def log(self) -> Path:
        """Where stderr and noise go."""
        return self.folder / str(self.attempt) / "worker.log"


def hello(assignment: Assignment) -> wire.Hello:
    """The assignment as the worker gets it."""
    agent, limits = assignment.agent, assignment.limits
    return wire.Hello(
        task=assignment.task,
        attempt=assignment.attempt,
        agent=wire.AgentOnWire(
            id=agent.id,
            prompt=well_formed(agent.prompt),
            tools=tuple(sorted(agent.tools)),
            asks=tuple(sorted(agent.asks - agent.tools)),
        ),
        text=well_formed(assignment.text),
        target=assignment.target,
        project=assignment.project,
        feedback=None if assignment.feedback is None else well_formed(assignment.feedback),
        answer=assignment.answer,
        inputs=assignment.inputs,
        unsafe=assignment.unsafe,
        folders=wire.Folders(
            snapshot=str(assignment.snapshot),
            space=str(assignment.space),
            inputs=str(assignment.inputs_folder),
            drafts=str(assignment.drafts_folder),
            work=str(assignment.work_folder) if assignment.commands or assignment.program else None,
        ),
        limits=wire.WorkerLimits(seconds=limits.seconds, silence=limits.silence, turns=limits.turns),
        model=assignment.model,
        fence=assignment.fence,
    )
