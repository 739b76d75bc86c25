"""Fetches the results of a Message Batch that has ended, and stores them before anybody uses one."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from ..gateway.messagebatches import MessageBatches
from .events import Item, Stored
from .results import MISSING, Got, Strange, got
from .sender import Say, requests
from .shelf import Shelf
from .state import Sent

_DOWNLOADS = 2  # where a request is missing: a download may have ended early, as if it were whole
_TOLD = 5  # lines that are no results


class Torn(Exception):
    """Raised when a download ends in the middle of a line."""


@dataclass
class _Download:
    items: dict[str, Item] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)


class Fetcher:
    """Brings results home."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def fetch(self, sent: Sent, way: MessageBatches, say: Say) -> None:
        """Stores the results of a batch; raises Torn or CallBroken where it has to be tried again, or an OSError."""
        for _ in range(_DOWNLOADS):
            found = await self._download(sent, way)
            if len(found.items) == len(sent.requests):
                break
        missing = [Item(name, "again", reason=MISSING) for name in sent.requests if name not in found.items]
        items = (*found.items.values(), *missing)
        await self._shelf.note(Stored(sent.batch, items))
        for item in items:
            self._shelf.till.settle(item.id, item.cost)
        for reason in found.strange[:_TOLD]:
            say(f"Message Batch {sent.batch}: {reason}; it counts for nothing")
        if len(found.strange) > _TOLD:
            say(f"Message Batch {sent.batch}: {len(found.strange) - _TOLD} more lines like that")
        say(f"Message Batch {sent.batch} has ended: {_came(items)}")

    async def holds(self, sent: Sent, batch: str, way: MessageBatches) -> bool:
        """Whether a batch has results of requests that another one, of which nobody knows the name, was made of.

        Raises Torn or CallBroken.
        """
        async with aclosing(lines(way.results(batch))) as all_of_them:
            async for line in all_of_them:
                if not isinstance(self._got(line, sent, way), Strange):
                    return True
        return False

    async def _download(self, sent: Sent, way: MessageBatches) -> _Download:
        found, filing = _Download(), self._shelf.replies.begin(sent.batch)
        async with aclosing(lines(way.results(sent.batch))) as all_of_them:
            async for line in all_of_them:
                one = self._got(line, sent, way)
                if isinstance(one, Strange):
                    found.strange.append(one.reason)
                elif one.item.id in found.items:
                    found.strange.append(f"a second result of {one.item.id}")
                elif one.reply is None:
                    found.items[one.item.id] = one.item
                else:
                    at, size = await filing.add(one.item.id, one.reply)
                    found.items[one.item.id] = replace(one.item, at=at, size=size)
        await filing.keep()
        return found

    def _got(self, line: bytes, sent: Sent, way: MessageBatches) -> Got | Strange:
        return got(line, sent.requests, sent.prices, canceling=sent.canceling, read=way.reply, judge=way.judged)


async def lines(parts: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The lines of what comes in parts; raises Torn where the last one isn't whole."""
    rest = b""
    async with aclosing(parts):
        async for part in parts:
            *whole, rest = (rest + part).split(b"\n")
            for line in whole:
                if line.strip():
                    yield line
    if rest.strip():
        raise Torn("its results end in the middle of a line")


def _came(items: Sequence[Item]) -> str:
    """What came of the requests of a batch, in words."""
    answered = sum(item.kind in ("reply", "refusal") for item in items)
    again = sum(item.kind == "again" for item in items)
    failed = sum(item.kind == "failed" for item in items)
    said = [f"{answered} of {requests(len(items))} answered"]
    said += [f"{again} to be sent again"] if again else []
    said += [f"{failed} failed"] if failed else []
    return ", ".join(said)
