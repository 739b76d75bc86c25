"""Rules of the double: which request they fit, and what is answered; read from JSON or made in a test.

    {"contains": "Newsletter", "turn": 1, "times": 1,
     "reply": [{"text": "…"}, {"tool": "write_draft", "input": {"text": "…"}}],
     "usage": {"input": 10, "cache_write": 7, "cache_read": 100, "output": 50}}
    {"nth": 2, "fault": {"status": 429, "retry_after": 20}}

Each request takes the first rule that fits and isn't used up.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from onepen.memory.errors import OnepenError
from onepen.subagents.messages import first_error

from .asked import Asked

Place = Literal["start", "middle", "block", "delta"]


class RulesUnreadable(OnepenError):
    """Raised when rules are missing or are none; the message names the file and the first thing that is wrong."""

    exit_code = 2

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Said(_Told):
    """One block of a reply: words, thoughts, a call of a tool, or any block as it is."""

    text: str | None = None
    """Words of the model."""
    thinking: str | None = None
    """Thoughts of the model; the double signs them, and takes them back only as they were."""
    tool: str | None = None
    """Name of a tool that it calls."""
    input: Any = Field(default_factory=dict)
    """The tool's input, as it is."""
    input_json: str | None = None
    """The tool's input as text that needn't be JSON; only a streamed reply can show it as it is."""
    cut: int | None = Field(default=None, ge=0)
    """The tool's input ends after this many characters of its JSON, as it does at max_tokens."""
    id: str | None = None
    """The call's id; by default one made from the request, so that no two of a conversation are alike."""
    block: dict[str, Any] | None = None
    """A block as it is, such as a server's own tool or one of a kind that nobody knows yet."""


class Counted(_Told):
    """What a call is said to have used; null leaves a field out, as servers that don't cache do."""

    input: int = 0
    """Tokens that were neither read from nor written to a cache."""
    cache_write: int | None = 0
    """Tokens written to the cache."""
    cache_write_1h: int = 0
    """Those of them that it keeps for an hour."""
    cache_read: int | None = 0
    """Tokens read from the cache."""
    output: int = 0
    """Tokens of the reply."""
    thinking: int | None = None
    """Tokens of the output that were thoughts."""
    steps: tuple[int, ...] = ()
    """Output tokens so far, in further `message_delta` events before the last; counts are running totals."""


class Fault(_Told):
    """What goes wrong."""

    kind: Literal[
        "status", "spend_cap", "not_json", "reset", "hang_up", "silent", "refuse",
        "cut", "reset_in_reply", "error_event", "drip",
        "expired", "canceled", "missing", "twice", "unknown_id", "unknown_result",
    ] = "status"  # fmt: skip
    """`status`: an answer with that HTTP status; `spend_cap`: the 429 that no waiting ends; `not_json`: a page of HTML;
    `reset`, `hang_up`: no answer, the connection is reset or closed; `silent`: no answer, the connection stays;
    `refuse`: reset, and for `seconds` no connection is taken; `cut`: the reply ends early, as if it were whole;
    `reset_in_reply`; `error_event`: an error within a reply that began with 200; `drip`: the reply comes `bytes` by
    `bytes`, every `seconds`. In a Message Batch only: `expired`, `canceled`; `missing`: no line in the results;
    `twice`: two of them; `unknown_id`, `unknown_result`: one more, of a request that wasn't asked, or of a type that
    is none."""
    status: int | None = Field(default=None, ge=400, le=599)
    """HTTP status of the answer."""
    type: str | None = None
    """Type of the error; by default the one that goes with the status, and overloaded_error within a reply."""
    message: str | None = None
    """Words of the error."""
    code: str | None = None
    """The error's `details.error_code`."""
    retry_after: int | float | str | None = None
    """The header as it is: seconds, a date ("{date+20}": in 20 s), or nonsense."""
    should_retry: bool | None = None
    """The header x-should-retry."""
    at: Place | int = "middle"
    """Where the reply breaks: after its `start`, in the `middle` of its last block, after its last whole `block`, after
    its last `delta` (only message_stop is missing), or after that many events."""
    seconds: float = Field(default=0.0, ge=0)
    """For `refuse` and `drip`."""
    bytes: int = Field(default=1, ge=1)
    """For `drip`."""


def _spelled_out(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return {"status": value}
    return {"kind": value} if isinstance(value, str) else value


def _blocks(value: object) -> object:
    return [{"text": value}] if isinstance(value, str) else value


class Rule(_Told):
    """When a rule fits, and what is answered then; what is left out fits everything."""

    contains: str | None = None
    """Only when this text stands somewhere in the system prompt or the messages."""
    system_contains: str | None = None
    """Only when this text stands in the system prompt."""
    last_contains: str | None = None
    """Only when this text stands in the last message."""
    model: str | None = None
    """Only for this model."""
    forced: str | None = None
    """Only when the request forces the tool of this name."""
    turn: int | None = Field(default=None, ge=1)
    """Only for this model call of the conversation: messages of the assistant, plus one."""
    nth: int | None = Field(default=None, ge=1)
    """Only for this request of all that came to the endpoint."""
    times: int | None = Field(default=None, ge=1)
    """How often the rule may be used."""
    within: float | None = Field(default=None, gt=0)
    """Only so many seconds from the first request to the endpoint on."""
    sooner_than: float | None = Field(default=None, gt=0)
    """Only when it comes less than so many seconds after the last request that this rule let pass: a rate limit."""
    to: Literal[
        "messages", "count_tokens", "models",
        "batches", "batch", "batch_list", "batch_results", "batch_cancel", "batch_delete",
    ] = "messages"  # fmt: skip
    """The endpoint."""
    batched: bool | None = None
    """Only for requests in a Message Batch, or only for those that aren't."""
    reply: Annotated[tuple[Said, ...], BeforeValidator(_blocks)] = ()
    """What the model says, in order; a text alone is one block."""
    stop_reason: str | None = None
    """Why it stops; by default `max_tokens` when an input is cut, `tool_use` when it calls a tool, else `end_turn`."""
    stop_details: dict[str, Any] | None = None
    """Details of a refusal."""
    usage: Counted | None = None
    """What the call is said to have used; by default it is estimated from the request and the reply."""
    diagnostics: dict[str, Any] | None = None
    """What the server says of its cache, as it is; by default it compares the request with the one that this names."""
    headers: dict[str, str] = Field(default_factory=dict)
    """More headers of the answer; "{now+20}" stands for the time in 20 s, "{date+20}" for the same as a HTTP date."""
    delay: float = Field(default=0.0, ge=0)
    """Seconds until the answer begins."""
    pace: float = Field(default=0.0, ge=0)
    """Seconds between the events of a streamed reply."""
    fault: Annotated[Fault | None, BeforeValidator(_spelled_out)] = None
    """What goes wrong; a number is a status, a text a kind."""
    takes: float | None = Field(default=None, ge=0)
    """To `batches`: seconds until the batch has ended."""
    expires: float | None = Field(default=None, gt=0)
    """To `batches`: seconds until what of it isn't done expires."""
    overdue: bool = False
    """To `batches`: it doesn't even end when it expires."""
    canceling: float = Field(default=0.0, ge=0)
    """To `batches` and `batch_cancel`: seconds that it takes to cancel the batch."""
    status: Literal["in_progress", "canceling"] | None = None
    """To `batch`: what is told, whatever is true."""
    counting: bool = False
    """To `batch`: the counts are told while it runs; the API tells none before the end."""

    @property
    def replies(self) -> bool:
        """Whether the answer is a reply, be it one that breaks."""
        return self.fault is None or self.fault.kind in ("cut", "reset_in_reply", "error_event", "drip")

    def fits(self, asked: Asked) -> bool:
        """Whether the rule is for this request; how often it was used isn't asked here."""
        return (
            self.to == asked.to
            and self.batched in (None, asked.batched)
            and self.turn in (None, asked.turn)
            and self.nth in (None, asked.n)
            and self.model in (None, asked.model)
            and self.forced in (None, asked.forced)
            and (self.within is None or asked.since <= self.within)
            and (self.system_contains is None or self.system_contains in asked.system)
            and (self.last_contains is None or self.last_contains in asked.last)
            and (self.contains is None or self.contains in asked.system or self.contains in asked.words)
        )


_RULE = TypeAdapter(Rule)


def parse_rule(value: Rule | Mapping[str, object], name: str) -> Rule:
    """Raises RulesUnreadable, naming `name`."""
    if isinstance(value, Rule):
        return value
    try:
        return _RULE.validate_python(value)
    except ValidationError as e:
        raise RulesUnreadable(name, first_error(e)) from e


def parse_rules(values: object, name: str) -> tuple[Rule, ...]:
    """Raises RulesUnreadable, naming `name` and the rule's number from 0."""
    if not isinstance(values, list | tuple):
        raise RulesUnreadable(name, "not a list of rules")
    return tuple(parse_rule(value, f"{name}: rule {k}") for k, value in enumerate(values))


class Batching(_Told):
    """What the server says of Message Batches."""

    takes: float = Field(default=0.0, ge=0)
    """Seconds until a batch has ended."""
    expires: float = Field(default=86_400.0, gt=0)
    """Seconds until what of it isn't done expires."""
    requests: int = Field(default=100_000, ge=1)
    """So many requests one may have."""
    bytes: int = Field(default=256 << 20, ge=1)
    """So large the body may be that asks for one."""


_BATCHING = TypeAdapter(Batching)


def parse_batching(value: Batching | Mapping[str, object] | bool) -> Batching | None:
    """None: no Message Batches. Raises RulesUnreadable."""
    if isinstance(value, Batching):
        return value
    if isinstance(value, bool):
        return Batching() if value else None
    try:
        return _BATCHING.validate_python(value)
    except ValidationError as e:
        raise RulesUnreadable("batches", first_error(e)) from e


class Script(_Told):
    """A file of rules, with what else the double is told."""

    rules: list[Any] = Field(default_factory=list)
    """The rules, in the order in which they are tried."""
    models: list[str] | None = None
    """Ids of the models that the server has; by default Claude's."""
    key: str | None = None
    """The one key that is taken; by default any is."""
    strict: bool = True
    """Whether requests are refused that the real API refuses."""
    cache: bool | int | dict[str, int] = False
    """Whether usage that a rule doesn't tell is counted by a cache; a number is the least length of a cached prompt in
    tokens, an object has one for each model."""
    batches: Batching | bool = True
    """How it does Message Batches; false: it has none."""


def read_script(path: Path) -> Script:
    """A list of rules, or an object with them under "rules"; raises RulesUnreadable."""
    try:
        value = json.loads(path.read_bytes().decode())
    except OSError as e:
        raise RulesUnreadable(str(path), f"can't be read: {e.strerror}") from e
    except (ValueError, RecursionError) as e:
        raise RulesUnreadable(str(path), f"not JSON: {e}") from e
    try:
        script = Script.model_validate({"rules": value} if isinstance(value, list) else value)
    except ValidationError as e:
        raise RulesUnreadable(str(path), first_error(e)) from e
    return script.model_copy(update={"rules": list(parse_rules(script.rules, str(path)))})
