"""What has to be known before a card gets another name: which files go along, and who still speaks of the old one."""

import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ..memory import files
from ..memory.change import Rename
from ..memory.clock import Clock
from ..memory.errors import MemoryFault
from ..memory.guard import UnsafeFile, list_beneath
from ..memory.ids import BadId
from ..memory.mention import mentions
from ..memory.target import BadTarget, CardTarget, FileTarget, parse_target
from ..memory.view import View
from ..memory.workspace import NOTES, SHELVES, Space
from .errors import NotMovable
from .tasks.dossier import OPEN, dossiers

_MOST_FILES = 5_000


def files_of(space: Space, target: CardTarget) -> tuple[str, ...]:
    """The files of a project, by their paths in its folder; raises NotMovable for one that no commit can write."""
    folder = space.folder / target.shelf / target.card
    if target.shelf != "projects" or not folder.is_dir():
        return ()
    path = space.path(f"{target.shelf}/{target.card}")
    if folder.is_symlink():
        raise NotMovable(path, ("the folder itself, which is a link",))
    try:
        found = list_beneath(folder, max_files=_MOST_FILES)
    except UnsafeFile as e:
        raise NotMovable(path, (e.message,)) from e
    odd = tuple(name for name in found if not _plain(target, name) or (folder / name).is_symlink())
    if odd:
        raise NotMovable(path, odd)
    return found


def mentioned(view: View, space: Space, target: CardTarget) -> Iterator[str]:
    """The places (path:line) in a space that name a card: other cards, notes and the Markdown of other projects.

    Day logs tell what was, so they aren't among them.
    """
    for path in _texts(view, space, target):
        try:
            text = view.text(path) or ""
        except (MemoryFault, OSError):
            continue  # doctor names it
        yield from (f"{path}:{line}" for line in mentions(text, target))


def aiming(space: Space, target: CardTarget, clock: Clock) -> tuple[str, ...]:
    """The drafts that wait and are for a card, or for a file of it."""
    folder = f"{target.shelf}/{target.card}/"
    drafts = (
        draft
        for task in dossiers((space,), clock, undecided=True)
        for draft in task.state.drafts
        if draft.status in OPEN
    )
    return tuple(d.id for d in drafts if d.facts.target == str(target) or d.facts.target.startswith(folder))


def _plain(target: CardTarget, path: str) -> bool:
    try:
        return isinstance(parse_target(f"{target.shelf}/{target.card}/{path}"), FileTarget)
    except (BadTarget, BadId):
        return False


def _texts(view: View, space: Space, target: CardTarget) -> Iterator[str]:
    yield from (space.path(name) for name in NOTES)
    for shelf in SHELVES:
        cards = view.cards(space, shelf)
        yield from (space.card_path(shelf, card) for card in cards if CardTarget(shelf, card) != target)
        if shelf == "projects":
            for card in cards:
                folder = space.folder / shelf / card
                if card != target.card and folder.is_dir() and not folder.is_symlink():
                    try:
                        found = list_beneath(folder, max_files=_MOST_FILES)
                    except UnsafeFile:
                        continue
                    yield from (space.path(f"{shelf}/{card}/{name}") for name in found if name.endswith(".md"))


def modes_of(space: Space, rename: Rename) -> Mapping[Path, int]:
    """What each file that is going to be may be used for: a script that moves is one afterwards, too."""
    old, new = rename.old, CardTarget(rename.old.shelf, rename.new)
    pairs = [(str(old), str(new))]
    pairs += [(str(FileTarget(old.card, path)), str(FileTarget(new.card, path))) for path in rename.files]
    found = {}
    for source, target in pairs:
        with suppress(OSError):
            found[space.folder / target] = stat.S_IMODE((space.folder / source).stat().st_mode)
    return found


def keep_modes(modes: Mapping[Path, int]) -> None:
    """Gives them to the files, now that these are there; what can't be done leaves a file that only its owner reads."""
    for path, mode in modes.items():
        with suppress(OSError):
            files.set_mode(path, mode)
