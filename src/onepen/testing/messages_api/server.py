"""The server: an event loop in a thread of its own, one task per connection."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import IO

from . import http
from .answer import Answer
from .batches import Batch, Batches, Paid
from .caching import Least
from .decider import ByHand, Decider
from .rules import Batching, Rule, parse_batching, read_script
from .seen import Seen

KEY = "sk-test-key"
WAIT = 10.0
HEARD = 0.05
"""Seconds before a reset: what lies unread at the other side when it comes is thrown away there."""


class MessagesApi:
    """A Messages API on a port of this machine, for as long as a `with` block lasts.

    `rules` are tried in their order, each a mapping as in a file of rules or a function that is given the request and
    returns such a mapping, or None when it isn't its business. `models` are the ids that the server has; None means
    Claude's. `key` is the one key that is taken; by default any is. With `strict=False` requests are taken that the
    real API refuses. With `cache=True` the tokens of a reply whose rule tells none are counted as a cache would have
    them; a number is the least length of a cached prompt, a mapping has one for each model. `record` is a file to which
    a line is added for each request. `clock` gives the seconds by which rules, the cache's lives and Message Batches
    go; `epoch` is the date at which it stood at 0, by default such that it is now. `batches` says how Message Batches
    are done, as in a file of rules; False: not at all.

    `requests` holds what was asked; `most_at_once` is the largest number of requests that were being answered at one
    moment. What a function among the rules raises is raised again at the end of the block.
    """

    def __init__(
        self,
        rules: Sequence[Rule | Mapping[str, object] | ByHand] = (),
        *,
        models: Sequence[str] | None = None,
        key: str | None = None,
        strict: bool = True,
        cache: Least = False,
        port: int = 0,
        record: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        epoch: datetime | None = None,
        batches: Batching | Mapping[str, object] | bool = True,
    ) -> None:
        self._decider = Decider(
            rules, models=models, key=key, strict=strict, cache=cache, batches=parse_batching(batches),
            epoch=epoch or datetime.now(UTC) - timedelta(seconds=clock()), address=lambda: self.url,
        )  # fmt: skip
        self._clock = clock
        self._port = port
        self._record_to = record
        self._record: IO[bytes] | None = None
        self._connections = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._answering = 0
        self._opening: asyncio.Task[None] | None = None
        self._failed: Exception | None = None
        self._changed = threading.Condition()
        self.requests: list[Seen] = []
        self.most_at_once = 0

    @classmethod
    def from_file(cls, path: Path, *, port: int = 0, record: Path | None = None) -> "MessagesApi":
        """Raises RulesUnreadable."""
        script = read_script(path)
        return cls(
            script.rules, models=script.models, key=script.key, strict=script.strict, cache=script.cache,
            batches=script.batches, port=port, record=record,
        )  # fmt: skip

    @property
    def url(self) -> str:
        """What ANTHROPIC_BASE_URL has to be."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a program that is to talk to this server."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": self._decider.key or KEY}

    @property
    def asked(self) -> list[Seen]:
        """The requests for a reply, without those that only count tokens or list models."""
        return [seen for seen in self.requests if seen.to == "messages"]

    @property
    def paid(self) -> list[Paid]:
        """The requests in Message Batches that a model has answered until now, in the order in which it did."""
        batches = self._batches_now()
        return [] if batches is None else list(batches.paid)

    @property
    def batches(self) -> list[Batch]:
        """All Message Batches that were made, as they are now; to be looked at only."""
        batches = self._batches_now()
        return [] if batches is None else list(batches.all)

    def wait_for(self, n: int, seconds: float = WAIT) -> list[Seen]:
        """The first `n` requests, once they are there; raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= n, seconds):
                raise TimeoutError(f"{len(self.requests)} of {n} requests came within {seconds} s")
            return self.requests[:n]

    def say(self, rules: Sequence[Rule | Mapping[str, object] | ByHand]) -> None:
        """Other rules from now on, all of them unused; requests are counted anew."""

        async def change() -> None:
            self._decider.say(rules)

        asyncio.run_coroutine_threadsafe(change(), self._loop).result(WAIT)

    @contextmanager
    def away(self) -> Iterator[None]:
        """For a while nobody listens at the port, and the connections there are end."""

        async def leave() -> None:
            self._server.close()
            for writer in self._writers:
                writer.transport.abort()

        asyncio.run_coroutine_threadsafe(leave(), self._loop).result(WAIT)
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(WAIT)

    def _batches_now(self) -> Batches | None:
        async def look() -> Batches | None:
            batches = self._decider.batches
            if batches is not None:
                batches.pass_time(self._clock())
            return batches

        return asyncio.run_coroutine_threadsafe(look(), self._loop).result(WAIT)

    def __enter__(self) -> "MessagesApi":
        self._record = self._record_to.open("ab") if self._record_to else None
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._listen())
        self._port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, name="messages-api", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(WAIT)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT)
        self._loop.close()
        if self._record:
            self._record.close()
        if self._failed is not None and error is None:
            raise self._failed

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", self._port, limit=http.HEAD_LIMIT, backlog=1024
        )

    async def _end(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # what was closed says so to its transport

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number = self._connections
        self._writers.add(writer)
        try:
            with suppress(ConnectionError, asyncio.CancelledError):  # only the server's end cancels
                while (request := await http.read(reader)) is not None:
                    answer = self._decide(request, number)
                    self._answering += 1
                    self.most_at_once = max(self.most_at_once, self._answering)
                    try:
                        await self._send(answer, reader, writer)
                    finally:
                        self._answering -= 1
                    if answer.ending != "keep":
                        break
        except Exception as e:
            self._failed = self._failed or e
            raise
        finally:
            self._writers.discard(writer)
            writer.close()

    def _decide(self, request: http.Request, connection: int) -> Answer:
        n = len(self.requests) + 1
        answer = self._decider.decide(request, f"req_{n:06}", self._clock())
        seen = Seen(n, time.monotonic(), connection, request, answer.status, answer.rule)
        if self._record:
            self._record.write(json.dumps(seen.line()).encode() + b"\n")
            self._record.flush()
        with self._changed:
            self.requests.append(seen)
            self._changed.notify_all()
        return answer

    async def _send(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.refuse:
            self._refuse(answer.refuse)
        self._decider.begins(answer, self._clock())
        if answer.pace:
            writer.write(answer.head)
            for part in answer.parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(answer.pace)
        else:
            writer.write(answer.head + b"".join(answer.parts))
            await writer.drain()
        match answer.ending:
            case "silent":
                await reader.read(1)
            case "reset":
                if answer.parts:
                    await asyncio.sleep(HEARD)
                http.reset(writer)

    def _refuse(self, seconds: float) -> None:
        """For a while nobody listens at the port."""

        async def open_again() -> None:
            await asyncio.sleep(seconds)
            await self._listen()

        self._server.close()
        self._opening = asyncio.ensure_future(open_again())
