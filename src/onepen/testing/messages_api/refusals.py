"""What the real API refuses before any model sees it; pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .faults import Refused, bad
from .http import Request


def refusal(
    request: Request, to: str, *, key: str | None, models: Sequence[str], strict: bool
) -> tuple[Mapping[str, Any], Refused | None]:
    """The body as far as it could be read, and why the request is refused; None: it is taken."""
    headers = request.headers
    given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ").strip()
    if strict and not given:
        return {}, Refused(401, "authentication_error", "x-api-key header is required")
    if key is not None and given != key:
        return {}, Refused(401, "authentication_error", "invalid x-api-key")
    if strict and not headers.get("anthropic-version"):
        return {}, bad("anthropic-version: header is required")
    if request.method == "GET":
        return {}, None
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as e:
        return {}, bad(f"The request body is not valid JSON: {e}")
    if not isinstance(body, dict):
        return {}, bad("Input should be a valid dictionary")
    return body, None
