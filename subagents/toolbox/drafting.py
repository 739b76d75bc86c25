"""What a worker may write: drafts, files with checked names in the one folder that is its own.

A draft is tried on the card as it is before it is written, so that a model hears at once what a reviewer would say.
The same call again is answered with "already done": small models repeat themselves.
"""

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from ...memory.errors import MemoryFault
from ...memory.ids import CardId, id_from_title, shown
from ...memory.index.index import IndexEntry
from ...memory.target import CardTarget, FileTarget, NoteTarget, Target, parse_target
from ...memory.text.card import CardEdit, EditKind, apply_edit
from ...memory.text.document import Document, parse_document
from ...memory.text.passage_match import find_once
from ...staging.draft import edit_of, render_draft
from ...staging.policy import Provenance
from .draftname import name_for, next_name, short_names
from .draftsfolder import DraftsFolder
from .reading import Reading, section_of
from .toolinput import EditDraft, Entry, ProposeEdit, ToolRefused, WriteDraft
from .workfolder import WorkFolder, short_sha

MOST_DRAFTS = 64

_DRAFTED = re.compile(r"\(file [^\n]*, ([0-9a-f]{16})\)\Z")
_ANY_DAY = date(2000, 1, 1)  # a draft is tried on the card, and the day it is dated then doesn't matter


class Drafting:
    """Writes drafts into `folder`; `target` is where the task's result should go, if somebody said so.

    `work` is where commands leave their files, None where none may be run; `project` is what the task is for.
    """

    def __init__(
        self,
        folder: Path,
        reading: Reading,
        target: str | None,
        work: WorkFolder | None = None,
        project: str | None = None,
    ) -> None:
        self._folder = DraftsFolder(folder)
        self._reading = reading
        self._target = target
        self._work = work
        self._project = project

    @property
    def names(self) -> tuple[str, ...]:
        """Drafts written by this worker, in order."""
        return tuple(self._folder.names)

    def write(self, given: WriteDraft, again: str | None = None) -> str:
        """Write a draft as the tool `write_draft` describes it; what came of it, for the model.

        With `file` the text is that of a file of the work folder. `again` is the hash of what an earlier attempt
        took from there for the same call: what lies there now may be of a later command.
        """
        if given.file is None:
            return self._write_text(given)
        if self._work is None:
            raise ToolRefused("write_draft: file: there is no work folder, since this agent may run no commands")
        data = None if again is None else self._work.drafted(again)
        if data is None:
            data = self._work.take(given.file)
        done = self._write_text(self._of_file(given, data.decode()), given.text)
        return f"{done} (file {shown(given.file)}, {short_sha(data)})"

    def _of_file(self, given: WriteDraft, text: str) -> WriteDraft:
        """The same draft with the file's text; without a target, a file of the task's project under its own name."""
        target = given.target
        if target is None and self._target is None:
            if self._project is None:
                raise ToolRefused("write_draft: file: say where it goes, as target projects/<id>/<path>")
            target = f"projects/{self._project}/{(given.file or '').rpartition('/')[2]}"
        return given.model_copy(update={"text": text, "target": target, "file": None})

    def _write_text(self, given: WriteDraft, note: str = "") -> str:
        target = self._where(given)
        sources = given.sources or ()
        if isinstance(target, FileTarget):
            before = self._reading.text(target)
            change = CardEdit(_card_of(target), "create" if before is None else "replace", text=_whole(before, given))
            entries = self._entries(given.index or (), parse_document(change.text), target, None)
            return self._put(given.name, target, change, entries, sources, note)
        before = self._seen(target)
        edit = given.edit or _edit(target, before, given)
        section = given.section
        if section is not None and before is not None and edit != "create":
            section = section_of(parse_document(before), section, "section")
        title = given.title if edit == "create" and isinstance(target, CardTarget) else None
        text = "" if edit == "remove" else given.text
        change = CardEdit(target, edit, section, given.old_text or "", text, title)
        entries = self._entries(given.index or (), self._tried(change), target, section)
        return self._put(given.name, target, change, entries, sources)

    def propose(self, given: ProposeEdit) -> str:
        """Write the draft of a small edit; what came of it, for the model."""
        target = self._reading.target(given.card.partition("#")[0])
        if isinstance(target, FileTarget):
            raise ToolRefused(f"{target}: a file of a project is written as a whole; use write_draft with this target")
        if self._target is not None and str(target) != self._target:
            raise ToolRefused(f"{target}: this task may change {self._target} only; say in the report what else should")
        before = self._reading.text(target)
        assert before is not None  # `target` has found it
        anchor = given.card.partition("#")[2]
        name = given.section or anchor or None
        section = None if name is None else section_of(parse_document(before), name, "section")
        kind: EditKind = "replace" if given.new_text else "remove"
        if not given.old_text:
            raise ToolRefused(
                "propose_edit: old_text: it is empty, which is not allowed; copy the words that are to go, "
                "or add text by write_draft with edit=append"
            )
        change = CardEdit(target, kind, section, given.old_text, given.new_text)
        entries = self._entries((given.index_entry,), self._tried(change), target, section)
        return self._put(None, target, change, entries, given.sources or ())

    def edit(self, given: EditDraft) -> str:
        """Change words of a draft; what came of it, for the model."""
        name = self._folder.existing(given.name)
        draft = self._folder.draft(name)
        text = draft.body if draft.file_data is None else draft.file_data.decode()
        if given.old_text not in text and given.new_text and text.count(given.new_text) == 1:
            return f"{name}: already done; the text stands there as you want it"
        if not given.old_text or given.old_text == given.new_text:
            raise ToolRefused("edit_draft: old_text must not be empty, and new_text must differ from it")
        place = find_once(text, given.old_text, 0, len(text), f"the text of {name}")
        changed = text[: place.start] + given.new_text + text[place.end :]
        if isinstance(draft.target, FileTarget):
            note = "" if draft.file is None else draft.body.partition("\n")[2]
            self._write_file(name, draft.target, changed, draft.index, draft.sources, note)
            return f"{name}: changed"
        before = edit_of(draft, None)
        change = CardEdit(before.target, before.kind, before.section, before.old_text, changed, before.title)
        self._tried(change)
        self._folder.write(name, self._rendered(draft.target, change, draft.index, draft.sources))
        return f"{name}: changed"

    def _seen(self, target: CardTarget | NoteTarget) -> str | None:
        """The text of a card as it is now; a note is not for sub-agents to read, so a change of it is not tried."""
        return None if isinstance(target, NoteTarget) else self._reading.text(target)

    def _tried(self, change: CardEdit) -> Document:
        """The card as it would be; raises EditRefused."""
        if isinstance(change.target, NoteTarget):
            return parse_document(change.text)
        return parse_document(apply_edit(self._seen(change.target), change, _ANY_DAY))

    def _where(self, given: WriteDraft) -> Target:
        """The target of a draft: the task's, else the one named, else a new finding."""
        named = (given.target or "").strip()
        if self._target is not None:
            own = parse_target(self._target)
            if named not in ("", self._target, *short_names(self._target)):
                raise ToolRefused(f"target {shown(named)}: this task's result goes to {own}; leave target out")
            return own
        if named:
            return self._named(named)
        title = given.title or parse_document(given.text).title or (given.name or "").removesuffix(".md")
        if not title:
            raise ToolRefused("write_draft: neither target nor title says where it goes; give a title")
        return CardTarget("research", CardId(id_from_title(title)))

    def _named(self, named: str) -> Target:
        try:
            return parse_target(named)
        except MemoryFault as fault:
            if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*(?:\.md)?", named):
                return self._reading.target(named)  # a card's id without its folder
            rule = fault.message if shown(named) in fault.message else f"target {shown(named)}: {fault.message}"
            raise ToolRefused(rule) from fault

    def _entries(
        self, given: Sequence[Entry], after: Document, target: Target, section: str | None
    ) -> tuple[IndexEntry, ...]:
        """Index entries whose sections are there once the draft stands; raises ToolRefused or EntryRefused."""
        if isinstance(target, NoteTarget):
            return ()
        if isinstance(target, FileTarget) and len(given) > 1:
            raise ToolRefused(f"index: a file of a project has one entry, not {len(given)}; sum it up in one")
        entries: list[IndexEntry] = []
        for one in given:
            if isinstance(target, FileTarget):
                where = target.path
            elif one.section_id is not None:
                where = section_of(after, one.section_id, "index: section_id")
            elif section is not None:
                where = section
            else:
                raise ToolRefused("index: section_id is missing; name the section that the entry describes")
            if any(entry.section_id == where for entry in entries):
                raise ToolRefused(f"index: two entries for {shown(where)}; give one for each section")
            entries.append(IndexEntry(where, one.summary.strip(), tuple(one.keywords or ())))
        return tuple(entries)

    def _put(
        self,
        wanted: str | None,
        target: Target,
        change: CardEdit,
        entries: Sequence[IndexEntry],
        sources: Sequence[str],
        note: str = "",
    ) -> str:
        """Write a draft under the name wanted, or one made of its target; an equal one is left as it is."""
        made = change.section if change.kind in ("replace", "remove") else None
        name = self._folder.name(wanted or name_for(str(target), made))
        while name in self._folder.names and not self._is_same(name, target, change):
            if wanted is not None:
                raise ToolRefused(f"name {name}: another draft of this task has it; leave name out, or change it")
            name = next_name(name)
        if name not in self._folder.names and len(self._folder.names) >= MOST_DRAFTS:
            raise ToolRefused(f"{name}: a task has at most {MOST_DRAFTS} drafts; put it into one of them")
        if isinstance(target, FileTarget):
            done = self._write_file(name, target, change.text, entries, sources, note)
        else:
            done = self._folder.write(name, self._rendered(target, change, entries, sources))
        if not done:
            return f"{name}: already done; the same draft is there"
        again = name in self._folder.names
        if not again:
            self._folder.names.append(name)
        rest = (
            ""
            if entries or isinstance(target, NoteTarget)
            else "; no index entry was given, one is made of its headings"
        )
        return f"{name}: {'written again' if again else 'written'} ({change.kind} {target}){rest}"

    def _is_same(self, name: str, target: Target, change: CardEdit) -> bool:
        """Whether a draft of that name changes the same passage, so that writing it again replaces it."""
        draft = self._folder.draft(name)
        passage = (draft.target, draft.edit, draft.section, draft.old_text)
        same = passage == (target, change.kind, change.section, change.old_text)
        # Two texts to append are two drafts: neither may push out the other.
        return same and (change.kind != "append" or draft.body == change.text)

    def _rendered(
        self, target: Target, change: CardEdit, entries: Sequence[IndexEntry], sources: Sequence[str]
    ) -> bytes:
        return render_draft(
            target=target,
            edit=change.kind,
            section=change.section,
            old_text=change.old_text,
            body=change.text,
            index=entries,
            sources=sources,
            provenance=self._provenance(),
            title=change.title,
        )

    def _provenance(self) -> Provenance:
        return "external" if self._reading.external else "agent"

    def _write_file(
        self,
        name: str,
        target: FileTarget,
        text: str,
        entries: Sequence[IndexEntry],
        sources: Sequence[str],
        note: str = "",
    ) -> bool:
        """A file of a project: Markdown is the draft's body, anything else lies beside its draft, whose body then is
        a note to who reviews it.
        """
        edit: EditKind = "create" if self._reading.text(target) is None else "replace"
        change = CardEdit(_card_of(target), edit, text=text)
        if target.path.endswith(".md"):
            return self._folder.write(name, self._rendered(target, change, entries, sources))
        beside = name.removesuffix(".md")
        raw = render_draft(
            target=target,
            edit=edit,
            body=f"The file lies beside this draft: {beside}\n" + (f"\n{note.strip()}\n" if note.strip() else ""),
            index=entries,
            sources=sources,
            provenance=self._provenance(),
            file=beside,
        )
        new = self._folder.write(beside, text.encode())
        return self._folder.write(name, raw) or new


def drafted_in(result: str) -> str | None:
    """The hash of what a result of `write_draft` says was taken from a file; None if it says nothing of one."""
    found = _DRAFTED.search(result)
    return None if found is None else found[1]


def _edit(target: CardTarget | NoteTarget, before: str | None, given: WriteDraft) -> EditKind:
    """The kind of change that a model means when it doesn't say."""
    if given.old_text:
        return "replace" if given.text else "remove"
    return "create" if before is None and isinstance(target, CardTarget) else "append"


def _whole(before: str | None, given: WriteDraft) -> str:
    """The whole new text of a project's file, of which a draft never changes a part."""
    if before is None:
        return given.text
    if given.edit == "create":
        raise ToolRefused("write_draft: there is such a file already; leave edit out to replace it as a whole")
    if given.old_text:
        place = find_once(before, given.old_text, 0, len(before), "the file")
        return before[: place.start] + given.text + before[place.end :]
    if given.edit == "append":
        return before + ("" if before.endswith("\n") or not before else "\n") + given.text
    return given.text


def _card_of(target: FileTarget) -> CardTarget:
    return CardTarget("projects", target.project)
