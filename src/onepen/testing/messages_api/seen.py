"""What the double keeps of a request."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .http import Request


@dataclass(frozen=True)
class Seen:
    """A request as it came, byte for byte, and what was decided about it.

    `n` counts all requests from 1, `at` is the time in seconds on the monotonic clock, `connection` counts connections
    from 1. `status` is that of the answer, 0 for none; `rule` the number of the rule that gave it, from 0.
    """

    n: int
    at: float
    connection: int
    request: Request
    status: int
    rule: int | None

    @property
    def to(self) -> str | None:
        """The endpoint: messages, count_tokens, models, model, or one of the six of Message Batches."""
        return endpoint(self.request)

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        return self.request.headers

    @property
    def raw(self) -> bytes:
        """The body's bytes."""
        return self.request.body

    @property
    def body(self) -> Any:
        """The body as JSON; raises ValueError."""
        return json.loads(self.raw)

    def line(self) -> dict[str, object]:
        """As it stands in a record; bytes that are no UTF-8 are kept as halves of characters."""
        return {
            "n": self.n, "at": round(self.at, 6), "connection": self.connection, "method": self.request.method,
            "path": self.request.target, "headers": dict(self.headers),
            "body": self.raw.decode(errors="surrogateescape"), "status": self.status, "rule": self.rule,
        }  # fmt: skip


def endpoint(request: Request) -> str | None:
    """Whom a request is for; None: nobody."""
    match request.method, request.path.strip("/").split("/"):
        case "POST", ["v1", "messages"]:
            return "messages"
        case "POST", ["v1", "messages", "count_tokens"]:
            return "count_tokens"
        case "GET", ["v1", "models"]:
            return "models"
        case "GET", ["v1", "models", _]:
            return "model"
        case method, ["v1", "messages", "batches", *rest]:
            return _of_batches(method, rest)
    return None


def _of_batches(method: str, rest: Sequence[str]) -> str | None:
    match method, *rest:
        case ("POST",):
            return "batches"
        case ("GET",):
            return "batch_list"
        case "GET", _:
            return "batch"
        case "DELETE", _:
            return "batch_delete"
        case "GET", _, "results":
            return "batch_results"
        case "POST", _, "cancel":
            return "batch_cancel"
    return None
