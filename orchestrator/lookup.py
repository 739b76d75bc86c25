"""The `search` tool of a worker, answered by the orchestrator: over what this task may read, and nothing else.

That is the cards, findings and project files of its own space, and its inputs; never another client's, a day log, a
chat or MEMORY.md. What is found names its place as a draft cites it: `projects/kiln.md:9`, `inputs/cones.md:14`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..memory.guard import UnsafeFile, list_beneath, read_beneath
from ..memory.recall.passage import is_heading
from ..memory.recall.search import Passage, Ranking, passages
from ..memory.text.document import NotText, decode
from ..memory.view import View
from ..memory.workspace import SHELVES, Space
from ..staging.folder import TaskFolder, read_input
from ..staging.phrases import FIXED_PHRASES, NOT_FOUND

MAX_FILE = 1 << 20
MAX_FILES = 5_000
DEFAULT_LIMIT, MAX_LIMIT = 10, 40
_SHOWN = 300
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

    def __init__(self, view: View, space: Space, folder: TaskFolder, inputs: tuple[str, ...]) -> None:
        self._view = view
        self._space = space
        self._folder = folder
        self._inputs = inputs

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
        scored = ranking.find(query, limit)
        best = max((s.score for s in scored), default=0.0) or 1.0
        places = [
            Found(s.coverage, s.score / best, s.passage.path, s.line, s.line_text.strip()[:_SHOWN]) for s in scored
        ]
        return Answer(tuple(places), ranking.missing(query), files, lines)

    @cached_property
    def _everything(self) -> tuple[Ranking, int, int]:
        found: list[Passage] = []
        files = lines = 0
        for path, text in self.texts():
            files += 1
            lines += len(text.splitlines())
            found += (passage for passage in passages(path, text) if _tells(passage))
        return Ranking(found), files, lines

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


def _tells(passage: Passage) -> bool:
    """Whether a passage says anything: of an earlier finding, its title and its gaps hold the words that were asked.

    Without this a question that was asked before would find itself, and look answered.
    """
    if not passage.path.startswith("research/"):
        return True
    if passage.line == 1 and passage.text.startswith("---\n"):
        return False
    said = [line for line in passage.text.split("\n") if line.strip() and not is_heading(line)]
    fixed = all(any(phrase.fullmatch(line.strip()) for phrase in FIXED_PHRASES) for line in said)
    return bool(said) and not fixed and not passage.context.rstrip().endswith(NOT_FOUND)


def _listed(space: Space, shelf: str) -> tuple[str, ...]:
    folder = space.folder / shelf
    if not folder.is_dir():
        return ()
    try:
        names = list_beneath(folder, max_files=MAX_FILES)
    except UnsafeFile:
        return ()
    return tuple(name for name in names if name != "_index.md" and not name.startswith("."))
