"""What `cancel` answers."""

from dataclasses import dataclass

from .results import Json, TaskView


@dataclass(frozen=True)
class CancelResult:
    """The tasks as they stand now; `undone` means that nobody was at work on one of them, as a notice says."""

    tasks: tuple[TaskView, ...]
    notices: tuple[str, ...] = ()
    undone: bool = False
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        return 1 if self.undone else 0

    def as_json(self) -> Json:
        return {"tasks": [t.as_json() for t in self.tasks], "notices": list(self.notices), "dry_run": self.dry_run}
