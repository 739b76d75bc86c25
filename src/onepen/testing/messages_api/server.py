"""The server: an event loop in a thread of its own, one task per connection."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from . import http
from .answer import Answer, by_rule, say_no, whole
from .asked import Asked, asked
from .faults import Refused, bad
from .models import MODELS, listing, one_model
from .refusals import refusal
from .reply import estimate
from .rules import Rule, parse_rule, parse_rules, read_script

KEY = "sk-test-key"
WAIT = 10.0
HEARD = 0.05
"""Seconds before a reset: what lies unread at the other side when it comes is thrown away there."""

ByHand = Callable[[Asked], Rule | Mapping[str, object] | None]


@dataclass(frozen=True)
class Seen:
    """A request as it came, byte for byte, and what was decided about it.

    `n` counts all requests from 1, `at` is the time in seconds on the monotonic clock, `connection` counts connections
    from 1. `status` is that of the answer, 0 for none; `rule` the number of the rule that gave it, from 0.
    """

    n: int
    at: float
    connection: int
    request: http.Request
    status: int
    rule: int | None

    @property
    def path(self) -> str:
        return self.request.path

    @property
    def headers(self) -> Mapping[str, str]:
        return self.request.headers

    @property
    def raw(self) -> bytes:
        """The body's bytes."""
        return self.request.body

    @property
    def body(self) -> Any:
        """The body as JSON; raises ValueError."""
        return json.loads(self.raw)

    def line(self) -> dict[str, object]:
        """As it stands in a record."""
        return {
            "n": self.n, "at": round(self.at, 6), "connection": self.connection, "method": self.request.method,
            "path": self.request.target, "headers": dict(self.headers),
            "body": self.raw.decode(errors="surrogateescape"), "status": self.status, "rule": self.rule,
        }  # fmt: skip


class MessagesApi:
    """A Messages API on a port of this machine, for as long as a `with` block lasts.

    `rules` are tried in their order, each a mapping as in a file of rules or a function that is given the request and
    returns such a mapping, or None when it isn't its business. `models` are the ids that the server has; None means
    Claude's. `key` is the one key that is taken; by default any is. With `strict=False` requests are taken that the
    real API refuses. `record` is a file to which a line is added for each request.
    """

    def __init__(
        self,
        rules: Sequence[Rule | Mapping[str, object] | ByHand] = (),
        *,
        models: Sequence[str] | None = None,
        key: str | None = None,
        strict: bool = True,
        port: int = 0,
        record: Path | None = None,
    ) -> None:
        self._rules: tuple[Rule | ByHand, ...] = tuple(
            rule if callable(rule) else parse_rule(rule, f"rule {k}") for k, rule in enumerate(rules)
        )
        self._models = tuple(MODELS if models is None else models)
        self._key = key
        self._strict = strict
        self._port = port
        self._record_to = record
        self._record: IO[bytes] | None = None
        self._used: Counter[int] = Counter()
        self._to: Counter[str] = Counter()
        self._connections = 0
        self._first: float | None = None
        self._answering = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = threading.Condition()
        self.requests: list[Seen] = []
        self.most_at_once = 0

    @classmethod
    def from_file(cls, path: Path, *, port: int = 0, record: Path | None = None) -> "MessagesApi":
        """Raises RulesUnreadable."""
        script = read_script(path)
        return cls(
            script.rules, models=script.models, key=script.key, strict=script.strict, port=port, record=record
        )  # fmt: skip

    @property
    def url(self) -> str:
        """What ANTHROPIC_BASE_URL has to be."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a program that is to talk to this server."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": self._key or KEY}

    def asked(self, to: str = "messages") -> list[Seen]:
        """The requests to one endpoint: messages, count_tokens or models."""
        return [seen for seen in self.requests if _endpoint(seen.request) == to]

    def wait_for(self, n: int, seconds: float = WAIT) -> list[Seen]:
        """The first `n` requests, once they are there; raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= n, seconds):
                raise TimeoutError(f"{len(self.requests)} of {n} requests came within {seconds} s")
        return self.requests[:n]

    def say(self, rules: Sequence[Rule | Mapping[str, object]]) -> None:
        """Other rules from now on; what was counted so far is counted no more."""
        parsed = parse_rules(list(rules), "rules")

        def change() -> None:
            self._rules = parsed
            self._used.clear()
            self._to.clear()
            self._first = None

        self._loop.call_soon_threadsafe(change)

    def __enter__(self) -> "MessagesApi":
        self._record = self._record_to.open("ab") if self._record_to else None
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(self._listen())
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

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, "127.0.0.1", self._port, limit=http.HEAD_LIMIT, backlog=1024)

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
        try:
            with suppress(ConnectionError, asyncio.CancelledError):  # only the server's end cancels
                while (request := await http.read(reader)) is not None:
                    answer = self._decide(request, number)
                    self._answering += 1
                    self.most_at_once = max(self.most_at_once, self._answering)
                    try:
                        keeps = await self._send(answer, reader, writer)
                    finally:
                        self._answering -= 1
                    if not keeps:
                        break
        finally:
            writer.close()

    async def _send(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection goes on."""
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.refuse:
            self._server.close()
            self._later = asyncio.get_running_loop().call_later(answer.refuse, self._open_again)
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
        return answer.ending == "keep"

    def _open_again(self) -> None:
        async def open_again() -> None:
            self._server = await self._listen()

        self._tasks.add(asyncio.ensure_future(open_again()))

    def _decide(self, request: http.Request, connection: int) -> Answer:
        now = time.monotonic()
        n = len(self.requests) + 1
        answer = self._answer(request, f"req_{n:06}", now)
        seen = Seen(n, now, connection, request, answer.status, answer.rule)
        if self._record:
            self._record.write(json.dumps(seen.line()).encode() + b"\n")
            self._record.flush()
        with self._changed:
            self.requests.append(seen)
            self._changed.notify_all()
        return answer

    def _answer(self, request: http.Request, request_id: str, now: float) -> Answer:
        to = _endpoint(request)
        if to is None:
            return say_no(Refused(404, "not_found_error", "Not found"), request_id)
        body, no = refusal(request, to, key=self._key, models=self._models, strict=self._strict)
        if self._first is None:
            self._first = now
        self._to[to] += 1
        question = asked(to, self._to[to], now - self._first, body)
        if no is not None:
            return say_no(no, request_id)
        number, rule = self._choose(question)
        if rule is not None and (to == "messages" or rule.fault):
            answer = by_rule(rule, question, request.body, request_id, datetime.now(UTC))
            return replace(answer, rule=number)
        return self._unruled(request, to, question, request_id)

    def _choose(self, question: Asked) -> tuple[int | None, Rule | None]:
        for k, rule in enumerate(self._rules):
            if not isinstance(rule, Rule):
                made = rule(question)
                if made is not None:
                    return k, parse_rule(made, f"rule {k}")
            elif rule.fits(question) and (rule.times is None or self._used[k] < rule.times):
                self._used[k] += 1
                return k, rule
        return None, None

    def _unruled(self, request: http.Request, to: str, question: Asked, request_id: str) -> Answer:
        """What needs no rule is answered; a question that no rule fits is a fault of the test, and told at once."""
        match to:
            case "count_tokens":
                parts = {name: question.body.get(name) for name in ("system", "tools", "messages")}
                return whole(200, json.dumps({"input_tokens": estimate(parts)}).encode(), request_id, {})
            case "models":
                return whole(200, listing(self._models, request.query), request_id, {})
            case "model":
                name = request.path.rpartition("/")[2]
                if name not in self._models:
                    return say_no(Refused(404, "not_found_error", f"model: {name}"), request_id)
                return whole(200, json.dumps(one_model(name)).encode(), request_id, {})
        return say_no(bad(f"no rule of the double fits request {question.n}, turn {question.turn}"), request_id)


def _endpoint(request: http.Request) -> str | None:
    match request.method, request.path.strip("/").split("/"):
        case "POST", ["v1", "messages"]:
            return "messages"
        case "POST", ["v1", "messages", "count_tokens"]:
            return "count_tokens"
        case "GET", ["v1", "models"]:
            return "models"
        case "GET", ["v1", "models", _]:
            return "model"
    return None
