"""What a person keeps in order by hand: cards that get another name, and cards put to rest and brought back."""

from typing import TYPE_CHECKING

from ..memory.ids import BadId, CardId, check_title
from ..memory.target import CardTarget, FileTarget, Shelf
from ..memory.workspace import SHELVES, Space
from .errors import NoSuchCardHere
from .kept import RenameResult
from .writer import Writer

if TYPE_CHECKING:
    from ..memory.change import FileEntry, Rename
    from ..memory.history import Commit
    from ..memory.index.index import IndexEntry
    from .commit import Scribe
    from .results import CommitResult


class Keeper(Writer):
    """Short writing that changes where things stand, and nothing that they say."""

    def archive(
        self,
        card: str,
        *,
        undo: bool = False,
        client: str | None = None,
        dry_run: bool = False,
        request: str | None = None,
    ) -> "CommitResult":
        """Puts a card to rest, or with `undo` back to work; raises NoSuchClient, NoSuchCardHere or EditRefused."""
        space = self.workspace.space(client)

        def act(scribe: "Scribe", key: str | None) -> "Commit":
            scribe.reconcile((space,))
            target = self.card_named(space, card)
            if undo:
                return self._brought_back(scribe, space, target, key)
            return self._put_to_rest(scribe, space, target, key)

        return self._once(act, space, request, dry_run)

    def rename(
        self,
        card: str,
        new: str,
        *,
        title: str | None = None,
        client: str | None = None,
        dry_run: bool = False,
        allow_secret: bool = False,
        request: str | None = None,
    ) -> RenameResult:
        """Gives a card another id, and with `title` another title; its index block, files and own links go along.

        Who else names it is told, not changed. Raises BadId, BadTitle, NoSuchClient, NoSuchCardHere, NotMovable,
        SecretRefused or EditRefused.
        """
        from ..memory.change import Rename
        from .renaming import aiming, files_of, mentioned

        space = self.workspace.space(client)
        name = None if title is None else check_title(title)
        id_ = CardId(new)
        old: list[CardTarget] = []

        def act(scribe: "Scribe", key: str | None) -> "Commit":
            scribe.reconcile((space,))
            target = self.card_named(space, card)
            old.append(target)
            files = files_of(space, target) if id_ != target.card else ()
            return self._renamed(scribe, space, Rename(target, id_, name, files), key, allow_secret=allow_secret)

        done = self._once(act, space, request, dry_run)
        told = old[0] if old and old[0].card != id_ else None
        return RenameResult(
            done.commit,
            done.paths,
            () if told is None else tuple(mentioned(self._view, space, told)),
            () if told is None else aiming(space, told, self._clock),
            done.notices,
            done.dry_run,
        )

    def card_named(self, space: Space, text: str) -> CardTarget:
        """The card of a space that a person means by its id, path or whole title; raises NoSuchCardHere."""
        shelf, _, name = text.strip().removesuffix(".md").rpartition("/")
        known: dict[str, CardTarget] = {}
        titles: dict[str, list[CardTarget]] = {}
        for each in SHELVES:
            index = self._view.index(space, each)
            for card in self._view.cards(space, each):
                target = CardTarget(each, card)
                block = index.card(card)
                known[card] = target
                titles.setdefault(block.title if block is not None else card, []).append(target)
        found = known.get(name)
        if found is not None and shelf in ("", found.shelf):
            return found
        alike = titles.get(text.strip(), [])
        if len(alike) == 1:
            return alike[0]
        raise NoSuchCardHere(text, tuple(known), space.client, self._elsewhere(space, name))

    # -- inside ----------------------------------------------------------------------------------------------------

    def _elsewhere(self, here: Space, name: str) -> str | None:
        """A client in whose space a card of this id is."""
        try:
            card = CardId(name)
        except BadId:
            return None
        for space in self.workspace.spaces():
            if space != here and space.client and any(card in self._view.cards(space, shelf) for shelf in SHELVES):
                return space.client
        return None

    def _renamed(
        self, scribe: "Scribe", space: Space, rename: "Rename", key: str | None, *, allow_secret: bool
    ) -> "Commit":
        from ..memory.change import Change
        from . import door
        from .renaming import keep_modes, modes_of

        old, new = rename.old, CardTarget(rename.old.shelf, rename.new)
        what = f"{old}: renamed to {new}" if new != old else f"{old}: has another title"
        if not allow_secret:  # the text comes into the history as a whole
            door.refuse(self._view.text(space.path(old)) or "", space.path(old), self._secrets().held, hint=door.INSIST)
        modes = modes_of(space, rename)
        log = (("renamed", f"{old} is {new}" if new != old else f"{old}: {rename.title}"),)
        commit = scribe.write(Change(space.client, what, self._who, rename=rename, log=log, key=key))
        if not scribe.rehearsed:
            keep_modes(modes)
        return commit

    def _put_to_rest(self, scribe: "Scribe", space: Space, target: CardTarget, key: str | None) -> "Commit":
        from ..memory.change import Change
        from ..memory.index.index import ARCHIVED
        from ..memory.text.refusal import NothingToChange

        document = self._view.document(space, target)
        if document is not None and document.front.text("status") == ARCHIVED:
            raise NothingToChange(f"{target} is archived already")
        return scribe.write(
            Change(
                client=space.client,
                what=f"{target}: archived",
                who=self._who,
                status=(target, ARCHIVED),
                log=(("archived", str(target)),),
                key=key,
            )
        )

    def _brought_back(self, scribe: "Scribe", space: Space, target: CardTarget, key: str | None) -> "Commit":
        from ..memory.archive import rested
        from ..memory.change import Change
        from ..memory.history import read_commits
        from ..memory.index.index import ARCHIVED
        from ..memory.text.refusal import NothingToChange

        document = self._view.document(space, target)
        if document is not None and document.front.text("status") != ARCHIVED:
            raise NothingToChange(f"{target} is not archived")
        had = rested(read_commits(self._view, space), space, target)
        entries = had.entries if had is not None else ()
        return scribe.write(
            Change(
                client=space.client,
                what=f"{target}: brought back from the archive",
                who=self._who,
                status=(target, had.status if had is not None else "active"),
                index=tuple(entry for entry in entries if entry.link is None),
                files=tuple(_standing_files(space, target.card, target.shelf, entries)),
                log=(("archived", f"{target}: brought back"),),
                key=key,
            )
        )


def _standing_files(space: Space, card: CardId, shelf: Shelf, entries: "tuple[IndexEntry, ...]") -> "list[FileEntry]":
    """The entries that are about files of a project which are still there."""
    from ..memory.change import FileEntry

    found = []
    for entry in entries:
        _, _, path = (entry.link or "").partition("/")
        if shelf == "projects" and path and (space.folder / str(FileTarget(card, path))).is_file():
            found.append(FileEntry(card, path, entry))
    return found
