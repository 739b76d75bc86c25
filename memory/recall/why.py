"""Where a sentence of memory comes from: which commits brought it, told from the history alone, so also in a clone.

A sentence is compared by its words: how lines are wrapped, list and quote marks, emphasis, punctuation and capitals
make no difference. A commit brought a sentence if it stands in what came and didn't stand in what went. Where no commit
brought all of it, those are named that brought a line of the place where it stands now.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import normalize

from ..history import Commit, TextChange, is_index

_LEAD = re.compile(r"[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])|#{1,6}(?=[ \t])|\|)[ \t]*)*")
_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_FEWEST = 3  # words of a line that is looked for by itself


@dataclass(frozen=True)
class Brought:
    """A commit that brought a text: `where` it stood then, as (path, section), and whether all of it or only a line."""

    commit: Commit
    where: tuple[tuple[str, str | None], ...]
    lines: tuple[str, ...]
    whole: bool = True


@dataclass(frozen=True)
class Stands:
    """Where a text stands now; `lines` are those it covers, the first of them is line `line` of `path`."""

    path: str
    line: int
    lines: tuple[str, ...]


def words_of(text: str) -> str:
    """A text as it is compared: its words with one blank between them."""
    lines = (_TARGET.sub("", line[_lead(line) :]) for line in text.split("\n"))
    return " ".join(_WORD.findall(normalize("NFKC", " ".join(lines)).casefold()))


def _may_hold(text: str, wanted: str) -> bool:
    """Whether a text could hold these words: a look at the longest of them spares most texts the rest."""
    return not text.isascii() or max(wanted.split(), key=len, default="") in text.lower()


def brought(commits: Sequence[Commit], text: str) -> tuple[Brought, ...]:
    """The commits that brought a text to a card, a note, a file or the day log, the newest first."""
    return _all(commits, text, _of_text) or _all(commits, text, _of_note)


def brought_to_index(commits: Sequence[Commit], text: str) -> tuple[Brought, ...]:
    """The commits that made an index say this: a summary, which stands nowhere else."""
    return _all(commits, text, _of_index)


def _all(commits: Sequence[Commit], text: str, kind: Callable[[Commit, str], Brought | None]) -> tuple[Brought, ...]:
    wanted = words_of(text)
    return tuple(one for c in reversed(commits) if wanted and (one := kind(c, wanted)) is not None)


def brought_in_part(commits: Sequence[Commit], places: Iterable[Stands]) -> tuple[Brought, ...]:
    """For each line of these places the latest commit that brought it, the newest first."""
    by_line: dict[str, tuple[Commit, TextChange]] = {}
    wanted: dict[str, tuple[str, str]] = {}
    for place in places:
        wanted |= {f"{place.path}\n{words_of(line)}": (place.path, line) for line in place.lines if words_of(line)}
    for commit in commits:
        texts = _texts(commit)
        left = {words: change.path for change in texts if not change.new for words in _words_by_line(change.old)}
        for change in texts:
            came = _words_by_line(change.new) - _words_by_line(change.old)
            for words in came:  # what only moved from another file was brought by whoever brought it there
                before = by_line.get(f"{left.get(words)}\n{words}")
                by_line[f"{change.path}\n{words}"] = before or (commit, change)
    found: dict[str, tuple[Commit, dict[tuple[str, str | None], None], list[str]]] = {}
    for key, (_, line) in wanted.items():
        if key in by_line:
            commit, change = by_line[key]
            entry = found.setdefault(commit.id, (commit, {}, []))
            entry[1][change.path, change.section] = None
            entry[2].append(line)
    order = {commit.id: number for number, commit in enumerate(commits)}
    ordered = sorted(found.values(), key=lambda one: order[one[0].id], reverse=True)
    return tuple(Brought(commit, tuple(where), tuple(lines), whole=False) for commit, where, lines in ordered)


def taken_out(commits: Sequence[Commit], text: str) -> Commit | None:
    """The commit that took a text out; None where the latest that touched it left it standing, here or elsewhere."""
    wanted = words_of(text)
    for commit in reversed(commits):
        came = went = False
        for change in _texts(commit):
            old = _may_hold(change.old, wanted) and wanted in words_of(change.old)
            new = _may_hold(change.new, wanted) and wanted in words_of(change.new)
            came, went = came or (new and not old), went or (old and not new)
        if came or went:
            return None if came else commit
    return None


def stands_in(path: str, text: str, wanted: str) -> Iterator[Stands]:
    """Where words (as `words_of` gives them) stand in a file now."""
    if not _may_hold(text, wanted):
        return
    lines = text.split("\n")
    spans: list[tuple[int, int]] = []  # of each line, where its words begin and end in the words of all
    whole = ""
    for line in lines:
        words = words_of(line)
        start = len(whole) + bool(whole and words)
        whole += (" " if whole and words else "") + words
        spans.append((start, len(whole)))
    at = whole.find(wanted)
    while at >= 0 and wanted:
        covered = [k for k, (start, end) in enumerate(spans) if start < at + len(wanted) and end > at]
        yield Stands(path, covered[0] + 1, tuple(lines[covered[0] : covered[-1] + 1]))
        at = whole.find(wanted, at + len(wanted))


def _of_text(commit: Commit, wanted: str) -> Brought | None:
    return _brought(commit, _texts(commit), wanted)


def _of_index(commit: Commit, wanted: str) -> Brought | None:
    return _brought(commit, [change for change in commit.changes if is_index(change.path)], wanted)


def _of_note(commit: Commit, wanted: str) -> Brought | None:
    """A line of the day log: the history has it as what was done."""
    if commit.changes or wanted not in words_of(commit.what):
        return None
    days = tuple((path, None) for path in commit.paths)
    return Brought(commit, days, (commit.what,))


def _brought(commit: Commit, changes: Iterable[TextChange], wanted: str) -> Brought | None:
    told = tuple(changes)
    came = (c for c in told if _may_hold(c.new, wanted))
    found = [c for c in came if wanted in words_of(c.new) and wanted not in words_of(c.old)]
    if not found or any(wanted in words_of(c.old) for c in told if not c.new):
        return None  # it didn't come, or only from another file, as when a card gets another name
    lines = [line for c in found for place in stands_in(c.path, c.new, wanted) for line in place.lines]
    where = dict.fromkeys((change.path, change.section) for change in found)
    return Brought(commit, tuple(where), tuple(dict.fromkeys(lines)))


def _texts(commit: Commit) -> list[TextChange]:
    return [change for change in commit.changes if not is_index(change.path)]


def _words_by_line(text: str) -> set[str]:
    found = (words_of(line) for line in text.split("\n"))
    return {words for words in found if len(words.split()) >= _FEWEST or len(words) >= _FEWEST * 3}


def _lead(line: str) -> int:
    match = _LEAD.match(line)
    return match.end() if match else 0
