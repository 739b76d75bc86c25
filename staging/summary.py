"""What an index may say of quotes without a reader: whole sentences of them, and single words.

One function, `bare`, makes text fit for a line of an index; who writes a summary and who checks it use the same.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from ..memory.index.entry import KEYWORD_LIMIT, SUMMARY_LIMIT
from ..memory.text.oneline import made_safe, shortened
from .sentence import ends

LEAST_CUT = 100
"""A sentence that is cut, visibly, keeps at least this many characters."""

_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_STRESS = re.compile(r"(?<![\w*_])(\*{1,3}|_{1,3})(?=[^\s*_])(.*?[^\s*_])\1(?![\w*_])")
_TAG = re.compile(r"</?(?:a|abbr|b|br|code|del|em|i|ins|kbd|mark|s|small|span|strong|sub|sup|u)(?:\s[^<>]*)?/?>", re.I)
_PIPES = re.compile(r"\s*\|\s*")
_WORD = re.compile(r"[^\W_]+(?:_[^\W_]+)*")


def bare(text: str) -> str:
    """Text as an index entry holds it: without the marks of Markdown, but with every word and every other mark."""
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        parts += (_unstressed(text[at : code.start()]), code[2])
        at = code.end()
    plain = "".join((*parts, _unstressed(text[at:])))
    plain = _PIPES.sub(" ", _TAG.sub("", plain)).replace("<", " ").replace(">", " ")
    return made_safe(plain, len(plain) + 1)


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, as they may be keywords."""
    return tuple(word for word in _WORD.findall(bare(text)) if len(word) <= KEYWORD_LIMIT)


def summary_of(statement: str, weigh: Callable[[str], int]) -> str:
    """A statement as a summary: all of it, else from its heaviest sentence on, else the cut beginning of that."""
    whole = bare(statement)
    if len(whole) <= SUMMARY_LIMIT:
        return whole
    pieces = _pieces(statement)
    begin = max(pieces, key=lambda piece: weigh(statement[slice(*piece)]))[0]
    runs = [bare(statement[begin:stop]) for at, stop in pieces if at >= begin]
    fitting = [run for run in runs if len(run) <= SUMMARY_LIMIT]
    return fitting[-1] if fitting else shortened(runs[0], SUMMARY_LIMIT)


def sums_up(summary: str, statements: Iterable[str]) -> bool:
    """Whether a summary is made of whole sentences that follow one another in a statement, or visibly begins so."""
    said = bare(summary)
    stem = said.removesuffix("…").rstrip() if said.endswith("…") else ""
    return bool(said) and any(
        run in (summary, said) or (len(stem) >= LEAST_CUT and run.startswith(stem) and not run[len(stem)].isalnum())
        for statement in statements
        for run in _runs(statement, len(said))
    )


def _runs(statement: str, least: int) -> Iterator[str]:
    """Whole sentences that follow one another, made bare: from each sentence on, until they are long enough."""
    pieces = _pieces(statement)
    for k, (begin, _) in enumerate(pieces):
        for _, stop in pieces[k:]:
            run = bare(statement[begin:stop])
            yield run
            if len(run) > least:
                break


def _pieces(statement: str) -> list[tuple[int, int]]:
    stops = sorted({*ends(statement, 0, len(statement)), len(statement)})
    return [(begin, stop) for begin, stop in pairwise((0, *stops)) if statement[begin:stop].strip()]


def _unstressed(text: str) -> str:
    for _ in range(3):  # **_both_**
        text, changed = _STRESS.subn(r"\2", text)
        if not changed:
            break
    return text
