"""What the main agent answers to one message of a chat, with what it read, wrote and cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..meter.measured import Missed
from ..results import Json, UsageTotals


@dataclass(frozen=True)
class TurnResult:
    """The main agent's answer to one message of a chat.

    `stop_reason` is the API's word for the last reply, or ours: "interrupted" (the person stopped it), "failures" (the
    same calls failed again and again), "calls" (the most model calls of a turn are made), "silence" (the model had no
    word), "rehearsed" (with `dry_run`: nothing was sent). `sources` are the places
    (`path:line`) that the answer cites and the agent was shown. `tools` are the tools called, in order. `layers` are
    tokens of the last prompt by layer, estimated and scaled to the server's own count. `cost_usd` None: unknown.
    `missed` is what its calls sent anew though it had been cached, or what was not cached at all, and why.
    `renewal` says why the synthesis of the space is due; "" when it isn't.
    """

    session: str
    turn: int
    answer: str
    stop_reason: str
    sources: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    usage: UsageTotals = field(default_factory=UsageTotals)
    cost_usd: float | None = 0.0
    layers: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    commits: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    seconds: float = 0.0
    model: str = ""
    dry_run: bool = False
    missed: tuple[Missed, ...] = ()
    renewal: str = ""

    @property
    def exit_code(self) -> int:
        """0 for an answer, 130 when the person stopped it, else 1: it was refused, or could not be finished."""
        if self.stop_reason == "interrupted":
            return 130
        return 0 if self.stop_reason in {"end_turn", "stop_sequence", "max_tokens", "rehearsed"} else 1

    def as_json(self) -> Json:
        return {
            "session": self.session,
            "turn": self.turn,
            "answer": self.answer,
            "stop_reason": self.stop_reason,
            "sources": list(self.sources),
            "tools": list(self.tools),
            "usage": self.usage.as_json(),
            "cost_usd": self.cost_usd,
            "layers": dict(self.layers),
            "calls": self.calls,
            "commits": list(self.commits),
            "drafts": list(self.drafts),
            "model": self.model,
            "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3),
            "missed": [one.as_json() for one in self.missed],
        }


@dataclass(frozen=True)
class RenewalResult:
    """What came of renewing the synthesis of a space; `why` says it in a few words.

    `commit` "": nothing was changed, as a notice says. `by` is "synthesizer", or "extracted" where no model could write
    it. `exchanges` is how many are told by it, `chat` the line of the chat that began anew with it at once.
    """

    why: str
    commit: str = ""
    by: str = ""
    task: str = ""
    exchanges: int = 0
    chat: str = ""
    notices: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return 0

    @property
    def line(self) -> str:
        """What a person is told."""
        if not self.commit:
            return "the synthesis is as it was"
        return f"the synthesis was renewed ({self.why}): commit {self.commit}"

    def as_json(self) -> Json:
        return {
            "why": self.why,
            "commit": self.commit or None,
            "by": self.by or None,
            "task": self.task or None,
            "exchanges": self.exchanges,
            "chat": self.chat or None,
        }
