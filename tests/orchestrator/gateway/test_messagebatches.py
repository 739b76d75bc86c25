"""Message Batches as the adapter sees them: made, not made or in doubt; looked at, listed, fetched and cancelled."""

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import anyio
import pytest

from onepen.orchestrator.gateway.claude import Claude
from onepen.orchestrator.gateway.failure import Again, CallBroken, Final
from onepen.orchestrator.gateway.messagebatches import InDoubt, MessageBatches, NoBatches, NotMade, Posted, TooLarge
from onepen.orchestrator.settings.setup import Profile, Secret
from onepen.subagents.model import Caching
from onepen.testing.messages_api import MessagesApi

from .conftest import request

EPOCH = datetime(2026, 11, 29, 8, 30, tzinfo=UTC)
T = TypeVar("T")
Ask = Callable[..., Any]


@pytest.fixture
def start() -> Iterator[Callable[..., tuple[MessagesApi, Ask]]]:
    """Starts a double; the second is what does something with its batches, in an event loop of its own."""
    with ExitStack() as stack:

        def make(*rules: Any, **options: Any) -> tuple[MessagesApi, Ask]:
            api = stack.enter_context(MessagesApi(rules, **options))

            def ask(work: Callable[[MessageBatches], Awaitable[T]], **profile: Any) -> T:
                given = {"base_url": api.url, "key": Secret("sk-test"), **profile}

                async def main() -> T:
                    model = Claude(Profile("own", **given), "claude-sonnet-5-5")
                    try:
                        return await work(model.batches())
                    finally:
                        await model._clients.close()

                return anyio.run(main)

            return api, ask

        yield make


Start = Callable[..., tuple[MessagesApi, Ask]]


async def create(batches: MessageBatches) -> Any:
    return await batches.create([await batches.entry("a", request()), await batches.entry("b", request())])


async def everything(batches: MessageBatches, name: str) -> bytes:
    return b"".join([part async for part in batches.results(name)])


def test_a_batch_is_made_and_looked_at_and_fetched(start: Start) -> None:
    _, ask = start({"reply": "so"}, epoch=EPOCH, clock=lambda: 0.0)

    async def work(batches: MessageBatches) -> None:
        made = await create(batches)
        assert made == Posted(made.id, "in_progress", EPOCH, EPOCH + timedelta(days=1), 2)
        assert await batches.retrieve(made.id) == Posted(made.id, "ended", EPOCH, EPOCH + timedelta(days=1), 2)
        lines = (await everything(batches, made.id)).splitlines()
        replies = [batches.reply(json.loads(line)["result"]["message"], "claude-sonnet-5-5") for line in lines]
        assert [reply.message.text for reply in replies] == ["so", "so"] and all(r.usage.output for r in replies)

    ask(work)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ({"status": 413}, TooLarge, "413"),
        (400, NotMade, "400 invalid_request_error"),
        (429, NotMade, "429 rate_limit_error"),
        (529, NotMade, "529 overloaded_error"),
        (401, NotMade, "401 authentication_error"),
        (500, InDoubt, "500 api_error"),
        (504, InDoubt, "504"),
        ("reset", InDoubt, "the connection broke"),
        ("hang_up", InDoubt, "the connection broke"),
        ("not_json", InDoubt, "502"),
        ({"kind": "reset_in_reply", "at": 0}, InDoubt, "the connection broke"),
        ("cut", InDoubt, "can't be read"),
    ],
)
def test_there_is_one_there_is_none_or_nobody_knows(start: Start, fault: Any, kind: Any, words: str) -> None:
    api, ask = start({"to": "batches", "fault": fault})
    made = ask(create)
    assert type(made) is kind
    assert words in (made.verdict.reason if isinstance(made, NotMade) else made.reason)
    assert sum(seen.to == "batches" for seen in api.requests) == 1, "in one try"


@pytest.mark.parametrize(("status", "final"), [(400, True), (429, False), (529, False), (401, True)])
def test_what_was_not_made_may_be_worth_another_try(start: Start, status: int, final: bool) -> None:
    _, ask = start({"to": "batches", "fault": {"status": status, "retry_after": 7}})
    verdict: Any = ask(create).verdict
    assert isinstance(verdict, Final) == final
    assert final or verdict.after == 7


def test_a_server_that_nobody_reaches_has_made_nothing(start: Start) -> None:
    api, ask = start({"reply": "so"})

    async def work(batches: MessageBatches) -> Any:
        entries = [await batches.entry("a", request())]
        with api.away():
            return await batches.create(entries)

    made = ask(work)
    assert isinstance(made, NotMade) and "can't be reached" in made.verdict.reason


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_may_have_no_batches(start: Start, status: int) -> None:
    _, ask = start({"to": "batches", "fault": status})
    with pytest.raises(NoBatches, match=f"has no Message Batches .{status}") as caught:
        ask(create)
    assert caught.value.exit_code == 2


def test_a_key_is_not_repeated(start: Start) -> None:
    key = "sk-test-0123456789abcdef"
    _, ask = start({"to": "batches", "fault": {"status": 401, "message": f"no such key: {key}"}})
    assert key not in ask(create, key=Secret(key)).verdict.reason


def test_the_list_is_read_back_to_a_moment(start: Start) -> None:
    seconds = 0.0
    api, ask = start({"reply": "so"}, epoch=EPOCH, clock=lambda: seconds)

    async def work(batches: MessageBatches) -> None:
        nonlocal seconds
        made = []
        for n in range(250):
            seconds = n * 60.0
            made.append((await create(batches)).id)
        found = await batches.since(EPOCH + timedelta(minutes=100))
        assert [one.id for one in found] == made[:99:-1] and found[-1].created == EPOCH + timedelta(minutes=100)

    ask(work)
    assert sum(seen.to == "batch_list" for seen in api.requests) == 2


@pytest.mark.parametrize("fault", [404, 500, "reset", "not_json", "cut", "reset_in_reply"])
@pytest.mark.parametrize("to", ["batch", "batch_list", "batch_results", "batch_cancel"])
def test_a_question_that_fails_may_be_asked_again(start: Start, to: str, fault: Any) -> None:
    takes = 60 if to == "batch_cancel" else 0
    _, ask = start({"to": to, "fault": fault}, {"reply": "so"}, batches={"takes": takes})

    async def work(batches: MessageBatches) -> Any:
        made = await create(batches)
        return {
            "batch": lambda: batches.retrieve(made.id), "batch_list": lambda: batches.since(EPOCH),
            "batch_results": lambda: everything(batches, made.id), "batch_cancel": lambda: batches.cancel(made.id),
        }[to]  # fmt: skip

    async def asked(batches: MessageBatches) -> None:
        question = await work(batches)
        if (to, fault) == ("batch_results", "cut"):
            assert not (await question()).endswith(b"\n")
            return
        with pytest.raises(CallBroken) as caught:
            await question()
        assert isinstance(caught.value.verdict, Again)

    ask(asked)


def test_a_refused_key_ends_the_asking(start: Start) -> None:
    _, ask = start({"to": "batch", "fault": 401})
    with pytest.raises(CallBroken) as caught:
        ask(lambda batches: batches.retrieve("msgbatch_1"))
    assert isinstance(caught.value.verdict, Final) and "(profile own)" in caught.value.verdict.reason


def test_results_are_fetched_from_the_server_that_has_the_key(start: Start) -> None:
    """Wherever it says that they lie: a proxy may name the server behind it."""
    api, ask = start({"reply": "so"})

    async def work(batches: MessageBatches) -> bytes:
        made = await create(batches)
        api._decider.batches.told = lambda batch, address, rule=None: {  # type: ignore[method-assign, union-attr]
            "id": made.id, "type": "message_batch", "processing_status": "ended", "request_counts": {},
            "created_at": EPOCH.isoformat(), "results_url": "http://127.0.0.1:9/elsewhere",
        }  # fmt: skip
        assert (await batches.retrieve(made.id)).status == "ended"
        return await everything(batches, made.id)

    assert ask(work).count(b"\n") == 2


@pytest.mark.parametrize(
    "answer",
    [
        {"id": "../../x", "processing_status": "ended", "created_at": "2026-11-29T08:30:00Z"},
        {"id": "", "processing_status": "ended", "created_at": "2026-11-29T08:30:00Z"},
        {"id": "msgbatch_1", "processing_status": "resting", "created_at": "2026-11-29T08:30:00Z"},
        {"id": "msgbatch_1", "processing_status": "ended"},
        {"id": "msgbatch_1", "processing_status": "ended", "created_at": "yesterday"},
        {"id": 1, "processing_status": "ended", "created_at": "2026-11-29T08:30:00Z"},
        [],
    ],
)
def test_an_answer_that_is_no_batch_is_not_believed(start: Start, answer: Any) -> None:
    api, ask = start({"reply": "so"})
    api._decider.batches.told = lambda batch, address, rule=None: answer  # type: ignore[method-assign, union-attr]
    made = ask(create)
    assert isinstance(made, InDoubt) and "can't be read" in made.reason


def test_requests_go_together_where_server_and_credential_are_the_same() -> None:
    def group(name: str = "own", **changes: Any) -> str:
        given = {"base_url": "http://127.0.0.1:8080", "key": Secret("k"), **changes}
        return Claude(Profile(name, **given), "m").batches().group

    assert group() == group("alias") == group(base_url="http://127.0.0.1:8080/v1")
    others = [group(key=Secret("l")), group(key=None, token=Secret("k")), group(base_url="http://127.0.0.1:8081")]
    assert len({group(), *others}) == 4


def test_a_request_is_as_it_would_be_alone_without_what_only_a_stream_has(start: Start) -> None:
    _, ask = start({"reply": "so"})
    asked = request(caching=Caching((0, 1), "1h", "1h"), after="msg_1")
    entry = ask(lambda batches: batches.entry("a", asked))
    params = entry["params"]
    assert entry["custom_id"] == "a" and params["model"] == "claude-sonnet-5-5"
    assert params["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert not {"stream", "diagnostics"} & set(params)


def test_an_error_of_the_results_is_found_one_or_two_levels_deep(start: Start) -> None:
    _, ask = start({"reply": "so"})
    inner = {"type": "invalid_request_error", "message": "no such block"}

    async def judged(batches: MessageBatches) -> list[Any]:
        nested = {"type": "error", "error": inner}
        return [batches.judged(error, "m") for error in (nested, inner, None, "x", {"type": "error", "error": None})]

    two, one, *none = ask(judged)
    assert two == one and isinstance(two, Final) and "400 invalid_request_error: no such block" in two.reason
    assert all(isinstance(verdict, Again) for verdict in none)
