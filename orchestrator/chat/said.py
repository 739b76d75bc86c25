"""What was said in a space that no synthesis tells of yet: counted cheaply after each turn, read when one is due."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from ...memory.fence import Fences
from ...memory.guard import UnsafeFile, read_beneath
from ...memory.links import LinkLeadsOut
from ...memory.text.clip import clip
from ...memory.tokens import estimate
from ...subagents.messages import Text, well_formed
from ..errors import OrchestratorFault
from ..premises import own
from .coverage import Coverage
from .lines import Asked, Ended, Replied, Resulted
from .session import Session
from .store import MOST_BYTES, Chats

_ENDED = re.compile(
    rb'^\{"v": 1, "kind": "ended", "turn": (\d{1,9}), "at": "([^"]{0,40})"[^\n]*"dropped": false', re.MULTILINE
)
_WORDS, _ANSWER, _DONE = 3_000, 3_000, 300


@dataclass(frozen=True)
class Exchange:
    """One message of the person and what came of it; `external`: text from outside had been read in this chat by then.

    `done` are the first lines of what its tools changed.
    """

    session: str
    turn: int
    at: str
    asked: str
    answer: str
    done: tuple[str, ...] = ()
    external: bool = False


@dataclass
class Heard:
    """Which turns of each chat have ended, kept between two looks: of a file that is as it was, nothing is read."""

    _known: dict[str, tuple[tuple[int, int, int], tuple[tuple[int, str], ...]]] = field(default_factory=dict)

    def untold(self, chats: Chats, told: Coverage) -> dict[str, int]:
        """How many exchanges of each chat no synthesis tells of; chats without any are left out."""
        found = {
            id_: sum(1 for turn, at in self._ended(chats, id_) if not told.tells(id_, turn, at)) for id_ in chats.ids()
        }
        return {id_: count for id_, count in found.items() if count}

    def _ended(self, chats: Chats, id_: str) -> tuple[tuple[int, str], ...]:
        path = chats.shown(id_)
        try:
            stat = os.lstat(chats.space.root / path)
            stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
            if path not in self._known or self._known[path][0] != stamp:
                data = read_beneath(own(chats.space, "chats"), f"{id_}.jsonl", max_bytes=MOST_BYTES)
                self._known[path] = (
                    stamp,
                    tuple((int(turn), at.decode("ascii", "replace")) for turn, at in _ENDED.findall(data)),
                )
        except (UnsafeFile, LinkLeadsOut, OSError):
            return ()  # what can't be read can't be told
        return self._known[path][1]


def exchanges(chats: Chats, ids: Iterable[str], told: Coverage) -> tuple[Exchange, ...]:
    """Those of these chats that no synthesis tells of, the oldest first; a chat's own stay in their order."""
    found: list[tuple[str, Exchange]] = []
    for id_ in ids:
        try:
            session, _ = chats.load(id_)
        except (OrchestratorFault, LinkLeadsOut, OSError):
            continue
        own_ones = [one for one in exchanges_of(session) if not told.tells(id_, one.turn, one.at)]
        found += zip(accumulate((one.at for one in own_ones), max), own_ones, strict=True)  # a clock may go back
    return tuple(one for _, one in sorted(found, key=lambda pair: (pair[0], pair[1].session, pair[1].turn)))


def exchanges_of(session: Session) -> Iterator[Exchange]:
    """The exchanges of a chat that have ended and were answered, in order."""
    asked = {line.turn: line for line in session.lines if isinstance(line, Asked)}
    outside = min((line.turn for line in session.lines if isinstance(line, Resulted) and line.external), default=None)
    for end in session.lines:
        if not isinstance(end, Ended) or end.dropped or end.turn not in asked:
            continue
        said = [_text(line) for line in session.lines if isinstance(line, Replied) and line.turn == end.turn]
        results = [line for line in session.lines if isinstance(line, Resulted) and line.turn == end.turn]
        yield Exchange(
            session.id,
            end.turn,
            end.at,
            _text(Asked(0, "", asked[end.turn].content[-1:])),
            "\n\n".join(text for text in said if text.strip()),
            tuple(
                f"{one.tool}: {' '.join(one.content.split(chr(10))[0].split())}"
                for one in results
                if one.commit or one.drafts or one.tool == "delegate"
            ),
            outside is not None and end.turn >= outside,
        )


def within(every: Sequence[Exchange], tokens: int) -> tuple[Exchange, ...]:
    """The oldest that fit in so many tokens (estimated) as `page` shows them, at least one; the others come next."""
    sizes = accumulate(estimate(one.asked[:_WORDS]) + estimate(one.answer[:_ANSWER]) + 60 for one in every)
    fit = sum(1 for size in sizes if size <= tokens)
    return tuple(every[: max(1, fit)])


def page(every: Sequence[Exchange], fences: Fences, mask: Callable[[str], str]) -> str:
    """What was said, as a text for the synthesizer: every word between fences, no secret in it."""
    parts = ["# What was said since the synthesis was renewed last\n"]
    for one in every:
        outside = ", after text from outside was read" if one.external else ""
        parts.append(f"## {one.at}, chat {one.session}, exchange {one.turn}{outside}\n")
        for who, text, most in (("the person", one.asked, _WORDS), ("the main agent", one.answer, _ANSWER)):
            if text.strip():
                parts.append(fences.around(who, clip(mask(well_formed(text.strip())), most, " …")) + "\n")
        if one.done:
            rows = "\n".join(clip(mask(well_formed(row)), _DONE) for row in one.done)
            parts.append(fences.around("what was done", rows) + "\n")
    return "\n".join(parts)


def spans(every: Sequence[Exchange]) -> dict[str, tuple[int, int]]:
    """The first and the last turn of each chat among these."""
    found: dict[str, tuple[int, int]] = {}
    for one in every:
        first, last = found.get(one.session, (one.turn, one.turn))
        found[one.session] = min(first, one.turn), max(last, one.turn)
    return found


def _text(line: Asked | Replied) -> str:
    return "".join(block.text for block in line.content if isinstance(block, Text))
