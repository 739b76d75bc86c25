"""Hours of waiting in an instant."""

import time

import anyio
import pytest

from onepen.testing import timelapse


def test_a_day_passes_at_once_and_in_order() -> None:
    seen: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await anyio.sleep(seconds)
        seen.append((name, anyio.current_time()))

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(sleeper, "day", 86_400)
            group.start_soon(sleeper, "hour", 3_600)

    began = time.monotonic()
    timelapse.run(work)
    assert seen == [("hour", 3_600), ("day", 86_400)]
    assert time.monotonic() - began < 2


def test_waiting_for_nothing_is_told_instead_of_hanging() -> None:
    async def work() -> None:
        await anyio.Event().wait()

    with pytest.raises(RuntimeError, match="everybody waits"):
        timelapse.run(work)
