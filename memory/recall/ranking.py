"""Which passages answer a question best: BM25 over passages and what stands around them.

The score orders passages of one question; it can't be compared between questions. `coverage` can: it is the share of
what was asked that a passage holds, each term weighed by how rare it is, so a passage that has all the common words
and lacks the one that matters covers little. A word that stands nowhere weighs most, because a question about
something that isn't there must not look answered. It is less for a passage that doesn't look as an answer would (no
sum, no number to call) or doesn't say a name that was asked about.

A term counts in full where the passage says it, less where only its context does, and by half where only a relative
stands (a longer compound, or a word with the same beginning: "decision" for "decided").
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise

from .analysis import probes_of, skim, terms
from .passage import Passage, is_front_matter, is_heading, is_rule, split_lines
from .question import Look, Question, same, understood

ANSWERED = 0.475
"""A passage with this coverage or more is likely to answer; below it the answer is likely not there."""

_LOOKED_AT = 50
_SHORT_LINE = 240
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[)\"”’*]*\s+(?=[^a-z\s])|(?<=;)\s+|(?<=[。！？；])|\n(?=#)|\n\s*\n|(?<=[-=~^|])\n"
)
_DEFINED = re.compile(
    r"[\s>*`+-]*(?:(?:const|let|var|export|final|static)\s+)*([^=:|]{1,60}?)\s*(?::=|=(?!=)|:(?!//))(?=.*\w)"
)
_TITLE = re.compile(r"[^\s\-*+|>#`][^:=|,;{}()\t]{0,38}[^:=|,;{}()\t\s.]")

# Weights, found by trial on the labelled questions of the tests.
_K1, _B = 1.2, 0.35
_LEAST, _BY_COVERAGE, _BY_SENTENCE = 0.3, 0.5, 0.4
_LOOKS_SO, _LOOKS_JUST_SO = 1.15, 1.3
_DEFINES, _DEFINED_COVERS = 0.8, 0.9
_PHRASE, _PHRASE_COVERS = 0.25, 0.08
_COLUMNS = 0.5
_ASKS = 0.5
_NAMED = 0.8
_FRONT_MATTER = 0.5
# A word that stands nowhere weighs more at the end of a question, where in most European languages its object is.
_LOST, _LOST_LAST, _LOST_JOINED = 0.85, 1.2, 0.25
_LIGHT = 0.35
_ELSEWHERE = 0.6
_SAME, _SAME_COVERS = 0.6, 0.75
_NAMELESS, _NAME_NEAR = 0.45, 0.15
_CONTEXT = 0.6
_CONTEXT_COVERS = 0.75
_RELATIVE, _INFLECTED = 0.5, 0.85
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
    def sequence(self) -> tuple[str, ...]:
        return terms(self.passage.text)

    @cached_property
    def own(self) -> Counter[str]:
        return Counter(self.sequence)

    @cached_property
    def context(self) -> frozenset[str]:
        return frozenset(terms(self.around))


@dataclass(frozen=True)
class _Asked:
    """A term of the question with the passages that have it: their numbers, each with its weight there (0 to …).

    `said` are those in whose own words it stands, or a relative of it. `absent` is the least that it weighs where it
    doesn't stand though other passages have it.
    """

    term: str
    weight: float
    absent: float = 0.0
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
        question = understood(text)
        if not question.words or limit < 1:
            return ()
        looked_up = [self._look_up(word, question) for word in question.words]
        scores: dict[int, float] = defaultdict(float)
        for each in looked_up:
            for k, value in each.found.items():
                scores[k] += each.weight * value
        own = {k for each in looked_up for k in each.said} if said else scores.keys()
        beside = {k: self._beside(scores, k) for k in scores if k in own}
        likely = sorted(beside, key=lambda k: (-beside[k], k))[: max(_LOOKED_AT, 2 * limit)]
        scored = [(self._scored(k, beside[k], looked_up, question), k) for k in likely]
        scored.sort(key=lambda pair: (-pair[0].score, pair[1]))
        return tuple(each for each, _ in scored[:limit])

    def missing(self, text: str) -> tuple[str, ...]:
        """The words of a question that stand in no passage, as they were asked."""
        question = understood(text)
        lost = {term for term in question.words if not self._look_up(term, question).found}
        words = re.findall(r"[^\W_]+(?:[.,'’-][^\W_]+)*", text)
        return tuple(dict.fromkeys(word for word in words if lost.intersection(terms(word))))

    def _look_up(self, term: str, question: Question) -> _Asked:
        found: dict[int, float] = {}
        covered: dict[int, float] = {}
        said: set[int] = set()
        alike = [(other, probes_of(other)) for other in same(term)]
        probes = probes_of(term)
        exact = 0
        for k, each in enumerate(self._all):
            own = float(_frequency(each, term)) if any(p in each.folded for p in probes) else 0.0
            context = any(p in each.around for p in probes) and term in each.context
            others = sum(each.own[o] for o, ps in alike if any(p in each.folded for p in ps)) if not own else 0
            beside = not (own or context or others) and _any_in(alike, each)
            exact += bool(own or context)
            if own or context or others or beside:
                frequency = own + _SAME * others + (_CONTEXT if context else _CONTEXT * _SAME if beside else 0.0)
                found[k] = self._saturated(frequency, each.length)
                covered[k] = 1.0 if own else _CONTEXT_COVERS if context else _SAME_COVERS * (1 if others else 0.9)
            if own or others:
                said.add(k)
        count = exact or len(found)
        weight = math.log(1 + (len(self._all) + self._others - count + 0.5) / (count + 0.5))
        if not exact or question.inflected:
            for k, share in self._relatives(term, question):
                if share > covered.get(k, 0.0):
                    found[k] = self._saturated(share, self._all[k].length)
                    covered[k] = share
                    said.add(k)
        if not exact and term.isascii():
            weight *= _LOST_LAST if term == question.words[-1] and not question.inflected else _LOST
        if not found and term in question.joined:
            weight *= _LOST_JOINED
        if term in question.light:
            weight *= _LIGHT
        elsewhere = _ELSEWHERE * math.log(2 * (len(self._all) + self._others + 1))
        if not found or term in question.light:
            elsewhere = 0.0
        return _Asked(term, weight, elsewhere, found, covered, said)

    def _relatives(self, term: str, question: Question) -> Iterable[tuple[int, float]]:
        """Passages with a word that begins as the term does or contains it, each with how near that word is."""
        beginning = beginning_of(term)
        if len(beginning) < 4 or not term.isalpha():
            return
        for k, each in enumerate(self._all):
            if beginning in each.folded:
                near = max((_nearness(term, beginning, other, question) for other in each.own), default=0.0)
                if near:
                    yield k, near

    def _saturated(self, frequency: float, length: float) -> float:
        return frequency * (_K1 + 1) / (frequency + _K1 * (1 - _B + _B * length / self._mean))

    def _beside(self, scores: Mapping[int, float], k: int) -> float:
        """A passage's score and a little of its better neighbour's: answers stand beside what was asked."""
        path = self._all[k].passage.path
        near = [
            scores.get(n, 0.0) for n in (k - 1, k + 1) if 0 <= n < len(self._all) and self._all[n].passage.path == path
        ]
        return scores[k] + _NEIGHBOURS * max(near, default=0.0)

    def _scored(self, k: int, score: float, looked_up: Sequence[_Asked], question: Question) -> Scored:
        """The second look: how much of the question is here, how much of it in one breath, and in which form."""
        passage = self._all[k].passage
        weights = {each.term: each.weight for each in looked_up}
        whole = sum(each.weight if each.covered.get(k) else max(each.weight, each.absent) for each in looked_up)
        covered = sum(each.weight * each.covered.get(k, 0.0) for each in looked_up) / whole
        best = best_line(passage, _with_same(weights), look=question.look)
        together = min(best.weight / whole, 1.0)
        if (defines := _defines(best.text, question)) == 1.0:
            covered, together = max(covered, _DEFINED_COVERS), max(together, _DEFINED_COVERS)
        score *= _LEAST + _BY_COVERAGE * covered + _BY_SENTENCE * together
        phrases = _phrases(question, self._all[k].sequence)
        score *= 1 + _PHRASE * phrases + _DEFINES * defines
        covered *= 1 + _PHRASE_COVERS * phrases
        factor = 1 - self._nameless(k, looked_up, question)
        if (look := question.look) is not None:
            if look.shows(best.text):
                score *= _LOOKS_JUST_SO if look.strict else _LOOKS_SO
            elif not look.shows(f"{passage.context} {passage.text}" if passage.head else passage.text):
                factor *= look.without
        if is_front_matter(passage):
            score *= _FRONT_MATTER  # it names what the text below it says
        if passage.head == passage.line:
            score, factor = score * _COLUMNS, factor * _COLUMNS  # it names what the rows below it say
        if self._answered_below(k):
            score, factor = score * _ASKS, factor * _ASKS
        covered = min(covered * factor, 1.0)
        return Scored(passage, round(score * factor, 4), round(covered, 4), best.line, best.text, best.quote)

    def _answered_below(self, k: int) -> bool:
        """Whether a passage is nothing but the question that the one below it answers."""
        here = self._all[k].passage
        if not _asks(here.text) or k + 1 == len(self._all):
            return False
        below = self._all[k + 1].passage
        return below.path == here.path and below.context.endswith(here.text)

    def _nameless(self, k: int, looked_up: Sequence[_Asked], question: Question) -> float:
        """What a passage loses for the names that it doesn't say, half the less when the passage beside it does."""
        names = [each for each in looked_up if each.term in question.names]
        lost = 0.0
        for each in names:
            if not each.covered.get(k):
                path = self._all[k].passage.path
                near = any(n in each.covered and self._all[n].passage.path == path for n in (k - 1, k + 1))
                lost += _NAME_NEAR if near else _NAMELESS
        return lost / len(names) if names else 0.0


@dataclass(frozen=True)
class BestLine:
    """A line of a passage, the sentence in it that says most, and the weight of the question's terms in that."""

    line: int
    text: str
    quote: str
    weight: float


def best_line(passage: Passage, weights: Mapping[str, float], *, look: Look | None = None) -> BestLine:
    """The line in which the heaviest sentence says most, the first of equals; a heading only if there is nothing else.

    A sentence may run over several lines. A line of it that looks as an answer would comes before one that doesn't.
    """
    lines = split_lines(passage.text)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    text = "\n".join(lines)
    front = is_front_matter(passage)
    best: tuple[bool, float, bool, float, int] | None = None
    found = BestLine(passage.line, lines[0], lines[0].strip(), 0.0)
    named = 0.0
    for begin, end in _sentences(text):
        weight = _weight(text[begin:end], weights)
        for k in range(bisect_right(starts, begin) - 1, bisect_left(starts, end)):
            part = text[max(begin, starts[k]) : min(end, starts[k] + len(lines[k]))].strip()
            if not part:
                continue
            names = _names_only(lines, k, front=front)
            named = max(named, weight if names else 0.0)
            rank = (
                not names,
                weight,
                look is not None and look.shows(part),
                _weight(part, weights),
                -k,
            )
            if best is None or rank > best:
                whole = lines[k].strip()
                quote = whole if len(whole) <= _SHORT_LINE else part
                best, found = rank, BestLine(passage.line + k, lines[k], quote, weight)
    return replace(found, weight=max(found.weight, _NAMED * named))


def _names_only(lines: Sequence[str], k: int, *, front: bool) -> bool:
    """Whether line k only says what the next ones are about: a heading, the rule under it, the head of a table.

    Or a question, or the short first line of a block that goes on in whole sentences.
    """
    if front:
        return is_rule(lines[k])
    if is_heading(lines[k]) or any(is_rule(line) for line in lines[k : k + 2]):
        return True
    if k + 1 >= len(lines) or not lines[k + 1].strip():
        return False
    return _asks(lines[k]) or (
        bool(_TITLE.fullmatch(lines[k]))
        and len(lines[k + 1]) > len(lines[k])
        and not lines[k + 1][:1].islower()
        and (k == 0 or not lines[k - 1].strip())
    )


def _asks(line: str) -> bool:
    return line.rstrip("*_` \t").endswith(("?", "？"))


def _phrases(question: Question, sequence: Sequence[str]) -> int:
    """How many neighbours in the question are neighbours in the passage, too; at most 2 are counted."""
    pairs = set(pairwise(sequence))
    return min(2, sum(pair in pairs for pair in pairwise(question.words)))


def _defines(line: str, question: Question) -> float:
    """How much of what is asked about is what a line says something of: `port = 8443`, "Key: in the pantry"."""
    match = _DEFINED.match(line)
    about = set(question.words) - question.light
    if not match or not about:
        return 0.0
    named = set(terms(match[1]))
    return len(about & named) / len(about) if about & named else 0.0


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    ends = [0, *(m.end() for m in _SENTENCE_END.finditer(text)), len(text)]
    return ((a, b) for a, b in pairwise(ends) if a < b)


def _weight(text: str, weights: Mapping[str, float]) -> float:
    return sum(weights.get(term, 0.0) for term in set(terms(text)))


def _with_same(weights: Mapping[str, float]) -> Mapping[str, float]:
    """The weights, and those of words that ask for the same."""
    alike = {other: _SAME * weight for term, weight in weights.items() for other in same(term)}
    return {**alike, **weights}


def _any_in(alike: Sequence[tuple[str, Sequence[str]]], each: _Analysed) -> bool:
    """Whether what stands around a passage has one of these words."""
    return any(any(p in each.around for p in probes) and other in each.context for other, probes in alike)


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


def _nearness(term: str, beginning: str, other: str, question: Question) -> float:
    """How near another word is: another ending of it (where endings aren't taken off), a longer word, a relative."""
    if question.inflected and abs(len(other) - len(term)) <= 2 and other[:1] == term[:1]:
        short, long = sorted((term, other), key=len)
        if long.startswith(short) or (len(short) > 4 and long.startswith(short[:-1])):
            return _INFLECTED
    related = other.startswith(beginning) or (len(other) > len(term) and term in other)
    return _RELATIVE if related else 0.0
