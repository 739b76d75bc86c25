"""Whether a draft may stand, as far as that can be told without understanding it.

Pure: what the checks may look at is handed in as a `Ground`, taken at the moment of the check. The same draft on the
same ground gives the same findings; they are computed again at every approval.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date

from ..memory.ids import same_but_case, shown
from ..memory.index.index import Index
from ..memory.target import CardTarget, FileTarget, NoteTarget, Target
from ..memory.text.card import CardExists, EditRefused, NoSuchCard, SectionMovedOn, apply_edit
from ..memory.text.document import parse_document
from ..memory.text.frontmatter import parse_front_matter
from .characters import character_findings
from .draft import Draft, edit_of, file_bytes
from .finding import Finding, FindingLevel, at_most
from .phrases import is_fixed
from .policy import Provenance
from .quotes import MOST_QUOTES, Lines, check_quotes, parse_quote
from .secret import Held, mask, secret_findings

MOST_HEADINGS = 2_000
"""The most headings that one draft may bring into a card."""

_HEADING = re.compile(r"^ {0,3}#{1,6}(?=[ \t\r\n]|\Z)", re.MULTILINE)
_HTML = ("<script", "<iframe", "<img", "<svg", "<object", "<embed", "<form", "<style", "<link", "<meta", "javascript:")


@dataclass(frozen=True)
class Ground:
    """What a draft is checked against, as it is now.

    `card_text` is the text of the target (None: absent), `file_sha` the same for a file of a project that is no text:
    any value but None means that it exists. `expected` is the one target that the task may have; None: any. `known`
    are space-relative paths of cards, at least of those that the target could be mixed up with. `read` gives the text
    of what the task could read: `inputs/<name>` and the files of the space, None for anything else. `today` dates the
    trial of the edit. `shown` is the hash of the section as a reviewer saw it. `seen` is the provenance that the
    transcript shows, the lowest of what was read.
    """

    read: Callable[[str], str | None]
    card_text: str | None = None
    index: Index | None = None
    expected: Target | None = None
    known: frozenset[str] = field(default_factory=frozenset)
    today: date = date.min
    shown: str | None = None
    file_sha: str | None = None
    seen: Provenance | None = None
    held: Held = field(default_factory=dict)


def check(draft: Draft, ground: Ground) -> tuple[Finding, ...]:
    """All that is wrong with a draft, the worst first; () for nothing.

    Messages never repeat a secret. A draft with a blocking finding can't be approved as it is.
    """
    after, edit = _trial(draft, ground)
    findings = (
        *_target(draft, ground),
        *edit,
        *_index(draft, after),
        *_characters(draft),
        *_secrets(draft, ground.held),
        *_sources(draft, ground),
        *check_quotes(draft.body, ground.read, draft.body_line),
        *_html(draft),
    )
    return tuple(
        Finding(f.kind, f.level, mask(f.message, ground.held), f.line)
        for f in sorted(findings, key=lambda f: f.level == "warn")
    )


def after_text(draft: Draft, ground: Ground) -> str | None:
    """The target's whole text once the draft stands; None when it is no text, or when the edit can't be made."""
    return _trial(draft, ground)[0]


def trouble(draft: Draft, ground: Ground) -> tuple[Finding, ...]:
    """Why the edit can't be made, or doesn't fit what stands there; () when it can."""
    return tuple(Finding(f.kind, f.level, mask(f.message, ground.held), f.line) for f in _trial(draft, ground)[1])


def cited(draft: Draft, read: Callable[[str], str | None]) -> bool:
    """Whether every statement of the draft is backed by a quote that holds.

    A statement is a paragraph or list item; headings and fixed phrases state nothing. The quote stands in it or right
    below it.
    """
    if isinstance(draft.target, FileTarget) and draft.file is not None:
        return False
    lines = Lines(read)
    stated = backed = quoted = 0  # statements, those with a quote, and quotes
    last = False  # whether the last statement has one
    above = ""
    for line in map(str.strip, draft.body.split("\n")):
        quote = parse_quote(line)
        if quote is not None:
            quoted += 1
            if quoted > MOST_QUOTES or lines.denies(quote) is not None:
                return False
            stated += not stated
            backed += not last
            last = True
        elif line and not line.startswith("#") and not is_fixed(line) and (last or not stated or _begins(line, above)):
            stated += 1
            last = False
        above = line
    return bool(stated) and stated == backed


def _begins(line: str, above: str) -> bool:
    """Whether a line begins a statement of its own: a list item, or a line below a blank one or a heading."""
    return line.startswith(("- ", "* ", "+ ")) or line[:1].isdigit() or not above or above.startswith("#")


def _target(draft: Draft, ground: Ground) -> Iterator[Finding]:
    if ground.expected is not None and draft.target != ground.expected:
        yield Finding(
            "target", "block", f"the task may change {ground.expected}, this draft would change {draft.target}"
        )
    path = str(draft.target)
    twins = sorted(known for known in same_but_case(path, ground.known) if known != path)
    for twin in twins[:3]:
        yield Finding("twin", "block", f"{path}: there is {twin}, which differs only in case")
    if draft.edit == "create" and isinstance(draft.target, CardTarget):
        other = CardTarget("research" if draft.target.shelf == "projects" else "projects", draft.target.card)
        if str(other) in ground.known:
            yield Finding("twin", "block", f"{path}: the id is taken by {other}; one id names one card")
    if ground.seen == "external" and draft.provenance != "external":
        yield Finding("provenance", "warn", f"says it is from the {draft.provenance}, but was made from external text")


def _trial(draft: Draft, ground: Ground) -> tuple[str | None, tuple[Finding, ...]]:
    """The target's text once the draft stands (None: no text, or impossible), and what is wrong with the change."""
    if isinstance(draft.target, FileTarget):
        return _put(draft, draft.target, ground)
    if len(_HEADING.findall(draft.body)) > MOST_HEADINGS:
        return None, (Finding("edit", "block", f"a draft has at most {MOST_HEADINGS:,} headings"),)
    try:
        after = apply_edit(ground.card_text, edit_of(draft, ground.shown), ground.today)
    except (CardExists, NoSuchCard, SectionMovedOn) as e:
        return None, (Finding("conflict", "block", e.message),)
    except EditRefused as e:
        return None, (Finding("edit", "block", e.message),)
    findings: list[Finding] = []
    if draft.edit in ("create", "append") and not draft.body.strip():
        findings.append(Finding("empty", "block", "the draft has no text"))
    front = parse_front_matter(after)
    if front.problem is not None:
        level: FindingLevel = "block" if draft.edit == "create" else "warn"
        message = f"{draft.target}, line {front.problem.line}: {front.problem.message}"
        findings.append(Finding("front_matter", level, message))
    return after, tuple(findings)


def _put(draft: Draft, target: FileTarget, ground: Ground) -> tuple[str | None, tuple[Finding, ...]]:
    """The same for a file of a project, which is created or replaced as a whole."""
    data = file_bytes(draft)
    findings: list[Finding] = []
    exists = ground.card_text is not None or ground.file_sha is not None
    if draft.edit == "create" and exists:
        findings.append(Finding("conflict", "block", f"{target}: there is such a file already; replace it"))
    elif draft.edit == "replace" and not exists:
        findings.append(Finding("conflict", "block", f"{target}: no such file; create it"))
    if not data:
        findings.append(Finding("empty", "warn", "the file would be empty"))
    try:
        return data.decode(), tuple(findings)
    except UnicodeDecodeError:
        return None, tuple(findings)


def _index(draft: Draft, after: str | None) -> Iterator[Finding]:
    """Whether the entries fit what the target would hold."""
    seen: set[str] = set()
    for entry in draft.index:
        if entry.section_id in seen:
            yield Finding("index", "block", f"index: two entries for {shown(entry.section_id)}")
        seen.add(entry.section_id)
    if isinstance(draft.target, NoteTarget):
        return
    if isinstance(draft.target, FileTarget):
        if len(draft.index) > 1:
            yield Finding("index", "block", "index: a file of a project has one entry")
        return
    if after is None or not draft.index:
        return
    sections = {str(section.id) for section in parse_document(after).entry_sections()}
    for entry in draft.index:
        if entry.section_id not in sections:
            near = f"; there are {', '.join(sorted(sections)[:8])}" if sections else ""
            yield Finding("index", "block", f"index: no section {shown(entry.section_id)}{near}")


def _characters(draft: Draft) -> Iterator[Finding]:
    yield from character_findings(draft.body, "", draft.body_line)
    for place, text in _front_texts(draft):
        yield from character_findings(text, place, 0)
    if draft.file_data is not None:
        text = draft.file_data.decode(errors="ignore")
        if text.encode() == draft.file_data:  # a file that is no text is nobody's to read as one
            yield from character_findings(text, str(draft.file), 0)


def _secrets(draft: Draft, held: Held) -> Iterator[Finding]:
    yield from secret_findings(draft.body, "", draft.body_line, held)
    for place, text in _front_texts(draft):
        yield from secret_findings(text, place, 0, held)
    if draft.file_data is not None:
        yield from secret_findings(draft.file_data.decode("latin-1"), f"the file {draft.file}", 0, held)


def _front_texts(draft: Draft) -> Iterator[tuple[str, str]]:
    """Texts of the front matter that memory would keep, each with its place."""
    yield "title", draft.title or ""
    yield "old_text", draft.old_text
    yield "section", draft.section or ""
    yield "target", str(draft.target)
    for entry in draft.index:
        yield "index, section_id", entry.section_id
        yield "index, summary", entry.summary
        for keyword in entry.keywords:
            yield "index, keywords", keyword
    for source in draft.sources:
        yield "sources", source


def _sources(draft: Draft, ground: Ground) -> Iterator[Finding]:
    """Whether the named sources exist, as far as they are files."""
    if draft.provenance == "external" and not draft.sources:
        yield Finding("source", "warn", "external, but no source is named")
    lines = Lines(ground.read)
    for source in draft.sources:
        if len(source) > 2_000 or "\n" in source:
            yield Finding("source", "block", "a source is one line of at most 2,000 characters")
            continue
        if source.startswith(("https://", "http://")):
            if any(char.isspace() for char in source):
                yield Finding("source", "block", f"{shown(source)}: no address of a web page")
            continue
        path, colon, number = source.rpartition(":")
        if colon and number.isascii() and number.isdigit() and len(number) < 10:
            if lines.line(path, int(number)) is None:
                yield Finding("source", "block", f"{shown(source, 200)}: no such line that this task could read")
        elif lines.of(source) is None:
            yield Finding("source", "block", f"{shown(source, 200)}: no file that this task could read")


def _html(draft: Draft) -> tuple[Finding, ...]:
    """A warning for each line with HTML that a browser might act on; it is kept as text."""
    return at_most(
        Finding("html", "warn", "HTML or a script link; it is kept as text", draft.body_line + at)
        for at, line in enumerate(draft.body.split("\n"))
        if any(mark in line.casefold() for mark in _HTML)
    )
