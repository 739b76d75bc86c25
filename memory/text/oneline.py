"""Text for one line of an index: checked where an agent wrote it, made safe where onepen takes it from a card."""

import re

from .clip import boundary

# Control and format characters, separators that end a line for some readers, and tag characters.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,30}://|\b(?:www\.|mailto:|javascript:|data:)\S", re.IGNORECASE)
_URL_WHOLE = re.compile(
    r"<?\b(?:[a-z][a-z0-9+.-]{1,30}://|www\.|mailto:|javascript:|data:)[^\s<>()\[\]]+>?", re.IGNORECASE
)
_LINK = re.compile(r"\]\(|\]\[|\[\[|\]:")
_LINK_WHOLE = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_TAG_WHOLE = re.compile(r"<!--.*?-->|</?[A-Za-z!][^<>]*>", re.DOTALL)
_ITEM = re.compile(r"^[ \t]*(?:[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+|>[ \t]?|\|)+")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]»”’]*(?=\s|$)|(?<=[。！？])")
_AUTO = re.compile(r"\(auto\)$")
# What has none of these signs has no flaw: letters and digits of any script, and the signs of plain sentences.
_QUIET = re.compile(r"[\w ,;.!?'’%+–—-]*")
_WORDS = re.compile(r"[A-Za-z0-9-]+(?: [A-Za-z0-9-]+)*")


def flaw(text: str) -> str | None:
    """Why a text can't stand in a line of an index; None if it can."""
    if _QUIET.fullmatch(text) and "www." not in text.lower():
        return None
    if "\n" in text or "\r" in text:
        return "it must be one line"
    if _UNSEEN.search(text):
        return "it has a control character or one that can't be seen"
    if "<" in text or ">" in text:
        return "'<' and '>' are not allowed (no markup, no comments)"
    if "`" in text:
        return "'`' is not allowed (no markup)"
    if _LINK.search(text):
        return "links are not allowed"
    if _URL.search(text):
        return "addresses are not allowed"
    if text.startswith("#"):
        return "it must not look like a heading"
    if _AUTO.search(text):
        return "'(auto)' marks the lines that onepen makes"
    return None


def made_safe(text: str, limit: int) -> str:
    """A text as one line without anything that `flaw` finds, cut to `limit` characters; may be empty."""
    if len(text) <= limit and _WORDS.fullmatch(text):
        return text
    text = text[: 8 * limit + 500]  # what lies behind can't matter, and costs time
    text = _LINK_WHOLE.sub(r"\1", _TAG_WHOLE.sub(" ", text))
    text = _UNSEEN.sub(" ", _URL_WHOLE.sub("…", text))
    text = re.sub(r"[<>`\[\]\\]", " ", text)
    text = _URL.sub("…", text)
    text = " ".join(text.split()).lstrip("# ")
    text = shortened(text, limit)
    while _AUTO.search(text):
        text = text[: -len("(auto)")].rstrip()
    return text


def shortened(text: str, limit: int) -> str:
    """The text cut to `limit` characters, at a blank if one is near, never inside what people see as one."""
    if len(text) <= limit:
        return text
    blank = text.rfind(" ", limit * 2 // 3, limit)
    return text[: blank if blank > 0 else boundary(text, limit - 1)].rstrip() + "…"


def first_sentence(text: str) -> str:
    """The first sentence of a section's own text: of its first line that is prose, list item or table row."""
    for line in text.split("\n"):
        bare = _ITEM.sub("", line).strip(" \t|")
        if bare and not re.fullmatch(r"[\W_]+", bare):
            end = _SENTENCE.search(bare)
            return bare[: end.end()] if end else bare
    return ""
