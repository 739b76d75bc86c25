"""Decides what each request is answered: what is refused, which rule speaks, what needs no rule."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from .answer import Answer, by_rule, say_no, whole
from .asked import Asked, asked
from .batchdesk import BatchDesk
from .batches import Batches, Result
from .batchresult import errored, strange_result, succeeded
from .caching import Cache, Least, Taken
from .diagnosis import Print, asks, diagnosis, print_of
from .dialogue import canonical
from .faults import Refused, bad
from .http import Request
from .models import MODELS, listing, one_model
from .refusals import Known, refusal, unfit
from .reply import Reply, build, estimate
from .rules import Batching, Counted, Rule, parse_rule
from .seen import endpoint
from .shape import BLOCKS

EPOCH = datetime(2026, 11, 29, tzinfo=UTC)

ByHand = Callable[[Asked], Rule | Mapping[str, object] | None]


class Decider:
    """The rules, how often each was used, and what the server has said so far; knows neither time nor network."""

    def __init__(
        self,
        rules: Sequence[Rule | Mapping[str, object] | ByHand],
        *,
        models: Sequence[str] | None = None,
        key: str | None = None,
        strict: bool = True,
        cache: Least = False,
        batches: Batching | None = None,
        epoch: datetime = EPOCH,
        address: Callable[[], str] = str,
    ) -> None:
        self.key = key
        self.batches = None if batches is None else Batches(batches, self._processed, epoch)
        self._desk = None if self.batches is None else BatchDesk(self.batches, address)
        self._cache = None if cache is False else Cache(cache)
        self._models = tuple(MODELS if models is None else models)
        self._kinds: set[str] = set()
        self._paused: set[str] = set()
        self._signed: set[str] = set()
        self._prints: dict[str, Print] = {}
        self._known = Known(self._models, key, strict, self._kinds, self._paused, self._signed)
        self.say(rules)

    def say(self, rules: Sequence[Rule | Mapping[str, object] | ByHand]) -> None:
        """Other rules from now on, all of them unused; raises RulesUnreadable."""
        self._rules = tuple(rule if callable(rule) else parse_rule(rule, f"rule {k}") for k, rule in enumerate(rules))
        self._used: Counter[int] = Counter()
        self._to: Counter[str] = Counter()
        self._first: dict[str, float] = {}
        self._passed: dict[int, float] = {}
        for rule in self._rules:
            if isinstance(rule, Rule):
                self._kinds.update(said.block["type"] for said in rule.reply if said.block is not None)
        self._kinds.difference_update(BLOCKS)

    def decide(self, request: Request, request_id: str, now: float) -> Answer:
        """`now` is in seconds, from any beginning."""
        to = endpoint(request)
        of_batches = to is not None and to.startswith("batch")
        if to is None or (of_batches and self.batches is None):
            return say_no(Refused(404, "not_found_error", "Not found"), request_id)
        if self.batches is not None:
            self.batches.pass_time(now)
        self._to[to] += 1
        body, no = refusal(request, to, self._known)
        if no is not None:
            return say_no(no, request_id)
        question = asked(to, self._to[to], self._since(to, now), body)
        number, rule = self._choose(question)
        if of_batches and self._desk is not None:
            at = datetime.now(UTC)
            answer = self._desk.answer(request, to, body, rule or Rule(), request_id, now, at)
            return replace(answer, rule=number)
        if to == "messages" and body.get("max_tokens") == 0 and (rule is None or rule.fault is None):
            rule = (rule or Rule()).model_copy(update={"reply": (), "stop_reason": "max_tokens"})
        if rule is None or (to != "messages" and rule.fault is None):
            return self._without_rule(request, question, request_id)
        taken = self._taken(rule, body, now)
        counted = None if taken is None else _counted(taken)
        said = diagnosis(body, self._prints, taken) if to == "messages" else None
        answer = by_rule(rule, question, request.body, request_id, datetime.now(UTC), counted, said)
        if answer.reply is not None:
            self._remember(answer.reply)
            if asks(body):
                self._prints[answer.reply.id] = print_of(body)
        return replace(answer, rule=number, taken=taken)

    def _processed(self, custom_id: str, params: Mapping[str, Any], now: float) -> Result:
        """What comes of a request in a Message Batch: by the same rules as of one that is asked by itself."""
        self._to["messages"] += 1
        question = asked("messages", self._to["messages"], self._since("messages", now), params, custom_id)
        no = unfit(params, self._known) or _unfit_in_batch(params)
        rule = None if no is not None else self._choose(question)[1]
        if rule is None:
            return errored(custom_id, no or bad(f"no rule of the double fits {custom_id}, turn {question.turn}"))
        strange = strange_result(rule, custom_id)
        if strange is not None:
            return strange
        taken = self._taken(rule, params, now)
        counted = None if taken is None else _counted(taken)
        reply = build(rule, question, canonical(params).encode(errors="replace"), counted)
        self._remember(reply)
        if taken is not None and self._cache is not None:
            self._cache.begin(taken, now)
        return succeeded(rule, custom_id, reply.message)

    def begins(self, answer: Answer, now: float) -> None:
        """The answer goes out: what its request writes to the cache can be read from now on."""
        if answer.taken is not None and self._cache is not None:
            self._cache.begin(answer.taken, now)

    def _since(self, to: str, now: float) -> float:
        """Seconds since an endpoint was first asked: what a server is asked before counts for nothing."""
        return now - self._first.setdefault(to, now)

    def _choose(self, question: Asked) -> tuple[int | None, Rule | None]:
        for k, rule in enumerate(self._rules):
            if not isinstance(rule, Rule):
                made = rule(question)
                if made is not None:
                    return k, parse_rule(made, f"rule {k}")
            elif rule.fits(question) and (rule.times is None or self._used[k] < rule.times):
                if rule.sooner_than is not None and self._passes(k, rule.sooner_than, question.since):
                    continue
                self._used[k] += 1
                return k, rule
        return None, None

    def _passes(self, number: int, seconds: float, now: float) -> bool:
        """Whether a rule against too many requests lets this one by."""
        if now - self._passed.get(number, -seconds) < seconds:
            return False
        self._passed[number] = now
        return True

    def _taken(self, rule: Rule, body: Mapping[str, Any], now: float) -> Taken | None:
        """What the cache counts; a rule's own count comes first, and a fault before the reply."""
        if self._cache is None or rule.usage is not None or not rule.replies:
            return None
        return self._cache.ask(body, now)

    def _remember(self, reply: Reply) -> None:
        """What the server has to take back as it said it."""
        content = [block.whole for block in reply.blocks]
        self._kinds.update(block["type"] for block in content if block["type"] not in BLOCKS)
        self._signed.update(canonical(block) for block in content if block["type"] == "thinking")
        if reply.stop_reason == "pause_turn":
            self._paused.add(canonical(content))

    def _without_rule(self, request: Request, question: Asked, request_id: str) -> Answer:
        """What needs no rule is answered; a question that no rule fits is a fault of the test, and told at once."""
        match question.to:
            case "count_tokens":
                parts = {name: question.body.get(name) for name in ("system", "tools", "messages")}
                return whole(200, json.dumps({"input_tokens": estimate(parts)}).encode(), request_id)
            case "models":
                return whole(200, listing(self._models, request.query), request_id)
            case "model":
                name = request.path.rpartition("/")[2]
                if name not in self._models:
                    return say_no(Refused(404, "not_found_error", f"model: {name}"), request_id)
                return whole(200, json.dumps(one_model(name)).encode(), request_id)
        return say_no(bad(f"no rule of the double fits request {question.n}, turn {question.turn}"), request_id)


def _unfit_in_batch(params: Mapping[str, Any]) -> Refused | None:
    """What a request may say by itself, and not in a batch."""
    if params.get("stream"):
        return bad("stream: streaming is not supported in Message Batches")
    if params.get("max_tokens") == 0:
        return bad("max_tokens: 0 is not supported in Message Batches")
    return None


def _counted(taken: Taken) -> Counted:
    return Counted(input=taken.plain, cache_write=taken.written, cache_write_1h=taken.written_1h, cache_read=taken.read)
