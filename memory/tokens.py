"""How many tokens a text is, guessed without a server; people see the figure with "≈" before it.

The guess sums a weight per character, by script, and rounds up. The weights follow what byte-pair vocabularies of
current models do with ordinary prose: about four characters of English a token, two to three of accented Latin, Greek
or Cyrillic, one of Chinese, Japanese or Korean, and less than one of emoji. Figures, punctuation and line breaks are
dearer than letters, so tables and code are not guessed too low. It is meant for budgets and tables, not for bills.
"""

import math
import re
from functools import lru_cache

_CHEAP = bytes(range(0x61, 0x7B)) + bytes(range(0x41, 0x5B)) + b" "
_DIGITS = b"0123456789"
_LETTER, _DIGIT, _OTHER_ASCII = 0.25, 0.45, 0.5

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# (last code point of the range, tokens per character); the first range that holds the character counts.
_SCRIPTS: tuple[tuple[int, float], ...] = (
    (0x024F, 0.8),  # accented Latin: splits the word it stands in
    (0x052F, 0.5),  # Greek, Cyrillic
    (0x109F, 0.6),  # Hebrew, Arabic, Indic scripts, Thai
    (0x1FFF, 1.0),
    (0x2E7F, 1.0),  # dashes, quotation marks, arrows, symbols
    (0xD7FF, 1.0),  # Chinese, Japanese, Korean
    (0xFFFF, 1.0),
    (0x10FFFF, 2.5),  # emoji and rare characters: several bytes, several tokens
)


def estimate(text: str) -> int:
    """The number of tokens `text` is likely to be, rounded up; 0 only for the empty text."""
    raw = text.encode("utf-8", "surrogatepass")
    ascii_count = len(text)
    total = 0.0
    if not text.isascii():
        rest = "".join(_NOT_ASCII.findall(text))
        ascii_count -= len(rest)
        total += sum(map(_weight, rest))
    not_cheap = len(raw.translate(None, _CHEAP)) - (len(raw) - ascii_count)
    digits = len(raw) - len(raw.translate(None, _DIGITS))
    total += (ascii_count - not_cheap) * _LETTER + digits * _DIGIT + (not_cheap - digits) * _OTHER_ASCII
    return math.ceil(round(total, 6))


@lru_cache(maxsize=4096)
def _weight(char: str) -> float:
    """Tokens of a character; a text has few different ones."""
    for last, weight in _SCRIPTS:
        if ord(char) <= last:
            return weight
    raise AssertionError(char)
