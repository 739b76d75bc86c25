"""A streamed reply, put together event by event; nothing is believed that the server didn't say.

The model library's own reader finishes half a tool input and takes a stream without an end for a whole message. Here
a tool's input is JSON as a whole or stays the text that came, and a reply is whole only after `message_stop`.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...memory.text.clip import clip
from ...subagents.messages import Block, Opaque, Text, ToolUse, mend, well_formed
from ...subagents.model import Miss, ModelReply, Usage
from .failure import Answered

DEEPEST = 64
"""Levels of a tool's input, or of any other block: no tool needs four, and a thousand are no bug of a model."""

_MOST_TOKENS = 10**9
_DETAILS = 400  # characters of why a model stopped

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_REASON = re.compile(r"[a-z][a-z0-9_]{0,63}")

_COUNTERS = {
    "input_tokens": "input",
    "cache_creation_input_tokens": "cache_write",
    "cache_read_input_tokens": "cache_read",
    "output_tokens": "output",
}


class StreamError(Exception):
    """Raised when the stream brings an `error` event."""

    def __init__(self, answered: Answered) -> None:
        super().__init__(answered.message)
        self.answered = answered


class Accumulator:
    """Takes events in their order; `usage` is what the server has counted so far, `whole` whether all is there."""

    def __init__(self, model: str) -> None:
        self.usage = Usage()
        self.whole = False
        self._model = model
        self._stop_reason = ""
        self._details = ""
        self._id = ""
        self._miss: Miss | None = None
        self._blocks: dict[int, _Growing] = {}
        self._held = ""

    def take(self, event: Mapping[str, Any]) -> str:
        """The words that this event adds to what a person may read; raises StreamError."""
        match event:
            case {"type": "message_start", "message": {**message}}:
                self._model = str(message.get("model") or self._model)
                self._id = name if isinstance(name := message.get("id"), str) and _ID.fullmatch(name) else ""
                self._miss = _miss(message.get("diagnostics"))
                self._count(message.get("usage"))
            case {"type": "content_block_start", "index": int(index), "content_block": {**block}}:
                self._blocks[index] = _Growing(block)
                return self._heard(self._blocks[index].words)
            case {"type": "content_block_delta", "index": int(index), "delta": {**delta}} if index in self._blocks:
                return self._heard(self._blocks[index].grow(delta))
            case {"type": "message_delta", **rest}:
                self._count(rest.get("usage"))
                self._miss = _miss(rest.get("diagnostics")) or self._miss
                match rest.get("delta"):
                    case {"stop_reason": str(reason), **more}:
                        self._stop_reason, self._details = reason, _details(more.get("stop_details"))
            case {"type": "message_stop"}:
                self.whole = True
            case {"type": "error", **rest}:
                raise StreamError(answered_in({"error": rest.get("error")}, 200))
        return ""

    def reply(self) -> ModelReply:
        """The reply, once it is whole."""
        content = tuple(block for _, growing in sorted(self._blocks.items()) if (block := growing.done()) is not None)
        calls = any(isinstance(block, ToolUse) for block in content)
        reason = self._stop_reason or ("tool_use" if calls else "end_turn")
        return ModelReply(content, reason, self.usage, self._model, None, self._details, id=self._id, miss=self._miss)

    def _count(self, usage: object) -> None:
        """The API's counters are sums so far, each event's in the place of those before it.

        What is no count of tokens is passed over: one below zero would give money back.
        """
        if isinstance(usage, Mapping):
            counted = {ours: n for theirs, ours in _COUNTERS.items() if (n := _count(usage.get(theirs))) is not None}
            match usage.get("cache_creation"):  # in the beginning only, where the API streams
                case {"ephemeral_1h_input_tokens": int(hour)} if _count(hour) is not None:
                    counted["cache_write_1h"] = hour
            self.usage = replace(self.usage, **counted)

    def _heard(self, words: str) -> str:
        """`words` that can be shown: the first half of a character waits for the second."""
        words = self._held + words
        self._held = words[-1:] if "\ud800" <= words[-1:] <= "\udbff" else ""
        return well_formed(words[: len(words) - len(self._held)])


class _Growing:
    """One block while it comes in."""

    def __init__(self, start: Mapping[Any, Any]) -> None:
        self._start = dict(start)
        self._kind = start.get("type")
        self._pieces: list[str] = []
        self._json: list[str] = []
        self.words = str(start.get("text") or "") if self._kind == "text" else ""
        if self.words:
            self._pieces.append(self.words)

    def grow(self, delta: Mapping[Any, Any]) -> str:
        """Takes a delta; gives the words that it adds."""
        match delta:
            case {"type": "text_delta", "text": str(text)} if self._kind == "text":
                self._pieces.append(text)
                return text
            case {"type": "input_json_delta", "partial_json": str(text)}:
                self._json.append(text)
            case {"type": "citations_delta", "citation": citation}:
                self._start["citations"] = [*(self._start.get("citations") or ()), citation]
            case _:  # thinking, its signature, and what is to come: text grows, anything else is replaced
                for key, value in delta.items():
                    if key != "type":
                        known = self._start.get(key)
                        grows = isinstance(value, str) and isinstance(known, str)
                        self._start[key] = known + value if grows else value
        return ""

    def done(self) -> Block | None:
        """The block as it came to be; None for a text without words, which no later request could carry."""
        if self._kind == "text":
            text = well_formed("".join(self._pieces))
            return Text(text) if text.strip() else None
        if _deep(self._start):
            raise ValueError(f"a block is nested deeper than {DEEPEST} levels")
        given = self._start.get("input", {})
        if "".join(self._json).strip():
            given = _strict("".join(self._json))
        if self._kind == "tool_use":
            return ToolUse(str(self._start.get("id", "")), str(self._start.get("name", "")), mend(given))
        return Opaque(mend({**self._start, "input": given} if self._json else self._start))


def events_of(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """A message that came in one piece (from a server that doesn't stream) as the events it would have been."""
    blocks = message.get("content")
    starts = [
        {"type": "content_block_start", "index": index, "content_block": block}
        for index, block in enumerate(blocks if isinstance(blocks, list) else ())
    ]
    stop = {key: message.get(key) for key in ("stop_reason", "stop_details")}
    end = {"type": "message_delta", "delta": stop, "usage": {}}
    return ({"type": "message_start", "message": message}, *starts, end, {"type": "message_stop"})


def _details(given: object) -> str:
    """Why a model stopped, in the server's words and on one line, its category before them."""
    if not isinstance(given, Mapping):
        return ""
    words = [well_formed(said) for key in ("category", "explanation") if isinstance(said := given.get(key), str)]
    return clip(" ".join(": ".join(words).split()), _DETAILS)


def _miss(diagnostics: object) -> Miss | None:
    """What a server says of its cache; None for nothing, and while it is still comparing."""
    match diagnostics:
        case {"cache_miss_reason": {"type": str(reason), **more}} if _REASON.fullmatch(reason):
            return Miss(reason, _count(more.get("cache_missed_input_tokens")))
    return None


def answered_in(body: object, status: int) -> Answered:
    """The error in a body of the API's shape, or its text."""
    match body:
        case {"error": {**error}}:
            details = error.get("details")
            code = details.get("error_code") if isinstance(details, Mapping) else None
            kind = error.get("type")
            return Answered(
                status,
                str(error.get("message") or ""),
                kind if isinstance(kind, str) else None,
                code if isinstance(code, str) else None,
            )
    return Answered(status, body if isinstance(body, str) else "")


def _strict(text: str) -> object:
    """The JSON value in `text`, or `text` itself where it is none: validation refuses it with its reason."""
    try:
        value = json.loads(text, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError):
        return text
    return text if _deep(value) else value


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _MOST_TOKENS else None


def _refused(constant: str) -> object:
    raise ValueError(constant)


def _finite(number: str) -> float:
    """The number; one beyond all floats would be written as `Infinity`, which is no JSON."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


def _deep(value: object) -> bool:
    """Whether a value is nested deeper than what is stored and sent back later may be."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for one in level if isinstance(one, dict | list) for inner in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: dict[object, object] | list[object]) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value
