"""What is told of a batch while it runs: frozen values that cross the socket, and become lines of `--events`."""

from collections.abc import Callable
from dataclasses import dataclass

from .answer import BatchView, Json


@dataclass(frozen=True)
class Launch:
    """The batch begins, or goes on: it is on the disk, and nothing of it is lost from now on. Told once."""

    view: BatchView

    def as_json(self) -> Json:
        return {"event": "launch", **self.view.as_json()}


@dataclass(frozen=True)
class Over:
    """One task is over, for now: where that left it. `status` is a task's, `kind` a class of failure or ""."""

    line: int
    key: str
    task: str
    status: str
    reason: str = ""
    kind: str = ""
    cost_usd: float | None = 0.0
    seconds: float = 0.0

    def as_json(self) -> Json:
        return {"event": "task", **vars(self)}


@dataclass(frozen=True)
class Standing:
    """How far it is: at most a few times a second."""

    view: BatchView

    def as_json(self) -> Json:
        return {"event": "progress", **self.view.as_json()}


@dataclass(frozen=True)
class Word:
    """A line that a person should see at once: that a call waits, say."""

    text: str

    def as_json(self) -> Json:
        return {"event": "notice", "text": self.text}


Happening = Launch | Over | Standing | Word
OnHappening = Callable[[Happening], None]
