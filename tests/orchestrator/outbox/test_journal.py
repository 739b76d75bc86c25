"""The journal of what was sent: each event comes back as it was, and replaying it gives the same state."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from onepen.orchestrator.gateway.account import Amount
from onepen.orchestrator.gateway.price import Price, Step
from onepen.orchestrator.outbox.events import (
    Asked,
    Canceling,
    Created,
    Ended,
    Event,
    Expired,
    Handed,
    Intent,
    Item,
    Kind,
    Stored,
    Told,
    Unmade,
)
from onepen.orchestrator.outbox.journal import Entry, entries, line_of
from onepen.orchestrator.outbox.state import State

AT = datetime(2026, 11, 29, 8, 30, tzinfo=UTC)
PRICE = Price(1.5, 1.875, 0.15, 7.5, (Step(200_000, Price(3.0, 3.75, 0.3, 11.25)),), 3.0)
NOWHERE = Path("message-batches.jsonl")


def asked(name: str) -> Asked:
    return Asked(name, "ab" * 32, name.partition("-")[0], "acme", "writer", "claude-sonnet-5-5", Amount(0.01, 0))


EVENTS: list[Event] = [
    Intent("k1", "api.anthropic.com", "default", (asked("a-1"), asked("b-1")), {"claude-sonnet-5-5": PRICE, "x": None}),
    Created("k1", "msgbatch_1", "2026-11-29T08:30:00+00:00", "2026-11-30T08:30:00+00:00"),
    Unmade("k2", "413 request_too_large"),
    Canceling("msgbatch_1"),
    Ended("msgbatch_1"),
    Stored("msgbatch_1", (Item("a-1", "reply", 7, 99, Amount(0.5)), Item("b-1", "failed", reason="no", exit_code=2))),
    Expired("msgbatch_1", "überfällig"),
    Handed("a-1"),
    Told("b-1"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_each_event_comes_back_as_it_was(event: Event) -> None:
    line = line_of(Entry(AT, event))
    assert "\n" not in line
    assert list(entries([line.encode() + b"\n"], NOWHERE)) == [Entry(AT, event)]


@given(st.integers(1, 400))
def test_a_journal_that_is_cut_anywhere_has_the_lines_before(cut: int) -> None:
    lines = [line_of(Entry(AT, event)).encode() + b"\n" for event in EVENTS]
    torn = lines[0] + lines[1][:cut]
    found = list(entries(torn.splitlines(keepends=True), NOWHERE))
    assert found == [Entry(AT, event) for event in EVENTS[: 1 + (cut >= len(lines[1]) - 1)]]
    healed = list(entries((torn + b"\n" + lines[2]).splitlines(keepends=True), NOWHERE))
    assert healed[-1] == Entry(AT, EVENTS[2]), "what follows on it is read"


class Posting(RuleBasedStateMachine):
    """Batches are sent, made or not, stored, given up; whatever comes in which order, replaying gives the same."""

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.log: list[Entry] = []
        self.count = 0
        self.tries: dict[str, int] = {}

    def happens(self, event: Event) -> None:
        self.log.append(Entry(AT + timedelta(minutes=len(self.log)), event))
        self.state.apply(self.log[-1])

    def free(self) -> list[str]:
        names = [f"{task}-1" for task in "abcdef"]
        kept = {name for name, one in self.state.results.items() if one.item.kind in ("reply", "refusal")}
        return [name for name in names if self.state.where(name) is None and name not in kept]

    @precondition(lambda self: self.free())
    @rule(data=st.data())
    def send(self, data: st.DataObject) -> None:
        names = data.draw(st.lists(st.sampled_from(self.free()), min_size=1, unique=True))
        self.count += 1
        self.happens(Intent(f"k{self.count}", "host", "default", tuple(map(asked, names)), {}))

    @precondition(lambda self: any(one.stage == "doubt" for one in self.state.sent.values()))
    @rule(data=st.data(), made=st.booleans())
    def make(self, data: st.DataObject, made: bool) -> None:
        key = data.draw(st.sampled_from([one.key for one in self.state.sent.values() if one.stage == "doubt"]))
        for name in self.state.sent[key].requests if made else ():
            self.tries[name] = self.tries.get(name, 0) + 1
        self.happens(Created(key, f"msgbatch_{key}", "", "") if made else Unmade(key, "no"))

    @precondition(lambda self: any(one.stage != "doubt" for one in self.state.sent.values()))
    @rule(data=st.data(), end=st.sampled_from(["cancel", "end", "store", "expire"]))
    def end(self, data: st.DataObject, end: str) -> None:
        sent = data.draw(st.sampled_from([one for one in self.state.sent.values() if one.stage != "doubt"]))
        kinds: list[Kind] = ["reply", "refusal", "again", "failed", "canceled"]
        match end:
            case "cancel":
                self.happens(Canceling(sent.batch))
            case "end":
                self.happens(Ended(sent.batch))
            case "expire":
                self.happens(Expired(sent.batch, "late"))
            case _:
                items = tuple(Item(name, data.draw(st.sampled_from(kinds))) for name in sent.requests)
                for item in items:
                    self.tries[item.id] -= item.kind == "canceled"
                self.happens(Stored(sent.batch, items))

    @precondition(lambda self: self.state.results)
    @rule(data=st.data(), told=st.booleans())
    def tell(self, data: st.DataObject, told: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.state.results)))
        self.happens(Told(name) if told else Handed(name))
        if told:
            self.tries.pop(name, None)

    @invariant()
    def replaying_gives_the_same(self) -> None:
        lines = [line_of(entry).encode() for entry in self.log]
        assert State.of(entries(lines, NOWHERE)) == self.state

    @invariant()
    def a_request_is_out_once_or_has_a_result(self) -> None:
        out = [name for sent in self.state.sent.values() for name in sent.requests]
        assert len(out) == len(set(out)) and not set(out) & set(self.state.results)
        assert all(self.state.where(name) is not None for name in out)
        assert all(self.state.where(name) is None for name in self.state.results)

    @invariant()
    def tries_are_counted(self) -> None:
        assert {name: n for name, n in self.state.tries.items() if n} == {k: n for k, n in self.tries.items() if n}


TestPosting = Posting.TestCase
TestPosting.settings = settings(max_examples=40, stateful_step_count=25)


def test_a_batch_whose_server_tells_no_end_ends_after_a_day() -> None:
    state = State.of([Entry(AT, EVENTS[0]), Entry(AT, Created("k1", "msgbatch_1", "", "tomorrow"))])
    assert state.sent["k1"].expires == AT + timedelta(days=1)


def test_events_of_batches_that_nobody_knows_change_nothing() -> None:
    state = State.of([Entry(AT, event) for event in EVENTS[1:7]])
    assert not state.sent and not state.results
