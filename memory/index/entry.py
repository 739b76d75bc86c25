"""One entry of an index: which section or file, what stands in it, and words to find it by.

- [hosting](kiln.md#hosting) — Moved to Hetzner on 12 Nov; DNS stays at Gandi. `hetzner, dns, ssl`
- [sales/launch.md](kiln/sales/launch.md) — Launch post, accepted 20 Nov. `post, launch`
- [glaze](kiln.md#glaze) — Glaze: Celadon since May. (auto)
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import MemoryFault
from ..ids import shown
from ..text.document import Document, Section
from ..text.oneline import first_sentence, flaw, made_safe, shortened
from ..text.outline import outline, plain
from ..text.secret import mask

SUMMARY_LIMIT = 200
KEYWORDS_LIMIT = 8
KEYWORD_LIMIT = 40
_PLACE = re.compile(r"[^\s\[\]()<>`#|\\]{1,900}")
_LINE = re.compile(
    r"[-*+] +\[(?P<label>(?:[^\[\]\\\r\n]++|\\.)++)\]\((?:\./)?(?P<path>[^\s()<>#]+)(?:#(?P<anchor>[^\s()<>]*))?\)"
    r"(?:(?:[ \t]+(?:—|–|--?)|[ \t]*:)(?P<rest>[^\r\n]*))?[ \t]*(?:\r?\n)?"
)
_SIMPLE = re.compile(r"[a-z0-9-]{1,200}")
_KEYWORDS = re.compile(r"(?:^|[ \t])`([^`]*)`$")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_AUTO = "(auto)"


class EntryRefused(MemoryFault):
    """Raised when an entry can't stand in an index; names the field and the reason."""

    exit_code = 2

    def __init__(self, field_name: str, reason: str) -> None:
        super().__init__(f"index entry, {field_name}: {reason}")
        self.field = field_name
        self.reason = reason


@dataclass(frozen=True)
class IndexEntry:
    """What an index says about one section of a card, or about a file (`link` is then its path beside the index).

    Text is kept as it is but for blanks around it; blank and repeated keywords are dropped. `auto` marks an entry that
    onepen made from heading and first sentence. Raises EntryRefused.
    """

    section_id: str
    summary: str
    keywords: tuple[str, ...] = ()
    auto: bool = False
    link: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not _is_place(self.section_id):
            raise EntryRefused("section_id", f"{shown(self.section_id)} is no id of a section and no path")
        if self.link is not None and not _is_place(self.link):
            raise EntryRefused("link", f"{shown(self.link)} is no path")
        object.__setattr__(self, "summary", _checked("summary", self.summary, SUMMARY_LIMIT))
        if not self.summary:
            raise EntryRefused("summary", "it is empty")
        object.__setattr__(self, "keywords", _keywords(self.keywords))


def render_entry(card: str, entry: IndexEntry, newline: str = "\n") -> str:
    """The line of an entry of `card`, its newline included."""
    link = entry.link or f"{card}.md#{entry.section_id}"
    words = f" `{', '.join(entry.keywords)}`" if entry.keywords else ""
    return f"- [{entry.section_id}]({link}) — {entry.summary}{words}{' ' + _AUTO if entry.auto else ''}{newline}"


def entry_key(line: str) -> tuple[str, str] | None:
    """Card and section id (or path) of a line that is an entry; None if it is none. Cheaper than `parse_entry`."""
    match = _LINE.fullmatch(line)
    return None if match is None else _key(match)


class EntryMark(NamedTuple):
    """What tells an entry from others: its card, its section's id or its file's path, and whether onepen made it."""

    card: str
    section_id: str
    of_file: bool
    auto: bool


def entry_mark(line: str) -> EntryMark | None:
    """The same with what kind of entry it is; None if it is none."""
    match = _LINE.fullmatch(line)
    key = None if match is None else _key(match)
    if match is None or key is None:
        return None
    return EntryMark(*key, _is_file(match), _ends_auto((match["rest"] or "").strip()))


def parse_entry(line: str) -> tuple[IndexEntry, str | None] | None:
    """The entry in a line, and why onepen would not write such a line itself; None if it is none. Never raises.

    A line that a person wrote more freely than onepen does gives a value that is made safe; the line stays as it is.
    """
    match = _LINE.fullmatch(line)
    key = None if match is None else _key(match)
    if match is None or key is None:
        return None
    link = match["path"] if _is_file(match) else None
    summary, keywords, auto = _rest((match["rest"] or "").strip())
    try:
        return IndexEntry(key[1], summary, keywords, auto, link), None
    except EntryRefused as refused:
        words = tuple(dict.fromkeys(made_safe(word.replace(",", " "), KEYWORD_LIMIT) for word in keywords))
        text = made_safe(summary, SUMMARY_LIMIT) or key[1][:SUMMARY_LIMIT]
        entry = IndexEntry(key[1], text, tuple(word for word in words if word)[:KEYWORDS_LIMIT], auto, link)
        return entry, refused.message if summary else None


def _is_file(match: re.Match[str]) -> bool:
    return "/" in match["path"] or not match["anchor"]


def _key(match: re.Match[str]) -> tuple[str, str] | None:
    path = match["path"]
    head, slash, _ = path.partition("/")
    if not slash and not head.endswith(".md"):
        return None
    place = unescaped(match["label"]) if _is_file(match) else match["anchor"]
    if not _SIMPLE.fullmatch(place) and not _is_place(place):
        return None
    if slash and not _is_place(path):
        return None
    card = head.removesuffix(".md")
    return (card, place) if card else None


def _is_place(text: str) -> bool:
    """Whether a text can be a section's id or a file's path."""
    return bool(_PLACE.fullmatch(text)) and flaw(text) is None


def auto_entry(document: Document, section: Section) -> IndexEntry:
    """The entry that onepen makes for a section: its heading and its first sentence, made safe.

    A secret that somebody wrote there by hand doesn't get into the index, and so into every prompt.
    """
    title = made_safe(mask(plain(section.title)), SUMMARY_LIMIT // 2)
    sentence = made_safe(mask(first_sentence(_visible(document.text[section.body : section.end]))), SUMMARY_LIMIT)
    summary = f"{title}: {sentence}" if title and sentence else title or sentence or section.id
    return IndexEntry(section.id, made_safe(summary, SUMMARY_LIMIT) or section.id, (), True)


def escaped(title: str) -> str:
    """A title as the text of a Markdown link: one line, its special characters escaped."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", title).split())
    return re.sub(r"([\\\[\]<>`])", r"\\\1", shortened(line, 200))


def unescaped(label: str) -> str:
    return _ESCAPE.sub(r"\1", label) if "\\" in label else label


def _visible(text: str) -> str:
    """The text without its code fences and comments."""
    parts, at = [], 0
    for hidden in outline(text).hidden:
        parts.append(text[at : hidden.start])
        at = hidden.end
    return "".join((*parts, text[at:]))


def _rest(rest: str) -> tuple[str, tuple[str, ...], bool]:
    """Summary, keywords and mark of what stands behind the link."""
    auto = _ends_auto(rest)
    if auto:
        rest = rest[: -len(_AUTO)].rstrip()
    match = _KEYWORDS.search(rest)
    if match is None:
        return rest, (), auto
    return rest[: match.start()].strip(), tuple(word.strip() for word in match[1].split(",")), auto


def _ends_auto(rest: str) -> bool:
    return rest == _AUTO or rest.endswith(" " + _AUTO)


def _checked(name: str, text: object, limit: int) -> str:
    if not isinstance(text, str):
        raise EntryRefused(name, "it must be a text")
    clean = text.strip()
    reason = flaw(clean)
    if reason:
        raise EntryRefused(name, reason)
    if len(clean) > limit:
        raise EntryRefused(name, f"at most {limit} characters, this has {len(clean)}")
    return clean


def _keywords(words: object) -> tuple[str, ...]:
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise EntryRefused("keywords", "they must be a list of words")
    kept: dict[str, str] = {}
    for word in words:
        clean = _checked("keywords", word, KEYWORD_LIMIT)
        if "," in clean:
            raise EntryRefused("keywords", f"{shown(clean)} has a comma in it; give two keywords")
        if clean:
            kept.setdefault(clean.casefold(), clean)
    if len(kept) > KEYWORDS_LIMIT:
        raise EntryRefused("keywords", f"at most {KEYWORDS_LIMIT}, these are {len(kept)}")
    return tuple(kept.values())
