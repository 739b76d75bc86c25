"""A simple cache of prompts, as the API documents it: which part of a request is read, which is written.

An entry is written at each mark, and only there. A mark reads the longest entry that lies at one of the 20 positions
from itself backwards; calls of tools that follow each other are one position, and so are their results. An entry lives
five minutes or an hour from its last use on. What comes after the last mark is neither read nor written, and so is a
prefix that is too short.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .dialogue import canonical
from .reply import estimate
from .shape import MARK

LOOK_BACK = 20
LIVES = {"5m": 300.0, "1h": 3600.0}
RUNS = ("tool_use", "tool_result")


@dataclass(frozen=True)
class Position:
    """A place at which a prompt may be cached up to: the hash and the tokens of all that comes until there."""

    sha: str
    tokens: int
    ttl: str | None


@dataclass
class Cache:
    """What is cached, by its hash, with its end on the monotonic clock and its time to live."""

    least: int = 1024
    """Tokens that a prefix needs at least."""
    entries: dict[str, tuple[float, str]] = field(default_factory=dict)

    def use(self, body: Mapping[str, Any], now: float) -> tuple[int, int, int]:
        """Tokens that are neither, written, and read; from here on the request's own prefixes are cached."""
        places = positions(body)
        marked = [index for index, place in enumerate(places) if place.ttl and place.tokens >= self.least]
        read = max((self._hit(places, index, now) for index in marked), default=0)
        for index in marked:
            ttl = places[index].ttl or "5m"
            self.entries[places[index].sha] = (now + LIVES[ttl], ttl)
        last = places[marked[-1]].tokens if marked else 0
        return places[-1].tokens - max(last, read), max(0, last - read), read

    def _hit(self, places: Sequence[Position], mark: int, now: float) -> int:
        for index in range(mark, max(-1, mark - LOOK_BACK), -1):
            ends, ttl = self.entries.get(places[index].sha, (0.0, "5m"))
            if ends > now:
                self.entries[places[index].sha] = (now + LIVES[ttl], ttl)
                return places[index].tokens
        return 0


def positions(body: Mapping[str, Any]) -> list[Position]:
    """Every position of a prompt in its order: tools, system, messages."""
    found: list[Position] = []
    so_far, tokens = hashlib.sha256(str(body.get("model")).encode()), 0
    run = None
    for block, where in _blocks(body):
        plain = {name: value for name, value in block.items() if name != MARK}
        so_far.update(json.dumps((where, plain)).encode())  # a cache sees the order of keys, too
        tokens += estimate(plain)
        kind = (where, block.get("type"))
        mark = block.get(MARK)
        ttl = mark.get("ttl", "5m") if isinstance(mark, dict) else None
        if kind == run and kind[1] in RUNS:
            before = found.pop()
            ttl = ttl or before.ttl
        found.append(Position(so_far.hexdigest(), tokens, ttl))
        run = kind
    if found and isinstance(whole := body.get(MARK), dict):
        last = found.pop()
        found.append(Position(last.sha, last.tokens, last.ttl or whole.get("ttl", "5m")))
    return found or [Position("", 0, None)]


def _blocks(body: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], str]]:
    """The blocks of a prompt, each with its part; the choice of a tool belongs to the messages."""
    blocks: list[tuple[Mapping[str, Any], str]] = [(tool, "tools") for tool in body.get("tools") or []]
    system = body.get("system") or []
    listed = [{"type": "text", "text": system}] if isinstance(system, str) else system
    blocks += [(block, "system") for block in listed]
    choice = canonical(body.get("tool_choice"))
    for message in body.get("messages") or []:
        content = message["content"]
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks += [(block, f"{message['role']} {choice}") for block in listed]
    return blocks
