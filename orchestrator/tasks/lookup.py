"""The `search` tool of a worker, answered by the orchestrator: over what this task may read, and nothing else.

That is the cards, findings and project files of its own space, and its inputs; never another client's, a day log, a
chat or MEMORY.md. What is found names its place as a draft cites it: `projects/kiln.md:9`, `inputs/cones.md:14`.

Inputs come before cards that answer as well, and the card that the task writes is no source. Of a
finding onepen made only the quotes are searched, and of those only what stands in no text at hand: else a question
that was asked before would find itself, and look answered.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...memory.guard import UnsafeFile, list_beneath, read_beneath
from ...memory.recall.passage import split_lines
from ...memory.recall.search import ANSWERED, Passage, Ranking, Scored, passages
from ...memory.text.document import NotText, decode
from ...memory.view import View
from ...memory.workspace import SHELVES, Space
from ...staging.folder import TaskFolder, read_input
from ...staging.own import framing_lines
from ...staging.quotes import parse_quote
from ...staging.secret import mask

MAX_FILE = 1 << 20
MAX_FILES = 5_000
DEFAULT_LIMIT, MAX_LIMIT = 10, 40
_SHOWN = 300
_BEHIND = 0.8  # what a card's score is worth when an input answers, too
_HIT = re.compile(r"(?P<share>[01]\.\d\d) (?P<weight>[01]\.\d\d) (?P<path>[^\n]+?):(?P<line>[1-9]\d*): (?P<text>.*)")
_SIZE = re.compile(r"Read (?P<files>\d+) files?, (?P<lines>\d+) lines?\.")
_MISSING = "Not found anywhere: "
_NOTHING = "Nothing found."


@dataclass(frozen=True)
class Found:
    """One place: `share` of the question that stands there, and `weight` beside the best place; both 0 to 1."""

    share: float
    weight: float
    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Answer:
    """What a search tells the worker: places, best first, the words that stand nowhere, and how much was looked at."""

    places: tuple[Found, ...]
    missing: tuple[str, ...]
    files: int
    lines: int

    def render(self) -> str:
        rows = [f"{p.share:.2f} {p.weight:.2f} {p.path}:{p.line}: {p.text}" for p in self.places]
        head = (
            "Best first: the share of the question that stands there, and the weight beside the best."
            if rows
            else _NOTHING
        )
        lost = [_MISSING + ", ".join(self.missing)] if self.missing else []
        return "\n".join([head, *rows, *lost, f"Read {count(self.files, 'file')}, {count(self.lines, 'line')}."])


def count(number: int, noun: str) -> str:
    """The number with its noun: "1 file", "2 files"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def parse_answer(text: str) -> Answer:
    """What `render` wrote, read back; lines of other kinds are passed over."""
    places: list[Found] = []
    missing: tuple[str, ...] = ()
    files = lines = 0
    for row in text.split("\n"):
        if match := _HIT.fullmatch(row):
            places.append(
                Found(float(match["share"]), float(match["weight"]), match["path"], int(match["line"]), match["text"])
            )
        elif row.startswith(_MISSING):
            missing = tuple(row.removeprefix(_MISSING).split(", "))
        elif match := _SIZE.fullmatch(row):
            files, lines = int(match["files"]), int(match["lines"])
    return Answer(tuple(places), missing, files, lines)


class Lookup:
    """Searches for one task; everything is read once, at the first question."""

    def __init__(
        self, view: View, space: Space, folder: TaskFolder, inputs: tuple[str, ...], target: str | None = None
    ) -> None:
        self._view = view
        self._space = space
        self._folder = folder
        self._inputs = inputs
        self._target = target

    def tool(self, input: Mapping[str, object]) -> tuple[str, bool, tuple[str, ...]]:  # noqa: A002
        """The tool's answer: text, whether it is an error, and the paths that it shows."""
        query, limit = input.get("query"), input.get("limit", DEFAULT_LIMIT)
        if not isinstance(query, str) or not query.strip():
            return "search: query must be a text that is not empty", True, ()
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            return "search: limit must be a whole number from 1", True, ()
        answer = self.find(query, min(limit, MAX_LIMIT))
        return answer.render(), False, tuple(dict.fromkeys(place.path for place in answer.places))

    def find(self, query: str, limit: int = DEFAULT_LIMIT) -> Answer:
        ranking, files, lines = self._everything
        scored = _inputs_first(ranking.find(query, limit))
        best = max((s.score for s in scored), default=0.0) or 1.0
        places = [
            Found(s.coverage, s.score / best, s.passage.path, s.line, mask(s.line_text.strip())[:_SHOWN])
            for s in scored
        ]
        return Answer(tuple(places), ranking.missing(query), files, lines)

    @cached_property
    def _everything(self) -> tuple[Ranking, int, int]:
        texts = [(path, text) for path, text in self.texts() if path != self._target]
        known = {path: split_lines(text) for path, text in texts}
        frames = {path: framing_lines(path, lines) for path, lines in known.items()}
        own = {path for path, frame in frames.items() if frame}
        needed = _needed({path: known[path] for path in own}, [lines for p, lines in known.items() if p not in own])
        found: list[Passage] = []
        for path, text in texts:
            if path in own:
                found += _telling(path, known[path], frames[path], passages(path, text), needed)
            else:
                found += passages(path, text)
        return Ranking(found), len(texts), sum(len(text.splitlines()) for _, text in texts)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Everything that this task may read, as (path, text): inputs first, then the space's two shelves."""
        for name in self._inputs:
            yield f"inputs/{name}", read_input(self._folder, name)
        for shelf in SHELVES:
            for name in _listed(self._space, shelf):
                text = self.read(f"{shelf}/{name}")
                if text is not None:
                    yield f"{shelf}/{name}", text

    def read(self, path: str) -> str | None:
        """The text of a path as drafts cite it; None for anything this task may not read or that is no text."""
        shelf, _, name = path.partition("/")
        try:
            if shelf == "inputs":
                return read_input(self._folder, name) if name in self._inputs else None
            if shelf not in SHELVES or not name or name == "_index.md":
                return None
            pending = self._space.path(path)
            if pending in self._view.pending_paths():
                return self._view.text(pending)
            return decode(read_beneath(self._space.folder, path, max_bytes=MAX_FILE, one_link=False))
        except (UnsafeFile, NotText, OSError):
            return None


def _inputs_first(scored: Sequence[Scored]) -> list[Scored]:
    """The places, those of cards set back a little when an input answers: what was given is what was asked about."""
    if not any(s.coverage >= ANSWERED and s.passage.path.startswith("inputs/") for s in scored):
        return list(scored)
    weighed = [s if s.passage.path.startswith("inputs/") else replace(s, score=s.score * _BEHIND) for s in scored]
    return sorted(weighed, key=lambda s: -s.score)


def _telling(
    path: str,
    lines: Sequence[str],
    frame: frozenset[int],
    cut: Sequence[Passage],
    needed: Mapping[tuple[str, int], str],
) -> Iterator[Passage]:
    """The passages of a card in which findings stand: of those the needed quotes alone, each without its headings."""
    for passage in cut:
        rows = [n for n in range(passage.line, passage.end + 1) if lines[n - 1].strip()]
        quoted = [n for n in rows if parse_quote(lines[n - 1]) is not None]
        if not quoted and frame.isdisjoint(rows):
            yield passage
        for n in quoted:
            if (path, n) in needed:
                yield Passage(path, n, n, needed[path, n])


def _needed(cards: Mapping[str, Sequence[str]], texts: Sequence[Sequence[str]]) -> Mapping[tuple[str, int], str]:
    """The quotes of findings that stand in no text at hand, each text once and where it is quoted most directly."""
    first: dict[str, tuple[int, str, int]] = {}
    for path, lines in cards.items():
        for n, line in enumerate(lines, 1):
            depth, text = _innermost(line)
            if depth and (text not in first or (depth, path, n) < first[text]):
                first[text] = (depth, path, n)
    said = "\n".join(line for lines in texts for line in lines)
    return {(path, n): text for text, (_, path, n) in first.items() if text not in said}


def _innermost(line: str) -> tuple[int, str]:
    """What a line quotes and how deep; of a quote of a quote, what is quoted there. No quote is 0 deep."""
    depth, text, quote = 0, line, parse_quote(line)
    while quote is not None:
        depth, text = depth + 1, quote.text
        quote = parse_quote(text if text.startswith(">") else f"> {text}")  # quoted without its mark
    return depth, text


def _listed(space: Space, shelf: str) -> tuple[str, ...]:
    folder = space.folder / shelf
    if not folder.is_dir():
        return ()
    try:
        names = list_beneath(folder, max_files=MAX_FILES)
    except UnsafeFile:
        return ()
    return tuple(name for name in names if name != "_index.md" and not name.startswith("."))
