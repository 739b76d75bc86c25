"""Answers that say no, as the real API words and shapes them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from .rules import Fault

TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 408: "timeout_error", 409: "conflict_error", 413: "request_too_large",
    422: "invalid_request_error", 429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
WORDS = {
    400: "invalid request", 401: "invalid x-api-key", 408: "Request timed out",
    402: "Your credit balance is too low to access the Anthropic API.",
    403: "Your API key does not have permission to use the specified resource.",
    404: "Not found", 409: "Conflict", 413: "Request exceeds the maximum size",
    429: "This request would exceed your organization's rate limit of 50 requests per minute.",
    504: "Gateway timeout", 529: "Overloaded",
}  # fmt: skip
SPEND_CAP = "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."

_TIME = re.compile(r"\{(now|date)([+-]\d+(?:\.\d+)?)?\}")


@dataclass(frozen=True)
class Refused:
    """An answer with an error."""

    status: int
    type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None

    def body(self, request_id: str) -> bytes:
        error = {"type": self.type, "message": self.message, "details": self.code and {"error_code": self.code}}
        return json.dumps({"type": "error", "error": error, "request_id": request_id}, ensure_ascii=False).encode()


def bad(message: str) -> Refused:
    """A request that the API doesn't take."""
    return Refused(400, "invalid_request_error", message, {"x-should-retry": "false"})


def refused(fault: Fault, now: datetime) -> Refused:
    """The answer of a fault that is one with an HTTP status."""
    spent = fault.kind == "spend_cap"
    status = fault.status or (429 if spent else 500)
    words = SPEND_CAP if spent else WORDS.get(status, "Internal server error")
    headers: dict[str, str] = {}
    if fault.retry_after is not None:
        headers["retry-after"] = told(str(fault.retry_after), now)
    if fault.should_retry is not None:
        headers["x-should-retry"] = str(fault.should_retry).lower()
    code = fault.code or ("enforced_spend_limit_reached" if spent else None)
    return Refused(status, fault.type or TYPES.get(status, "api_error"), fault.message or words, headers, code)


def error_event(fault: Fault) -> dict[str, object]:
    """The event of an error within a reply."""
    kind = fault.type or "overloaded_error"
    words = fault.message or {"overloaded_error": "Overloaded"}.get(kind, "Internal server error")
    return {
        "type": "error",
        "error": {"type": kind, "message": words, "details": fault.code and {"error_code": fault.code}},
    }


def told(value: str, now: datetime) -> str:
    """A header's value; "{now+20}" becomes the time in 20 s as RFC 3339 writes it, "{date+20}" as HTTP does."""

    def moment(match: re.Match[str]) -> str:
        at = (now + timedelta(seconds=float(match[2] or 0))).astimezone(UTC)
        if match[1] == "date":
            return format_datetime(at, usegmt=True)
        return at.replace(microsecond=0, tzinfo=None).isoformat() + "Z"

    return _TIME.sub(moment, value)
