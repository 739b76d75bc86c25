"""What a worker may read: cards and project files of its own space, and the inputs of its task.

A name is matched by the grammar of targets, or against the list of inputs, and opened beneath its folder without
following anything. Small models forget folders and endings, so `kiln`, `kiln.md` and `projects/kiln.md` are one card.
"""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from ...memory.errors import MemoryFault
from ...memory.guard import UnsafeFile, list_beneath, read_beneath
from ...memory.ids import shown
from ...memory.target import CardTarget, FileTarget, NoteTarget, Shelf, Target, parse_target
from ...memory.text.document import Document, NotText, decode, line_at, parse_document
from ...memory.text.refusal import NoSuchSection
from .listing import listing
from .page import PAGE_LINES, Page, page
from .toolinput import ToolRefused

MAX_BYTES = 16 << 20
SHELVES: tuple[Shelf, ...] = get_args(Shelf)
_MOST_FILES = 20_000
_MOST_NAMED = 8


class Reading:
    """Reads below `space` and `inputs_folder`; `external` once something of the inputs was shown.

    `who` reads, for the messages. Below `whole` lie the files of which the prompt shows only a part.
    """

    def __init__(
        self,
        space: Path,
        inputs_folder: Path,
        inputs: Sequence[str],
        who: str = "sub-agents",
        whole: Path | None = None,
    ) -> None:
        self._whole = whole
        self._who = who
        self._space = space
        self._folder = inputs_folder
        self._inputs = tuple(inputs)
        self.external = False

    def by_command(self, *, unconfined: bool = False) -> None:
        """A command was run: it could read the inputs, `unconfined` all the world, and nobody knows whether it did."""
        self.external = self.external or unconfined or bool(self._inputs)

    def card(self, name: str, section: str | None, start: int | None) -> Page:
        """A page of a card, a project file, an index, or a note of which the prompt shows only a part.

        Of an index, those lines that `section` means. Raises ToolRefused or UnsafeFile.
        """
        plain, _, anchor = name.partition("#")
        if (beside := self._beside(plain.strip().removeprefix("./"))) is not None:
            path, found = beside
            index = path.endswith("_index.md")
            return listing(path, found, section or anchor, start or 1) if index else page(path, found, start or 1)
        target = self.target(plain)
        text = self.text(target)
        assert text is not None  # `target` has found it
        section = section or anchor or None
        if isinstance(target, FileTarget) and not target.path.endswith(".md"):
            return page(str(target), text, start or 1)
        document = parse_document(text)
        if section is None:
            whole = page(str(target), text, start or 1)
            ids = ", ".join(one.id for one in document.entry_sections())
            return Page(whole.path, whole.lines, whole.total, (*whole.remarks, f"sections: {ids or 'none'}"))
        part = document.section(section_id(document, section))
        last = line_at(text, part.end) - (part.end > part.start and text[part.end - 1] == "\n")
        return page(str(target), text, max(start or 1, part.line), last)

    def _beside(self, name: str) -> tuple[str, str] | None:
        """Path and text of an index, or of a file below `whole`; None if a name means neither."""
        shelf, slash, rest = name.partition("/")
        index = bool(slash) and shelf in SHELVES and rest.removesuffix(".md") == "_index"
        if index and (self._space / shelf).is_symlink():
            return None
        folder, path = (self._space / shelf, "_index.md") if index else (self._whole, name)
        if folder is None:
            return None
        try:
            text = _decoded(name, read_beneath(folder, path, max_bytes=MAX_BYTES))
        except (UnsafeFile, FileNotFoundError, NotADirectoryError):
            return None
        return f"{shelf}/_index.md" if index else name, text

    def input(self, name: str, start: int | None, lines: int | None) -> Page:
        """A page of an input; raises ToolRefused or UnsafeFile."""
        known = self._input_name(name)
        text = _decoded(f"inputs/{known}", read_beneath(self._folder, known, max_bytes=MAX_BYTES))
        self.external = True
        return page(f"inputs/{known}", text, start or 1, most=lines or PAGE_LINES)

    def text(self, target: Target) -> str | None:
        """The text that a target has now, None if it isn't there; raises UnsafeFile or ToolRefused."""
        folder, name = self._place(target)
        try:
            return _decoded(str(target), read_beneath(folder, name, max_bytes=MAX_BYTES))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnsafeFile as e:
            if e.kind == "missing":
                return None
            raise self._unsafe(target, e.message.removeprefix(f"{shown(name, 200)}: ")) from e

    def _place(self, target: Target) -> tuple[Path, str]:
        """The folder to read beneath, and the name below it; a sandbox may have laid a shelf over another disk."""
        shelf, slash, name = str(target).partition("/")
        if not slash:
            return self._space, shelf
        if (self._space / shelf).is_symlink():
            raise self._unsafe(target, "lies behind a link")
        return self._space / shelf, name

    def _unsafe(self, target: Target, reason: str) -> ToolRefused:
        return ToolRefused(f"{shown(str(target), 200)}: {reason}; {self._who} read plain files of their own space only")

    def target(self, name: str) -> CardTarget | FileTarget:
        """The card or project file that a name means; raises ToolRefused with near ones if there is none."""
        text = name.strip().removeprefix("./")
        found: list[CardTarget | FileTarget] = []
        for guess in _guesses(text):
            try:
                target = parse_target(guess)
            except MemoryFault:
                continue
            if isinstance(target, NoteTarget):
                raise ToolRefused(f"{text}: {self._who} read cards and files of projects only")
            if target not in found and self.text(target) is not None:
                found.append(target)
        if found:
            return found[0]
        self._check_readable(text)
        raise ToolRefused(f"card {shown(text)}: not found{self._near(text)}")

    def _check_readable(self, text: str) -> None:
        """Raise ToolRefused with the rule that a name breaks, if it breaks one."""
        if "\\" in text or text.startswith(("/", "~")) or ".." in text.split("/") or ":" in text:
            raise ToolRefused(
                f"card {shown(text)}: not a card's name; give the id alone, such as kiln, or projects/<id>/<path>"
            )
        if text.startswith("clients/"):
            raise ToolRefused(f"card {shown(text)}: {self._who} read their own client's space only; give the id alone")

    def _near(self, text: str) -> str:
        known = self._cards()
        if not known:
            return "; this space has no cards yet"
        stem = text.rpartition("/")[2].removesuffix(".md").lower()
        near = difflib.get_close_matches(stem, known, n=_MOST_NAMED, cutoff=0.6) or _some(known)
        return f"; there are: {', '.join(near)}"

    def _cards(self) -> list[str]:
        found: list[str] = []
        for shelf in SHELVES:
            try:
                names = list_beneath(self._space / shelf, max_files=_MOST_FILES)
            except (UnsafeFile, FileNotFoundError, NotADirectoryError):
                continue
            found += [n.removesuffix(".md") for n in names if "/" not in n and n.endswith(".md") and n != "_index.md"]
        return found

    def _input_name(self, name: str) -> str:
        if not self._inputs:
            raise ToolRefused(f"input {shown(name)}: this task has no inputs; use search and read_card")
        text = name.strip().removeprefix("./").removeprefix("inputs/").partition("#")[0]
        if text in self._inputs:
            return text
        for same in (
            [one for one in self._inputs if one.rpartition("/")[2] == text],
            [one for one in self._inputs if one.lower() == text.lower()],
            [one for one in self._inputs if one.rpartition("/")[2].rpartition(".")[0] == text],
        ):
            if len(same) == 1:
                return same[0]
            if same:
                raise ToolRefused(f"input {shown(name)}: there are several: {', '.join(_some(same))}; give one of them")
        near = difflib.get_close_matches(text, self._inputs, n=_MOST_NAMED, cutoff=0.5) or _some(self._inputs)
        raise ToolRefused(f"input {shown(name)}: not among this task's inputs; there are: {', '.join(near)}")


def section_id(document: Document, name: str) -> str:
    """The id of the section that a model means by id, anchor or title; raises NoSuchSection."""
    text = name.strip().lstrip("#").strip()
    for section in document.sections:
        if section.id == text:
            return section.id
    same = [section for section in document.sections if section.title.strip().casefold() == text.casefold()]
    if len(same) == 1:
        return same[0].id
    return document.section(text).id


def section_of(document: Document, name: str, what: str) -> str:
    """As `section_id`, with a refusal that lists the sections there are."""
    try:
        return section_id(document, name)
    except NoSuchSection as e:
        ids = ", ".join(_some([section.id for section in document.sections])) or "none"
        raise ToolRefused(f"{what} {shown(name)}: no such section; sections: {ids}") from e


def _guesses(text: str) -> Iterable[str]:
    ended = text if text.endswith(".md") else f"{text}.md"
    if text.startswith(("projects/", "research/")):
        return (text, ended)
    if "/" in text:
        return (f"projects/{text}", f"projects/{ended}")
    lower = ended.lower()
    return (text, *(f"{shelf}/{ended}" for shelf in SHELVES), *(f"{shelf}/{lower}" for shelf in SHELVES))


def _some(names: Sequence[str]) -> list[str]:
    more = len(names) - _MOST_NAMED
    return [*names[:_MOST_NAMED], *([f"… {more} more"] if more > 0 else [])]


def _decoded(path: str, data: bytes) -> str:
    try:
        return decode(data)
    except NotText as e:
        raise ToolRefused(f"{path}: {e.message}") from e
