"""Why a prompt could not begin as the one before it: what the API says where a request asks for `diagnostics`.

Of each request that asks a print is kept, by its reply's id; a later one that names the id is compared with it, and the
first thing that differs is told: the model, the tools, the system prompt, a message that was there before. Messages
that were only added are no difference. What was kept too short, or has expired, is none either: the prompts are
compared, not the cache.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from .caching import Taken
from .dialogue import canonical
from .prompt import positions
from .shape import MARK


@dataclass(frozen=True)
class Print:
    """A request as it is compared: hashes, and the tokens up to its last mark."""

    model: str
    tools: str
    system: str
    messages: tuple[str, ...]
    depends: str
    marked: int


def print_of(body: Mapping[str, Any]) -> Print:
    marked = max((place.tokens for place in positions(body) if place.ttl), default=0)
    others = {name: body.get(name) for name in ("tool_choice", "thinking", "output_config")}
    return Print(
        canonical((body.get("model"), body.get("speed"))),
        _sha(body.get("tools") or []),
        _sha(body.get("system") or []),
        tuple(_sha((message["role"], _blocks(message["content"]))) for message in body.get("messages") or []),
        _sha(others),
        marked,
    )


def asks(body: Mapping[str, Any]) -> bool:
    return isinstance(body.get("diagnostics"), Mapping)


def diagnosis(body: Mapping[str, Any], prints: Mapping[str, Print], taken: Taken | None) -> dict[str, Any] | None:
    """The reply's `diagnostics`; None where nothing was asked or nothing differs."""
    if not asks(body) or (name := body["diagnostics"].get("previous_message_id")) is None:
        return None
    before = prints.get(name)
    if before is None:
        return {"cache_miss_reason": {"type": "previous_message_not_found"}}
    reason = _differs(before, print_of(body))
    if reason is None:
        return None
    if reason == "unavailable":
        return {"cache_miss_reason": {"type": reason}}
    missed = max(0, before.marked - (0 if taken is None else taken.read))
    return {"cache_miss_reason": {"type": reason, "cache_missed_input_tokens": missed}}


def _differs(before: Print, now: Print) -> str | None:
    for part in ("model", "tools", "system"):
        if getattr(before, part) != getattr(now, part):
            return f"{part}_changed"
    for old, new in zip_longest(before.messages, now.messages):
        if old is None:
            break  # only added
        if old != new:
            return "messages_changed"
    return "unavailable" if before.depends != now.depends else None


def _blocks(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _sha(value: object) -> str:
    """The hash of a value without its marks, which are no part of a prompt."""
    return hashlib.sha256(canonical(_unmarked(value)).encode(errors="replace")).hexdigest()


def _unmarked(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _unmarked(inner) for name, inner in value.items() if name != MARK}
    return [_unmarked(inner) for inner in value] if isinstance(value, list | tuple) else value
