"""What a chat has cost so far, in one line."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..results import UsageTotals
from .text import count

if TYPE_CHECKING:
    from ..chat.answer import TurnResult
    from ..chat.overview import ChatView


@dataclass(frozen=True)
class Toll:
    """Sums over a chat's answers; `unpriced` when some of it has no known price."""

    calls: int = 0
    usage: UsageTotals = field(default_factory=UsageTotals)
    cost_usd: float = 0.0
    unpriced: bool = False

    @classmethod
    def of(cls, view: "ChatView") -> "Toll":
        return cls(view.calls, view.usage, view.cost_usd, view.unpriced_tokens > 0)

    def plus(self, result: "TurnResult") -> "Toll":
        a, b = self.usage, result.usage
        total = UsageTotals(
            a.input + b.input, a.cache_write + b.cache_write, a.cache_read + b.cache_read, a.output + b.output
        )
        cost, unpriced = self.cost_usd + (result.cost_usd or 0.0), self.unpriced or result.cost_usd is None
        return replace(self, calls=self.calls + result.calls, usage=total, cost_usd=cost, unpriced=unpriced)

    @property
    def prompt(self) -> int:
        """Tokens of all prompts together, cached or not."""
        return self.usage.input + self.usage.cache_write + self.usage.cache_read

    @property
    def cached(self) -> str:
        """Which share of the prompts was read from the cache; "" where nothing was sent or no cache is counted."""
        counted = self.usage.cache_write + self.usage.cache_read
        return f"{100 * self.usage.cache_read / self.prompt:.0f} % cached" if counted else ""

    @property
    def cost(self) -> str:
        """The dollars that are known."""
        known = f"${self.cost_usd:.4f}"
        return f"{known} and what has no known price" if self.unpriced and self.cost_usd else _unknown(known, self)

    def line(self) -> str:
        """ "2 calls · in 3,400 (91 % cached), out 95 · $0.0124"."""
        cached = f" ({self.cached})" if self.cached else ""
        tokens = f"in {self.prompt:,}{cached}, out {self.usage.output:,}"
        return f"{count(self.calls, 'call')} · {tokens} · {self.cost}"


def _unknown(known: str, toll: Toll) -> str:
    return "cost unknown" if toll.unpriced else known


def status_line(client: str | None, session: str | None, model: str, toll: Toll) -> str:
    """Where a chat stands: what matters most comes first, since a narrow screen cuts the end."""
    parts = (client or "", session or "new chat", toll.cost if toll.prompt else "", toll.cached, model)
    return " · ".join(part for part in parts if part)
