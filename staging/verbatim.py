"""Whether a draft holds nothing but quotes: what may become memory on a person's word alone, without a reader.

Each line of the body is blank, a heading, a fixed phrase, the path of something that was read, a whole line of the
task, or a quote that holds as a whole line or whole sentences. Under "Not found in what I read:" there may be list
items with words of the task. A heading (and a title) may also be the beginning of the task. Nothing in the front
matter says more: summaries and keywords are taken from the quotes or the task. And nothing that stands in memory
goes: the draft creates or appends.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice

from ..memory.target import FileTarget
from ..memory.text.oneline import made_safe
from .draft import Draft
from .finding import Finding, at_most
from .quotes import MOST_QUOTES, Lines, Quote, Read, parse_quote

FOUND = "What I found"
"""Heading over the quotes."""
QUESTION = "Question"
"""Heading over the task's own text."""
SOURCES = "Sources"
"""Heading over the list of what was read."""
GAPS = "Not found"
"""Heading over what was not found."""
QUOTED_ONLY = "Each line below is quoted as it stands at the place named behind it."
NOT_FOUND = "Not found in what I read:"
"""Before a list of the task's own words that stand nowhere."""
NOTHING_FOUND = "Nothing in what I read answers this."
"""When no passage answers."""

FIXED_PHRASES: tuple[re.Pattern[str], ...] = (
    *map(re.compile, map(re.escape, (FOUND, QUESTION, SOURCES, GAPS, QUOTED_ONLY, NOT_FOUND, NOTHING_FOUND))),
    re.compile(r"Read [0-9]{1,6} files?, [0-9]{1,9} lines?\."),
    re.compile(r"[0-9]{1,6} more files? (?:was|were) not read: the turns ran out\."),
)
"""What may stand as a line or heading of its own; each must match the whole text."""

_MOST_FAULTS = 1_000  # lines that are looked at after they can't stand: more would tell nobody more
_MARK = re.compile(r"(?P<heading>#{1,6})[ \t]+|(?P<item>[-*+])[ \t]+")
_MARKUP = re.compile(r"[<>`\[\]*_|#~]+")
_SPACE = re.compile(r"\s+")


def verbatim(draft: Draft, task_text: str, read: Read) -> tuple[Finding, ...]:
    """What keeps the draft from being verbatim, with the draft's lines; () when it is."""
    if draft.edit not in ("create", "append"):
        return (Finding("not_verbatim", "block", f"{draft.edit} takes text away that stands in memory"),)
    if isinstance(draft.target, FileTarget) and draft.file is not None:
        return (Finding("not_verbatim", "block", "the file beside the draft is not made of quotes"),)
    words = _Words(task_text, Lines(read))
    held: list[Quote] = []
    return at_most(
        Finding("not_verbatim", "block", reason, at and draft.body_line + at - 1)
        for at, reason in chain(islice(_body(draft.body, words, held), _MOST_FAULTS), _front(draft, words, held))
    )


def _body(body: str, words: "_Words", held: list[Quote]) -> Iterator[tuple[int, str]]:
    """Line of the body and reason for each that may not stand; quotes that hold are added to `held`."""
    listing = False  # whether the task's words that were not found are being listed
    quoted = 0
    for at, line in enumerate(body.split("\n"), 1):
        text = line.strip()
        if not text:
            continue
        quote = parse_quote(line, at)
        if quote is not None:
            quoted += 1
            if quoted > MOST_QUOTES:
                yield at, f"a draft has at most {MOST_QUOTES:,} quotes"
                return
            reason = words.sources.denies(quote, whole=True)
            if reason is None:
                held.append(quote)
            else:
                yield at, reason
        elif (mark := _MARK.match(text)) and mark["heading"]:
            listing = False
            if not words.titles(text[mark.end() :].rstrip("#").rstrip()):
                yield at, "this heading is not from the task"
        elif mark:
            item = text[mark.end() :]
            if not (words.names(item) or (listing and words.says(item.strip("\"`'“”«»")))):
                yield at, "this line is no quote"
        else:
            listing = text == NOT_FOUND
            if not words.names(text):
                yield at, "this line is no quote"


class _Words:
    """What may be said without being a quote: the task's own words, names of sources, fixed phrases."""

    def __init__(self, task_text: str, sources: Lines) -> None:
        self._task = _folded(task_text)
        self._lines = frozenset(map(_folded, task_text.split("\n"))) | {self._task}
        self.sources = sources

    def names(self, text: str) -> bool:
        """Whether text is a fixed phrase, the path of something that was read, or a whole line of the task."""
        return is_fixed(text) or self._is_source(text) or _folded(text) in self._lines

    def titles(self, text: str) -> bool:
        """Whether text may be a heading: what `names` allows, or how the task or one of its lines begins."""
        if self.names(text):
            return True
        run, cut = _uncut(_folded(text))
        return any(line.startswith(run) and _stands_in(run, line, cut) for line in self._lines if run)

    def says(self, text: str) -> bool:
        """Whether text is an unbroken run of the task's words, in whatever case."""
        return _stands_in(_folded(text).casefold(), self._task.casefold())

    def _is_source(self, text: str) -> bool:
        path, _, line = text.rpartition(":")
        name = path if path and line.isascii() and line.isdigit() else text
        return bool(name) and self.sources.of(name) is not None


def _front(draft: Draft, words: _Words, held: list[Quote]) -> Iterator[tuple[int, str]]:
    """What the front matter says that neither the task nor the quotes say; it has no line of the body."""
    if draft.title is not None and not words.titles(draft.title):
        yield 0, "the title is not from the task"
    said = "\n".join(bare for quote in held for bare in (_bare(quote.text), _unmarked(quote.text)))
    spoken = said.casefold()
    for entry in draft.index:
        summary, cut = _uncut(_bare(entry.summary))
        if not (_stands_in(summary, said, cut) or words.titles(entry.summary)):
            yield 0, f"the summary of {entry.section_id} is not taken from the quotes"
        for keyword in entry.keywords:
            if not (_stands_in(_bare(keyword).casefold(), spoken) or words.says(keyword)):
                yield 0, f"a keyword of {entry.section_id} is not taken from the quotes"
    cited = {quote.path for quote in held} | {f"{quote.path}:{quote.line}" for quote in held}
    for source in draft.sources:
        if source not in cited and not words.names(source):
            yield 0, "a source is named that was not read"


def is_fixed(text: str) -> bool:
    """Whether text is one of the fixed phrases, which state nothing about the world."""
    return any(phrase.fullmatch(text) for phrase in FIXED_PHRASES)


def _folded(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _bare(text: str) -> str:
    """Text as an index entry can hold it."""
    return made_safe(text, len(text) + 1)


def _unmarked(text: str) -> str:
    """Text without the marks of Markdown that an entry may drop."""
    return _folded(_MARKUP.sub("", text))


def _uncut(text: str) -> tuple[str, bool]:
    """Text without the mark of omission at its end, and whether there was one."""
    return text.removesuffix("…").rstrip(), text.endswith("…")


def _stands_in(part: str, whole: str, cut: bool = False) -> bool:
    """Whether part stands in whole without being cut out of a word; with `cut`, its last word may be.

    The first 1,000 places are looked at.
    """
    start = whole.find(part) if part else -1
    for _ in range(1_000):
        if start < 0:
            return False
        end = start + len(part)
        before = whole[start - 1] if start else " "
        after = whole[end] if end < len(whole) and not cut else " "
        if not (before.isalnum() and part[0].isalnum()) and not (after.isalnum() and part[-1].isalnum()):
            return True
        start = whole.find(part, start + 1)
    return False
