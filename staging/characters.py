"""Characters that have no place in a draft, since they hide text or turn it round.

Sources: Trojan Source (CVE-2021-42574) for bidirectional controls, Unicode Technical Report 36 for tag characters and
other invisible text. Characters that scripts need (joiners, left-to-right marks, one variation selector) are left
alone.
"""

import re
from collections.abc import Iterator

from .finding import Finding, at_most

_HARMFUL = re.compile(
    "(?P<nul>\x00)"
    "|(?P<control>[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|\r(?!\n))"
    "|(?P<bidi>[\u202a-\u202e\u2066-\u2069])"
    "|(?P<flag>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)"
    "|(?P<tag>[\U000e0000-\U000e007f])"
    "|(?P<selectors>[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,})"
    "|(?P<noncharacter>[\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0001ffff\U0010fffe\U0010ffff\ufff9-\ufffb])"
    "|(?P<bom>\ufeff)"
    "|(?P<invisible>[\u00ad\u115f\u1160\u200b\u2060-\u2064\u206a-\u206f\u3164\uffa0])"
    "|(?P<surrogate>[\ud800-\udfff])"
)
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\u00ad\u115f\u1160\u200b\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164"
    "\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"
    "\U0001f3f4\U0001fffe\U0001ffff\U000e0000-\U000e01ef\U0010fffe\U0010ffff]"
)
"""Any character with which one of those begins. Nearly no text has one, and this takes a tenth of the time to tell."""
_NAMES = {
    "nul": "a NUL",
    "control": "a control character",
    "bidi": "a character that turns the direction of the text",
    "tag": "a tag character (invisible text)",
    "selectors": "several variation selectors in a row (invisible text)",
    "noncharacter": "a code point that is no character",
    "bom": "a byte order mark inside the text",
    "invisible": "an invisible character",
    "surrogate": "half a surrogate pair",
}
_WARNED = frozenset({"bom", "invisible"})


def character_findings(text: str, place: str = "", first_line: int = 1) -> tuple[Finding, ...]:
    """A finding for each harmful character, the first 20 one by one; `place` names the text in messages.

    `first_line` is the number of the text's first line in the draft's file; 0 when the text has no lines of its own.
    """
    where = f" in {place}" if place else ""
    return at_most(
        Finding(
            "characters",
            "warn" if kind in _WARNED else "block",
            f"{_NAMES[kind]}{where}: U+{ord(char):04X}",
            first_line + line if first_line else 0,
        )
        for kind, char, line in _harmful(text)
    )


def visible(text: str) -> str:
    """The text as a terminal may show it: harmful characters escaped, line ends, accents and emoji as they are."""
    if _SUSPECT.search(text) is None:
        return text
    return _HARMFUL.sub(lambda m: m[0] if m.lastgroup == "flag" else "".join(map(_escape, m[0])), text)


def _harmful(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, character and line (from 0) of each."""
    if _SUSPECT.search(text) is None:
        return
    line, seen = 0, 0
    for match in _HARMFUL.finditer(text):
        kind = match.lastgroup or "control"
        if kind == "flag":
            continue
        line += text.count("\n", seen, match.start())
        seen = match.start()
        yield kind, match[0][0], line


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
