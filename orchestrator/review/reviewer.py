"""Review of a draft: what the checks find, what it would change, and by the policy who has to agree.

Everything is computed again from the draft's bytes and from memory as it is now, whenever somebody decides. The
bytes are read once; what was checked and shown is what is committed.
"""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, partial
from itertools import takewhile
from time import monotonic

from ...memory.files import sha256
from ...memory.follow import Followed
from ...memory.ids import DraftId
from ...memory.index.entry import render_entry
from ...memory.index.index import EntryRefused, Index, IndexEntry, auto_entry
from ...memory.index.one_block import block_change, block_of, block_text
from ...memory.index.reconcile import reconcile
from ...memory.target import CardTarget, FileTarget, NoteTarget, Target
from ...memory.text.document import Document, parse_document
from ...memory.view import UnreadableText, View
from ...memory.workspace import SHELVES, Space
from ...staging.checks import Ground, after_text, check, cited, trouble
from ...staging.diff import describe_bytes, diff
from ...staging.draft import Draft, file_bytes
from ...staging.finding import Finding, blocked
from ...staging.folder import Collected, TaskSheet, collect
from ...staging.policy import Provenance, Stage, lower, stages
from ...staging.quotes import Read
from ...staging.secret import NONE, Held
from ...staging.verbatim import verbatim
from ...staging.verdict import Bound, bind
from ..origin import UNNAMED, Origins, from_outside
from ..settings.models import judges
from ..tasks.dossier import Dossier
from ..tasks.events import DraftFacts
from ..tasks.lookup import Lookup
from ..tasks.plan import DraftState
from ..tasks.transcript import INPUTS, traces_in
from .shelves import Shelves

CHECKS = "checks"
_FRESH_SECONDS = 1.0


@dataclass(frozen=True)
class Examined:
    """A draft and all that is to be known about it now.

    `bound` is what a verdict given now is bound to. `draft` is None when the file is no draft; `raw` are its bytes
    (None: it could not be opened). `before` is the target as it is, None when it is absent. `sources` are those that it
    names, and where it comes from outside and names no such place, what its task was shown from there. `difference`
    makes the diff, which most who examine a draft don't look at.
    """

    name: str
    draft: Draft | None
    raw: bytes | None
    findings: tuple[Finding, ...]
    bound: Bound
    provenance: Provenance
    stages: tuple[Stage, ...]
    difference: Callable[[], str] = field(repr=False, compare=False)
    before: bytes | None = None
    sources: tuple[str, ...] = ()

    @cached_property
    def diff(self) -> str:
        return self.difference()

    @property
    def blocked(self) -> bool:
        return self.draft is None or blocked(self.findings)

    @property
    def conflict(self) -> bool:
        """Whether nothing but memory having moved on stands in its way."""
        kinds = {f.kind for f in self.findings if f.level == "block"}
        return self.draft is not None and bool(kinds) and kinds <= {"conflict", "edit"}


@dataclass(frozen=True)
class _Look:
    """What a draft was examined by: `given` at once, `read` by the checks; and what came of it."""

    given: tuple[object, ...]
    read: Mapping[str, str | None]
    examined: Examined


class _Reading:
    """Reads sources and remembers what was read."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self.known: dict[str, str | None] = {}

    def __call__(self, path: str) -> str | None:
        if path not in self.known:
            self.known[path] = self._read(path)
        return self.known[path]


class Reviewer:
    """Examines the drafts of one space; folders are listed once. `held` are values that block a draft.

    Who examines a draft again gets what came of it before, if all that it was examined by is still the same: files are
    read anew each time, and compared.

    `history` is what is known of the space's commits already; it is asked only where a card was read.
    """

    def __init__(
        self,
        view: View,
        space: Space,
        today: Callable[[], date],
        held: Held = NONE,
        history: Followed | None = None,
    ) -> None:
        self._view = view
        self._space = space
        self._today = today
        self.held = held
        self._history = history or Followed(space)
        self._known_origins: Origins | None = None
        self._looks: dict[DraftId, _Look] = {}
        self._listed = 0.0

    def _origins(self, before: str | None) -> Origins:
        """What is known of the space's cards; of a draft that was committed, as it was before that."""
        commits = self._history.commits(self._view)
        if before is not None:
            return Origins(self._space, tuple(takewhile(lambda commit: commit.id != before, commits)))
        known = self._known_origins
        self._known_origins = Origins(self._space, commits) if known is None else known.now(commits)
        return self._known_origins

    @cached_property
    def _shelves(self) -> Shelves:
        self._listed = monotonic()
        return Shelves(f"{shelf}/{card}.md" for shelf in SHELVES for card in self._view.cards(self._space, shelf))

    def forget(self, target: Target | None = None) -> None:
        """After a commit: what exists has changed. Where it was one of many, only `target` is what is new.

        So a shelf of thousands is listed once a second, however many commits are made in it.
        """
        if target is None or "_shelves" not in self.__dict__ or monotonic() - self._listed > _FRESH_SECONDS:
            self.__dict__.pop("_shelves", None)
        elif isinstance(target, CardTarget):
            self._shelves.add(str(target))

    def over(self, dossier: Dossier) -> None:
        """Nobody is at work on the task any more: what its drafts were examined by need not be kept."""
        for draft in dossier.state.drafts:
            self._looks.pop(draft.id, None)

    def examine(self, dossier: Dossier, state: DraftState) -> Examined:
        """The draft as it lies in staging now; one whose file is gone is told as such."""
        return self._examined(dossier, state, read_draft(dossier, state))

    def _examined(self, dossier: Dossier, state: DraftState, found: Collected) -> Examined:
        own = _own_findings(dossier.sheet, state, found)
        if found.draft is None:
            missing, findings = Bound(found.sha256, ""), (*found.findings, *own)
            person: tuple[Stage, ...] = ("checks", "person")
            return Examined(found.name, None, found.raw, findings, missing, "external", person, lambda: found.text)
        draft = found.draft
        before = self._view.bytes(self._space.path(draft.target))
        whence = outside(dossier, state, self._origins)
        seen: Provenance = "external" if whence else provenance_of(dossier, state.attempt)
        read = Lookup(self._view, self._space, dossier.folder, dossier.sheet.inputs).read
        index = index_of(self._view, self._space, draft.target)
        near = self._shelves.near(draft.target)
        given: tuple[object, ...] = (
            found.sha256,
            state.facts,
            state.incomplete,
            dossier.sheet,
            before,
            _own_block(draft.target, index),
            seen,
            whence,
            near,
        )
        given = (*given, self._today(), dict(self.held))
        look = self._looks.get(state.id)
        if look is not None and look.given == given and all(read(path) == text for path, text in look.read.items()):
            return look.examined
        reading = _Reading(read)
        ground = self._ground(reading, before, index, seen, near)
        findings = (*found.findings, *check(draft, ground), *own)
        provenance = lower(draft.provenance, seen)
        auto = dossier.sheet.review == "auto" and not any(f.kind in _NEEDS_PERSON for f in own)
        needed = stages(
            origin="batch" if dossier.sheet.batch else "delegate",
            target=draft.target,
            provenance=provenance,
            cited=auto and cited(draft, ground.read),  # both ask whether a person may be left out
            verbatim=auto and not verbatim(draft, dossier.sheet.text, ground.read),
            auto=auto,
            model=judges(dossier.sheet.model) and not state.incomplete,
        )
        bound, difference = bound_of(draft, before, index), partial(self._diff, draft, ground, before)
        examined = Examined(
            found.name,
            draft,
            found.raw,
            findings,
            bound,
            provenance,
            needed,
            difference,
            before,
            _sources(draft, provenance, whence),
        )
        self._looks[state.id] = _Look(given, reading.known, examined)
        return examined

    def _ground(
        self, read: Read, before: bytes | None, index: Index | None, seen: Provenance, near: frozenset[str]
    ) -> Ground:
        return Ground(
            read=read,
            card_text=_text(before),
            index=index,
            known=near,
            today=self._today(),
            file_sha=None if before is None else "present",
            seen=seen,
            held=self.held,
        )

    def _diff(self, draft: Draft, ground: Ground, before: bytes | None) -> str:
        after = after_text(draft, ground)
        old = _text(before) if before is not None else None
        if after is None or (before is not None and old is None):
            if isinstance(draft.target, FileTarget):
                return describe_bytes(file_bytes(draft))
            reason = "; ".join(f.message for f in trouble(draft, ground))
            return f"(this change can't be made to {draft.target} as it is: {reason})\n{draft.body}"
        index_before, index_after = _indexes(draft, ground.index, after)
        return diff(draft, old, after, index_before, index_after).plain()


def read_draft(dossier: Dossier, state: DraftState) -> Collected:
    """The draft's file, read once; one that is gone has a finding that says so."""
    for found in collect(dossier.folder, dossier.task, state.attempt):
        if found.name == state.facts.name:
            return found
    gone = Finding("missing", "block", what_became_of(dossier, state))
    return Collected(state.id, state.facts.name, None, (gone,), "")


def what_became_of(dossier: Dossier, state: DraftState) -> str:
    """What stands now where the draft's file was; each step is asked by name, nothing is followed."""
    folder, name = dossier.folder, state.facts.name
    steps = (
        (folder.attempt(state.attempt), f"its folder {state.attempt}/"),
        (folder.drafts(state.attempt), f"its folder {state.attempt}/drafts/"),
        (folder.drafts(state.attempt) / name, name),
    )
    for path, said in steps:
        last = path.name == name
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            return f"{name}: the file is gone" if last else f"{name}: the file is gone, with {said}"
        except OSError as e:
            return f"{name}: {e.strerror or 'can not be read'}"
        if not (stat.S_ISREG(mode) if last else stat.S_ISDIR(mode)):
            return f"{said} is {_KINDS.get(stat.S_IFMT(mode), 'something else')} now; the draft is not read"
    return f"{name}: the file can't be read as a draft here"


_KINDS = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file", stat.S_IFIFO: "a pipe"}


def facts_of(view: View, dossier: Dossier, attempt: int, skip: int) -> tuple[DraftFacts, ...]:
    """What lies in an attempt's drafts/ now, numbered from `skip` + 1."""
    facts: list[DraftFacts] = []
    for k, found in enumerate(collect(dossier.folder, dossier.task, attempt), start=skip + 1):
        id_ = DraftId.of(dossier.task, k)
        if found.draft is None:
            reason = "; ".join(f.message for f in found.findings)
            facts.append(DraftFacts(id_, found.name, "", found.sha256, blocked=True, reason=reason))
            continue
        target = found.draft.target
        bound = bound_of(found.draft, view.bytes(dossier.space.path(target)), index_of(view, dossier.space, target))
        facts.append(DraftFacts(id_, found.name, str(target), bound.sha256, bound.section, index=bound.index))
    return tuple(facts)


def bound_of(draft: Draft, before: bytes | None, index: Index | None) -> Bound:
    """What a verdict on the draft is bound to: its own bytes, what it changes, and the index lines that it replaces.

    What is created or appended doesn't touch what stands there, so only replacing and removing look at the section.
    """
    text = _text(before)
    untouched = draft.edit in {"create", "append"} and not isinstance(draft.target, FileTarget)
    if before is None or untouched or (text is None and not isinstance(draft.target, FileTarget)):
        section = ""
    else:
        section = bind(draft, before).section
    impossible = draft.edit == "create" and before is not None  # so it replaces nothing
    return Bound(draft.sha256, section, "" if impossible else _replaced_lines(draft, text, index))


def _replaced_lines(draft: Draft, text: str | None, index: Index | None) -> str:
    """The hash of the index entries that the draft's own take the place of; "" for none.

    An entry that onepen would make itself of the card as it is holds nobody's words, and doesn't count.
    """
    if index is None or isinstance(draft.target, NoteTarget):
        return ""
    whole = isinstance(draft.target, FileTarget)
    block = block_of(index.text, draft.target.project if isinstance(draft.target, FileTarget) else draft.target.card)
    ids = [draft.target.path] if isinstance(draft.target, FileTarget) else [e.section_id for e in draft.index]
    standing = [entry for id_ in ids if block is not None and (entry := block.entry(id_)) is not None]
    if not whole and text is not None and any(entry.auto for entry in standing):
        document = parse_document(text)
        made = {str(s.id): auto_entry(document, s) for s in document.entry_sections()}
        standing = [entry for entry in standing if not (entry.auto and made.get(entry.section_id) == entry)]
    words = "".join(render_entry("", entry) for entry in standing)
    return sha256(words.encode()) if words else ""


_MOST_OUTSIDE = 8


def outside(dossier: Dossier, state: DraftState, origins: Callable[[str | None], Origins]) -> tuple[str, ...]:
    """Places outside from which a draft may have text: inputs, and cards that hold some, that its task was shown.

    At most eight. A worker reads files by itself, and a command may have read any card, so of inputs that were at hand
    some are named even where no transcript shows that they were read.
    """
    if dossier.sheet.external:
        return (UNNAMED,)
    traces = [traces_in(dossier.folder.transcript(number)) for number in range(1, state.attempt + 1)]
    shown = dict.fromkeys(path for one in traces for path in one.shown)
    ran = any(one.ran for one in traces)
    found = [path for path in shown if from_outside((path,))] or [INPUTS + name for name in dossier.sheet.inputs]
    cards = [path for path in shown if not from_outside((path,))]
    if cards or ran:
        known = origins(state.commit)
        found += [path for path in cards if known.external(path)]
        found += [UNNAMED] if ran and known.any else []
    return tuple(found)[:_MOST_OUTSIDE]


def provenance_of(dossier: Dossier, attempt: int) -> Provenance:
    """The least trusted of what this attempt and those before it were made from, cards taken for memory of our own.

    Inputs are external, read or not: who runs in a worker opens files without telling. An attempt that is sent back or
    goes on gets what earlier ones wrote: what their drafts say of themselves is in it.
    """
    if dossier.sheet.external or dossier.sheet.inputs:
        return "external"
    carried = [d for d in dossier.state.drafts if d.attempt < attempt and not d.facts.blocked]
    for number in sorted({d.attempt for d in carried}):
        names = {d.facts.name for d in carried if d.attempt == number}
        for found in collect(dossier.folder, dossier.task, number):
            if found.name in names and (found.draft is None or found.draft.provenance == "external"):
                return "external"
    return "agent"


def _sources(draft: Draft, provenance: Provenance, whence: tuple[str, ...]) -> tuple[str, ...]:
    """What the history is told of where a change comes from: text from outside stays known as that."""
    if provenance != "external" or from_outside(draft.sources):
        return draft.sources
    named = {source.rpartition(":")[0] or source for source in draft.sources} | set(draft.sources)
    more = tuple(place for place in whence if place not in named)
    return (*draft.sources, *(more or (() if whence else (UNNAMED,))))


_NEEDS_PERSON = frozenset({"elsewhere", "incomplete"})


def _own_findings(sheet: TaskSheet, state: DraftState, found: Collected) -> tuple[Finding, ...]:
    """What the orchestrator knows and the checks don't."""
    own: list[Finding] = []
    if found.draft is not None and sheet.target is not None and str(found.draft.target) != sheet.target:
        text = f"the task's result was to go to {sheet.target}, this draft goes to {found.draft.target}"
        own.append(Finding("elsewhere", "warn", text))
    elif found.draft is not None and not _of_project(found.draft.target, sheet.project):
        text = f"the task is for project {sheet.project}, this draft goes to {found.draft.target}"
        own.append(Finding("elsewhere", "warn", text))
    if state.incomplete:
        own.append(Finding("incomplete", "warn", state.incomplete))
    if found.raw is not None and state.facts.sha256 not in ("", found.sha256):
        own.append(Finding("edited", "warn", "changed since its worker ended"))
    return tuple(own)


def _of_project(target: Target, project: str | None) -> bool:
    """Whether a task that is for a project may go there unasked: findings, the project's card and its files."""
    match target:
        case _ if project is None:
            return True
        case CardTarget(shelf=shelf, card=card):
            return shelf == "research" or card == project
        case FileTarget(project=other):
            return other == project
        case NoteTarget():
            return False


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def index_of(view: View, space: Space, target: Target) -> Index | None:
    """The index that a target has entries in; None for a note, or when it is no text."""
    if isinstance(target, NoteTarget):
        return None
    try:
        return view.index(space, target.shelf if isinstance(target, CardTarget) else "projects")
    except UnreadableText:
        return None


def _own_block(target: Target, index: Index | None) -> str | None:
    """What a draft hangs on of the index: the block of its card. That others come and go beside it changes nothing."""
    if index is None or isinstance(target, NoteTarget):
        return None
    return block_text(index.text, target.project if isinstance(target, FileTarget) else target.card)


def _indexes(draft: Draft, index: Index | None, after: str) -> tuple[str | None, str | None]:
    """What of the index's text changes, and what it becomes, as the pen will make it."""
    if index is None:
        return None, None
    try:
        match draft.target:
            case CardTarget(card=card):
                cards: dict[str, Document] = {card: parse_document(after)}

                def changed(block: Index) -> Index:
                    block = reconcile(block, cards, only=card)
                    for entry in draft.index:
                        block = block.with_entry(card, entry)
                    return block

                return block_change(index.text, card, changed)
            case FileTarget(project=project, path=path) if block_of(index.text, project) is not None:
                entry = file_entry(draft)
                return block_change(
                    index.text, project, lambda block: block.with_entry(project, entry, link=f"{project}/{path}")
                )
    except EntryRefused:
        pass  # the checks say what is wrong with the entry
    return "", ""


def file_entry(draft: Draft) -> IndexEntry:
    """The index entry of a project's file: the draft's own, else one made of its path."""
    assert isinstance(draft.target, FileTarget)
    if draft.index:
        given = draft.index[0]
        return IndexEntry(draft.target.path, given.summary, given.keywords)
    size = len(file_bytes(draft))
    return IndexEntry(draft.target.path, f"File of {size:,} bytes.", auto=True)
