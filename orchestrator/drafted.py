"""What a draft is as a change of memory. Pure."""

from ..memory.change import Change, FileEntry, Put
from ..memory.files import sha256
from ..memory.target import CardTarget, FileTarget
from ..memory.text.card import CardEdit
from ..memory.workspace import Space
from ..staging.draft import Draft, edit_of, file_bytes
from ..staging.verdict import Accepted
from .review.reviewer import CHECKS, Examined, file_entry
from .tasks.dossier import Dossier
from .tasks.plan import DraftState


def change_of(
    dossier: Dossier, state: DraftState, verdict: Accepted, draft: Draft, examined: Examined, key: str
) -> Change:
    """An accepted draft: a card's edit, bound to its section as that was shown, or a file, bound to what it replaces.

    `draft` is that of `examined`.
    """
    what, agent = _what(draft), dossier.sheet.agent
    line = ("draft", f"{what} (draft {state.id} by {agent}, accepted by {verdict.reviewer})")
    return Change(
        client=dossier.space.client,
        what=what,
        who=f"agent:{agent}",
        edit=_edit(draft, verdict.bound.section or None),
        puts=_puts(draft, examined.before),
        index=draft.index if isinstance(draft.target, CardTarget) else (),
        files=_files(draft),
        log=() if dossier.sheet.batch else (line,),  # a batch tells of itself once a day
        key=key,
        draft=state.id,
        agent=agent,
        task=dossier.task,
        reviewer=verdict.reviewer,
        sources=examined.sources,
    )


def own_change_of(space: Space, draft: Draft, who: str, key: str) -> Change:
    """What an agent writes itself, and only the checks have looked at."""
    what = _what(draft)
    return Change(
        client=space.client,
        what=what,
        who=who,
        edit=_edit(draft, None),
        index=draft.index if isinstance(draft.target, CardTarget) else (),
        log=(("card", f"{what} ({who})"),),
        key=key,
        agent=who.partition(":")[2],
        reviewer=CHECKS,
        sources=draft.sources,
    )


def _edit(draft: Draft, shown: str | None) -> CardEdit | None:
    """The edit; `shown` is the hash of the section as the reviewer saw it. A file of a project has none."""
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


def _what(draft: Draft) -> str:
    verb = {"create": "created", "append": "appended", "replace": "replaced", "remove": "removed"}[draft.edit]
    place = f" in {draft.section}" if draft.section else ""
    return f"{draft.target}: {verb}{place}"
