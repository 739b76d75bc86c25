"""From a line that answers to what is quoted of it: enough to be understood, nothing that isn't there.

A sentence that is wrapped over several lines is quoted line by line; of a long line the sentences that answer are
quoted; a heading above goes along when it says what the question asks and the text does not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..memory.recall.analysis import asked, terms
from ..memory.recall.passage import Passage, is_heading, passages
from ..staging.quotes import QuoteImpossible, parse_quote, render_quote, sentences

_SHORT = 420
_MOST_LINES = 5
_ENDS = (".", "!", "?", "…", ":", ";", "。", "！", "？")


@dataclass(frozen=True)
class Piece:
    """A part of one line, exactly as it stands there."""

    line: int
    text: str


@dataclass(frozen=True)
class Excerpt:
    """Pieces of neighbouring lines of one file, in order."""

    path: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return " ".join(piece.text for piece in self.pieces)

    @property
    def place(self) -> str:
        """Where it is cited as a source."""
        return f"{self.path}:{self.pieces[-1].line if len(self.pieces) == 1 else self.pieces[0].line}"

    def render(self) -> str:
        """The quotes, one a line."""
        return "\n".join(render_quote(piece.text, self.path, piece.line) for piece in self.pieces)


def excerpt(path: str, lines: Mapping[int, str], line: int, question: str) -> Excerpt | None:
    """What to quote around `line`, of the lines that were read; None when nothing there can be quoted."""
    if not lines.get(line, "").strip():
        return None
    wanted = set(asked(question))
    passage = _around(path, lines, line)
    rows = [n for n in range(passage.line, passage.end + 1) if lines.get(n, "").strip()]
    body = [n for n in rows if not is_heading(lines[n])] or [line]
    focus = line if line in body else body[0]
    chosen = _chosen(lines, body, focus, wanted)
    pieces = [_piece(n, lines[n], wanted, alone=len(chosen) == 1) for n in chosen]
    heading = _heading(lines, passage, wanted, pieces)
    kept = tuple(p for p in (*heading, *pieces) if _quotable(path, p))
    return Excerpt(path, kept) if any(p in pieces for p in kept) else None


def _around(path: str, lines: Mapping[int, str], line: int) -> Passage:
    text = "\n".join(lines.get(n, "") for n in range(1, max(lines) + 1))
    for passage in passages(path, text):
        if passage.line <= line <= passage.end:
            return passage
    return Passage(path, line, line, lines[line])


def _chosen(lines: Mapping[int, str], body: Sequence[int], focus: int, wanted: set[str]) -> list[int]:
    """The lines to quote: the whole paragraph if it is short, else the sentence around the line that answers."""
    if len(body) <= _MOST_LINES and sum(len(lines[n]) for n in body) <= _SHORT:
        return list(body)
    if len(lines[focus]) > _SHORT:
        return [focus]
    at = body.index(focus)
    first, last = at, at
    while first > 0 and at - first < 2 and not _ends(lines[body[first - 1]]) and _flows(lines, body, first):
        first -= 1
    while last + 1 < len(body) and last - first + 1 < _MOST_LINES and not _ends(lines[body[last]]):
        if not _flows(lines, body, last + 1):
            break
        last += 1
    if first == last and last + 1 < len(body) and wanted & set(terms(lines[body[last + 1]])):
        last += 1
    return list(body[first : last + 1])


def _ends(line: str) -> bool:
    return line.rstrip().rstrip("\"'”’»)]*_`").endswith(_ENDS)


def _flows(lines: Mapping[int, str], body: Sequence[int], at: int) -> bool:
    """Whether the line at `at` goes on where the one before it stopped: neighbours, both prose."""
    one, other = body[at - 1], body[at]
    prose = not any(lines[n].lstrip().startswith(("|", "```", "~~~")) for n in (one, other))
    return other == one + 1 and prose


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


def _heading(lines: Mapping[int, str], passage: Passage, wanted: set[str], pieces: Sequence[Piece]) -> list[Piece]:
    said = {term for piece in pieces for term in terms(piece.text)}
    for number in range(passage.end, 0, -1):
        line = lines.get(number, "")
        if number < pieces[0].line and line.lstrip().startswith("#") and is_heading(line):
            return [Piece(number, line.strip())] if (wanted & set(terms(line))) - said else []
    return []


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
    """The first `most` excerpts that say something new: no line twice, no text twice."""
    kept: list[Excerpt] = []
    seen: set[tuple[str, int]] = set()
    texts: set[str] = set()
    for one in excerpts:
        lines = {(one.path, piece.line) for piece in one.pieces}
        text = " ".join(" ".join(_original(piece.text) for piece in one.pieces).split()).casefold()
        if lines <= seen or text in texts:
            continue
        kept.append(one)
        seen |= lines
        texts.add(text)
        if len(kept) == most:
            break
    return tuple(kept)
