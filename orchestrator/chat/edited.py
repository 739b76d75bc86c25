"""What was edited in files that a chat knows, while it was not answering, and of which no commit tells. Pure.

A chat knows the files of its prompt and those that its tools showed, each by a hash. One that has another hash now was
changed by a commit (news.py tells of it) or in an editor: then the agent is told, or it would go on by what it read.
"""

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ...memory.fence import Fences
from ...memory.files import sha256
from ...memory.tokens import estimate
from ...subagents.messages import well_formed
from .lines import Prompt
from .prompt import sent_file

TOKENS = 1_500
"""How many tokens (estimated) the changes that are shown may have together; of the others only the file is named."""
_NAMED = 20
_SHOWN = 16


@dataclass(frozen=True)
class Edited:
    """A file that has another hash than the agent knows; `text` is what stands there now, None where it is gone."""

    path: str
    text: str | None


def hash_of(data: bytes) -> str:
    """By what a file is known: the beginning of its hash."""
    return sha256(data)[:_SHOWN]


def other_than(seen: Mapping[str, str], print_of: Callable[[str], str]) -> dict[str, str]:
    """The files that are not as they were seen, with the hashes that they have now."""
    now = {path: print_of(path) for path in seen}
    return {path: found for path, found in now.items() if found != seen[path]}


def edits_told(edited: Sequence[Edited], prompt: Prompt, fences: Fences, prefix: str) -> str:
    """The note on files that were edited by hand; "" for none. `prefix` is the path of the chat's space.

    A file of the prompt is shown with its changed lines, within a budget; a card is to be read again. What stands in I
    and S is data, whoever wrote it, and comes between fences; rules and persona are the person's own word.
    """
    if not edited:
        return ""
    rows, left = list[str](), TOKENS
    for one in edited[:_NAMED]:
        row = _told(one, prompt, fences, one.path.removeprefix(prefix))
        shown = row is not None and estimate(row) <= left
        left -= estimate(row) if row is not None and shown else 0
        rows.append(row if row is not None and shown else _named(one, prompt, one.path.removeprefix(prefix)))
    more = len(edited) - _NAMED
    rows += [f"- … and {more} more files"] if more > 0 else []
    return "(Edited by hand meanwhile, in files that you know:)\n" + "\n".join(rows) + "\n"


def _named(one: Edited, prompt: Prompt, path: str) -> str:
    if one.text is None:
        return f"- {path}: it is gone"
    if one.path in prompt.files:
        return f'- {path}, in your prompt, is another now: read_card "{one.path}" shows it'
    return f"- {path}: read it again before you rely on it"


def _told(one: Edited, prompt: Prompt, fences: Fences, path: str) -> str | None:
    """A file of the prompt with its changed lines; None where they can't be told from what was sent."""
    sent = sent_file(prompt.system, one.path)
    if one.text is None or sent is None or one.path not in prompt.files:
        return None
    if prompt.files[one.path] not in (hash_of(sent.encode()), hash_of(sent.removesuffix("\n").encode())):
        return None  # it was sent in part, or as the note before this one said
    changed = "\n".join(_changes(sent, well_formed(one.text)))
    if not changed:
        return None
    if _layer(one.path, prompt) in ("A", "B"):
        return f'- {path}, in your prompt, differs now, and counts so:\n<changed path="{path}">\n{changed}\n</changed>'
    return f"- {path}, in your prompt, differs now:\n{fences.around(f'changed in {path}', changed)}"


def _layer(path: str, prompt: Prompt) -> str:
    """The layer in which a file was sent; "" for none that has a name."""
    named = zip(prompt.parts, prompt.system, strict=False)
    return next((name for name, text in named if sent_file((text,), path) is not None), "")


def _changes(old: str, new: str) -> list[str]:
    """The lines that went and came, with - and + before them."""
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]


def by_hand(changed: Collection[str], told: Collection[str]) -> tuple[str, ...]:
    """Those of the changed files of which no commit tells, sorted."""
    return tuple(sorted(set(changed) - set(told)))
