"""The marks up to which a prompt is to be cached: how many, and in which order of their times to live."""

from collections.abc import Iterator, Mapping
from typing import Any

from .shape import MARK

MOST = 4
_KEYS = {"type", "ttl"}


def marks(body: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Every mark with its place, in the order in which the prompt is read; one for the whole request comes last."""
    found = list(_within("tools", body.get("tools")))
    found += _within("system", body.get("system"))
    for index, message in enumerate(body.get("messages", [])):
        place = f"messages.{index}.content"
        for inner, block in enumerate(message["content"] if isinstance(message["content"], list) else []):
            found += _within(f"{place}.{inner}.{block['type']}.content", block.get("content"))
            found += _within(place, [block], inner)
    if body.get(MARK):
        found.append((MARK, body[MARK]))
    return found


def _within(place: str, values: object, first: int = 0) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, value in enumerate(values if isinstance(values, list) else [], first):
        if isinstance(value, dict) and value.get(MARK):
            yield f"{place}.{index}.{MARK}", value[MARK]


def marks_fault(body: Mapping[str, Any]) -> str | None:
    """The first thing that is wrong with the marks of a request whose shape is right."""
    found = marks(body)
    for place, mark in found:
        if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
            return f"{place}.type: Input should be 'ephemeral'"
        if extra := next((name for name in mark if name not in _KEYS), None):
            return f"{place}.ephemeral.{extra}: Extra inputs are not permitted"
        if mark.get("ttl", "5m") not in ("5m", "1h"):
            return f"{place}.ephemeral.ttl: Input should be '5m' or '1h'"
    if len(found) > MOST:
        return f"A maximum of {MOST} blocks with cache_control may be provided. Found {len(found)}."
    short = False
    for place, mark in found:
        if short and mark.get("ttl") == "1h":
            return (
                f"{place}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
                "Note that blocks are processed in the following order: tools, system, messages."
            )
        short = short or mark.get("ttl", "5m") == "5m"
    return None
