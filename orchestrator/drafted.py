"""What a draft is as a change of memory. Pure."""

from ..memory.change import Change, FileEntry, Put
from ..memory.files import sha256
from ..memory.target import CardTarget, FileTarget
from ..memory.text.card import CardEdit
from ..staging.draft import Draft, edit_of, file_bytes
from ..staging.verdict import Accepted
from .review.reviewer import file_entry
from .tasks.dossier import Dossier
from .tasks.plan import DraftState


def change_of(
    dossier: Dossier, state: DraftState, verdict: Accepted, draft: Draft, before: bytes | None, key: str
) -> Change:
    what, agent = what_of(draft), dossier.sheet.agent
    return Change(
        client=dossier.space.client,
        what=what,
        who=f"agent:{agent}",
        edit=edit_in(draft, verdict),
        puts=_puts(draft, before),
        index=draft.index if isinstance(draft.target, CardTarget) else (),
        files=_files(draft),
        log=(("draft", f"{what} (draft {state.id} by {agent}, accepted by {verdict.reviewer})"),),
        key=key,
        draft=state.id,
        agent=agent,
        task=dossier.task,
        reviewer=verdict.reviewer,
        sources=draft.sources,
    )


def edit_in(draft: Draft, verdict: Accepted | None) -> CardEdit | None:
    shown = None if verdict is None else verdict.bound.section or None
    return None if isinstance(draft.target, FileTarget) else edit_of(draft, shown)


def _puts(draft: Draft, before: bytes | None) -> tuple[Put, ...]:
    if not isinstance(draft.target, FileTarget):
        return ()
    expected = None if draft.edit == "create" or before is None else sha256(before)
    return (Put(str(draft.target), file_bytes(draft), expected),)


def _files(draft: Draft) -> tuple[FileEntry, ...]:
    if not isinstance(draft.target, FileTarget):
        return ()
    return (FileEntry(draft.target.project, draft.target.path, file_entry(draft)),)


def what_of(draft: Draft) -> str:
    verb = {"create": "created", "append": "appended", "replace": "replaced", "remove": "removed"}[draft.edit]
    place = f" in {draft.section}" if draft.section else ""
    return f"{draft.target}: {verb}{place}"
