"""Which passages answer a question best: BM25 over passages and what stands around them.

The score orders passages of one question; it can't be compared between questions. `coverage` can: it is the share of
what was asked that a passage holds, each term weighed by how rare it is, so a passage that has all the common words
and lacks the one that matters covers little. A word that stands nowhere weighs most, because a question about
something that isn't there must not look answered.

A term counts in full where the passage says it, less where only its context does, and by half where only a relative
stands (a longer compound, or a word with the same beginning: "decision" for "decided").
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

from .analysis import asked, asks_for_figure, probes_of, skim, terms
from .passage import Passage, is_front_matter, is_heading, is_rule, split_lines

ANSWERED = 0.43
"""A passage with this coverage or more is likely to answer; below it the answer is likely not there."""

_LOOKED_AT = 50
_SHORT_LINE = 240
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[)\"”’*]*\s+(?=[^a-z\s])|(?<=;)\s+|(?<=[。！？；])|\n(?=#)|\n\s*\n|(?<=[-=~^|])\n"
)
_DIGIT = re.compile(r"\d")

# Weights, found by trial on the labelled questions of the tests.
_K1, _B = 1.2, 0.35
_LEAST, _BY_COVERAGE, _BY_SENTENCE = 0.3, 0.5, 0.4
_WITH_FIGURE = 1.15
_FRONT_MATTER = 0.5
# A word that stands nowhere weighs more at the end of a question, where in most European languages its object is.
_LOST, _LOST_LAST = 0.85, 1.2
_CONTEXT = 0.6
_CONTEXT_COVERS = 0.75
_RELATIVE = 0.5
_NEIGHBOURS = 0.25


@dataclass(frozen=True)
class Scored:
    """A passage with its score (comparable within one question) and its coverage of the question, 0 to 1.

    `line` is the line of the passage that says most of it, `line_text` that line exactly, and `quote` the part of that
    line to show: the whole line without blanks around it or, of a long one, the sentence or two that say it.
    """

    passage: Passage
    score: float
    coverage: float
    line: int
    line_text: str
    quote: str


@dataclass(frozen=True)
class _Analysed:
    """A passage made ready: its words folded, for a quick look, and its terms, made only when that look finds one."""

    passage: Passage
    folded: str
    around: str
    length: float

    @cached_property
    def own(self) -> Counter[str]:
        return Counter(terms(self.passage.text))

    @cached_property
    def context(self) -> frozenset[str]:
        return frozenset(terms(self.around))


@dataclass(frozen=True)
class _Asked:
    """A term of the question with the passages that have it: their numbers, each with its weight there (0 to …).

    `said` are those in whose own words it stands, or a relative of it.
    """

    term: str
    weight: float
    found: dict[int, float] = field(default_factory=dict)
    covered: dict[int, float] = field(default_factory=dict)
    said: set[int] = field(default_factory=set)


class Ranking:
    """Ranks passages against questions; passages of one path are taken as standing in reading order.

    `others` is how many more passages there are in which no word of the questions stands: they make a word rare.
    """

    def __init__(self, passages: Sequence[Passage], *, others: int = 0) -> None:
        self._others = others
        self._all = [_analysed(passage) for passage in passages]
        total = sum(each.length for each in self._all)
        self._mean = total / len(self._all) if self._all else 1.0

    def find(self, text: str, limit: int, *, said: bool = False) -> tuple[Scored, ...]:
        """The best passages for a question, best first; at equal score, in the order they were given.

        With `said`, only those that have a word of the question themselves, not in what stands around them alone.
        """
        words = asked(text)
        if not words or limit < 1:
            return ()
        question = [self._look_up(word, last=word == words[-1]) for word in words]
        scores: dict[int, float] = defaultdict(float)
        for each in question:
            for k, value in each.found.items():
                scores[k] += each.weight * value
        own = {k for each in question for k in each.said} if said else scores.keys()
        beside = {k: self._beside(scores, k) for k in scores if k in own}
        likely = sorted(beside, key=lambda k: (-beside[k], k))[: max(_LOOKED_AT, 2 * limit)]
        figure = asks_for_figure(text)
        scored = [(self._scored(k, beside[k], question, figure=figure), k) for k in likely]
        scored.sort(key=lambda pair: (-pair[0].score, pair[1]))
        return tuple(each for each, _ in scored[:limit])

    def missing(self, text: str) -> tuple[str, ...]:
        """The words of a question that stand in no passage, as they were asked."""
        lost = {term for term in asked(text) if not self._look_up(term).found}
        words = re.findall(r"[^\W_]+(?:[.,'’-][^\W_]+)*", text)
        return tuple(dict.fromkeys(word for word in words if lost.intersection(terms(word))))

    def _look_up(self, term: str, *, last: bool = False) -> _Asked:
        exact: dict[int, float] = {}
        covered: dict[int, float] = {}
        said: set[int] = set()
        probes = probes_of(term)
        for k, each in enumerate(self._all):
            own = float(_frequency(each, term)) if any(p in each.folded for p in probes) else 0.0
            context = any(p in each.around for p in probes) and term in each.context
            if own or context:
                frequency = own + (_CONTEXT if context else 0.0)
                exact[k] = self._saturated(frequency, each.length)
                covered[k] = 1.0 if own else _CONTEXT_COVERS
            if own:
                said.add(k)
        weight = math.log(1 + (len(self._all) + self._others - len(exact) + 0.5) / (len(exact) + 0.5))
        if not exact:
            if term.isascii():
                weight *= _LOST_LAST if last else _LOST
            for k in self._relatives(term):
                exact[k] = self._saturated(_RELATIVE, self._all[k].length)
                covered[k] = _RELATIVE
                said.add(k)
        return _Asked(term, weight, exact, covered, said)

    def _relatives(self, term: str) -> Iterable[int]:
        """Passages with a word that begins as the term does or contains it; looked for only when it stands nowhere."""
        beginning = beginning_of(term)
        if len(beginning) < 4 or not term.isalpha():
            return
        for k, each in enumerate(self._all):
            if beginning in each.folded and any(_related(term, beginning, other) for other in each.own):
                yield k

    def _saturated(self, frequency: float, length: float) -> float:
        return frequency * (_K1 + 1) / (frequency + _K1 * (1 - _B + _B * length / self._mean))

    def _beside(self, scores: Mapping[int, float], k: int) -> float:
        """A passage's score and a little of its better neighbour's: answers stand beside what was asked."""
        path = self._all[k].passage.path
        near = [
            scores.get(n, 0.0) for n in (k - 1, k + 1) if 0 <= n < len(self._all) and self._all[n].passage.path == path
        ]
        return scores[k] + _NEIGHBOURS * max(near, default=0.0)

    def _scored(self, k: int, score: float, question: Sequence[_Asked], *, figure: bool) -> Scored:
        """The second look: how much of the question is here, and how much of it in one breath."""
        passage = self._all[k].passage
        weights = {each.term: each.weight for each in question}
        whole = sum(weights.values())
        covered = sum(each.weight * each.covered.get(k, 0.0) for each in question) / whole
        best = best_line(passage, weights, figure=figure)
        together = min(best.weight / whole, 1.0)
        score *= _LEAST + _BY_COVERAGE * covered + _BY_SENTENCE * together
        if figure and _DIGIT.search(best.quote):
            score *= _WITH_FIGURE
        if is_front_matter(passage):
            score *= _FRONT_MATTER  # it names what the text below it says
        return Scored(passage, round(score, 4), round(min(covered, 1.0), 4), best.line, best.text, best.quote)


@dataclass(frozen=True)
class BestLine:
    """A line of a passage, the sentence in it that says most, and the weight of the question's terms in that."""

    line: int
    text: str
    quote: str
    weight: float


def best_line(passage: Passage, weights: Mapping[str, float], *, figure: bool = False) -> BestLine:
    """The line in which the heaviest sentence says most, the first of equals; a heading only if there is nothing else.

    A sentence may run over several lines. With `figure`, a line of it that holds a digit comes before one that doesn't.
    """
    lines = split_lines(passage.text)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    text = "\n".join(lines)
    front = is_front_matter(passage)
    best: tuple[bool, float, bool, float, int] | None = None
    found = BestLine(passage.line, lines[0], lines[0].strip(), 0.0)
    for begin, end in _sentences(text):
        weight = _weight(text[begin:end], weights)
        for k in range(bisect_right(starts, begin) - 1, bisect_left(starts, end)):
            part = text[max(begin, starts[k]) : min(end, starts[k] + len(lines[k]))].strip()
            if not part:
                continue
            rank = (
                not _names_only(lines, k, front=front),
                weight,
                figure and bool(_DIGIT.search(part)),
                _weight(part, weights),
                -k,
            )
            if best is None or rank > best:
                whole = lines[k].strip()
                quote = whole if len(whole) <= _SHORT_LINE else part
                best, found = rank, BestLine(passage.line + k, lines[k], quote, weight)
    return found


def _names_only(lines: Sequence[str], k: int, *, front: bool) -> bool:
    """Whether line k only says what the next ones are about: a heading, the rule under it, the head of a table."""
    if front:
        return is_rule(lines[k])
    return is_heading(lines[k]) or any(is_rule(line) for line in lines[k : k + 2])


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    ends = [0, *(m.end() for m in _SENTENCE_END.finditer(text)), len(text)]
    return ((a, b) for a, b in pairwise(ends) if a < b)


def _weight(text: str, weights: Mapping[str, float]) -> float:
    return sum(weights.get(term, 0.0) for term in set(terms(text)))


def beginning_of(term: str) -> str:
    """What a relative of this term begins with: most of it."""
    return term[: max(4, math.ceil(len(term) * 0.7))]


def _frequency(each: _Analysed, term: str) -> int:
    return each.own[term] or (each.folded.count(term) if len(term) == 1 and not term.isascii() else 0)


def _analysed(passage: Passage) -> _Analysed:
    around = skim(f"{passage.context} {_words_of_path(passage.path)}")
    return _Analysed(passage, skim(passage.text), around, len(passage.text) + 20.0)


def _words_of_path(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _related(term: str, beginning: str, other: str) -> bool:
    return other.startswith(beginning) or (len(other) > len(term) and term in other)
