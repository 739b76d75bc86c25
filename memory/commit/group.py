"""Commits that are worked out one upon the other, to be made durable together: one record, one sync, each file once.

To whoever works out the next commit a group is the files as they will be. In the end each file is one change, from what
the first of its commits found to what the last leaves.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..files import sha256
from ..history import Commit
from ..index.blocks import Blocks
from .compose import Added, Composed, Content, Page, Source, leaf_pieces
from .record import Addition, FileChange, Line, Removal, Rewrite
from .splice import Splice, splices


@dataclass
class _Grown:
    """A file that lines are added to; `found` is what stands in it, where it matters how often a line does."""

    at: int
    lead: bool
    found: bytes | None
    lines: list[Line] = field(default_factory=list)

    def add(self, text: bytes) -> None:
        bare = text.rstrip(b"\r\n")
        self.lines.append(Line(text, 0 if self.found is None else self._counts[bare]))
        if self.found is not None:
            self._counts[bare] += 1

    @cached_property
    def _counts(self) -> Counter[bytes]:
        assert self.found is not None
        lines = self.found.split(b"\n")
        return Counter(line.rstrip(b"\r") for line in lines) if b"\r" in self.found else Counter(lines)

    def change(self, path: str) -> Addition:
        return Addition(path, self.at, self.lead, tuple(self.lines))


class Group:
    """What some commits come to; `source` gives the files as they stand, and with `keep` each is read once."""

    def __init__(self, source: Source, *, keep: bool = True) -> None:
        self._source = source
        self._keep = keep
        self._found: dict[str, bytes | None] = {}
        self._pages: dict[str, Page] = {}
        self._grown: dict[str, _Grown] = {}
        self.commits: list[Commit] = []
        self._tags: dict[str, str] = {}

    def read(self, path: str) -> bytes | None:
        page = self._pages.get(path)
        if page is not None:
            return _bytes(page.after)
        found = self._found[path] if path in self._found else self._source.read(path)
        if self._keep:
            self._found[path] = found
        grown = self._grown.get(path)
        return found if grown is None else (found or b"") + grown.change(path).due

    def end(self, path: str) -> tuple[int, bool]:
        grown = self._grown.get(path)
        return self._source.end(path) if grown is None else (grown.at + len(grown.change(path).due), True)

    def blocks(self, path: str) -> Blocks | None:
        page = self._pages.get(path)
        if page is None:
            return self._source.blocks(path)
        return page.after if isinstance(page.after, Blocks) else None

    def names(self, folder: str) -> set[str]:
        names = self._source.names(folder)
        for path, page in self._pages.items():
            above, _, name = path.rpartition("/")
            if above == folder:
                (names.discard if page.after is None else names.add)(name)
        return names | {path[len(folder) + 1 :] for path in self._grown if path.rpartition("/")[0] == folder}

    def take(self, composed: Composed) -> None:
        """Adds a commit; raises what reading a file raises, and then takes in nothing of it."""
        fresh = {added.path: self._grow(added) for added in composed.added if added.path not in self._grown}
        self._grown |= fresh
        for added in composed.added:
            for text in added.lines:
                self._grown[added.path].add(text)
        for page in composed.pages:
            first = self._pages.get(page.path)
            self._pages[page.path] = page if first is None else Page(page.path, first.before, page.after)
        self.commits.append(composed.commit)

    def absorb(self, other: "Group") -> None:
        """Adds a group that was worked out with this one for its source, and is recorded."""
        for path, page in other._pages.items():
            first = self._pages.get(path)
            self._pages[path] = page if first is None else Page(path, first.before, page.after)
        for path, grown in other._grown.items():
            mine = self._grown.setdefault(path, grown)
            if mine is not grown:
                mine.lines += grown.lines
        self.commits += other.commits
        tag = other.commits[-1].id
        self._tags |= dict.fromkeys((*other._pages, *other._grown), tag)

    @property
    def tags(self) -> Mapping[str, str]:
        """The tag of the last record that each file is in, where those of several records were absorbed."""
        return self._tags

    def files(self) -> tuple[FileChange, ...]:
        """What becomes of each file."""
        return (*self._turns(), *(grown.change(path) for path, grown in self._grown.items()))

    def contents(self) -> dict[str, bytes]:
        """The new content of each file that is replaced."""
        found = {page.path: _bytes(page.after) for page in self._changed()}
        return {path: data for path, data in found.items() if data is not None}

    def stood(self) -> dict[str, bytes]:
        """What is now in each file that is replaced."""
        found = {page.path: _bytes(page.before) for page in self._changed()}
        return {path: data for path, data in found.items() if data is not None}

    def leaves(self) -> Mapping[str, Blocks]:
        """The indexes that are kept in their blocks, as they will be."""
        return {path: page.after for path, page in self._pages.items() if isinstance(page.after, Blocks)}

    def _changed(self) -> Iterator[Page]:
        return (page for page in self._pages.values() if not _same(page.before, page.after))

    def _turns(self) -> Iterator[Removal | Rewrite]:
        for page in self._changed():
            before, after = _sha256(page.before), _sha256(page.after)
            if after is not None:
                yield Rewrite(page.path, before, after, page.pieces or _pieces(page.before, page.after))
            elif before is not None:
                yield Removal(page.path, before)

    def _grow(self, added: Added) -> _Grown:
        if added.fresh:
            size, ended = self._source.end(added.path)
            return _Grown(size, not ended, None)
        data = self._source.read(added.path) or b""
        return _Grown(len(data), bool(data) and not data.endswith(b"\n"), data)


def _bytes(content: Content) -> bytes | None:
    return content.data if isinstance(content, Blocks) else content


def _sha256(content: Content) -> str | None:
    if content is None:
        return None
    return content.sha256 if isinstance(content, Blocks) else sha256(content)


def _same(one: Content, other: Content) -> bool:
    return one is other or _bytes(one) == _bytes(other)


def _pieces(before: Content, after: Content) -> tuple[Splice, ...]:
    if isinstance(before, Blocks) and isinstance(after, Blocks):
        return leaf_pieces(before, after)
    return splices(_bytes(before) or b"", _bytes(after) or b"")
