"""What a call that broke means: it is over, or it is worth another try, and from when on.

Over: what the same request would meet again (400, 401, 403, 404, 413, 422, any other 4xx), a spending limit at the
provider, and whatever the server marks with `x-should-retry: false`. Another try: 408, 409, 429, everything from 500,
time-outs, resets and a stream that was cut. An `error` event after status 200 counts like the status of its type.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ..errors import OrchestratorFault

TRIES = 6
"""How often a call is made at most, the first time included."""

TRIES_UNREACHED = 4
"""The same where nobody answers at an address of this machine: a server that isn't running is told soon."""

TRIES_SILENT = 3
"""The same where a server took the call and said nothing: each try has waited for long, and may be paid."""

_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_AGAIN = frozenset({408, 409, 429})
_THROTTLED = frozenset({429, 503, 529})
_SPENT = re.compile(r"credit balance|spend(?:ing)?[ _](?:limit|cap)|billing|usage limits", re.IGNORECASE)
_MOST = 300


@dataclass(frozen=True)
class Final:
    """The same call would fail again. `exit_code` 2: something is missing (a key, a model); 4: a provider's budget."""

    reason: str
    hint: str | None = None
    exit_code: int = 1


@dataclass(frozen=True)
class Again:
    """Worth another try: after `after` seconds where the server said so. `throttled`: it takes fewer calls now."""

    reason: str
    after: float | None = None
    throttled: bool = False
    tries: int = TRIES


class CallBroken(Exception):
    """Raised by an adapter when a call gave no whole reply; only the gateway catches it."""

    def __init__(self, verdict: Final | Again) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class CallFailed(OrchestratorFault):
    """Raised when a model call failed for good, or its tries or its patience are used up."""


class CallNeeds(CallFailed):
    """Raised when a server refuses a call for want of something: a key, a right, a model of that name."""

    exit_code = 2


class ProviderBudget(CallFailed):
    """Raised when the provider takes no more calls because its own spending limit is reached."""

    exit_code = 4


def failed(final: Final) -> CallFailed:
    """The error that a person sees."""
    by_code = {2: CallNeeds, 4: ProviderBudget}
    return by_code.get(final.exit_code, CallFailed)(final.reason, hint=final.hint)


@dataclass(frozen=True)
class Answered:
    """An error that a server answered with; `kind` and `code` are the API's words, where it gave any."""

    status: int
    message: str
    kind: str | None = None
    code: str | None = None


def judged(answered: Answered, headers: Mapping[str, str], *, place: str, now: datetime) -> Final | Again:
    """What the answer means; `place` names the model and the server, `headers` have lower-case names."""
    status = answered.status if answered.status >= 300 else _STATUS_OF.get(answered.kind or "", 500)
    reason = f"{place}: {_words(answered, status)}"
    if status < 400:
        return Final(f"{reason}; give the address that it leads to as base_url", "onepen config show", 2)
    retry = headers.get("x-should-retry", "").strip().lower()
    if answered.kind == "billing_error" or status == 402 or _spent(answered, status):
        return Final(reason, None, 4)
    if retry == "false" or (status < 500 and status not in _AGAIN and retry != "true"):
        needs = status in {401, 403, 404}
        return Final(reason, "onepen config show" if needs else None, 2 if needs else 1)
    return Again(reason, retry_after(headers, now), status in _THROTTLED)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait as the server wishes, by its own clock where it told the time; None for no or no clear wish."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    at = http_date(headers.get("retry-after", ""))
    return None if at is None else max(0.0, (at - (http_date(headers.get("date", "")) or now)).total_seconds())


def http_date(text: str) -> datetime | None:
    """The moment in a header such as `Sun, 29 Nov 2026 08:30:00 GMT`; None for anything else."""
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError, TypeError):
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _spent(answered: Answered, status: int) -> bool:
    return status in {400, 403, 429} and any(_SPENT.search(t) for t in (answered.code or "", answered.message))


def _words(answered: Answered, status: int) -> str:
    said = "" if answered.message.lstrip().startswith("<") else " ".join(answered.message.split())
    said = said if len(said) <= _MOST else said[:_MOST] + "…"
    kind = answered.kind or "error"
    return f"{status} {kind}: {said}" if said else f"{status} {kind}"
