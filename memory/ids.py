"""Names that are types: validated once where they enter, so that mixing two of them is a type error.

An id is `[a-z0-9][a-z0-9-]{0,63}` and no name that Windows reserves, so a workspace can be copied anywhere.
The title keeps the person's own spelling, in any script; `id_from_title` makes the file name from it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import ClassVar, Self

from .errors import MemoryFault

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))})
_TITLE_LIMIT = 200


class BadId(MemoryFault):
    """Raised when text is not an id; the message names the rule that it breaks."""

    exit_code = 2

    def __init__(self, kind: str, text: str, rule: str) -> None:
        super().__init__(f"{kind} {shown(text)}: {rule}")


class BadTitle(MemoryFault):
    """Raised when a title can't be kept: empty, too long, or with control characters."""

    exit_code = 2

    def __init__(self, text: str, rule: str) -> None:
        super().__init__(f"title {shown(text)}: {rule}")


class Id(str):
    """An id; construct one only from text that came from outside, and it is right ever after.

    Raises BadId.
    """

    kind: ClassVar[str] = "id"
    reserved: ClassVar[frozenset[str]] = _RESERVED
    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if not _ID.fullmatch(text):
            raise BadId(cls.kind, text, "an id is 1 to 64 of a-z, 0-9 and '-', and begins with a letter or digit")
        if text in cls.reserved:
            raise BadId(cls.kind, text, "this name is reserved")
        return super().__new__(cls, text)


class ClientId(Id):
    """A client, and the folder `clients/<id>/` that is its space."""

    kind = "client id"
    __slots__ = ()


class CardId(Id):
    """A card of a space, whether project or finding: one id names one card."""

    kind = "card id"
    __slots__ = ()


class AgentId(Id):
    """A kind of sub-agent, defined in `agents/<id>.md`; `rules` is taken by agents/RULES.md."""

    kind = "agent id"
    reserved = _RESERVED | {"rules"}
    __slots__ = ()


class TaskId(Id):
    """One piece of work given to one agent, and the folder `staging/<id>/`."""

    kind = "task id"
    __slots__ = ()


class DraftId(Id):
    """The k-th draft of a task: `<task>-<k>`, k counted from 1."""

    kind = "draft id"
    __slots__ = ()

    @classmethod
    def of(cls, task: TaskId, k: int) -> Self:
        return cls(f"{task}-{k}")


def id_from_title(title: str) -> str:
    """The id of a title: transliterated, else `card-<hash8>`; always a valid id, never a reserved one.

    Raises BadTitle for a title that is empty, longer than 200 characters or holds invisible characters.
    """
    clean = check_title(title)
    from anyascii import anyascii  # its tables cost a quick command a tenth of its time, and few commands make an id

    words = re.findall(r"[a-z0-9]+", anyascii(unicodedata.normalize("NFKC", clean)).lower())
    text = "-".join(words)[:64].strip("-")
    if not text:
        return "card-" + hashlib.sha256(clean.encode()).hexdigest()[:8]
    return f"card-{text}" if text in _RESERVED | {"rules"} else text


def check_title(title: str) -> str:
    """The title without blanks around it, in NFC; raises BadTitle."""
    clean = unicodedata.normalize("NFC", title).strip()
    if not clean:
        raise BadTitle(title, "a title needs at least one character")
    if any(_unseen(c) for c in clean):
        raise BadTitle(title, "a title is one line without control characters or characters that turn or hide text")
    if len(clean) > _TITLE_LIMIT:
        raise BadTitle(title, f"a title has at most {_TITLE_LIMIT} characters, this one has {len(clean)}")
    return clean


def _unseen(c: str) -> bool:
    """Whether a character has no sign of its own; the joiners of Persian, Hindi and emoji are part of a spelling."""
    return unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} and c not in "\u200c\u200d"


def shown(text: str, limit: int = 60) -> str:
    """Text that came from outside, quoted for a message: escaped, one line, cut at `limit` characters."""
    return repr(text if len(text) <= limit else text[:limit] + "…")


def same_but_case(name: str, names: Iterable[str]) -> list[str]:
    """Those of the names that are this one, or differ from it only in case; none has a NUL in it.

    That there is none is told at one look, since it nearly always is so, and there may be thousands.
    """
    folded, all_of_them = name.casefold(), tuple(names)
    if f"\0{folded}\0" not in "\0".join(("", *all_of_them, "")).casefold():
        return []
    return [one for one in all_of_them if one.casefold() == folded]
