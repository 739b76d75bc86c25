"""Examines one shelf of a space: its cards, its index, whether the two agree, and the files of its projects."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..guard import UnsafeFile, list_beneath
from ..index.index import ARCHIVED, Index, parse_index
from ..index.reconcile import Drift, DriftKind, drift
from ..links import LinkLeadsOut, resolve
from ..problem import Level, Problem
from ..target import Shelf
from ..text.document import Document, parse_document
from ..view import View, card_ids
from ..workspace import Space
from .legible import led_out, legible, names_in, without_path
from .lint import card_problems, text_problems
from .names import is_left, name_problems

MAX_PROJECT_FILES = 5_000
_DRIFT_LEVELS: dict[DriftKind, Level] = {
    "card_missing": "error",
    "card_unindexed": "error",
    "entry_missing": "error",
    "entry_orphan": "error",
    "section_renamed": "warning",
}
_HELP: dict[DriftKind, str] = {
    "card_missing": "put the file back or remove the block",
    "card_unindexed": "the next write adds it",
    "entry_missing": "the next write adds it",
    "entry_orphan": "remove the line or put the section back",
    "section_renamed": "the next write follows it",
}


@dataclass
class ShelfExam:
    """One shelf of a space with what was read of it."""

    view: View
    space: Space
    shelf: Shelf
    cards: dict[str, Document] = field(default_factory=dict)
    index: Index | None = None
    no_files: set[str] = field(default_factory=set)

    @property
    def folder(self) -> str:
        return self.space.path(self.shelf) + "/"

    @property
    def index_path(self) -> str:
        return self.space.index_path(self.shelf)

    def problems(self) -> Iterator[Problem]:
        unreadable: set[str] = set()
        try:
            folder = resolve(self.space.root, self.space.path(self.shelf))
        except LinkLeadsOut as e:
            yield led_out(e)
            return
        yield from name_problems(self.folder, [n for n in names_in(folder) if not n.startswith("_")])
        # Also what has a card's name and is no file: it is read by nobody else, and told here.
        for card in card_ids(self._names()):
            path = self.space.card_path(self.shelf, card)
            text = legible(self.view, path)
            if isinstance(text, Problem):
                unreadable.add(card)
                if text.kind == "not_a_file":
                    self.no_files.add(card)
                yield text
            elif text is not None:
                self.cards[card] = parse_document(text)
                yield from card_problems(path, self.cards[card])
        index = legible(self.view, self.index_path)
        if isinstance(index, Problem):
            yield index
        else:
            self.index = parse_index(index or "")
            yield from self._index(self.index, unreadable, folder)

    def _names(self) -> set[str]:
        try:
            return self.view.names(self.space.path(self.shelf))
        except OSError:
            return set()  # the folder itself is told of

    def _index(self, index: Index, unreadable: set[str], folder: Path) -> Iterator[Problem]:
        yield from index_problems(self.index_path, index)
        yield from self._drift(index, unreadable)
        if self.shelf == "projects":
            yield from self._files(index, folder)

    def _drift(self, index: Index, unreadable: set[str]) -> Iterator[Problem]:
        for found in drift(index, self.cards):
            if found.card not in unreadable:
                path, line = self._place(index, found)
                message = f"{found.message}: {_HELP[found.kind]}"
                yield Problem(path, line, found.kind, self._level(index, found), message)

    def _level(self, index: Index, found: Drift) -> Level:
        block = index.card(found.card)
        gone = found.kind == "card_missing" and block is not None and block.status == "archived"
        return "info" if gone else _DRIFT_LEVELS[found.kind]

    def _place(self, index: Index, found: Drift) -> tuple[str, int]:
        """What is missing from the index is shown in the card, what is too much in it, in the index."""
        if found.kind in ("card_unindexed", "entry_missing"):
            sections = self.cards[found.card].sections
            line = next((section.line for section in sections if section.id == found.section), 0)
            return f"{self.folder}{found.card}.md", line
        place = index.lines.place(found.card)
        if place is None:
            return self.index_path, 0
        entry = place.entries.get(found.section or "")
        return self.index_path, (entry.line if entry else place.heading) + 1

    def _files(self, index: Index, folder: Path) -> Iterator[Problem]:
        listed = {
            (entry.link, place.line + 1)
            for card in index.lines.places.values()
            for place in card.entries.values()
            if (entry := place.entry).link and "/" in entry.link
        }
        for link, line in sorted(listed):
            if not (folder / link).is_file():
                message = f"entry {link} leads to no file: remove the line or put the file back"
                yield Problem(self.index_path, line, "file_missing", "error", message)
        known = {link for link, _ in listed}
        for name in names_in(folder):
            if (folder / name).is_dir() and name.removesuffix(".md") not in self.no_files:
                yield from self._project_folder(name, folder, known)

    def _project_folder(self, name: str, folder: Path, known: set[str]) -> Iterator[Problem]:
        path = f"{self.folder}{name}"
        if name not in self.cards:
            yield Problem(
                path, 0, "files_without_card", "warning", f"these files belong to no project: {name}.md is missing"
            )
            return
        try:
            found = list_beneath(resolve(self.space.root, path), max_files=MAX_PROJECT_FILES)
        except LinkLeadsOut as e:
            yield led_out(e)
            return
        except UnsafeFile as e:
            yield Problem(path, 0, "files_too_many", "warning", without_path(e))
            return
        except OSError as e:
            yield Problem(path, 0, "folder_unusable", "error", f"this folder can't be read: {e.strerror}")
            return
        rests = self.cards[name].front.text("status") == ARCHIVED  # then none of it has an entry
        for file in found:
            base = file.rpartition("/")[2]
            if is_left(base):
                yield from name_problems(f"{path}/{file[: len(file) - len(base)]}", [base])
            elif not rests and f"{name}/{file}" not in known and not base.startswith("."):
                message = "this file has no entry in the index, so only a search finds it"
                yield Problem(f"{path}/{file}", 0, "file_unindexed", "info", message)


def index_problems(path: str, index: Index) -> Iterator[Problem]:
    """What can be wrong with an index by itself, its cards unseen."""
    yield from text_problems(path, index.text)
    for line, text in index.stray:
        message = f"text that is no entry stands here ({text[:60]!r}): move it to a card or above the first one"
        yield Problem(path, line, "index_stray", "warning", message)
    for line, why in index.flawed:
        yield Problem(path, line, "index_entry", "warning", f"this entry is not as onepen writes them: {why}")
