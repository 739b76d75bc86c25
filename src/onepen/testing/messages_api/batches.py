"""Message Batches of the double: what is in them, when they end and with what; time is passed in, nothing waits.

The requests of a batch are answered one after the other, evenly over the time that it takes, so that one which is
cancelled or expires on the way has some results. Outside it looks as the API documents it: all requests count as
processing until the whole batch has ended, and only then there are results, in any order.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from .faults import Refused, bad
from .rules import Batching, Rule

CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KINDS = ("succeeded", "errored", "canceled", "expired")
_PAGE, _LONGEST_PAGE = 20, 1_000


@dataclass(frozen=True)
class Result:
    """What comes of one request. `lines` are its lines in the results, of which there may be none, or strange ones.

    `kind` is what it counts as; `paid` whether a model has answered it.
    """

    kind: str
    lines: tuple[Mapping[str, object], ...]
    paid: bool = False


@dataclass(frozen=True)
class Paid:
    """A request in a batch that a model has answered: who asks for such a batch pays for it."""

    batch: str
    custom_id: str
    params: Mapping[str, Any]


Process = Callable[[str, Mapping[str, Any], float], Result]
"""Answers one request: its custom_id, its parameters and the time."""


@dataclass
class Batch:
    """A Message Batch; times are seconds of the double's clock.

    `takes` is how long all of it takes, `expires` after how long it ends in any case, unless it is `overdue`;
    `canceling` how long it takes to be cancelled. `results` are those of its first requests, once they are answered.
    """

    id: str
    requests: tuple[tuple[str, Mapping[str, Any]], ...]
    created: float
    takes: float
    expires: float
    overdue: bool
    canceling: float
    results: list[Result] = field(default_factory=list)
    cancelled: float | None = None
    ended: float | None = None
    deleted: bool = False

    @property
    def custom_ids(self) -> tuple[str, ...]:
        return tuple(custom_id for custom_id, _ in self.requests)

    @property
    def status(self) -> str:
        """The API's word."""
        if self.ended is not None:
            return "ended"
        return "in_progress" if self.cancelled is None else "canceling"

    def pass_time(self, now: float, process: Process) -> None:
        """All that happens to it until now."""
        if self.ended is not None:
            return
        due = self.created + self.expires
        whole = self.created + self.takes
        end = whole if self.overdue else min(whole, due)
        last = min(now, end) if self.cancelled is None else min(now, end, self.cancelled)
        many = len(self.requests)
        while len(self.results) < many and self.created + self.takes * (len(self.results) + 1) / many <= last:
            custom_id, params = self.requests[len(self.results)]
            self.results.append(process(custom_id, params, now))
        if len(self.results) < many and self.cancelled is not None:
            end = min(end, self.cancelled + self.canceling)
        if now < end:
            return
        self.ended = end
        rest = "expired" if self.cancelled is None else "canceled"
        for custom_id, _ in self.requests[len(self.results) :]:
            self.results.append(Result(rest, (line(custom_id, {"type": rest}),)))

    def counts(self, *, at_once: bool = False) -> dict[str, int]:
        """How many requests stand where; while it runs, all of them are processing, unless it tells them `at_once`."""
        told = self.results if self.ended is not None or at_once else ()
        counts = {kind: sum(result.kind == kind for result in told) for kind in KINDS}
        return {"processing": len(self.requests) - len(told), **counts}

    def jsonl(self) -> tuple[bytes, ...]:
        """The lines of its results, in an order that has nothing to do with that of its requests."""
        lines = [told for result in self.results for told in result.lines]
        shuffled = sorted(lines, key=lambda told: hashlib.sha256(f"{self.id}{told}".encode(errors="replace")).digest())
        return tuple(json.dumps(told).encode() + b"\n" for told in shuffled)


class Batches:
    """All Message Batches of a server; `epoch` is the date at which its clock stood at 0."""

    def __init__(self, given: Batching, process: Process, epoch: datetime) -> None:
        self._given = given
        self._process = process
        self._epoch = epoch
        self._all: dict[str, Batch] = {}
        self.paid: list[Paid] = []

    @property
    def all(self) -> tuple[Batch, ...]:
        """Those that were made, in their order; deleted ones, too."""
        return tuple(self._all.values())

    def pass_time(self, now: float) -> None:
        """All that happens until now."""
        for batch in self._all.values():

            def process(custom_id: str, params: Mapping[str, Any], now: float, of: str = batch.id) -> Result:
                result = self._process(custom_id, params, now)
                if result.paid:
                    self.paid.append(Paid(of, custom_id, params))
                return result

            batch.pass_time(now, process)

    def create(self, body: Mapping[str, Any], size: int, rule: Rule | None, now: float) -> Batch | Refused:
        """A new batch of the requests in a body of that size."""
        no = self._refusal(body, size)
        if no is not None:
            return no
        requests = tuple((one["custom_id"], one["params"]) for one in body["requests"])
        given, told = self._given, rule or Rule()
        name = hashlib.sha256(f"batch {len(self._all) + 1}".encode()).hexdigest()[:24]
        batch = Batch(
            f"msgbatch_{name}", requests, now,
            given.takes if told.takes is None else told.takes,
            given.expires if told.expires is None else told.expires,
            told.overdue, told.canceling,
        )  # fmt: skip
        self._all[batch.id] = batch
        return batch

    def find(self, name: str) -> Batch | None:
        batch = self._all.get(name)
        return None if batch is None or batch.deleted else batch

    def cancel(self, batch: Batch, rule: Rule | None, now: float) -> Refused | None:
        """Begins to cancel it; None: done."""
        if batch.ended is not None:
            return bad("Batch cannot be canceled because it has already ended")
        if batch.cancelled is None:
            batch.cancelled = now
            batch.canceling = rule.canceling if rule is not None and rule.canceling else batch.canceling
            self.pass_time(now)
        return None

    def delete(self, batch: Batch) -> Refused | None:
        """Forgets it and its results; None: done."""
        if batch.ended is None:
            return bad("Batch cannot be deleted while it is still processing")
        batch.deleted = True
        return None

    def told(self, batch: Batch, address: str, rule: Rule | None = None) -> dict[str, object]:
        """The batch as the API tells it; `address` is that of the server."""
        shown = rule is not None and rule.status
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": shown or batch.status,
            "request_counts": batch.counts(at_once=rule is not None and rule.counting),
            "created_at": self._date(batch.created),
            "expires_at": self._date(batch.created + batch.expires),
            "ended_at": None if batch.ended is None or shown else self._date(batch.ended),
            "cancel_initiated_at": None if batch.cancelled is None else self._date(batch.cancelled),
            "archived_at": None,
            "results_url": None
            if batch.ended is None or shown
            else f"{address}/v1/messages/batches/{batch.id}/results",
        }

    def page(self, query: str, address: str) -> dict[str, object] | Refused:
        """A page of the list, the latest first; `limit`, `after_id` and `before_id` are obeyed."""
        wanted = {name: values[-1] for name, values in parse_qs(query).items()}
        limit = int(told) if (told := wanted.get("limit", str(_PAGE))).isascii() and told.isdecimal() else 0
        if not 1 <= limit <= _LONGEST_PAGE:
            return bad(f"limit: Input should be from 1 to {_LONGEST_PAGE}")
        known = [batch for batch in reversed(self._all.values()) if not batch.deleted]
        names = [batch.id for batch in known]
        if (after := wanted.get("after_id")) in names:
            known = known[names.index(after) + 1 :]
        elif (before := wanted.get("before_id")) in names:
            known = known[: names.index(before)][-limit:]
        page = known[:limit]
        return {
            "data": [self.told(batch, address) for batch in page], "has_more": len(known) > len(page),
            "first_id": page[0].id if page else None, "last_id": page[-1].id if page else None,
        }  # fmt: skip

    def _refusal(self, body: Mapping[str, Any], size: int) -> Refused | None:
        if size > self._given.bytes:
            return Refused(
                413, "request_too_large", f"Request exceeds the maximum size: {size} of {self._given.bytes} bytes",
                {"x-should-retry": "false"},
            )  # fmt: skip
        fault = next(_faults(body, self._given.requests), None)
        return bad(fault) if fault else None

    def _date(self, seconds: float) -> str:
        at = self._epoch + timedelta(seconds=seconds)
        return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def line(custom_id: str, result: Mapping[str, object]) -> Mapping[str, object]:
    """A line of results."""
    return {"custom_id": custom_id, "result": result}


def _faults(body: Mapping[str, Any], most: int) -> Iterator[str]:
    """What is wrong with a batch as a whole; its requests' parameters are looked at when their turn comes."""
    for name in body:
        if name != "requests":
            yield f"{name}: Extra inputs are not permitted"
    requests = body.get("requests")
    if not isinstance(requests, list):
        yield "requests: Field required" if requests is None else "requests: Input should be a valid list"
        return
    if not 1 <= len(requests) <= most:
        yield f"requests: List should have from 1 to {most} items, not {len(requests)}"
    yield from _each(requests)


def _each(requests: Sequence[object]) -> Iterator[str]:
    seen: set[str] = set()
    for k, one in enumerate(requests):
        match one:
            case {"custom_id": str(custom_id), "params": dict(), **rest}:
                if rest:
                    yield f"requests.{k}.{next(iter(rest))}: Extra inputs are not permitted"
                if not CUSTOM_ID.fullmatch(custom_id):
                    yield f"requests.{k}.custom_id: String should match pattern '^{CUSTOM_ID.pattern}$'"
                if custom_id in seen:
                    yield f"requests.{k}.custom_id: custom_id must be unique within a batch: {custom_id}"
                seen.add(custom_id)
            case _:
                yield f"requests.{k}: custom_id (a text) and params (an object) are required"
