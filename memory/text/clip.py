"""Cut text without cutting what a reader sees as one character: emoji, flags, families, combining accents.

The boundaries follow the extended grapheme clusters of Unicode Standard Annex 29, on the safe side: where the annex
would allow a cut and this module doesn't, the text only gets a little shorter.
"""

import unicodedata

_JOINER = "\u200d"
_LONGEST = 64  # a cluster longer than this is an attack on the display, and is cut


def clip(text: str, limit: int, mark: str = "…") -> str:
    """The text when it has at most `limit` characters, else a beginning with `mark` behind, `limit` in all."""
    if len(text) <= limit:
        return text
    return text[: boundary(text, max(0, limit - len(mark)))] + mark


def boundary(text: str, at: int) -> int:
    """The last offset not behind `at` where `text` can be cut."""
    if at >= len(text):
        return len(text)
    for offset in range(at, max(0, at - _LONGEST), -1):
        if not _joined(text, offset):
            return offset
    return max(0, at) if at > _LONGEST else 0


def _joined(text: str, offset: int) -> bool:
    """Whether the characters before and after `offset` belong to one cluster."""
    if offset <= 0 or offset >= len(text):
        return False
    before, after = text[offset - 1], text[offset]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if _extends(after) or before == _JOINER:
        return True
    if _regional(before) and _regional(after):
        return _regionals_before(text, offset) % 2 == 1
    if unicodedata.combining(before) == 9:  # a virama binds the next letter
        return unicodedata.category(after).startswith("L")
    return _hangul(before) and _hangul(after)


def _extends(char: str) -> bool:
    if char == _JOINER or unicodedata.category(char) in {"Mn", "Me", "Mc"}:
        return True
    code = ord(char)
    return 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F or code in {0x200C, 0xFF9E, 0xFF9F}


def _regional(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF


def _regionals_before(text: str, offset: int) -> int:
    count = 0
    while count < offset and _regional(text[offset - 1 - count]):
        count += 1
    return count


def _hangul(char: str) -> bool:
    """Jamo that may form one syllable block with a neighbour, and whole syllables that may take a final."""
    code = ord(char)
    return 0x1100 <= code <= 0x11FF or 0xA960 <= code <= 0xA97C or 0xD7B0 <= code <= 0xD7FB
