"""Budgets hold, however many calls are out at the same time."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import ClientId
from onepen.orchestrator.gateway.account import Account, Amount, Caps
from onepen.orchestrator.gateway.failure import Again, CallBroken, CallFailed, Final
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.gateway.ledger import Ledger, OverBudget, Reservation, Short, Unpriced, Wait, cost, most
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.settings.models import Served
from onepen.subagents.messages import Text, user
from onepen.subagents.model import Caching, Life, Listener, LostCall, ModelReply, ModelRequest, Usage
from onepen.testing import timelapse
from onepen.testing.clock import FixedClock

from .conftest import PRICE, nobody_waits, request

DAY = date(2026, 11, 29)
MORE = Price(0.0, 0.0, 0.0, 15.0)


def account(purse: str = "t1", client: str | None = None, spent: Amount | None = None, **caps: float) -> Account:
    named = None if client is None else ClientId(client)
    return Account(named, purse, "researcher", Caps(**caps), spent or Amount())  # type: ignore[arg-type]


def test_a_call_that_fits_only_if_others_cost_less_waits_for_them() -> None:
    ledger = Ledger()
    one = ledger.reserve(account(task_usd=1.0), Amount(0.6), DAY)
    assert isinstance(one, Reservation)
    assert ledger.reserve(account(task_usd=1.0), Amount(0.6), DAY) == Wait()
    ledger.settle(one, Amount(0.1))
    assert isinstance(ledger.reserve(account(task_usd=1.0), Amount(0.6), DAY), Reservation)
    assert ledger.spent("t1") == Amount(0.1)


def test_a_call_that_fits_nohow_says_which_budget_it_is() -> None:
    ledger = Ledger()
    found = ledger.reserve(account(spent=Amount(0.9), task_usd=1.0), Amount(0.2), DAY)
    assert found == Short("task", False, 1.0, 0.9, 0.2)
    assert OverBudget(account(), found).hint == "onepen config show"
    error = OverBudget(replace(account(), ceiling_usd=5.0), found)
    assert error.message == "the budget of t1: $0.90 of $1.00 are spent, and the next call may cost $0.20"
    assert (error.hint, error.exit_code) == ("onepen resume t1 --budget USD", 4)


def test_a_budget_of_less_than_a_cent_is_not_told_as_nothing() -> None:
    found = Ledger().reserve(account(task_usd=0.0004), Amount(0.0921), DAY)
    assert isinstance(found, Short)
    assert "$0.00 of $0.0004 are spent, and the next call may cost $0.0921" in OverBudget(account(), found).message


def test_the_day_counts_for_all_clients_and_a_clients_day_for_itself() -> None:
    ledger = Ledger(lambda day: {ClientId("acme"): Amount(2.0), None: Amount(1.0)})
    acme = account("t1", "acme", client_day_usd=2.5)
    assert ledger.reserve(acme, Amount(0.6), DAY) == Short("client", False, 2.5, 2.0, 0.6)
    assert isinstance(ledger.reserve(account("t2", "muji", client_day_usd=2.5), Amount(0.6), DAY), Reservation)
    assert isinstance(ledger.reserve(account("t3", None, client_day_usd=0.1), Amount(0.6), DAY), Reservation)
    assert ledger.reserve(account("t4", "muji", day_usd=3.5), Amount(0.6), DAY) == Short("day", False, 3.5, 3.0, 0.6)


def test_the_logs_are_asked_once_a_day_and_a_new_day_begins_anew() -> None:
    asked: list[date] = []

    def before(day: date) -> dict[ClientId | None, Amount]:
        asked.append(day)
        return {None: Amount(4.9)} if day == DAY else {}

    ledger = Ledger(before)
    capped = account(day_usd=5.0)
    assert isinstance(ledger.reserve(capped, Amount(0.2), DAY), Short)
    assert isinstance(ledger.reserve(capped, Amount(0.2), DAY), Short)
    assert isinstance(ledger.reserve(capped, Amount(0.2), date(2026, 11, 30)), Reservation)
    assert asked == [DAY, date(2026, 11, 30)]


def test_what_the_logs_say_of_a_task_is_not_counted_twice() -> None:
    ledger = Ledger()
    first = ledger.reserve(account(spent=Amount(0.2), task_usd=1.0), Amount(0.5), DAY)
    assert isinstance(first, Reservation)
    ledger.settle(first, Amount(0.3))  # and booked: the next attempt opens an account that knows of it
    assert isinstance(ledger.reserve(account(spent=Amount(0.5), task_usd=1.0), Amount(0.5), DAY), Reservation)
    assert ledger.spent("t1") == Amount(0.5)


def test_what_has_no_price_is_bounded_by_tokens_and_never_free() -> None:
    wanted = most(request(max_tokens=1_000), None)
    assert wanted.usd == 0 and wanted.tokens > 1_000
    assert cost(Usage(1, 0, 0, 1), None) is None and cost(Usage(), None) == 0.0
    ledger = Ledger()
    assert isinstance(ledger.reserve(account(task_tokens=100), wanted, DAY), Short)
    assert isinstance(ledger.reserve(account(day_tokens=100_000, task_usd=0.0), wanted, DAY), Reservation)


def test_a_prompt_that_is_kept_for_an_hour_may_cost_twice_its_plain_price() -> None:
    price = Price(1.0, 1.25, 0.1, 0.0)
    lives: tuple[Life, Life] = ("5m", "1h")
    short, long = (most(request(caching=Caching((0,), life, life)), price) for life in lives)
    assert long.usd == pytest.approx(short.usd * 2.0 / 1.25) and short == most(request(), price)


def test_the_most_a_call_may_cost_is_the_whole_prompt_written_and_the_longest_reply() -> None:
    small, large = most(request(), PRICE), most(request(user(Text("word " * 10_000))), PRICE)
    assert small.usd >= 200 * 15 / 1e6 and small.tokens == 0
    assert large.usd > 10_000 * 3.75 / 1e6


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 0.5), st.floats(0, 1)), max_size=40), st.floats(0.1, 2.0))
def test_spending_never_passes_a_cap(steps: list[tuple[int, float, float]], cap: float) -> None:
    ledger = Ledger()
    out: list[Reservation] = []
    spent = 0.0
    for purse, amount, share in steps:
        got = ledger.reserve(account(f"t{purse}", task_usd=cap / 2, day_usd=cap), Amount(amount), DAY)
        if isinstance(got, Reservation):
            out.append(got)
        if out and share > 0.5:
            back = out.pop(0)
            ledger.settle(back, Amount(back.amount.usd * share))
            spent += back.amount.usd * share
        assert spent + sum(r.amount.usd for r in out) <= cap + 1e-6
        assert all(ledger.spent(f"t{k}").usd <= cap / 2 + 1e-6 for k in range(4))


@dataclass
class Till:
    """A model whose every reply costs 0.09; the fifth call of all breaks after it was paid, the ninth for good."""

    paid: float = 0.0
    calls: list[str] = field(default_factory=list)
    out: int = 0
    most_out: int = 0
    name: str = "till"

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        self.calls.append(request.agent)
        number = len(self.calls)
        self.out += 1
        self.most_out = max(self.most_out, self.out)
        await anyio.sleep(1)
        self.out -= 1
        self.paid += 0.09
        usage = Usage(output=6_000)
        if number in (5, 9):
            listener.usage = usage  # type: ignore[union-attr]
            raise CallBroken(Again("cut") if number == 5 else Final("broke"))
        return ModelReply((Text("ok"),), "end_turn", usage, "till")


def test_eight_workers_and_forty_tasks_stay_within_one_budget() -> None:
    """Field case 64: tasks of one to three calls, reviews, broken tries; all of it counts."""
    till = Till()
    ended: Counter[str] = Counter()
    lost: list[LostCall] = []
    at_limit: list[int] = []
    ledger = Ledger()

    async def work() -> None:
        gateway = Gateway(ledger, clock=FixedClock("2026-11-29T09:30:00+01:00"), random=lambda: 0.5)
        served = Served(till, MORE, limit="till")
        left = list(range(40))

        async def call(purse: str, agent: str) -> None:
            asked = replace(request(max_tokens=7_000), agent=agent)
            await gateway.reply(served, asked, account(purse, day_usd=1.0), on_lost=lost.append, waiting=nobody_waits)

        async def worker() -> None:
            while left:
                task = left.pop(0)
                try:
                    for _ in range(1 + task % 3):
                        await call(f"t{task}", "researcher")
                    await call(f"t{task}", "reviewer")
                    ended["done"] += 1
                except OverBudget:
                    ended["over"] += 1
                    at_limit.append(len(till.calls))
                except CallFailed:
                    ended["failed"] += 1

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(worker)

    timelapse.run(work)
    assert till.paid <= 1.0
    assert till.paid > 1.0 - 2 * 0.105  # what a call may cost is what can be left over
    assert ended["failed"] == 1 and ended["over"] + ended["done"] == 39 and ended["over"] > 20
    assert at_limit[0] == len(till.calls)  # no request after the limit was reached
    assert [one.cost_usd for one in lost] == pytest.approx([0.09, 0.09])
    assert sum(ledger.spent(f"t{k}").usd for k in range(40)) == pytest.approx(till.paid)
    assert till.most_out >= 6


def test_a_model_without_a_price_needs_a_bound_in_tokens() -> None:
    till = Till()

    async def work() -> None:
        gateway = Gateway()
        served = Served(till, None)
        with pytest.raises(Unpriced, match="unknown is never free"):
            await gateway.reply(
                served, request(), account(task_usd=5.0), on_lost=lambda lost: None, waiting=nobody_waits
            )
        reply = await gateway.reply(
            served, request(), account(task_tokens=10_000), on_lost=lambda lost: None, waiting=nobody_waits
        )
        assert reply.cost_usd is None
        with pytest.raises(OverBudget, match=r"6,000 tokens of 6,100 tokens"):
            await gateway.reply(
                served, request(), account(task_tokens=6_100), on_lost=lambda lost: None, waiting=nobody_waits
            )

    timelapse.run(work)
    assert len(till.calls) == 1
