"""A Markdown file as text with spans: where its front matter and its sections stand. Nothing here changes a byte."""

import difflib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

from ..errors import MemoryFault
from ..ids import shown
from .block import line_at
from .decode import NotText, decode
from .frontmatter import FrontMatter, parse_front_matter
from .outline import Hidden, anchors, outline
from .refusal import NoSuchSection

__all__ = ["Document", "NoSuchSection", "NotText", "Section", "SectionId", "decode", "line_at", "parse_document"]

_SECTION_ID = re.compile(r"[^\s\[\]()<>`#|\\]{1,220}")


class BadSectionId(MemoryFault):
    """Raised when text can't be the id of a section."""

    exit_code = 2

    def __init__(self, text: str) -> None:
        super().__init__(f"section id {shown(text)}: an id is the heading in lower case, with '-' for blanks")


class SectionId(str):
    """The id of a section: the GitHub anchor of its heading, in any script.

    Raises BadSectionId.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if not _SECTION_ID.fullmatch(text):
            raise BadSectionId(text)
        return super().__new__(cls, text)


@dataclass(frozen=True)
class Section:
    """A heading and the text under it, up to the next heading of any level.

    `line` counts from 1; `start`, `body` and `end` are char offsets: the heading's line, the line after it, the end.
    """

    id: SectionId
    title: str
    level: int
    line: int
    start: int
    body: int
    end: int


@dataclass(frozen=True)
class Document:
    """A file's text and what stands where in it; `newline` is the line end that most of its lines have.

    `unclosed` is the fence or comment that runs to the end of the text because nothing closes it.
    """

    text: str
    front: FrontMatter
    body_start: int
    sections: tuple[Section, ...]
    newline: str
    unclosed: Hidden | None

    @property
    def title(self) -> str | None:
        """The front matter's title, else the first heading of level 1."""
        given = (self.front.text("title") or "").strip()
        if given:
            return given
        return next((section.title for section in self.sections if section.level == 1 and section.title), None)

    @property
    def body(self) -> str:
        """Everything behind the front matter."""
        return self.text[self.body_start :]

    @property
    def lead(self) -> str:
        """The text before the first section, the heading that is the card's title included."""
        own = self.entry_sections()
        return self.text[self.body_start : own[0].start if own else len(self.text)]

    @cached_property
    def _by_id(self) -> dict[str, Section]:
        return {section.id: section for section in self.sections}

    def section(self, section_id: str) -> Section:
        """The section of that id; raises NoSuchSection with the ids that come closest."""
        found = self._by_id.get(section_id)
        if found is None:
            near = tuple(difflib.get_close_matches(section_id, self._by_id, 3, 0.4))
            raise NoSuchSection(section_id, near or (*self._by_id,)[:3])
        return found

    def section_text(self, section_id: str | None) -> str:
        """The heading of a section with its own text; None: the lead. Raises NoSuchSection."""
        if section_id is None:
            return self.lead
        section = self.section(section_id)
        return self.text[section.start : section.end]

    def entry_sections(self) -> tuple[Section, ...]:
        """The sections that get an entry in the index: all but a first heading of level 1, which is the title."""
        return self.sections[1:] if self.sections and self.sections[0].level == 1 else self.sections


@lru_cache(maxsize=8)
def parse_document(text: str) -> Document:
    """The document that a text is; never raises, what is wrong with the front matter stands in `front.problem`."""
    front = parse_front_matter(text)
    body_start = front.end if front.present else (1 if text.startswith("\ufeff") else 0)
    found = outline(text, body_start)
    headings = found.headings
    ids = anchors([heading.title for heading in headings])
    sections: list[Section] = []
    line, counted = 1, 0
    for i, heading in enumerate(headings):
        line += text.count("\n", counted, heading.start)
        counted = heading.start
        end = headings[i + 1].start if i + 1 < len(headings) else len(text)
        place = (line, heading.start, heading.body, end)
        sections.append(Section(SectionId(ids[i]), heading.title, heading.level, *place))
    return Document(text, front, body_start, tuple(sections), newline_of(text), found.unclosed)


def newline_of(text: str) -> str:
    """The line end that most lines of a text have; "\\n" when none has any."""
    if "\r" not in text:
        return "\n"
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"
