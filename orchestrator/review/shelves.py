"""Which cards a space has, kept so that a draft's nearest are told without a look at thousands."""

from collections.abc import Iterable

from ...memory.target import CardTarget, Target


class Shelves:
    """Paths of cards within their space; `add` tells of one more."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_folded: dict[str, set[str]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        self._by_folded.setdefault(path.casefold(), set()).add(path)

    def near(self, target: Target) -> frozenset[str]:
        """The paths that a draft for `target` could be mixed up with.

        Those that are its own but for case, and a card of its id on the other shelf.
        """
        found = frozenset(self._by_folded.get(str(target).casefold(), ()))
        if isinstance(target, CardTarget):
            other = CardTarget("research" if target.shelf == "projects" else "projects", target.card)
            found |= self._by_folded.get(str(other).casefold(), set()) & {str(other)}
        return found
