"""Money: set aside at half price before anything is sent, settled when a result is stored, held over a restart."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import ClientId
from onepen.orchestrator.errors import Parked
from onepen.orchestrator.gateway.account import Account, Amount, Caps
from onepen.orchestrator.gateway.ledger import Ledger, OverBudget, Short, Unpriced, most
from onepen.orchestrator.gateway.price import FREE, Price, Step
from onepen.orchestrator.outbox.events import Asked
from onepen.orchestrator.outbox.till import Till
from onepen.subagents.model import Usage
from onepen.testing.clock import FixedClock

from .conftest import EPOCH, PRICE, Bench, Process, request

MOST = most(request("t1"), PRICE.half()).usd
DAY = date(2026, 11, 29)
CHEAP = {"input": 100, "output": 10}
COST = (100 * PRICE.input + 10 * PRICE.output) / 2e6


def test_all_rates_are_halved() -> None:
    price = Price(3.0, 3.75, 0.3, 15.0, (Step(200_000, Price(6.0, 7.5, 0.6, 22.5)),))
    for usage in (Usage(1000, 200, 5000, 300), Usage(0, 900, 0, 0, 900), Usage(300_000, 10_000, 10_000, 5, 5_000)):
        assert price.half().of(usage) == pytest.approx(price.of(usage) / 2)
    assert price.half().cache_read < price.half().input


def test_the_most_is_set_aside_when_it_is_asked_for_and_settled_when_it_is_stored(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])

    async def work(process: Process) -> None:
        await process.park("t1", "t2")
        assert sum(one.amount.usd for one in process.ledger.tabs.values()) == pytest.approx(2 * MOST)
        await process.deliver()
        assert not process.ledger.tabs and process.ledger.spent("t1").usd == pytest.approx(COST)
        await process.ask("t1")
        assert process.ledger.spent("t1").usd == pytest.approx(COST)

    bench.run(work)
    assert most(request("t1"), PRICE).usd == pytest.approx(2 * MOST)


def test_what_does_not_fit_is_over_the_budget_for_its_task_only(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])

    async def work(process: Process) -> None:
        await process.park("t1")
        with pytest.raises(OverBudget, match="the budget of t2") as caught:
            await process.ask("t2", caps=Caps(task_usd=MOST * 0.9))
        assert caught.value.exit_code == 4
        await process.park("t3", caps=Caps(task_usd=MOST * 1.1))
        assert await process.answers("t1", "t3") == {"t1": "so", "t3": "so"}

    bench.run(work)
    assert sorted(bench.paid) == ["t1", "t3"]


def test_what_fits_only_if_others_cost_less_goes_in_a_later_batch(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])
    caps = Caps(day_usd=3.5 * MOST)
    tasks = [f"t{n}" for n in range(10)]

    async def work(process: Process) -> None:
        assert await process.answers(*tasks, caps=caps) == dict.fromkeys(tasks, "so")

    bench.run(work)
    assert len(bench.batches[0].custom_ids) == 3 and sorted(bench.paid) == sorted(tasks)


def test_when_the_others_have_cost_what_they_might_the_rest_is_over_the_budget(bench: Bench) -> None:
    full = {"input": 0, "cache_write": 0, "output": int(MOST / (PRICE.output / 2) * 1e6)}
    bench.start([{"reply": "so", "usage": full}])
    caps = Caps(day_usd=3.5 * MOST)
    tasks = [f"t{n}" for n in range(6)]

    async def work(process: Process) -> None:
        found = await process.answers(*tasks, caps=caps)
        assert sorted(words.partition(":")[0] for words in found.values()) == ["OverBudget"] * 3 + ["so"] * 3
        assert any("the day's budget" in words for words in found.values())
        assert process.outbox.waiting == 0 and not process.ledger.tabs

    bench.run(work)
    assert len(bench.paid) == 3


def test_where_only_others_decide_a_delivery_waits_a_little(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])
    caps = Caps(day_usd=1.5 * MOST)

    async def work(process: Process) -> None:
        live = process.ledger.reserve(Account(None, "live", "writer", caps), Amount(MOST), DAY)
        await process.park("t1", caps=caps)
        await process.deliver()
        assert bench.slept == [5.0] and process.outbox.held == {"t1"} and not bench.batches
        assert not isinstance(live, Short)
        process.ledger.settle(live, Amount(COST))  # type: ignore[arg-type]
        assert await process.answers("t1", caps=caps) == {"t1": "so"}

    bench.run(work)


def test_caps_of_the_day_and_of_a_client_count(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])

    async def work(process: Process) -> None:
        process.ledger.before = lambda day: {ClientId("acme"): Amount(1.0)}
        with pytest.raises(OverBudget, match="day's budget of client acme"):
            await process.ask("t1", caps=Caps(client_day_usd=1.0), client="acme")
        with pytest.raises(OverBudget, match="the day's budget"):
            await process.ask("t1", caps=Caps(day_usd=1.0))
        await process.park("t1", caps=Caps(client_day_usd=1.0), client="other")

    bench.run(work)


def test_what_has_no_price_is_bounded_by_tokens_and_never_free(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])

    async def work(process: Process) -> None:
        unpriced = process.served(price=None)
        with pytest.raises(Unpriced):
            await process.ask("t1", caps=Caps(task_usd=1.0), served=unpriced)
        with pytest.raises(OverBudget, match="tokens"):
            await process.ask("t1", caps=Caps(task_tokens=10), served=unpriced)
        assert await process.answers("t1", caps=Caps(day_tokens=1_000), served=unpriced) == {"t1": "so"}
        assert process.ledger.spent("t1") == Amount(0.0, 110)
        assert (await process.ask("t1", served=unpriced)).cost_usd is None

    bench.run(work)


def test_what_costs_nothing_needs_no_budget(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])

    async def work(process: Process) -> None:
        free = process.served(price=FREE)
        assert await process.answers("t1", caps=Caps(task_usd=0.0), served=free) == {"t1": "so"}
        assert (await process.ask("t1", served=free)).cost_usd == 0.0

    bench.run(work)


def out_after_a_crash(bench: Bench) -> None:
    async def first(process: Process) -> None:
        bench.meanwhile = process.stop.press
        await process.park("t1", "t2", client="acme")
        await process.deliver()

    bench.run(first)
    bench.meanwhile = lambda: None


def test_after_a_restart_what_is_out_is_set_aside_again(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])
    out_after_a_crash(bench)
    caps = Caps(day_usd=2.5 * MOST)

    async def later(process: Process) -> None:
        await process.park("t1", "t2", client="acme", caps=caps)
        assert sum(one.amount.usd for one in process.ledger.tabs.values()) == pytest.approx(2 * MOST)
        await process.park("t3", caps=caps)
        await process.deliver()
        assert [len(one.custom_ids) for one in bench.batches] == [2], "it may cost more than is left"
        assert process.ledger.spent("t1").usd == pytest.approx(COST)
        assert await process.answers("t3", caps=caps) == {"t3": "so"}

    bench.run(later)


def test_after_a_restart_what_is_stored_and_not_handed_out_is_booked(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])

    async def first(process: Process) -> None:
        await process.park("t1", "t2")
        await process.deliver()
        await process.ask("t1")

    async def later(process: Process) -> None:
        await process.park("t3")
        assert process.ledger.spent("t2").usd == pytest.approx(COST), "nobody else knows of it"
        assert process.ledger.spent("t1").usd == 0, "it was handed out, so it stands in the logs"
        await process.ask("t2")
        assert process.ledger.spent("t2").usd == pytest.approx(COST)
        await process.ask("t1")
        assert process.ledger.spent("t1").usd == pytest.approx(COST), "it didn't come to the logs after all"

    bench.run(first)
    bench.run(later)


def test_what_was_paid_and_nobody_has_got_can_be_seen(bench: Bench) -> None:
    bench.start([{"contains": "t3", "fault": 400}, {"reply": "so", "usage": CHEAP}])

    async def work(process: Process) -> None:
        await process.park("t1", "t2", "t3")
        assert process.outbox.unclaimed == {}
        await process.deliver()
        assert {task: paid.usd for task, paid in process.outbox.unclaimed.items()} == {
            "t1": pytest.approx(COST), "t2": pytest.approx(COST),
        }  # fmt: skip
        await process.ask("t1")
        assert set(process.outbox.unclaimed) == {"t2"}

    bench.run(work)


def test_the_account_of_what_is_out_is_asked_for(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])
    out_after_a_crash(bench)
    asked: list[Asked] = []

    def account(one: Asked) -> Account:
        asked.append(one)
        return Account(ClientId("acme"), one.task, one.agent, Caps(), Amount(5.0))

    bench.accounts = {"accounts": account}

    async def later(process: Process) -> None:
        assert process.outbox.out.requests == 2
        assert process.ledger.spent("t1").usd == 5.0

    bench.run(later)
    assert [(one.task, one.client, one.agent) for one in asked] == [("t1", "acme", "writer"), ("t2", "acme", "writer")]
    assert [one.most.usd for one in asked] == [pytest.approx(MOST)] * 2


def test_what_is_out_counts_on_the_day_on_which_it_was_sent(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])
    out_after_a_crash(bench)
    bench.clock.move(timedelta(days=1))

    async def later(process: Process) -> None:
        await process.park("t1", caps=Caps(day_usd=1.0))
        assert {one.day for one in process.ledger.tabs.values()} == {DAY}

    bench.run(later)


def test_another_outbox_of_the_same_process_sets_nothing_aside_twice(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])
    ledger = Ledger()

    async def stopped(process: Process) -> None:
        bench.meanwhile = process.stop.press
        await process.park("t1", "t2")
        await process.deliver()

    async def resumed(process: Process) -> None:
        bench.meanwhile = lambda: None
        await process.park("t1")
        assert sum(one.amount.usd for one in ledger.tabs.values()) == pytest.approx(2 * MOST)
        await process.deliver()

    async def once_more(process: Process) -> None:
        await process.ask("t1")
        assert ledger.spent("t1").usd == pytest.approx(COST) and not ledger.tabs

    bench.run(stopped, ledger)
    bench.run(resumed, ledger)
    bench.run(once_more, ledger)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.floats(0.0, 1.0)), min_size=1, max_size=40), st.floats(0.5, 12.0)
)  # fmt: skip
def test_spending_never_passes_a_cap(steps: list[tuple[int, float]], cap: float) -> None:
    """Whoever asks and whatever it costs, as long as it costs no more than its most."""
    ledger = Ledger()
    till = Till(ledger, FixedClock(EPOCH), lambda asked: Account(None, asked.task, "writer", Caps()))
    out: list[str] = []
    for n, (most_, share) in enumerate(steps):
        account = Account(None, f"t{n}", "writer", Caps(day_usd=cap))
        try:
            if till.reserve(str(n), account, Amount(float(most_))):
                out.append(str(n))
        except OverBudget:
            pass
        if share < 0.5 and out:
            name = out.pop(0)
            till.settle(name, Amount(ledger.tabs[name].amount.usd * share * 2))
        spent = sum(ledger.spent(f"t{k}").usd for k in range(n + 1))
        aside = sum(one.amount.usd for one in ledger.tabs.values())
        assert spent + aside <= cap + 1e-6


def test_asking_sends_nothing_that_has_no_money(bench: Bench) -> None:
    bench.start([{"reply": "so", "usage": CHEAP}])

    async def work(process: Process) -> None:
        caps: Any = Caps(day_usd=MOST * 1.5)
        await process.park("t1", "t2", caps=caps)
        bench.meanwhile = process.stop.press
        await process.deliver()
        with pytest.raises(Parked):
            await process.ask("t2", caps=caps)
        assert [one.custom_ids for one in bench.batches] == [(next(iter(bench.batches[0].custom_ids)),)]

    bench.run(work)
