"""Of calls that begin alike and come together one goes first, and the others when the server's cache is filled.

Time passes at once here, and the server's cache is that of the double: marks, look-back, entries from the moment on at
which a reply begins.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepen.orchestrator.errors import OrchestratorFault
from onepen.orchestrator.gateway.account import Account, Caps
from onepen.orchestrator.gateway.ear import Ear
from onepen.orchestrator.gateway.failure import Again, CallBroken
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.gateway.herd import REASON, Herd
from onepen.orchestrator.gateway.request import body
from onepen.orchestrator.gateway.warmth import KNOWN, LIVES, UNKNOWN
from onepen.orchestrator.settings.models import Served
from onepen.subagents.messages import Text, user
from onepen.subagents.model import Caching, Listener, ModelReply, ModelRequest, Usage
from onepen.testing import timelapse
from onepen.testing.messages_api.bound import bound, paid
from onepen.testing.messages_api.caching import Cache

from .conftest import ACCOUNT, PRICE, nobody_waits, request

BUDGET = "other calls are out, and what they cost decides whether the budget is enough"
SHARED, INDEX, OWN = "rules \n" * 2000, "index \n" * 1000, "writer \n" * 500


def of(number: int, *, own: str = OWN, **changes: Any) -> ModelRequest:
    return request(user(Text(f"task {number}")), system=(SHARED, INDEX, own), **changes)


def review(number: int) -> ModelRequest:
    """A call that is made once, with rules that are too short for the model's cache."""
    return request(user(Text(f"{number}" * 90_000)), system=("judge \n" * 350,), tool_choice="verdict")


@dataclass
class Server:
    """A model with a cache: a reply begins after `begins` seconds and is whole after one more.

    `breaks` are the calls, by number from 1, that break when they should begin. Without `counts` the usage has no
    counters of a cache.
    """

    begins: float = 1.0
    breaks: frozenset[int] = frozenset()
    counts: bool = True
    cache: Cache = field(default_factory=Cache)
    came: list[float] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    used: list[Usage] = field(default_factory=list)
    name: str = "claude-sonnet-5-5"

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        assert isinstance(listener, Ear)
        self.came.append(anyio.current_time())
        number, sent = len(self.came), body(request, self.name)
        taken = self.cache.ask(sent, anyio.current_time())
        await anyio.sleep(self.begins)
        if number in self.breaks:
            raise CallBroken(Again("reset"))
        self.cache.begin(taken, anyio.current_time())
        whole = Usage(taken.plain + taken.written + taken.read, 0, 0, 5)
        usage = Usage(taken.plain, taken.written, taken.read, 5) if self.counts else whole
        listener.counted(usage)
        await anyio.sleep(1.0)
        self.bodies.append(sent)
        self.used.append(usage)
        return ModelReply((Text("so"),), "end_turn", usage, self.name)

    @property
    def ratio(self) -> float:
        """What all calls paid for input, by the least that they could have."""
        return sum(paid(u.input, u.cache_write, u.cache_read) for u in self.used) / bound(self.bodies)


@dataclass
class Crew:
    """Callers on one gateway; `waits` has the reason and the length of each wait."""

    server: Any
    limit: str = "one"
    patience: float = 1_800.0
    account: Account = ACCOUNT
    random: Callable[[], float] = lambda: 0.5
    waits: list[tuple[str, float]] = field(default_factory=list)
    failed: list[Exception] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._gateway: Gateway | None = None

    @contextmanager
    def waiting(self, reason: str, seconds: float) -> Iterator[None]:
        began = anyio.current_time()
        try:
            yield
        finally:
            self.waits.append((reason, anyio.current_time() - began))

    async def call(self, wanted: ModelRequest, at: float = 0.0, gives_up_after: float | None = None) -> None:
        await anyio.sleep(at)
        self._gateway = self._gateway or Gateway(random=self.random)
        served = Served(self.server, PRICE, self.limit, patience_seconds=self.patience)
        with anyio.move_on_after(gives_up_after):
            try:
                await self._gateway.reply(served, wanted, self.account, on_lost=lambda lost: None, waiting=self.waiting)
            except OrchestratorFault as e:
                self.failed.append(e)
        self.ended.append(anyio.current_time())

    def together(self, *wanted: ModelRequest) -> None:
        self.run(*((one, 0.0, None) for one in wanted))

    def run(self, *calls: tuple[ModelRequest, float, float | None]) -> None:
        async def work() -> None:
            async with anyio.create_task_group() as group:
                for one in calls:
                    group.start_soon(self.call, *one)

        timelapse.run(work)


def test_one_fills_the_cache_and_nineteen_read_it() -> None:
    crew = Crew(Server())
    crew.together(*map(of, range(20)))
    assert crew.server.came == [0.0, *[1.0] * 19], "they go when its reply has begun, not when it is whole"
    assert [usage.cache_read > 0 for usage in crew.server.used] == [False, *[True] * 19]
    assert crew.server.ratio == pytest.approx(1.0, abs=0.01)
    assert crew.waits == [(REASON, 1.0)] * 19, "a worker's clock stands still meanwhile"


def test_without_the_gate_each_pays_for_all_of_it() -> None:
    crew = Crew(Server(), limit="")
    crew.together(*map(of, range(20)))
    assert crew.server.came == [0.0] * 20 and crew.server.ratio > 5


def test_agents_of_two_kinds_share_what_they_have_in_common() -> None:
    """The first of each kind fills what is its own; the first of all what all share."""
    crew = Crew(Server())
    crew.together(*(of(k, own=(OWN, "reader \n" * 500)[k % 2]) for k in range(20)))
    assert crew.server.came == [0.0, *[1.0] * 10, *[2.0] * 9]
    assert crew.server.ratio == pytest.approx(1.0, abs=0.01)


def test_others_have_another_cache() -> None:
    """Another model, other tools, another beginning: nobody waits for what can't help."""
    crew = Crew(Server())
    crew.together(of(1), request(system=("other \n" * 2000,)), request(system=("more \n" * 2000,)))
    assert crew.server.came == [0.0] * 3 and not crew.waits


def test_what_is_too_short_for_any_cache_is_not_waited_for() -> None:
    crew = Crew(Server())
    crew.together(*(request(user(Text(f"task {k}"))) for k in range(5)))
    assert crew.server.came == [0.0] * 5 and not crew.waits


def test_when_the_first_one_fails_the_next_one_is_the_first() -> None:
    crew = Crew(Server(breaks=frozenset({1, 2})), random=lambda: 0.0)
    crew.together(*map(of, range(20)))
    came = crew.server.came
    assert came[:3] == [0.0, 1.0, 2.0], "one after the other, until one has filled it"
    assert came[3:] == [3.0] * 19 and len(came) == 22, "those that failed come back as any other"
    assert crew.server.ratio == pytest.approx(1.0, abs=0.01)


def test_when_the_first_one_is_given_up_the_next_one_is_the_first() -> None:
    crew = Crew(Server())
    crew.run((of(0), 0.0, 0.5), *((of(k), 0.1, 0.2 if k == 1 else None) for k in range(1, 6)))
    assert crew.server.came == [0.0, 0.5, *[1.5] * 3], "one that waited was given up, too, and held up nobody"


def test_a_server_that_counts_no_cache_is_waited_for_once() -> None:
    """Until its first reply has begun; from then on nobody waits, as long as prompts are no longer than that one."""
    crew = Crew(Server(counts=False, cache=Cache(10**9)))
    crew.run(*((of(k), 0.0, None) for k in range(5)), *((of(k, own="w\n"), 1_000.0, None) for k in range(5)))
    assert crew.server.came == [0.0, *[1.0] * 4, *[1_000.0] * 5]
    longer = Crew(Server(counts=False, cache=Cache(10**9)))
    longer.run((of(1), 0.0, None), *((of(k, own=OWN * 2), 10.0, None) for k in range(5)))
    assert longer.server.came == [0.0, 10.0, *[11.0] * 4], "a longer one may be kept"


def test_a_review_whose_rules_are_too_short_says_nothing_of_the_server() -> None:
    """All of it but its rules is asked once, and has no mark: no counter is no sign for what is longer than those.

    And they are waited for once: one reply after the other would help nobody.
    """
    crew = Crew(Server())
    crew.run(
        *((review(k), 0.0, None) for k in range(5)),
        *((of(k), 10.0, None) for k in range(3)),
        *((review(k), 2 * LIVES["5m"], None) for k in range(5)),
    )
    assert not any(usage.cache_write or usage.cache_read for usage in crew.server.used[:5])
    assert crew.server.came == [0.0, *[1.0] * 4, 10.0, 11.0, 11.0, *[2 * LIVES["5m"]] * 5]


@pytest.mark.parametrize(("counted", "next_day"), [(9_000, [1_000.0] * 3), (90, [1_000.0, 1_001.0, 1_001.0])])
def test_a_server_that_counts_at_the_end_only(counted: int, next_day: list[float]) -> None:
    """At the beginning nobody knows; the first whole reply tells. One that counts far too few holds up nobody twice."""

    class Late(Server):
        async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
            assert isinstance(listener, Ear)
            self.came.append(anyio.current_time())
            await anyio.sleep(1.0)
            listener.counted(Usage())
            await anyio.sleep(1.0)
            return ModelReply((Text("so"),), "end_turn", Usage(counted, 0, 0, 5), self.name)

    crew = Crew(Late())
    crew.run(*((of(k), at, None) for at in (0.0, 5.0, 1_000.0) for k in range(3)))
    assert crew.server.came == [0.0, 1.0, 1.0, *[5.0] * 3, *next_day]


@pytest.mark.parametrize(("known", "borne"), [(False, UNKNOWN), (True, KNOWN)])
def test_a_server_that_says_nothing_holds_up_nobody_for_long(known: bool, borne: float) -> None:
    server = Server(begins=300.0)
    crew = Crew(server)
    before = [(request(system=("before \n" * 2000,)), 0.0, None)] if known else []
    crew.run(*before, *((of(k), 301.0, None) for k in range(5)))
    assert server.came[len(before) :] == [301.0, *[301.0 + borne] * 4], "together, not one after the other"


def test_nobody_waits_longer_than_its_patience() -> None:
    """Its patience is for all its waits together; it isn't refused for this one."""
    crew = Crew(Server(begins=30.0), patience=4.0)
    crew.together(of(1), of(2))
    assert crew.server.came == [0.0, 4.0] and not crew.failed


def test_after_five_minutes_without_a_use_one_goes_first_again() -> None:
    crew = Crew(Server())
    late = 3 * LIVES["5m"]
    crew.run(
        *((of(k), at, None) for at in (0.0, LIVES["5m"] - 10, 2 * LIVES["5m"] - 20, late) for k in range(3)),
    )
    starts = [0.0, 1.0, 1.0, *[LIVES["5m"] - 10] * 3, *[2 * LIVES["5m"] - 20] * 3]
    assert crew.server.came == [*starts, late, late + 1.0, late + 1.0]


def test_what_is_kept_for_an_hour_is_not_filled_again_after_five_minutes() -> None:
    crew = Crew(Server())
    hour = Caching((0, 1, 2), "1h", "1h")
    later, next_day = 10 * LIVES["5m"], 40 * LIVES["5m"]
    crew.run(*((of(k, caching=hour), at, None) for at in (0.0, later, next_day) for k in range(3)))
    assert crew.server.came == [0.0, 1.0, 1.0, *[later] * 3, next_day, next_day + 1.0, next_day + 1.0]


def test_what_five_minutes_were_asked_for_does_not_live_for_an_hour_because_another_asks_for_it() -> None:
    crew = Crew(Server())
    hour = Caching((0, 1, 2), "1h", "1h")
    again = 2 * LIVES["5m"]
    crew.run((of(0), 0.0, None), (of(1, caching=hour), 10.0, None), *((of(k), again, None) for k in range(2)))
    assert crew.server.came == [0.0, 10.0, again, again + 1.0]


def test_a_beginning_ends_only_where_a_mark_stands() -> None:
    """Two agents share the rules and the index; without a mark at its end nobody can read them of the other."""
    crew = Crew(Server())
    rules_only = Caching((2,))
    crew.together(of(1, own="writer \n" * 900, caching=rules_only), of(2, own="reader \n" * 900, caching=rules_only))
    assert crew.server.came == [0.0, 0.0] and not crew.waits


def test_who_waits_for_the_budget_and_who_waits_for_the_cache_do_not_wait_for_each_other() -> None:
    """The budget holds one call at a time; the one that goes first has to wait for it, and the others for that one."""
    before = request(system=("before \n" * 40_000,))
    for begins, then in ((1.0, 3.0), (300.0, 301.0 + KNOWN)):
        crew = Crew(Server(begins), account=Account(None, "qw3cm1gk", "writer", Caps(task_usd=0.43)))
        crew.run((before, 0.0, None), *((of(k), 0.1, None) for k in range(2)))
        assert crew.server.came == [0.0, begins + 1.0, then] and not crew.failed
        assert {reason for reason, _ in crew.waits} == {REASON, BUDGET}


def test_the_time_that_is_borne_begins_when_the_first_one_goes_out() -> None:
    """Until then it may itself wait for its turn at the server, for as long as that takes."""
    admitted: list[float] = []

    async def work() -> None:
        herd = Herd()

        async def second() -> None:
            await herd.admit(of(2), "m", 1_800.0, nobody_waits)
            admitted.append(anyio.current_time())

        first = await herd.admit(of(1), "m", 1_800.0, nobody_waits)
        async with anyio.create_task_group() as group:
            group.start_soon(second)
            await anyio.sleep(500.0)
            herd.went_out(first)

    timelapse.run(work)
    assert admitted == [500.0 + UNKNOWN]


@dataclass
class Moody(Server):
    """A server of which each call has its own time until it begins, and its own fate."""

    moods: Sequence[tuple[float, bool]] = ()

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        begins, breaks = self.moods[len(self.came) % len(self.moods)]
        self.begins = begins
        self.breaks = frozenset({len(self.came) + 1}) if breaks else frozenset()
        return await super().reply(request, listener)


calls = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([0.0, 0.0, 0.5, 3.0, 400.0]),
        st.sampled_from([None, None, None, 0.2, 2.0, 15.0]),
    ),
    min_size=1,
    max_size=12,
)
moods = st.lists(st.tuples(st.sampled_from([0.0, 0.3, 2.0, 20.0, 200.0]), st.booleans()), min_size=1, max_size=8)


@settings(max_examples=80)
@given(calls, moods, st.booleans())
def test_whatever_happens_nobody_waits_for_ever(
    made: list[tuple[int, float, float | None]], fates: list[tuple[float, bool]], counts: bool
) -> None:
    """Calls of three kinds that come, are given up, break and are made again: time-lapse fails where all wait.

    And a wait for the cache ends when the call that it is for has been out for as long as is borne.
    """
    kinds = (OWN, "reader \n" * 500, "judge \n" * 500)
    crew = Crew(Moody(moods=fates, counts=counts))
    crew.run(*((of(k, own=kinds[kind]), at, ends) for k, (kind, at, ends) in enumerate(made)))
    assert len(crew.ended) == len(made)
    borne = KNOWN if counts else UNKNOWN
    assert all(length <= borne * len(made) for reason, length in crew.waits if reason == REASON)
