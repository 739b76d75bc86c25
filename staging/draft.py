"""A draft: one proposed change to memory, as a file that a person can read and edit.

    ---
    target: projects/kiln.md       where it goes
    edit: replace                  create | append | replace | remove
    section: firing                replace, remove, append: in which section; without it, the whole document
    old_text: "- fire at 1200\\n"   replace, remove: the text that goes, which stands there exactly once
    title: Kiln                    create: the title of the new card
    index: [{section_id: firing, keywords: [cone 6], summary: Fire at 1220 since 3 Nov.}]
    sources: ["inputs/cones.md:14", "https://example.org/cones"]
    provenance: external           user | agent | external; without it, external
    file: launch.csv               a project's file: the file beside this draft that holds the new bytes
    ---
    the new text: exactly the bytes behind the closing line

A file of a project is created or replaced as a whole, by the body or by the file that lies beside; then the body is a
note to the reviewer. `Draft.sha256` is the hash of the draft's bytes. With `file:` it is the hash of two lines, that
of the draft and that of the file, so that neither can change unseen: `sha256sum note.md launch.csv | cut -c1-64 |
sha256sum`.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ..memory.errors import MemoryFault
from ..memory.ids import BadTitle, check_title, shown
from ..memory.index.index import EntryRefused, IndexEntry
from ..memory.target import CardTarget, FileTarget, NoteTarget, Target, parse_target
from ..memory.text.block import line_at
from ..memory.text.card import CardEdit, EditKind
from ..memory.text.document import NotText, decode
from ..memory.text.frontmatter import render_front_matter
from .errors import StagingFault
from .finding import Finding
from .header import Header, HeaderBlock, read_header
from .policy import Provenance, refused
from .secret import mask

MAX_BYTES = 1 << 20
"""The most bytes a draft may have, and the file that it names."""

_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_REMEMBERED = 32 << 10  # the longest draft that is remembered
_MOST_ENTRIES = 64
_MOST_SOURCES = 64


class DraftImpossible(StagingFault):
    """Raised when a draft is asked for that could not be read back as it was meant."""

    exit_code = 2

    def __init__(self, reason: str) -> None:
        super().__init__(f"draft: {reason}")


@dataclass(frozen=True)
class Draft:
    """A draft that could be read; whether it may stand is for the checks and the reviewer to say.

    `name` is the file's name in drafts/, `body` exactly what follows the closing line and `body_line` the number of
    its first line in the file. `file_data` is what the file beside holds, when `file` names one.
    """

    name: str
    target: Target
    edit: EditKind
    section: str | None
    old_text: str
    body: str
    index: tuple[IndexEntry, ...]
    sources: tuple[str, ...]
    provenance: Provenance
    title: str | None
    file: str | None
    file_data: bytes | None
    sha256: str
    body_line: int = field(default=1, compare=False)


def parse_draft(name: str, raw: bytes, file_data: Callable[[str], bytes | None]) -> Draft | tuple[Finding, ...]:
    """The draft in a file's bytes, or what keeps it from being one; never raises, whatever the bytes are.

    `file_data` gives the bytes of a file beside the draft, None when there is none that can be read.
    """
    if len(raw) > MAX_BYTES:
        return (Finding("too_large", "block", f"a draft has at most {MAX_BYTES:,} bytes, this one has {len(raw):,}"),)
    found = _alone(name, raw) if len(raw) <= _REMEMBERED else _alone.__wrapped__(name, raw)
    if not isinstance(found, Draft) or found.file is None:
        return found
    beside = _beside(found.file, found.target, file_data)
    if isinstance(beside, Finding):
        return (beside,)
    return replace(found, file_data=beside, sha256=draft_sha(raw, beside))


@lru_cache(maxsize=128)
def _alone(name: str, raw: bytes) -> Draft | tuple[Finding, ...]:
    """The draft without the file that it may bring; remembered, since a draft is looked at again and again."""
    try:
        text = decode(raw)
    except NotText as e:
        return (Finding("not_text", "block", str(e)),)
    block = read_header(text)
    if not isinstance(block, HeaderBlock):
        return block
    fields, start = block.header, block.end
    parts = _parts(fields)
    if isinstance(parts, Finding):
        return (parts,)
    target, entries = parts
    return Draft(
        name=name,
        target=target,
        edit=fields.edit,
        section=fields.section,
        old_text=fields.old_text,
        body=text[start:],
        index=entries,
        sources=fields.sources,
        provenance=fields.provenance,
        title=None if fields.title is None else check_title(fields.title),
        file=fields.file,
        file_data=None,
        sha256=draft_sha(raw, None),
        body_line=line_at(text, start),
    )


def render_draft(
    *,
    target: Target,
    edit: EditKind,
    section: str | None = None,
    old_text: str = "",
    body: str = "",
    index: Sequence[IndexEntry] = (),
    sources: Sequence[str] = (),
    provenance: Provenance,
    title: str | None = None,
    file: str | None = None,
) -> bytes:
    """The bytes of a draft's file; `parse_draft` gives the same values back.

    Raises DraftImpossible when it can't, for example because old_text is longer than a front matter may be.
    """
    values: dict[str, object] = {"target": str(target), "edit": edit}
    if section is not None:
        values["section"] = section
    if old_text:
        values["old_text"] = old_text
    if title is not None:
        try:
            title = values["title"] = check_title(title)
        except BadTitle as e:
            raise DraftImpossible(e.message) from e
    if index:
        values["index"] = [_entry_value(entry) for entry in index]
    if sources:
        values["sources"] = list(sources)
    values["provenance"] = provenance
    if file is not None:
        values["file"] = file
    front = render_front_matter(values)
    try:
        raw = (front + body).encode()
    except UnicodeEncodeError as e:
        raise DraftImpossible("the text holds half a surrogate pair; send the whole character") from e
    _must_read_back(raw, target, edit, section, old_text, body, tuple(index), tuple(sources), provenance, title, file)
    return raw


def edit_of(draft: Draft, shown: str | None) -> CardEdit:
    """The edit of a card or note that the draft proposes; `shown` is the hash of the section as the reviewer saw it.

    Raises DraftImpossible for a file of a project, which is created or replaced by `file_bytes`.
    """
    if isinstance(draft.target, FileTarget):
        raise DraftImpossible(f"{draft.target} is a file of a project, no card")
    return CardEdit(
        target=draft.target,
        kind=draft.edit,
        section=draft.section,
        old_text=draft.old_text,
        text=draft.body,
        title=draft.title,
        shown=shown if draft.edit in ("replace", "remove") else None,
    )


def file_bytes(draft: Draft) -> bytes:
    """What a project's file holds once the draft stands: the file beside it, else the body."""
    return draft.body.encode() if draft.file_data is None else draft.file_data


def draft_sha(raw: bytes, file_data: bytes | None) -> str:
    """The hash that names a draft's content, with the file that it brings."""
    own = hashlib.sha256(raw).hexdigest()
    if file_data is None:
        return own
    return hashlib.sha256(f"{own}\n{hashlib.sha256(file_data).hexdigest()}\n".encode()).hexdigest()


def _parts(fields: Header) -> tuple[Target, tuple[IndexEntry, ...]] | Finding:
    """Target and index entries, validated; the first thing that is wrong as a finding."""
    if (finding := refused(fields.target)) is not None:
        return finding
    try:
        target = parse_target(fields.target)
    except MemoryFault as e:
        return Finding("target", "block", mask(e.message))
    if len(fields.index) > _MOST_ENTRIES or len(fields.sources) > _MOST_SOURCES:
        return Finding("front_matter", "block", f"at most {_MOST_ENTRIES} index entries and {_MOST_SOURCES} sources")
    try:
        entries = tuple(IndexEntry(e.section_id, e.summary, e.keywords) for e in fields.index)
    except EntryRefused as e:
        return Finding("index", "block", mask(f"index: {e.message}"))
    return (_misplaced(fields, target)) or (target, entries)


def _misplaced(fields: Header, target: Target) -> Finding | None:
    """A finding when a field says something that this kind of change has no use for."""
    if fields.title is not None:
        if fields.edit != "create" or not isinstance(target, CardTarget):
            return Finding("front_matter", "block", "title: only a new card gets one")
        try:
            check_title(fields.title)
        except BadTitle as e:
            return Finding("front_matter", "block", mask(e.message))
    if fields.old_text and fields.edit not in ("replace", "remove"):
        return Finding("front_matter", "block", f"old_text: {fields.edit} takes nothing away")
    if fields.section is not None and fields.edit == "create":
        return Finding("front_matter", "block", "section: what is created has none yet")
    if isinstance(target, FileTarget) and (
        fields.edit not in ("create", "replace") or fields.section or fields.old_text
    ):
        return Finding("front_matter", "block", "a file of a project is created or replaced as a whole")
    if isinstance(target, NoteTarget) and fields.index:
        return Finding("index", "block", f"index: {target} has no index")
    return None


def _beside(name: str, target: Target, file_data: Callable[[str], bytes | None]) -> bytes | Finding:
    if not isinstance(target, FileTarget):
        return Finding("file", "block", "file: only a file of a project can lie beside its draft")
    if not _FILE.fullmatch(name) or name.endswith(".md"):
        return Finding("file", "block", f"file: {shown(name)} is no name of a file beside the draft (and no .md)")
    data = file_data(name)
    if data is None:
        return Finding("file", "block", f"file: {shown(name)} does not lie beside the draft, or can't be read")
    return data


def _entry_value(entry: IndexEntry) -> dict[str, object]:
    return {"section_id": entry.section_id, "keywords": list(entry.keywords), "summary": entry.summary}


def _must_read_back(raw: bytes, *meant: object) -> None:
    draft = parse_draft("draft.md", raw, lambda _: b"")
    if not isinstance(draft, Draft):
        raise DraftImpossible("; ".join(finding.message for finding in draft))
    got = (
        draft.target,
        draft.edit,
        draft.section,
        draft.old_text,
        draft.body,
        draft.index,
        draft.sources,
        draft.provenance,
        draft.title,
        draft.file,
    )
    for name, one, other in zip(_READ_BACK, got, meant, strict=True):
        if one != other:
            raise DraftImpossible(f"{name} would not read back as it was meant")


_READ_BACK = ("target", "edit", "section", "old_text", "body", "index", "sources", "provenance", "title", "file")
