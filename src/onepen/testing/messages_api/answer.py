"""What the double does with one request: pure, from what came and the rules to an answer; the server carries it out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from . import http
from .asked import Asked
from .caching import Taken
from .faults import Refused, bad, error_event, refused, told
from .reply import Event, Reply, build, events
from .rules import Counted, Fault, Rule

IN_BATCHES = ("expired", "canceled", "missing", "twice", "unknown_id", "unknown_result")
"""The faults that only a request in a Message Batch has."""
PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>\n"


@dataclass(frozen=True)
class Answer:
    """What goes over the wire: `head`, then `parts` with `pace` seconds between them.

    `ending` is what becomes of the connection afterwards: `keep` it, `close`, `reset`, or stay `silent` until the other
    side leaves. `refuse` is for how many seconds no connection is taken. `taken` is what a cache
    counts as it begins.
    """

    status: int
    head: bytes = b""
    parts: tuple[bytes, ...] = ()
    delay: float = 0.0
    pace: float = 0.0
    ending: str = "keep"
    refuse: float = 0.0
    rule: int | None = None
    reply: Reply | None = None
    taken: Taken | None = None


def say_no(no: Refused, request_id: str, *, delay: float = 0.0, headers: Mapping[str, str] | None = None) -> Answer:
    """An error with its status."""
    return whole(no.status, no.body(request_id), request_id, {**(headers or {}), **no.headers}, delay=delay)


def whole(
    status: int,
    body: bytes,
    request_id: str,
    headers: Mapping[str, str] | None = None,
    *,
    kind: str = "application/json",
    delay: float = 0.0,
) -> Answer:
    """An answer in one piece."""
    said = {
        "content-type": kind, "content-length": str(len(body)),
        "request-id": request_id, **(headers or {}),
    }  # fmt: skip
    return Answer(status, http.head(status, said), (body,), delay=delay)


def by_rule(
    rule: Rule,
    asked: Asked,
    raw: bytes,
    request_id: str,
    now: datetime,
    usage: Counted | None = None,
    diagnostics: Mapping[str, object] | None = None,
) -> Answer:
    """What the rule says to this request; where it doesn't tell them, with this usage and these diagnostics."""
    headers = {name: told(value, now) for name, value in rule.headers.items()}
    answer = instead(rule, request_id, now)
    if answer is not None:
        return answer
    reply = build(rule, asked, raw, usage, diagnostics)
    if asked.to == "messages" and asked.body.get("stream") is True:
        return _streamed(rule, reply, request_id, headers)
    return _plain(rule, reply, request_id, headers)


def instead(rule: Rule, request_id: str, now: datetime) -> Answer | None:
    """What comes in the place of an answer; None: there is one, be it one that breaks."""
    headers = {name: told(value, now) for name, value in rule.headers.items()}
    fault = rule.fault
    match fault.kind if fault else "":
        case "status" | "spend_cap":
            assert fault is not None
            return say_no(refused(fault, now), request_id, delay=rule.delay, headers=headers)
        case "not_json":
            return whole(502, PAGE, request_id, headers, kind="text/html", delay=rule.delay)
        case "reset" | "refuse":
            assert fault is not None
            return Answer(0, delay=rule.delay, ending="reset", refuse=fault.seconds)
        case "hang_up":
            return Answer(0, delay=rule.delay, ending="close")
        case "silent":
            return Answer(0, delay=rule.delay, ending="silent")
        case kind if kind in IN_BATCHES:
            return say_no(bad(f"the fault {kind} is one of requests in a Message Batch"), request_id)
    return None


def in_lines(
    lines: Sequence[bytes], rule: Rule, request_id: str, now: datetime, kind: str = "application/json"
) -> Answer:
    """An answer of these lines, broken as the rule says: in the middle of one, or after so many."""
    fault = rule.fault
    headers = {name: told(value, now) for name, value in rule.headers.items()}
    said = {"content-type": kind, "transfer-encoding": "chunked", "request-id": request_id, **headers}
    parts, pace, ending = list(lines), rule.pace, "keep"
    if fault is not None and fault.kind in ("cut", "reset_in_reply"):
        place = fault.at if isinstance(fault.at, int) else len(lines) // 2
        half = [] if isinstance(fault.at, int) else [line[: len(line) // 2] for line in lines[place : place + 1]]
        parts = [*lines[:place], *half]
        ending = "reset" if fault.kind == "reset_in_reply" else "keep"
    elif fault is not None and fault.kind == "drip":
        all_of_it = b"".join(lines)
        parts = [all_of_it[k : k + fault.bytes] for k in range(0, len(all_of_it), fault.bytes)]
        pace = fault.seconds
    chunks = [http.chunk(part) for part in parts]
    if ending == "keep":
        chunks.append(http.LAST_CHUNK)
    return Answer(200, http.head(200, said), tuple(chunks), rule.delay, pace, ending)


def _streamed(rule: Rule, reply: Reply, request_id: str, headers: Mapping[str, str]) -> Answer:
    said = {
        "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache",
        "transfer-encoding": "chunked", "request-id": request_id, **headers,
    }  # fmt: skip
    all_events = list(events(reply))
    fault = rule.fault or Fault(kind="drip", bytes=1 << 30)
    ending = "keep"
    if fault.kind in ("cut", "reset_in_reply", "error_event"):
        all_events = all_events[: _place(all_events, fault.at)]
        ending = "reset" if fault.kind == "reset_in_reply" else "keep"
        if fault.kind == "error_event":
            all_events.append(error_event(fault))
    written = [written_event(event) for event in all_events]
    if rule.fault and fault.kind == "drip":
        stream, size = b"".join(written), fault.bytes
        written = [stream[k : k + size] for k in range(0, len(stream), size)]
        pace = fault.seconds
    else:
        pace = rule.pace
    parts = [http.chunk(data) for data in written]
    if ending == "keep":
        parts.append(http.LAST_CHUNK)
    return Answer(200, http.head(200, said), tuple(parts), rule.delay, pace, ending, reply=reply)


def _plain(rule: Rule, reply: Reply, request_id: str, headers: Mapping[str, str]) -> Answer:
    fault = rule.fault
    if fault is not None and fault.kind == "error_event":  # a reply in one piece has no place for it but the status
        type_ = fault.type or "overloaded_error"
        status = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500}.get(type_, 500)
        return say_no(refused(fault.model_copy(update={"status": status}), datetime.min), request_id, headers=headers)
    body = json.dumps(reply.message, ensure_ascii=False).encode()
    answer = whole(200, body, request_id, headers, delay=rule.delay)
    if fault is None:
        return Answer(200, answer.head, answer.parts, rule.delay, reply=reply)
    if fault.kind == "drip":
        parts = tuple(body[k : k + fault.bytes] for k in range(0, len(body), fault.bytes))
        return Answer(200, answer.head, parts, rule.delay, fault.seconds, reply=reply)
    ending = "reset" if fault.kind == "reset_in_reply" else "close"
    return Answer(200, answer.head, (body[: len(body) // 2],), rule.delay, ending=ending, reply=reply)


def written_event(event: Event) -> bytes:
    """An event as server-sent events are written."""
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode(errors="replace")


def _place(all_events: Sequence[Event], at: str | int) -> int:
    """How many events come before the break."""
    if isinstance(at, int):
        return at
    kinds = [event["type"] for event in all_events]
    if at == "start":
        return 2
    if at == "delta" or "content_block_start" not in kinds:
        return len(kinds) - 1
    if at == "block":
        return _last(kinds, "content_block_stop") + 1
    begun = _last(kinds, "content_block_start")
    return (begun + _last(kinds, "content_block_stop") + 1) // 2 + 1


def _last(kinds: Iterable[str], kind: str) -> int:
    return max(k for k, one in enumerate(kinds) if one == kind)
