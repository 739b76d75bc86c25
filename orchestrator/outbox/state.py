"""What the journal's events come to: pure. Replaying them gives the same state, so a crash changes nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from ..gateway.price import Price
from .events import Asked, Canceling, Created, Ended, Event, Expired, Handed, Intent, Item, Stored, Told, Unmade
from .journal import Entry

_DAY = timedelta(days=1)

Stage = Literal["doubt", "out", "ended"]
"""doubt: nobody knows yet whether the server has made it; out: the server is at it; ended: its results can be had."""


@dataclass
class Sent:
    """A Message Batch that isn't done with: when it was meant to be made, at which server, and what is in it."""

    key: str
    at: datetime
    server: str
    profile: str
    requests: Mapping[str, Asked]
    prices: Mapping[str, Price | None]
    stage: Stage = "doubt"
    batch: str = ""
    expires: datetime | None = None
    canceling: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a request, in which batch and when: `item` says where its reply is kept."""

    asked: Asked
    item: Item
    batch: str
    at: datetime


@dataclass
class State:
    """All that is known of requests that were sent.

    `sent` are the batches that aren't done with, by key; `results` what came of requests, by custom_id; `tries` how
    often each was sent in vain or not, `broken` why it has to be sent again. `handed` are those whose reply its task
    has. `known` are the names of all batches that were ever ours.
    """

    sent: dict[str, Sent] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    tries: Counter[str] = field(default_factory=Counter)
    broken: dict[str, tuple[Item, ...]] = field(default_factory=dict)
    handed: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    _where: dict[str, Sent] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "State":
        state = cls()
        for entry in entries:
            state.apply(entry)
        return state

    def where(self, custom_id: str) -> Sent | None:
        """The batch that a request is in, or may be in; None: it isn't out."""
        return self._where.get(custom_id)

    def apply(self, entry: Entry) -> None:
        event = entry.event
        match event:
            case Intent(key=key):
                requests = {asked.id: asked for asked in event.requests}
                sent = Sent(key, entry.at, event.server, event.profile, requests, event.prices)
                self.sent[key] = sent
                for name in requests:
                    self.results.pop(name, None)
                    self.handed.discard(name)
                    self._where[name] = sent
            case Created(key=key, batch=batch) if key in self.sent:
                sent = self.sent[key]
                sent.stage, sent.batch = "out", batch
                sent.expires = _time(event.expires) or entry.at + _DAY
                self.known.add(batch)
                self.tries.update(sent.requests.keys())
            case Unmade(key=key) if key in self.sent:
                self._done(self.sent[key])
            case Canceling(batch=batch) | Ended(batch=batch) | Stored(batch=batch) | Expired(batch=batch):
                self._of_batch(batch, event, entry.at)
            case Handed(id=name):
                self.handed.add(name)
            case Told(id=name):
                self.results.pop(name, None)
                self.tries.pop(name, None)
                self.broken.pop(name, None)

    def _of_batch(self, batch: str, event: Event, at: datetime) -> None:
        sent = next((one for one in self.sent.values() if one.batch == batch), None)
        if sent is None:
            return
        match event:
            case Canceling():
                sent.canceling = True
            case Ended():
                sent.stage = "ended"
            case Stored(items=items):
                self._done(sent)
                for item in items:
                    if item.id in sent.requests:
                        self._came(sent, item, at)
            case Expired(reason=reason):
                self._done(sent)
                for name in sent.requests:
                    self._came(sent, Item(name, "again", reason=reason), at)

    def _came(self, sent: Sent, item: Item, at: datetime) -> None:
        if item.kind == "canceled":  # as if it had never been asked
            self.tries[item.id] -= 1
            return
        if item.kind == "again":
            self.broken[item.id] = (*self.broken.get(item.id, ()), item)
        self.results[item.id] = Result(sent.requests[item.id], item, sent.batch, at)

    def _done(self, sent: Sent) -> None:
        del self.sent[sent.key]
        for name in sent.requests:
            if self._where.get(name) is sent:
                del self._where[name]


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
