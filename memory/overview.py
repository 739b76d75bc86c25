"""An index as a prompt gets it: whole where it fits; else what is newest, and of the rest how much there is of what.

    # Projects

    ## [Kiln relaunch](kiln.md)
    status: active · updated: 2026-11-29

    - [hosting](kiln.md#hosting) — Moved to Hetzner on 12 Nov; DNS stays at Gandi. `hetzner, dns, ssl`

    (4,999 more cards. The next: open-studio, glaze-tests, cups
    All cards: changed in 2026-11 210, 2026-10 190, before 4,100; done 480, archived 20
    read_card "projects/_index.md" with such a month or status, or first letters of ids, as section lists them)

A reader who sees only the newest would take it for all there is. So the groups are of all cards, those shown among
them, and the call that lists a group is said.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from .budget import Budgeted, closed, first_lines
from .heads import ARCHIVED, RESTING, Heads, heads
from .tokens import estimate
from .view import as_text

_TRIED = 120
"""How many blocks are looked at, newest first: more never fit into a prompt."""
_GROUPS = 6
_SHORT = 60


def overview(index: str, tokens: int, path: str) -> Budgeted:
    """The index at `path` within so many tokens; archived cards are only counted. `left_out` counts cards.

    `path` is how a reader calls it. Raises nothing.
    """
    found = heads(index)
    if len(index) <= tokens * 4:  # no character is less than a quarter of a token
        text = _without_archived(found, path)
        if estimate(text) <= tokens:
            return Budgeted(text, 0)
    if not len(found):
        return first_lines(index, tokens, path)
    return _Cut(found, tokens, path).made()


@lru_cache(maxsize=8)
def overview_of(data: bytes, tokens: int, path: str, file: str) -> Budgeted:
    """The same of a file's bytes; raises UnreadableText, which names `file`.

    Remembered by the bytes, since many conversations begin with the same index: even to decode a large one takes longer
    than all else that stands before a conversation.
    """
    return overview(as_text(data, file), tokens, path)


def _without_archived(found: Heads, path: str) -> str:
    count = found.statuses.count(ARCHIVED)
    if not count:
        return found.text
    kept = "".join(found.block(at) for at, status in enumerate(found.statuses) if status != ARCHIVED)
    body = f"{found.top}{kept}".rstrip("\n")
    what = f"{count} archived cards are" if count > 1 else "1 archived card is"
    return f'{body}\n\n({what} not shown here: read_card "{path}" with section archived)\n'


@dataclass(frozen=True)
class _Cut:
    """An index that is larger than its budget."""

    found: Heads
    tokens: int
    path: str

    def made(self) -> Budgeted:
        """Blocks of the newest cards, then ids of the next ones, then the groups of all."""
        found = self.found
        newest = [at for at in found.newest(_TRIED) if found.statuses[at] != ARCHIVED]
        groups = self._groups()
        top = first_lines(found.top, self.tokens // 4, self.path).text
        left = self.tokens - estimate(top) - estimate(self._note(len(found), (), groups))
        shown = self._blocks(newest, left * 2 // 3)
        left -= sum(map(estimate, shown.values()))
        ids = self._ids([found.card(at) for at in newest if at not in shown], left)
        more = len(found) - len(shown)
        body = closed(top + "".join(shown[at] for at in sorted(shown)))
        return Budgeted(body + (self._note(more, ids, groups) if more else ""), more or 1)

    def _blocks(self, newest: Sequence[int], left: int) -> dict[int, str]:
        """As many blocks as fit, of each at most half of what there is: no card starves the others."""
        shown: dict[int, str] = {}
        most = left // 2 if len(newest) > 1 else left
        for at in newest:
            block = self.found.block(at)
            if estimate(block) > min(most, left):
                block = _part(block, min(most, left), self.found.card(at))
            if not block:
                break
            shown[at] = block
            left -= estimate(block)
        return shown

    def _ids(self, cards: Sequence[str], left: int) -> tuple[str, ...]:
        named = [card for card in cards if card]
        costs = accumulate(estimate(f", {card}") for card in named)
        fit = sum(1 for cost in costs if cost + estimate("The next: \n") <= left)
        return tuple(named[:fit])

    def _note(self, more: int, ids: Sequence[str], groups: str) -> str:
        if not groups:
            return f'\n({more:,} more: read_card "{self.path}", or a search)\n'
        what = "card" if more == 1 else "cards"
        named = f" The next: {', '.join(ids)}" if ids else ""
        return (
            f"\n({more:,} more {what}.{named}\n{groups}\n"
            f'read_card "{self.path}" with such a word, or first letters of ids, as section lists them)\n'
        )

    def _groups(self) -> str:
        """All cards by month or first letter and by status; "" where the budget is too small to say that."""
        found = self.found
        resting = Counter(status for status in found.statuses if status in RESTING)
        parts = [*_grouped(found), *(f"{status} {count:,}" for status, count in resting.most_common())]
        said = f"All {len(found):,} cards: {', '.join(parts)}"
        return said if estimate(said) + _SHORT <= self.tokens // 2 else ""


def _grouped(found: Heads) -> Iterator[str]:
    """Cards at work by the month of their last change or, where most changed in one, by their first letter."""
    months = Counter(
        date[:7] for status, date in zip(found.statuses, found.dates, strict=True) if status not in RESTING
    )
    by_month = max(months.values(), default=0) * 2 <= months.total() or months.total() <= _GROUPS
    letters = (found.card(at)[:1] for at, status in enumerate(found.statuses) if status not in RESTING)
    groups = months if by_month else Counter(letters)
    order = sorted(groups, reverse=True) if by_month else [letter for letter, _ in groups.most_common()]
    for name in order[:_GROUPS]:
        yield f"{name or ('undated' if by_month else 'without id')} {groups[name]:,}"
    if rest := sum(groups[name] for name in order[_GROUPS:]):
        yield f"{'before' if by_month else 'other letters'} {rest:,}"


def _part(block: str, tokens: int, card: str) -> str:
    """The heading, the status and as many entries as fit, with a line that says how many more there are; "" if none."""
    lines = block.splitlines(keepends=True)
    entries = [k for k, line in enumerate(lines) if line.startswith("- ")]
    more = f"- … {len(entries)} more sections: read_card {card}\n"
    spent = list(accumulate(estimate(line) for line in lines))
    fit = [k for k in entries if spent[k] + estimate(more) <= tokens]
    if not fit:
        return ""
    return closed("".join(lines[: fit[-1] + 1])) + f"- … {len(entries) - len(fit)} more sections: read_card {card}\n\n"
