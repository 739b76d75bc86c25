"""From a line that answers to what is quoted of it: enough to be understood, nothing that isn't there.

A sentence that is wrapped over several lines is quoted line by line; of a long line the sentences that answer are
quoted; a heading above goes along when it says what the question asks and the text does not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...memory.recall.analysis import asked, terms
from ...memory.recall.passage import Passage, is_heading, passages
from ...staging.own import framing_lines
from ...staging.quotes import Lines, Quote, QuoteImpossible, parse_quote, render_quote
from ...staging.sentence import Paragraphs, sentences
from ...staging.statement import statements

_SHORT = 420
_MOST_LINES = 5
_MOST_OF_A_SENTENCE = 8


@dataclass(frozen=True)
class Piece:
    """A part of one line, exactly as it stands there."""

    line: int
    text: str


@dataclass(frozen=True)
class Excerpt:
    """Pieces of neighbouring lines of one file, in order.

    `around` are the first and last line of the passage that they come from. `statements` is what they say, each
    sentence in one: a sentence that runs over several lines, too.
    """

    path: str
    pieces: tuple[Piece, ...]
    around: tuple[int, int]
    statements: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(piece.text for piece in self.pieces)

    @property
    def places(self) -> tuple[str, ...]:
        """Where each piece stands, as it is cited as a source."""
        return tuple(f"{self.path}:{piece.line}" for piece in self.pieces)

    def render(self) -> str:
        """The quotes, one a line."""
        return "\n".join(render_quote(piece.text, self.path, piece.line) for piece in self.pieces)


def excerpt(path: str, lines: Mapping[int, str], line: int, question: str) -> Excerpt | None:
    """What to quote around `line`, of the lines that were read; None when nothing there can be quoted."""
    if not lines.get(line, "").strip():
        return None
    wanted = set(asked(question))
    rows = [lines.get(n, "") for n in range(1, max(lines) + 1)]
    passage = _around(path, lines, line, rows)
    filled = [n for n in range(passage.line, passage.end + 1) if rows[n - 1].strip()]
    body = [n for n in filled if not is_heading(lines[n])] or [line]
    focus = line if line in body else body[0]
    paragraphs = Paragraphs(path, rows)
    chosen = _chosen(paragraphs, lines, body, focus, wanted)
    pieces = [_piece(n, lines[n], wanted, alone=len(chosen) == 1) for n in chosen]
    heading = _heading(path, rows, passage, wanted, pieces)
    columns = _columns(rows, passage)
    kept = tuple(p for p in (*heading, *columns, *pieces) if _quotable(path, p))
    if not any(p in pieces for p in kept):
        return None
    return Excerpt(path, kept, (passage.line, passage.end), _statements(path, rows, [p for p in pieces if p in kept]))


def _around(path: str, lines: Mapping[int, str], line: int, rows: Sequence[str]) -> Passage:
    for passage in passages(path, "\n".join(rows)):
        if passage.line <= line <= passage.end:
            return passage
    return Passage(path, line, line, lines[line])


def _chosen(
    paragraphs: Paragraphs, lines: Mapping[int, str], body: Sequence[int], focus: int, wanted: set[str]
) -> list[int]:
    """The lines to quote: the whole paragraph if it is short, else the sentence around the line that answers."""
    if len(body) <= _MOST_LINES and sum(len(lines[n]) for n in body) <= _SHORT:
        return list(body)
    at = body.index(focus)
    first = last = at
    while first > 0 and last - first + 1 < _MOST_OF_A_SENTENCE and _runs_on(paragraphs, body[first - 1], body[first]):
        first -= 1
    while (
        last + 1 < len(body)
        and last - first + 1 < _MOST_OF_A_SENTENCE
        and _runs_on(paragraphs, body[last], body[last + 1])
    ):
        last += 1
    if first == last and len(lines[focus]) > _SHORT:
        return [focus]
    if first == last and last + 1 < len(body) and wanted & set(terms(lines[body[last + 1]])):
        last += 1
        if last + 1 < len(body) and _runs_on(paragraphs, body[last], body[last + 1]):
            last -= 1
    return list(body[first : last + 1])


def _runs_on(paragraphs: Paragraphs, line: int, after: int) -> bool:
    """Whether a sentence runs from a line into the one after it."""
    paragraph = paragraphs.at(line)
    return paragraph.first == paragraphs.at(after).first and paragraph.span(line)[1] not in paragraph.stops


def _statements(path: str, rows: Sequence[str], pieces: Sequence[Piece]) -> tuple[str, ...]:
    """What the pieces say in whole sentences; what they say at all when there are none."""
    quotes = [Quote(piece.text, path, piece.line, at) for at, piece in enumerate(pieces, 1)]
    whole, _ = statements(quotes, Lines({path: "\n".join(rows)}.get))
    return whole or tuple(piece.text for piece in pieces)


def _piece(number: int, line: str, wanted: set[str], *, alone: bool) -> Piece:
    parts = sentences(line)
    if not parts:
        return Piece(number, line.strip())
    start = line.find(parts[0])
    if not alone or len(line) <= _SHORT:
        return Piece(number, line[start:].rstrip())
    weights = [len(wanted & set(terms(part))) for part in parts]
    best = max(range(len(parts)), key=lambda k: (weights[k], -k))
    last = best
    if last + 1 < len(parts) and weights[last + 1] and len(parts[best]) + len(parts[last + 1]) <= _SHORT:
        last += 1
    begin = _offset(line, parts, best)
    return Piece(number, line[begin : _offset(line, parts, last) + len(parts[last])])


def _offset(line: str, parts: Sequence[str], k: int) -> int:
    at = 0
    for part in parts[: k + 1]:
        at = line.find(part, at)
        if part is not parts[k]:
            at += len(part)
    return at


def _heading(
    path: str, rows: Sequence[str], passage: Passage, wanted: set[str], pieces: Sequence[Piece]
) -> list[Piece]:
    """The heading above when it says what the pieces don't; that of an earlier finding only repeats what was asked."""
    said = {term for piece in pieces for term in terms(piece.text)}
    for number in range(min(passage.end, pieces[0].line - 1), 0, -1):
        line = rows[number - 1]
        if line.lstrip().startswith("#") and is_heading(line):
            telling = (wanted & set(terms(line))) - said and number not in framing_lines(path, rows)
            return [Piece(number, line.strip())] if telling else []
    return []


def _columns(rows: Sequence[str], passage: Passage) -> list[Piece]:
    """The line that names the columns of a table's row, so that the row can be read."""
    if passage.head is None or passage.head >= passage.line or not rows[passage.head - 1].strip():
        return []
    return [Piece(passage.head, rows[passage.head - 1].strip())]


def _quotable(path: str, piece: Piece) -> bool:
    try:
        render_quote(piece.text, path, piece.line)
    except QuoteImpossible:
        return False
    return True


def _original(text: str) -> str:
    """What a quote quotes: a finding that quotes a source says nothing that the source doesn't."""
    quote = parse_quote(text if text.startswith(">") else f"> {text}")
    return text if quote is None else quote.text


def distinct(excerpts: Iterable[Excerpt], most: int) -> tuple[Excerpt, ...]:
    """The first `most` excerpts that say something new: one of each passage, and no text twice."""
    kept: list[Excerpt] = []
    seen: set[tuple[str, int]] = set()
    texts: set[str] = set()
    above: set[int] = set()  # headings and columns that the excerpts of this file have shown
    for one in excerpts:
        lines = {(one.path, n) for n in range(one.around[0], one.around[1] + 1)}
        text = " ".join(" ".join(_original(piece.text) for piece in one.pieces).split()).casefold()
        if lines & seen or text in texts:
            continue
        shown = above if kept and kept[-1].path == one.path else set()
        above = shown | {piece.line for piece in one.pieces if piece.line < one.around[0]}
        kept.append(replace(one, pieces=tuple(piece for piece in one.pieces if piece.line not in shown)))
        seen |= lines
        texts.add(text)
        if len(kept) == most:
            break
    return tuple(kept)
