"""A commit that takes another one back, worked out on the files as they are: cards, files of projects, and indexes.

What the files will be is said in revert.py, what the indexes will say in revert_index.py; here both meet the grammar of
what a commit may write and remove. Nothing is written here.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Protocol

from ..history import TextChange
from ..index.index import Index, empty_index, parse_index
from ..index.registry import HEADING as REGISTRY_HEADING
from ..target import CardTarget, FileTarget, Shelf, parse_target
from ..text.document import Document, parse_document
from ..view import HEADINGS
from ..workspace import SHELVES, SYNTHESIS, Space
from .reach import may_remove, may_write
from .revert import RevertRefused, is_document, reverted_files
from .revert_index import Turned, reverted_index, said_of

_REGISTRY = "agents/_index.md"


class Desk(Protocol):
    """The files of a commit while it is worked out; paths are relative to the workspace."""

    def text(self, path: str) -> str | None: ...
    def write(self, path: str, data: bytes) -> None: ...
    def remove(self, path: str) -> None: ...
    def names(self, folder: str) -> set[str]: ...


def take_back(
    desk: Desk, space: Space, changes: tuple[TextChange, ...], today: date, check_free: Callable[[CardTarget], None]
) -> None:
    """Put on the desk what the files will be once these changes are taken back.

    `check_free` refuses a card whose id has been given to another. Raises RevertRefused, or what it raises.
    """
    before = {change.path: desk.text(change.path) for change in changes}
    after = reverted_files(changes, before.__getitem__, lambda path: _inner(space, path), today)
    if all(after[path] == before[path] for path in after):
        raise RevertRefused(changes[0].path if changes else "./", "it is as it was before already")
    for path, text in after.items():
        _put(desk, space, path, before[path], text, check_free)
    _check_folders(desk, space, after)
    for shelf in SHELVES:
        _index(desk, space, shelf, changes, before, after)
    _registry(desk, space, changes, after)


def _inner(space: Space, path: str) -> str:
    """A workspace path as its space has it; raises RevertRefused for one of another space."""
    if not path.startswith(space.prefix) or (space.client is None and path.startswith("clients/")):
        raise RevertRefused(path, "it is not in this space")
    return path.removeprefix(space.prefix)


def _put(
    desk: Desk,
    space: Space,
    path: str,
    before: str | None,
    after: str | None,
    check_free: Callable[[CardTarget], None],
) -> None:
    if after is None:
        if not may_remove(path):
            raise RevertRefused(path, "a file of this kind is never removed")
        desk.remove(path)
        return
    inner = _inner(space, path)
    if not may_write(path) or (inner.startswith(("memory/", "logs/")) and inner != SYNTHESIS):
        raise RevertRefused(path, "this is no file that is written again")
    if before is None and is_document(inner) and isinstance(target := parse_target(inner), CardTarget):
        check_free(target)
    if after != before:
        desk.write(path, after.encode())


def _check_folders(desk: Desk, space: Space, after: Mapping[str, str | None]) -> None:
    """Refuse to take a project's card from above files that stay."""
    for path, text in after.items():
        inner = _inner(space, path)
        if text is None and inner.startswith("projects/") and inner.count("/") == 1:
            folder = path.removesuffix(".md")
            names = sorted(name for name in desk.names(folder) if after.get(f"{folder}/{name}", "") is not None)
            kept = [name for name in names if not _goes_with(f"{folder}/{name}/", after)]
            if kept:
                raise RevertRefused(path, f"{folder}/ still holds {', '.join(kept[:3])}")


def _goes_with(folder: str, after: Mapping[str, str | None]) -> bool:
    """Whether a folder is left empty: files of it go, and none stays or comes."""
    inside = [text for path, text in after.items() if path.startswith(folder)]
    return bool(inside) and all(text is None for text in inside)


def _index(
    desk: Desk,
    space: Space,
    shelf: Shelf,
    changes: tuple[TextChange, ...],
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
) -> None:
    path = space.index_path(shelf)
    said = said_of(change for change in changes if change.path == path)
    touched: dict[str, str] = {card: space.path(f"{shelf}/{card}.md") for card in said}
    gone: list[str] = []
    for changed, text in after.items():
        inner = _inner(space, changed)
        if not inner.startswith(f"{shelf}/"):
            continue
        target = parse_target(inner)
        if isinstance(target, CardTarget):
            touched[target.card] = changed
        elif isinstance(target, FileTarget):
            touched[target.project] = space.path(f"{shelf}/{target.project}.md")
            if text is None:
                gone.append(f"{target.project}/{target.path}")
    if not touched:
        return
    cards = {
        card: Turned(_document(before.get(place, desk.text(place))), _document(desk.text(place)))
        for card, place in touched.items()
    }
    old = desk.text(path)
    now = empty_index(HEADINGS[shelf]) if old is None else old
    desk.write(path, reverted_index(now, said, cards, gone).encode())


def _document(text: str | None) -> Document | None:
    return None if text is None else parse_document(text)


def _registry(desk: Desk, space: Space, changes: tuple[TextChange, ...], after: Mapping[str, str | None]) -> None:
    """The registry follows the definitions that go or come back."""
    path = space.path(_REGISTRY)
    text = desk.text(path)
    index = parse_index(empty_index(REGISTRY_HEADING) if text is None else text)
    said = parse_index("".join(change.old for change in changes if change.path == path))
    for changed, now in after.items():
        inner = _inner(space, changed)
        if inner.startswith("agents/"):
            agent = inner.removeprefix("agents/").removesuffix(".md")
            index = index.without_card(agent) if now is None else _registered(index, agent, said)
    if text != index.text and any(_inner(space, changed).startswith("agents/") for changed in after):
        desk.write(path, index.text.encode())


def _registered(registry: Index, agent: str, said: Index) -> Index:
    block = said.card(agent)
    if block is None:
        return registry
    registry = registry.with_card(agent, title=block.title, status="", updated="")
    for entry in block.entries:
        registry = registry.with_entry(agent, entry, link=entry.link)
    return registry
