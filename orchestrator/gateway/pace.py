"""How fast calls go out to a server that asked for fewer: decided here, from times that are passed in.

Open: every call goes out at once. A throttled call (429, 529, 503) closes the way for everybody until the moment that
the server named. Then one call goes out to probe; when it came back whole, calls follow one by one, the gap between
two of them at first 1 s or twice what it was, and with each whole reply a tenth smaller, until it is gone. So eight
callers that were refused together don't come back together; n calls of w callers, made while a server first refuses all
and then takes one a second, take at most w + 1.5 n tries. What a server says of its limits (`Left`) slows calls
down before a limit is reached: below a tenth, what is left is spread over the time until it is renewed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from .quota import Left

FIRST_GAP, LONGEST_GAP, NO_GAP = 1.0, 30.0, 0.05
SHRINKS, SPREAD = 0.9, 0.5
LOW = 0.1


@dataclass(frozen=True)
class Ticket:
    """A call that was let out, and when."""

    at: float
    probe: bool = False


class Pace:
    """The pace of one limit. Times are seconds of one clock that never goes back."""

    def __init__(self) -> None:
        self._closed_until = -inf
        self._throttled_at = -inf
        self._probe_due = False
        self._probing = False
        self._next_at = -inf
        self._gap = 0.0
        self._low_gap = 0.0
        self._low_until = -inf

    def wait(self, now: float) -> float:
        """Seconds until a call may go out, as far as is known: 0 for now, infinite while a probe is out."""
        if now < self._closed_until:
            return self._closed_until - now
        if self._probing:
            return inf
        return max(0.0, self._next_at - now)

    def take(self, now: float, drawn: float) -> Ticket:
        """Lets a call out, when `wait` said 0; `drawn` is a random number from 0 to 1."""
        gap = max(self._gap, self._low_gap if now < self._low_until else 0.0)
        if gap:
            self._next_at = now + gap * (1 + SPREAD * (drawn - 0.5))
        ticket = Ticket(now, self._probe_due)
        self._probing, self._probe_due = self._probe_due, False
        return ticket

    def succeeded(self, ticket: Ticket) -> None:
        """The call came back whole."""
        if ticket.probe:
            self._probing = False
        if ticket.at > self._throttled_at:
            self._gap = self._gap * SHRINKS if self._gap * SHRINKS >= NO_GAP else 0.0

    def broke(self, ticket: Ticket) -> None:
        """The call came back broken, or was given up, for a reason that says nothing of limits."""
        if ticket.probe:
            self._probing, self._probe_due = False, True

    def throttled(self, ticket: Ticket, now: float, after: float | None) -> None:
        """The server takes fewer calls now, and none for `after` seconds, if it said so.

        Of calls that were out together only the first one slows the pace.
        """
        if ticket.probe:
            self._probing = False
        if after is not None:
            self._closed_until = max(self._closed_until, now + after)
            self._probe_due = True
        if ticket.at > self._throttled_at:
            self._throttled_at = now
            self._gap = min(LONGEST_GAP, max(FIRST_GAP, self._gap * 2))
            self._next_at = max(self._next_at, now + self._gap)

    def told(self, left: Sequence[Left], tokens: int, now: float) -> None:
        """What the server says is left; a call takes about `tokens`."""
        for one in left:
            if one.remaining <= 0:
                self._closed_until = max(self._closed_until, now + one.seconds)
            elif one.remaining < LOW * one.limit:
                calls = one.remaining // max(1, tokens) if one.tokens else one.remaining
                self._spread(min(LONGEST_GAP, one.seconds / max(1, calls)), one.seconds, now)

    def _spread(self, gap: float, seconds: float, now: float) -> None:
        """Only when it begins is the next call put off: replies that come in meanwhile don't put it off again."""
        if now >= self._low_until:
            self._next_at = max(self._next_at, now + gap)
        self._low_gap, self._low_until = gap, now + seconds
