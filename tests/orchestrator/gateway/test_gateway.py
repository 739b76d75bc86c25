"""What holds for every call: pauses carried on, waits told, nothing paid and forgotten."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import anyio
import pytest

from onepen.memory.errors import OnepenError
from onepen.orchestrator.gateway.ear import Ear
from onepen.orchestrator.gateway.failure import Again, CallBroken, CallFailed, Final
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.settings.models import Served
from onepen.subagents.messages import Opaque, Text, user
from onepen.subagents.model import Listener, LostCall, ModelReply, ModelRequest, Usage
from onepen.testing import timelapse

from .conftest import ACCOUNT, PRICE, MakeCalls, nobody_waits, request

Act = Callable[[ModelRequest, Ear], Awaitable[ModelReply]]


@dataclass
class Acts:
    """A model that does one thing after the other."""

    acts: list[Act]
    requests: list[ModelRequest] = field(default_factory=list)
    name: str = "acts"

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        self.requests.append(request)
        assert isinstance(listener, Ear)
        return await self.acts[len(self.requests) - 1](request, listener)


def says(text: str, stop_reason: str = "end_turn", usage: Usage = Usage(10, 0, 0, 5)) -> Act:  # noqa: B008
    async def act(request: ModelRequest, ear: Ear) -> ModelReply:
        return ModelReply((Text(text),), stop_reason, usage, "acts")

    return act


def breaks(verdict: Final | Again, usage: Usage = Usage()) -> Act:  # noqa: B008
    async def act(request: ModelRequest, ear: Ear) -> ModelReply:
        ear.usage = usage
        raise CallBroken(verdict)

    return act


def test_a_paused_reply_is_carried_on_and_comes_as_one() -> None:
    model = Acts([says("one", "pause_turn"), says("two", "pause_turn"), says("three")])
    lost: list[LostCall] = []

    async def work() -> ModelReply:
        return await Gateway().reply(
            Served(model, PRICE), request(), ACCOUNT, on_lost=lost.append, waiting=nobody_waits
        )

    reply = timelapse.run(work)
    assert reply.content == (Text("one"), Text("two"), Text("three")) and reply.stop_reason == "end_turn"
    assert reply.usage == Usage(30, 0, 0, 15) and reply.cost_usd == pytest.approx((30 * 3 + 15 * 15) / 1e6)
    assert model.requests[2].messages[-1].content == (Text("one"), Text("two")) and not lost


def test_a_reply_that_pauses_without_end_is_left_after_five_times() -> None:
    model = Acts([says("on", "pause_turn")] * 9)

    async def work() -> ModelReply:
        return await Gateway().reply(Served(model), request(), ACCOUNT, on_lost=lambda lost: None, waiting=nobody_waits)

    assert timelapse.run(work).stop_reason == "pause_turn" and len(model.requests) == 6


def test_what_was_said_before_a_pause_is_lost_when_it_can_not_go_on() -> None:
    model = Acts([says("one", "pause_turn"), breaks(Final("no"))])
    lost: list[LostCall] = []

    async def work() -> None:
        with pytest.raises(CallFailed, match="no"):
            await Gateway().reply(Served(model, PRICE), request(), ACCOUNT, on_lost=lost.append, waiting=nobody_waits)

    timelapse.run(work)
    assert sum((one.usage for one in lost), Usage()) == Usage(10, 0, 0, 5)


def test_a_paused_reply_over_the_api(calls: MakeCalls) -> None:
    tool = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "kiln"}}
    call = calls([{"nth": 1, "reply": [{"block": tool}], "stop_reason": "pause_turn"}, {"reply": "found"}])
    [reply] = call()
    assert reply.content == (Opaque(tool), Text("found")) and len(call.api.asked) == 2


def test_a_call_that_is_given_up_books_what_it_used() -> None:
    async def forever(request: ModelRequest, ear: Ear) -> ModelReply:
        ear.usage = Usage(100, 0, 0, 7)
        await anyio.sleep_forever()
        raise AssertionError

    lost: list[LostCall] = []

    async def work() -> None:
        gateway = Gateway()
        with anyio.move_on_after(1):
            await gateway.reply(
                Served(Acts([forever]), PRICE, "one"), request(), ACCOUNT, on_lost=lost.append, waiting=nobody_waits
            )
        # Its place in the queue and what was set aside for it are free again.
        await gateway.reply(
            Served(Acts([says("on")]), PRICE, "one"), request(), ACCOUNT, on_lost=lost.append, waiting=nobody_waits
        )

    timelapse.run(work)
    assert lost == [LostCall("it was given up", Usage(100, 0, 0, 7), PRICE.of(Usage(100, 0, 0, 7)))]


def test_a_probe_that_is_given_up_does_not_stop_the_others() -> None:
    async def forever(request: ModelRequest, ear: Ear) -> ModelReply:
        await anyio.sleep_forever()
        raise AssertionError

    ends: list[float] = []

    async def work() -> None:
        gateway = Gateway()

        async def call(begin: float, *acts: Act) -> None:
            await anyio.sleep(begin)
            served = Served(Acts(list(acts)), limit="one")
            await gateway.reply(served, request(), ACCOUNT, on_lost=lambda lost: None, waiting=nobody_waits)
            ends.append(anyio.current_time())

        async with anyio.create_task_group() as group:
            with anyio.move_on_after(25):  # refused until 20; then it is the probe, and a person stops it
                group.start_soon(call, 21.0, says("second"))
                await call(0.0, breaks(Again("429", 20.0, throttled=True)), forever)

    timelapse.run(work)
    assert ends == [25.0]


def test_a_call_whose_turn_does_not_come_ends_with_its_patience() -> None:
    async def forever(request: ModelRequest, ear: Ear) -> ModelReply:
        await anyio.sleep_forever()
        raise AssertionError

    async def work() -> None:
        gateway = Gateway()

        async def call(patience: float, *acts: Act) -> None:
            served = Served(Acts(list(acts)), limit="one", patience_seconds=patience)
            await gateway.reply(served, request(), ACCOUNT, on_lost=lambda lost: None, waiting=nobody_waits)

        async with anyio.create_task_group() as group:
            group.start_soon(call, 1_800.0, breaks(Again("429", 20.0, throttled=True)), forever)
            await anyio.sleep(21)
            with pytest.raises(CallFailed, match=r"turn did not come within 30 s \(patience_seconds\)"):
                await call(30.0, says("never"))
            assert anyio.current_time() == 51.0
            group.cancel_scope.cancel()

    timelapse.run(work)


def test_an_error_of_another_model_passes_as_it_is_and_is_no_lost_call() -> None:
    async def exhausted(request: ModelRequest, ear: Ear) -> ModelReply:
        raise OnepenError("no rule fits")

    lost: list[LostCall] = []

    async def work() -> None:
        with pytest.raises(OnepenError, match="no rule fits"):
            await Gateway().reply(
                Served(Acts([exhausted])), request(), ACCOUNT, on_lost=lost.append, waiting=nobody_waits
            )

    timelapse.run(work)
    assert not lost


def test_the_listener_hears_that_words_no_longer_count() -> None:
    async def half(request: ModelRequest, ear: Ear) -> ModelReply:
        ear.text("hal")
        raise CallBroken(Again("cut"))

    heard: list[str] = []

    class Person:
        def text(self, words: str) -> None:
            heard.append(words)

        def broke_off(self, reason: str) -> None:
            heard.append(f"[{reason}]")

    async def work() -> None:
        await Gateway().reply(
            Served(Acts([half, breaks(Again("reset")), says("whole")])),
            request(),
            ACCOUNT,
            on_lost=lambda lost: None,
            waiting=nobody_waits,
            listener=Person(),
        )

    timelapse.run(work)
    assert heard == ["hal", "[cut]"]


def test_waits_are_told_and_take_from_the_patience() -> None:
    told: list[tuple[str, float, float]] = []

    @contextmanager
    def waiting(reason: str, seconds: float) -> Iterator[None]:
        begun = anyio.current_time()
        yield
        told.append((reason, seconds, round(anyio.current_time() - begun, 6)))

    model = Acts([breaks(Again("429", 40.0, throttled=True))] * 2 + [says("late")])

    async def work(patience: float) -> None:
        model.requests.clear()
        await Gateway(random=lambda: 0.0).reply(
            Served(model, patience_seconds=patience), request(), ACCOUNT, on_lost=lambda lost: None, waiting=waiting
        )

    timelapse.run(work, 100.0)
    assert told == [("429", 40.0, 40.0)] * 2
    with pytest.raises(CallFailed, match="in 40 s"):
        timelapse.run(work, 70.0)
    assert len(model.requests) == 2


def test_a_call_waits_for_the_budget_that_others_may_leave() -> None:
    told: list[str] = []

    @contextmanager
    def waiting(reason: str, seconds: float) -> Iterator[None]:
        told.append(reason)
        yield

    async def slow(request: ModelRequest, ear: Ear) -> ModelReply:
        await anyio.sleep(10)
        return ModelReply((), "end_turn", Usage(output=10), "acts")

    ends: list[float] = []

    async def work() -> None:
        gateway = Gateway()
        capped = replace(ACCOUNT, caps=replace(ACCOUNT.caps, task_usd=0.004))  # one call may cost 0.003

        async def call() -> None:
            await gateway.reply(
                Served(Acts([slow]), PRICE), request(), capped, on_lost=lambda lost: None, waiting=waiting
            )
            ends.append(anyio.current_time())

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            group.start_soon(call)

    timelapse.run(work)
    assert ends == [10.0, 20.0]
    assert told == ["other calls are out, and what they cost decides whether the budget is enough"]


def test_news_are_told_once() -> None:
    gateway = Gateway()
    gateway.clients.notice("not cached")
    assert gateway.news() == ("not cached",) and gateway.news() == ()


def test_a_request_is_sent_as_it_was_asked(calls: MakeCalls) -> None:
    call = calls([{"reply": "so"}])
    call(request(user(Text("one")), max_tokens=77))
    assert call.api.asked[0].body["max_tokens"] == 77
