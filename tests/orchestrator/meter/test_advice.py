"""Lines of the usage log in, what to look at out: each pattern with its figures and the next command."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from onepen.orchestrator.meter.advice import advice
from onepen.orchestrator.meter.entry import Entry
from onepen.orchestrator.meter.measured import Cause, Layer, Measured, Missed
from onepen.orchestrator.usage import Booking
from onepen.subagents.model import Usage

ANSWER = Booking("", 0, "main", "big", Usage(10, 400, 8_000, 100), 0.01, role="main", chat="2026-11-30-ab")


def talk(*measured: Measured, usage: Usage = ANSWER.usage) -> list[Entry]:
    """A chat whose answers are measured so."""
    lines = (replace(ANSWER, turn=k, call=1, measured=one, usage=usage) for k, one in enumerate(measured, 1))
    return [Entry(None, line, "2026-11-30T10:00:00+01:00") for line in lines]


def missed(layer: Layer, cause: Cause, tokens: int = 8_000, after: int | None = 420) -> Measured:
    return Measured(missed=Missed(layer, cause, tokens, 0.025, after))


def only(entries: Sequence[Entry]) -> str:
    (line,) = advice(entries)
    return line


def test_where_all_is_well_nothing_is_said() -> None:
    assert advice([]) == advice(talk(*[Measured()] * 50)) == ()


@pytest.mark.parametrize("cause", ["expired", "changed", "model changed", "gone"])
def test_what_happens_twice_is_no_pattern_and_what_costs_next_to_nothing_no_line(cause: Cause) -> None:
    assert advice(talk(*[missed("C", cause)] * 2, *[Measured()] * 2)) == ()
    assert advice(talk(*[missed("C", cause, 33)] * 3, *[Measured()] * 3)) == ()
    assert len(advice(talk(*[missed("C", cause)] * 3, *[Measured()] * 3))) == 1


def test_a_cache_that_expires_too_often() -> None:
    line = only(talk(*[missed("B", "expired")] * 4, *[Measured()] * 6))
    assert line.startswith(
        "the cache had expired before 4 of 10 answers, after pauses of about 7 min: 32,000 tokens were paid for again, "
        "$0.10"
    )
    assert "onepen chat --resume" in line


def test_a_layer_that_changes_at_each_turn_and_one_that_changes_now_and_then() -> None:
    line = only(talk(*[missed("I", "changed")] * 5, *[Measured()] * 5))
    assert line == (
        "layer I changed before 5 of 10 answers of chat 2026-11-30-ab: 40,000 tokens were paid for again, $0.12 "
        "(what changed: onepen context --diff 2026-11-30-ab)"
    )
    assert advice(talk(*[missed("I", "changed")] * 4, *[Measured()] * 6)) == ()


def test_a_card_that_is_read_as_a_whole_again_and_again() -> None:
    entries = talk(*[Measured(whole={"projects/kiln.md": 3_000})] * 3)
    assert only(entries).startswith(
        "projects/kiln.md was read as a whole 3 times, 9,000 tokens, $0.06, where a section"
    )
    acme = [replace(entry, client="acme") for entry in entries]
    assert only(acme).startswith("clients/acme/projects/kiln.md was read as a whole 3 times")
    mixed = [*entries[:2], *acme[:2]]
    assert advice(mixed) == (), "two clients' cards of one name are two cards"


def test_prompts_that_are_too_short_and_servers_that_count_nothing() -> None:
    short = talk(*[missed("B", "too short", 0, None)] * 3, usage=Usage(900, output=10))
    assert only(short).startswith("3 prompts of about 900 tokens were too short for the model's cache")
    silent = talk(*[missed("B", "no counters", 0, None)] * 3, usage=Usage(9_000, output=10))
    assert only(silent).startswith("big: the server told of no cache for 3 answers, 27,000 tokens")


def test_a_chat_that_has_grown_dear() -> None:
    line = only(talk(*[Measured()] * 3, usage=Usage(10, 400, 60_000, 100)))
    assert line.startswith(
        "chat 2026-11-30-ab has grown dear: 3 answers, $0.03, and each further one sends 60,410 tokens"
    )


def test_reviews_that_take_much_of_the_money() -> None:
    work = Booking("t1", 1, "writer", "big", Usage(1_000, output=100), 0.1, call=1)
    review = replace(work, role="review", agent="reviewer", cost_usd=0.2)
    entries = [Entry(None, replace(one, attempt=k), "") for one in (work, review) for k in (1, 2, 3)]
    assert only(entries).startswith("3 reviews took 50 % of what delegated work cost, $0.60 (a smaller model for them")
    assert advice(entries[:5]) == ()


def test_what_costs_most_is_told_first_and_models_without_a_price_are_told_without_money() -> None:
    free = [
        replace(entry, booking=replace(entry.booking, cost_usd=None, measured=measured))
        for entry, measured in zip(
            talk(*[Measured()] * 6),
            [Measured(missed=Missed("C", "gone", 900)), Measured(missed=Missed("B", "model changed", 8_000))] * 3,
            strict=True,
        )
    ]
    first, second = advice(free)
    assert first.startswith("the model was changed 3 times") and second.startswith("the server no longer had 3 prompts")
    assert "$" not in first + second
