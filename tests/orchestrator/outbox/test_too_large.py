"""FR-61: what is too large for one Message Batch goes in parts, and what is too large for any fails alone."""

from typing import Any

import pytest

from onepen.orchestrator.gateway.messagebatches import AROUND, size_of
from onepen.orchestrator.outbox.parts import Limits

from .conftest import Bench, Process, request

KB = 1_000


def padded(task: str, size: int) -> str:
    return f"{task} ".ljust(size, "é")[: size - len(task)]


async def all_of_them(process: Process, texts: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for _ in range(30):
        for task, text in texts.items():
            if task not in found:
                try:
                    found[task] = (await process.ask(task, text)).message.text
                except Exception as e:  # noqa: BLE001 - told apart by its name
                    if type(e).__name__ != "Parked":
                        found[task] = f"{type(e).__name__}: {e}"
        if len(found) == len(texts):
            return found
        await process.deliver()
    raise AssertionError


def sent(bench: Bench) -> list[tuple[int, int, int]]:
    """Requests, bytes and status of each batch that was asked for."""
    return [
        (len(seen.body["requests"]), len(seen.raw), seen.status) for seen in bench.api.requests if seen.to == "batches"
    ]


TEXTS = {f"t{n}": "x" * 3 * KB for n in range(55)}


@pytest.mark.parametrize("limits", [Limits(20, 100 * KB), Limits(1000, 30 * KB), Limits(7, 10**9), Limits(1, 5 * KB)])
def test_fr_61_parts_stay_below_both_limits(bench: Bench, limits: Limits) -> None:
    bench.limits = limits
    bench.start([{"reply": "so"}], batches={"takes": 60, "requests": limits.requests, "bytes": limits.bytes})

    async def work(process: Process) -> None:
        assert await all_of_them(process, TEXTS) == dict.fromkeys(TEXTS, "so")

    bench.run(work)
    parts = sent(bench)
    assert all(many <= limits.requests and size <= limits.bytes and status == 200 for many, size, status in parts)
    assert sum(many for many, _, _ in parts) == 55 and sorted(bench.paid) == sorted(TEXTS)
    assert bench.events["created"] == len(parts), "each is recorded when it is accepted"


def test_fr_61_one_that_is_too_large_fails_alone(bench: Bench) -> None:
    bench.limits = Limits(20, 100 * KB)
    bench.start([{"reply": "so"}], batches={"takes": 60, "requests": 20, "bytes": 100 * KB})
    texts = {**TEXTS, "huge": "x" * 150 * KB}

    async def work(process: Process) -> None:
        found = await all_of_them(process, texts)
        huge = found.pop("huge")
        assert huge.startswith("RequestTooLarge") and "150," in huge and "100,000" in huge
        assert found == dict.fromkeys(TEXTS, "so")

    bench.run(work)
    assert sorted(bench.paid) == sorted(TEXTS)


def test_fr_61_a_part_that_the_server_finds_too_large_is_halved(bench: Bench) -> None:
    bench.limits = Limits(20, 100 * KB)
    bench.start([{"to": "batches", "nth": 1, "fault": 413}, {"reply": "so"}], batches={"takes": 60})

    async def work(process: Process) -> None:
        assert await all_of_them(process, TEXTS) == dict.fromkeys(TEXTS, "so")

    bench.run(work)
    assert [many for many, _, _ in sent(bench)] == [20, 10, 10, 20, 15]
    assert sorted(bench.paid) == sorted(TEXTS), "complete, and each once"


def test_fr_61_halving_ends_with_one_that_fails_alone(bench: Bench) -> None:
    """The server's limit is lower than onepen knows: the one that is above it fails, and nothing is repeated."""
    bench.start([{"reply": "so"}], batches={"takes": 60, "bytes": 20 * KB})
    texts = {**{f"t{n}": "x" * KB for n in range(8)}, "large": "x" * 30 * KB}

    async def work(process: Process) -> None:
        found = await all_of_them(process, texts)
        assert found.pop("large").startswith("RequestTooLarge")
        assert set(found.values()) == {"so"}

    bench.run(work)
    assert sorted(bench.paid) == sorted(f"t{n}" for n in range(8))
    assert len(sent(bench)) <= 2 * 4 + 1
    assert max(many for many, _, status in sent(bench) if status == 413) == 9


def test_a_size_is_that_of_the_bytes_as_they_are_sent(bench: Bench) -> None:
    bench.start([{"reply": "so"}])
    sizes: list[int] = []

    async def work(process: Process) -> None:
        served = process.served()
        way: Any = served.model
        for task, text in (("a", "plain"), ("b", 'é "quoted" \\ 🔥\n'), ("c", "cut \ud83d")):
            await process.park(task, text=text)
            sizes.append(size_of(await way.batches().entry(f"{task}-{request(text).sha()[:40]}", request(text))))
        await process.deliver()

    bench.run(work)
    [seen] = [seen for seen in bench.api.requests if seen.to == "batches"]
    assert len(seen.raw) == AROUND + sum(sizes) + 2


def test_a_request_that_fits_to_the_byte_is_sent(bench: Bench) -> None:
    bench.start([{"reply": "so"}], batches={"takes": 60})

    async def measure(process: Process) -> int:
        await process.park("a")
        way: Any = process.served().model
        return AROUND + size_of(await way.batches().entry(f"a-{request('a').sha()[:40]}", request("a")))

    exact: int = bench.run(measure)

    async def fits(process: Process) -> None:
        assert await process.answers("a") == {"a": "so"}

    async def too_small(process: Process) -> None:
        assert (await process.answers("b"))["b"].startswith("RequestTooLarge")

    bench.limits = Limits(bytes=exact)
    bench.run(fits)
    bench.limits = Limits(bytes=exact - 1)
    bench.run(too_small)
