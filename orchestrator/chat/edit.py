"""What `write_memory_card` means, as the draft that any other hand would have written: pure, nothing is changed."""

import hashlib
from dataclasses import dataclass
from datetime import date

from ...memory.ids import CardId, id_from_title
from ...memory.index.entry import IndexEntry
from ...memory.target import CardTarget, FileTarget, NoteTarget
from ...memory.text.card import CardEdit, apply_edit
from ...memory.text.document import Document, parse_document
from ...memory.text.passage_match import find_once
from ...staging.draft import MAX_BYTES, Draft
from ...staging.policy import Provenance, refused
from ...subagents.toolbox.reading import Reading, section_of
from ...subagents.toolbox.toolinput import ToolRefused
from .toolinput import WriteMemoryCard

NOTES = ("MEMORY.md", "USER.md")
_ANY_DAY = date(2000, 1, 1)  # an edit is tried on the card, and the day it is dated then doesn't matter


@dataclass(frozen=True)
class Place:
    """Where an edit goes, and the text that stands there now (None: a new card)."""

    target: CardTarget | NoteTarget
    before: str | None


def place_of(given: WriteMemoryCard, reading: Reading, note: str | None) -> Place:
    """The card that is meant; `note` is the text of MEMORY.md or USER.md when that is named.

    Raises ToolRefused: for what only a person changes, for what is no card, for a card that isn't there although text
    of it is to be changed.
    """
    name = given.project.strip().removeprefix("./").partition("#")[0]
    if (finding := refused(name)) is not None:
        instead = "; log_event adds to today's log" if name.startswith("memory/") else ""
        raise ToolRefused(f"write_memory_card: {finding.message}{instead}")
    if name in NOTES:
        return Place(NoteTarget("MEMORY.md" if name == "MEMORY.md" else "USER.md"), note)
    try:
        target = reading.target(name)
    except ToolRefused:
        if given.old_text or not _new_name(name):
            raise
        shelf, _, stem = name.removesuffix(".md").rpartition("/")
        card = CardId(id_from_title(stem))
        return Place(CardTarget("research" if shelf == "research" else "projects", card), None)
    if isinstance(target, FileTarget):
        raise ToolRefused(
            f"write_memory_card: {target} is a file of a project, no card; delegate a task with this target"
        )
    return Place(target, reading.text(target))


def draft_of(given: WriteMemoryCard, place: Place, provenance: Provenance, sources: tuple[str, ...]) -> Draft:
    """The change as a draft; raises ToolRefused, or an EditRefused for old text that isn't there exactly once."""
    change = _change(given, place)
    after = parse_document(apply_edit(place.before, change, _ANY_DAY))
    index: tuple[IndexEntry, ...] = ()
    if isinstance(place.target, CardTarget):
        entry = given.index_entry
        section = _entry_section(after, change, (entry.section_id or "").strip())
        index = (IndexEntry(section, entry.summary.strip(), tuple(entry.keywords or ())),)
    words = f"{change}\0{index}"
    return Draft(
        name=str(change.target).rpartition("/")[2],
        target=change.target,
        edit=change.kind,
        section=change.section,
        old_text=change.old_text,
        body=change.text,
        index=index,
        sources=sources,
        provenance=provenance,
        title=change.title,
        file=None,
        file_data=None,
        sha256=hashlib.sha256(words.encode(errors="replace")).hexdigest(),
    )


def _change(given: WriteMemoryCard, place: Place) -> CardEdit:
    target, before, text, old = place.target, place.before, given.new_text, given.old_text
    if (size := len(text.encode(errors="replace"))) > MAX_BYTES:
        raise ToolRefused(f"write_memory_card: new_text has {size:,} bytes, at most {MAX_BYTES:,} are taken at once")
    if not text.strip() and not old:
        raise ToolRefused("write_memory_card: old_text and new_text are both empty, so there is nothing to write")
    section = given.index_entry.section_id or ""
    if before is None:
        if isinstance(target, NoteTarget):
            return CardEdit(target, "create", text=text)
        return CardEdit(target, "create", text=_first_section(text, section), title=_title(given, target))
    document = parse_document(before)
    if old:
        where = _section_at(document, old, str(target))
        return CardEdit(target, "replace" if text else "remove", where, old, text)
    if not _has_heading(text) and section in {s.id for s in document.sections}:
        return CardEdit(target, "append", section, text=text)
    return CardEdit(target, "append", text=_headed(text, section) if isinstance(target, CardTarget) else text)


def _new_name(name: str) -> bool:
    """Whether a card of this name could be made: an id or a title, perhaps with its shelf."""
    plain = name.removeprefix("projects/").removeprefix("research/").removesuffix(".md")
    return bool(plain.strip()) and "/" not in plain and "\\" not in plain and ".." not in plain


def _title(given: WriteMemoryCard, target: CardTarget) -> str:
    """The new card's title: the heading of level 1 that its text begins with, else the name that was given."""
    own = parse_document(given.new_text)
    if own.sections and own.sections[0].level == 1:
        return own.sections[0].title
    plain = given.project.strip().rpartition("/")[2].removesuffix(".md")
    return plain if plain != target.card else plain.replace("-", " ").capitalize()


def _first_section(text: str, section: str) -> str:
    """The text of a new card with at least one section that the index can name."""
    if parse_document(text).entry_sections():
        return text
    return f"#{text.lstrip()}" if _has_heading(text) else _headed(text, section)


def _headed(text: str, section: str) -> str:
    """The text under a heading; one is made of the section's id where the text begins with none."""
    if _has_heading(text) or not section.strip("# "):
        return text
    return f"## {section.strip('# ').replace('-', ' ').capitalize()}\n\n{text}"


def _has_heading(text: str) -> bool:
    return text.lstrip().startswith("#")


def _section_at(document: Document, old: str, where: str) -> str | None:
    """The section in which the old text stands, None for one that reaches over several; it is there exactly once."""
    place = find_once(document.text, old, document.body_start, len(document.text), where)
    return next((s.id for s in document.sections if s.start <= place.start and place.end <= s.end), None)


def _entry_section(after: Document, change: CardEdit, named: str) -> str:
    """The section that the index entry describes: the one named, else the only one that the change touches."""
    known = [s.id for s in after.entry_sections()]
    if named.lstrip("#") in known:
        return named.lstrip("#")
    added = list(parse_document(change.text).entry_sections()) if change.kind in ("create", "append") else []
    if len(added) == 1 and change.section is None:
        return known[-1]
    if not named and change.section in known:
        return str(change.section)
    if not named:
        raise ToolRefused("write_memory_card: index_entry.section_id is missing; name the section that it describes")
    return section_of(after, named, "index_entry.section_id")
