"""What the real API refuses before any model sees it; pure. The words are its own where they are known."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .asked import texts
from .dialogue import dialogue_fault
from .faults import Refused, bad
from .http import Request
from .marks import marks_fault
from .shape import shape_fault

LARGEST = 32 * 1024 * 1024
# The escape of half a character; whether it stands alone, only the parsed text tells.
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_ALONE = re.compile(rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]..")


@dataclass(frozen=True)
class Known:
    """What a judgement depends on besides the request: the server's models and key, and what it said before.

    `kinds` are kinds of blocks of its own, `paused` the contents of replies that ended with pause_turn, both taken back
    as they were; blocks in `said` are taken back with whatever signature they carry. Contents are canonical JSON.
    """

    models: Collection[str]
    key: str | None = None
    strict: bool = True
    kinds: Collection[str] = ()
    paused: Collection[str] = ()
    said: Collection[str] = field(default_factory=frozenset)


def refusal(request: Request, to: str, known: Known) -> tuple[Mapping[str, Any], Refused | None]:
    """The body as far as it could be read, and why the request is refused; None: it is taken."""
    no = _stranger(request.headers, known)
    if request.method != "POST" or to == "batch_cancel":
        return {}, no
    body, unread = _read(request.body, None if to == "batches" else LARGEST)
    no = no or unread
    if no is None and to != "batches":
        no = unfit(body, known, counting=to == "count_tokens", beta="anthropic-beta" in request.headers)
    return body, no


def unfit(body: Mapping[str, Any], known: Known, *, counting: bool = False, beta: bool = False) -> Refused | None:
    """Why what was asked is refused, whoever asks and in whatever way."""
    fault = _fault(body, known, counting, beta) if known.strict else None
    if fault is not None:
        return bad(fault)
    if body.get("model") not in known.models:
        return Refused(404, "not_found_error", f"model: {body.get('model')}", {"x-should-retry": "false"})
    return None


def _stranger(headers: Mapping[str, str], known: Known) -> Refused | None:
    given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ").strip()
    if known.strict and not given:
        return Refused(401, "authentication_error", "x-api-key header is required", {"x-should-retry": "false"})
    if known.key is not None and given != known.key:
        return Refused(401, "authentication_error", "invalid x-api-key", {"x-should-retry": "false"})
    if known.strict and not headers.get("anthropic-version"):
        return bad("anthropic-version: header is required")
    return None


def _read(raw: bytes, most: int | None) -> tuple[dict[str, Any], Refused | None]:
    if most is not None and len(raw) > most:
        return {}, Refused(413, "request_too_large", "Request exceeds the maximum size", {"x-should-retry": "false"})
    try:
        body = json.loads(raw.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as e:
        return {}, bad(f"The request body is not valid JSON: {e}")
    if not isinstance(body, dict):
        return {}, bad("Input should be a valid dictionary")
    if _HALF.search(raw) and any(_half(text) for text in texts(body, without=())):
        alone = _ALONE.search(raw)
        at = alone.start() if alone else 0
        return body, bad(
            f"The request body is not valid JSON: no low surrogate in string: line 1 column {at + 1} (char {at})"
        )
    return body, None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"invalid number {name}")


def _half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _fault(body: Mapping[str, Any], known: Known, counting: bool, beta: bool) -> str | None:
    return (
        shape_fault(body, counting=counting, beta=beta, kinds=known.kinds)
        or marks_fault(body)
        or dialogue_fault(body, paused=known.paused, said=known.said)
    )
