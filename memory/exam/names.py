"""File names of a folder of memory, judged: what is a card's name, and what another program left there.

Pure: names in, problems out.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from ..files import is_tmp
from ..ids import BadId, Id, shown
from ..problem import Problem

_CONFLICT = re.compile(r"conflict|konflikt|conflit|en conflicto|競合|冲突", re.IGNORECASE)
_COPY = re.compile(r"(?P<stem>.+?)(?: \(\d{1,2}\)| \d{1,2}| - (?:Copy|Kopie|copie)(?: \(\d+\))?)(?P<ending>\.[^.]+)")
_BESIDE = re.compile(r"(?P<name>.+)\.(?P<what>due|kept)-(?P<commit>c\d+-[0-9a-z]+)")
_BESIDE_SAYS = {
    "due": "text that commit {commit} was to write into {name}, which somebody had changed meanwhile: "
    "take over what you want, then remove it",
    "kept": "a version of {name} that another program saved during commit {commit}: "
    "take over what you want, then remove it",
}


def alike(name: str) -> str:
    """What a name is to a file system that ignores case and Unicode form: equal for names that can't both exist."""
    # A dotted capital I folds to "i" and a combining dot; some file systems drop the dot.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold()).replace("i̇", "i")


def is_left(name: str, beside: frozenset[str] = frozenset()) -> bool:
    """Whether a file is a copy or a remnant that some program left, and so never read as a card."""
    return next(_left("", name, beside), None) is not None


def name_problems(folder: str, names: Iterable[str], *, ending: str = ".md") -> Iterator[Problem]:
    """What is wrong with the names in `folder` (ends with "/" or is ""): remnants, twins, names that are no id.

    Only names with `ending` are held to be ids; names that begin with "_" or "." and RULES.md are not looked at.
    """
    present = frozenset(names)
    twins: dict[str, list[str]] = {}
    for name in sorted(present):
        left = list(_left(folder, name, present))
        yield from left
        if not left and name.endswith(ending) and not name.startswith(("_", ".")) and name != "RULES.md":
            twins.setdefault(alike(name), []).append(name)
    for group in twins.values():
        if len(group) > 1:
            listed = " and ".join(shown(name) for name in group)
            message = f"{listed} differ only in case or form and are one file on many machines: rename one"
            yield Problem(folder + group[0], 0, "name_twins", "error", message)
        elif (rule := _no_id(group[0].removesuffix(ending))) is not None:
            yield Problem(folder + group[0], 0, "name_no_id", "warning", f"not read: {rule}")


def _left(folder: str, name: str, beside: frozenset[str]) -> Iterator[Problem]:
    path = folder + name
    if is_tmp(name):
        message = "left over from a write that was cut short; it can be removed"
        yield Problem(path, 0, "leftover", "warning", message)
    elif found := _BESIDE.fullmatch(name):
        yield Problem(path, 0, "kept_beside", "warning", _BESIDE_SAYS[found["what"]].format_map(found.groupdict()))
    elif _no_id(name.partition(".md")[0]) is not None or ".md." in name:
        copy = _COPY.fullmatch(name)
        if _CONFLICT.search(name) or (copy and copy["stem"] + copy["ending"] in beside):
            message = "a copy that a sync service left, never read: take over what you want, then remove it"
            yield Problem(path, 0, "conflict_copy", "warning", message)


def _no_id(stem: str) -> str | None:
    try:
        Id(stem)
    except BadId as e:
        return e.message
    return None
