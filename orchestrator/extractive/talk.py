"""The offline model as main agent: it searches, reads around what it found, and answers with quotes and their places.

A pure function of the conversation, through the same tools as any other model. It writes no prose and changes nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...memory.fence import inside
from ...memory.recall.analysis import asked, terms
from ...memory.recall.passage import is_heading
from ...staging.phrases import NOTHING_FOUND
from ...staging.question import questions
from ...staging.quotes import QuoteImpossible, parse_quote, render_quote
from ...subagents.messages import Block, Message, Text, ToolResult, ToolUse
from ...subagents.toolbox.page import parse_page
from .excerpt import distinct, excerpt

MOST_QUESTIONS = 4
MOST_READS = 6
MOST_QUOTES = 4
ANSWERING, NEAR = 0.5, 0.72
"""The share of the question's words that a line has to hold, and how near to the best line it has to come."""
_WHERE = ["cards", "log", "research"]  # an earlier chat that asked the same is no answer
NO_PROSE = "(The offline model quotes what stands in memory; it writes no prose.)"

_MOST_LINES = 5
_UNSURE = 3  # hits that are read although only the heading above them may answer
_BOOKED = re.compile(r"- \S+ \[(?:added|draft)\] ")  # that a card came into being answers nothing
_HIT = re.compile(r"(?P<path>[^\n:]+):(?P<line>[1-9]\d*)(?: \((?P<day>[\d-]+)\))?: (?P<text>.*)")


@dataclass(frozen=True)
class _Hit:
    path: str
    line: int
    text: str

    @property
    def is_card(self) -> bool:
        return self.path.startswith(("projects/", "research/")) and not self.path.endswith("_index.md")


@dataclass(frozen=True)
class _Told:
    """The turn so far: the person's words, the hits for each question, and the lines that were read."""

    words: str
    hits: tuple[tuple[_Hit, ...], ...]
    pages: Mapping[str, Mapping[int, str]]
    replies: int


def next_blocks(messages: Sequence[Message]) -> tuple[Block, ...]:
    """What the offline model says next."""
    told = _told(messages)
    parts = [q.text for q in questions(told.words)][:MOST_QUESTIONS] or [told.words]
    if not told.hits:
        return tuple(_call(told, k, "search_history", {"query": part, "where": _WHERE}) for k, part in enumerate(parts))
    chosen = [_answering(part, hits, told.pages) for part, hits in zip(parts, told.hits, strict=False)]
    if not told.pages:
        unsure = [hits[:_UNSURE] for some, hits in zip(chosen, told.hits, strict=False) if not some]
        if reads := tuple(_reads(told, [hit for hits in (*chosen, *unsure) for hit in hits])):
            return reads
    rows: list[str] = []
    for part, hits in zip(parts, chosen, strict=False):
        if len(parts) > 1:
            rows += [f"{part}", ""]
        quoted = tuple(_quotes(part, hits, told.pages))
        rows += [*(row for quote in quoted for row in (quote, ""))] or [NOTHING_FOUND, ""]
    return (Text("\n".join([*rows, NO_PROSE])),)


def _told(messages: Sequence[Message]) -> _Told:
    asked_at = max(k for k, m in enumerate(messages) if m.role == "user" and _words(m))
    names: dict[str, str] = {}
    hits: list[tuple[_Hit, ...]] = []
    pages: dict[str, dict[int, str]] = {}
    for message in messages[asked_at + 1 :]:
        names.update({use.id: use.name for use in message.tool_uses})
        for block in message.content:
            if not isinstance(block, ToolResult):
                continue
            if names.get(block.tool_use_id) == "search_history":
                hits.append(() if block.is_error else tuple(_hits(block.content)))
            elif not block.is_error and (page := parse_page(block.content)) is not None:
                pages.setdefault(page.path, {}).update({line.number: line.text for line in page.lines if not line.cut})
    replies = sum(1 for m in messages if m.role == "assistant")
    return _Told(_words(messages[asked_at]), tuple(hits), pages, replies)


def _words(message: Message) -> str:
    """The person's own words: the last text of a message."""
    texts = [block.text for block in message.content if isinstance(block, Text)]
    return texts[-1] if texts else ""


def _hits(content: str) -> Iterator[_Hit]:
    for row in inside(content).split("\n"):
        if match := _HIT.fullmatch(row):
            yield _Hit(match["path"], int(match["line"]), match["text"])


def _answering(question: str, hits: Sequence[_Hit], pages: Mapping[str, Mapping[int, str]]) -> tuple[_Hit, ...]:
    """The hits that hold enough of what was asked, by themselves or else with the heading that they were read under."""
    by_themselves = _holding(question, hits, {})
    return by_themselves or _holding(question, hits, {hit: _heading(hit, pages.get(hit.path, {})) for hit in hits})


def _holding(question: str, hits: Sequence[_Hit], headings: Mapping[_Hit, str]) -> tuple[_Hit, ...]:
    """The same, headings that only repeat the question left out; best first."""
    wanted = set(asked(question))
    texts = {hit: f"{hit.text} {hit.path} {headings.get(hit, '')}" for hit in hits}
    share = {hit: len(wanted & set(terms(text))) / len(wanted) if wanted else 0.0 for hit, text in texts.items()}
    said = set(terms(question))
    plain = [h for h in hits if not (is_heading(h.text) and said.issuperset(terms(h.text)))]
    best = max((share[hit] for hit in plain), default=0.0)
    if best < ANSWERING:
        return ()
    return tuple(hit for hit in plain if share[hit] >= max(ANSWERING, NEAR * best))[: 2 * MOST_QUOTES]


def _heading(hit: _Hit, lines: Mapping[int, str]) -> str:
    """The nearest heading above a line that was read."""
    return next((lines[n] for n in sorted(lines, reverse=True) if n < hit.line and is_heading(lines[n])), "")


def _reads(told: _Told, hits: Sequence[_Hit]) -> Iterator[Block]:
    """Pages of the cards in which something was found."""
    seen: dict[str, int] = {}
    for hit in hits:
        if hit.is_card:
            seen.setdefault(hit.path, max(1, hit.line - 40))
    for k, (path, start) in enumerate(tuple(seen.items())[:MOST_READS]):
        yield _call(told, k, "read_card", {"card": path, "start": start})


def _quotes(question: str, hits: Sequence[_Hit], pages: Mapping[str, Mapping[int, str]]) -> Iterator[str]:
    """Quotes as they stand: of cards what was read there, of day logs the line itself."""
    read = [h for h in hits if h.line in pages.get(h.path, {}) and h.line > _front_end(pages[h.path])]
    passages: dict[str, str] = {}  # a card may hold the same quote twice, and two cards may
    for quotes, place in (found for h in read if (found := _passage(h, pages[h.path])) is not None):
        passages.setdefault(quotes, f"{quotes}\n({place})")
    excerpts = (
        excerpt(h.path, pages[h.path], h.line, question) for h in read if parse_quote(pages[h.path][h.line]) is None
    )
    said = [one for one in excerpts if one is not None and not all(is_heading(p.text) for p in one.pieces)]
    cards = [*passages.values(), *(one.render() for one in distinct(said, MOST_QUOTES))][:MOST_QUOTES]
    yield from cards
    for hit in hits[: MOST_QUOTES - len(cards)]:
        if hit.path not in pages and not _BOOKED.match(hit.text):
            try:
                yield render_quote(hit.text, hit.path, hit.line)
            except QuoteImpossible:
                continue


def _passage(hit: _Hit, lines: Mapping[int, str]) -> tuple[str, str] | None:
    """Quotes that a card holds, the one that was found and its neighbours, and their place; None for other text."""
    if parse_quote(lines[hit.line]) is None:
        return None
    first = last = hit.line
    while last - first + 1 < _MOST_LINES and parse_quote(lines.get(last + 1, "")) is not None:
        last += 1
    while last - first + 1 < _MOST_LINES and parse_quote(lines.get(first - 1, "")) is not None:
        first -= 1
    place = f"{hit.path}:{first}" + (f"-{last}" if last > first else "")
    return "\n".join(lines[n] for n in range(first, last + 1)), place


def _front_end(lines: Mapping[int, str]) -> int:
    """The last line of the front matter, 0 where there is none or it wasn't read: what stands there is no answer."""
    if lines.get(1) != "---":
        return 0
    return next((n for n in sorted(lines) if n > 1 and lines[n] == "---"), 0)


def _call(told: _Told, k: int, name: str, given: Mapping[str, object]) -> ToolUse:
    return ToolUse(f"offline_{told.replies + 1}_{k + 1}", name, dict(given))
