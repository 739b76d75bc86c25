"""What an attempt gets of the one whose drafts were sent back: the reasons, the drafts as they are now, its files."""

from collections.abc import Iterator

from ...memory.fence import Fences
from ...memory.text.clip import clip
from ...staging.folder import Collected, collect
from .dossier import Dossier
from .taskstate import Spawn
from .workplace import names_there

_MOST = 40_000  # characters of a draft that was sent back, or of its file
_NAMED = 50


def sent_back(dossier: Dossier, spawn: Spawn) -> int:
    """The attempt whose drafts were sent back, and with whose files the next one begins; 0 for none."""
    back = (dossier.state.draft(id_) for id_ in spawn.drafts)
    return max((draft.attempt for draft in back if draft is not None), default=0)


def feedback(dossier: Dossier, spawn: Spawn, fences: Fences, *, commands: bool) -> str | None:
    """What is said to the worker of a new attempt, drafts between fences; None where nothing was sent back."""
    if spawn.feedback is None:
        return None
    return "\n\n".join(
        (spawn.feedback, *_drafts(dossier, spawn, fences), *(_files(dossier, spawn) if commands else ()))
    )


def _drafts(dossier: Dossier, spawn: Spawn, fences: Fences) -> Iterator[str]:
    for id_ in spawn.drafts:
        draft = dossier.state.draft(id_)
        if draft is None:
            continue
        for found in collect(dossier.folder, dossier.task, draft.attempt):
            if found.name == draft.facts.name and found.raw is not None:
                cut = " (its beginning)" if len(found.text) > _MOST else ""
                what = f"The draft {found.name} to begin with{cut}; it is no source, so quote what it was made from"
                yield f"{what}:\n\n" + fences.around(f"the draft {found.name}", clip(found.text, _MOST, ""))
                yield from _beside(found, fences)


def _beside(found: Collected, fences: Fences) -> Iterator[str]:
    """The file that a draft brings beside it."""
    if found.draft is not None and found.draft.file_data is not None:
        text = found.draft.file_data.decode(errors="replace")
        cut = " (its beginning)" if len(text) > _MOST else ""
        what = f"the file {found.draft.file}"
        yield f"The file {found.draft.file} that it names{cut}:\n\n" + fences.around(what, clip(text, _MOST, ""))


def _files(dossier: Dossier, spawn: Spawn) -> Iterator[str]:
    names = names_there(dossier.folder, sent_back(dossier, spawn))
    if names:
        listed = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        yield f"The work folder is as that attempt left it; in it are: {listed}"
