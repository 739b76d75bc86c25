"""The door into memory: every change is looked through for secrets before the pen gets it.

What a person or an agent wants to be remembered is judged by shape and by the credentials that this process knows. A
refusal names kind and place, never the value.
"""

from collections.abc import Iterator

from ..memory.change import Change
from ..memory.index.entry import IndexEntry
from ..staging.secret import NONE, Held, mask, secrets_in
from .errors import OrchestratorFault

INSIST = "the same command with --allow-secret, if it is none"
"""The hint for a person who may say so."""


class SecretRefused(OrchestratorFault):
    """Raised when a text that is to become memory holds a key or a password; nothing was written."""

    exit_code = 2

    def __init__(self, kind: str, place: str, hint: str | None = None) -> None:
        super().__init__(
            f"{place}: this looks like {kind}; keep its name, not its value; nothing was written", hint=hint
        )
        self.kind = kind
        self.place = place


def check(change: Change, held: Held = NONE) -> None:
    """Raises SecretRefused for the first secret in anything that the change would write or note.

    Text that goes is looked at, too: it would stand in logs/. What a person writes themselves they may insist on.
    """
    by_hand = change.draft is None and change.who.startswith("user:")
    for place, text in _texts(change):
        refuse(text, place, held, hint=INSIST if by_hand else None)


def refuse(text: str, place: str, held: Held = NONE, *, hint: str | None = None) -> None:
    """Raises SecretRefused if there is a secret in the text; `place` is where it stands, for the person."""
    for seen in secrets_in(text, held):
        if seen.level == "block":
            line = f", line {seen.line + 1}" if "\n" in text.rstrip("\n") else ""
            raise SecretRefused(seen.kind, mask(place, held) + line, hint)


def _texts(change: Change) -> Iterator[tuple[str, str]]:
    """Everything of a change that gets into a file, each with its place."""
    edit = change.edit
    if edit is not None:
        yield "the target's name", str(edit.target)
        yield "the title", edit.title or ""
        yield f"{edit.target}, the section's name", edit.section or ""
        yield f"{edit.target}, the new text", edit.text
        yield f"{edit.target}, the old text", edit.old_text
    for put in change.puts:
        yield "the file's name", put.path
        yield put.path, put.data.decode("utf-8", "replace")
    for remove in change.removes:
        yield "the file's name", remove.path
    for piece in change.reverts:
        yield f"{piece.path}, the text that comes back", piece.old
    for entry in change.index:
        yield from _entry("the index", entry)
    for file in change.files:
        yield "the file's name", file.path
        yield from _entry("the index", file.entry)
    for agent, description in change.registry:
        yield f"agent {agent}, its description", description
    for kind, text in change.log:
        yield "the day log's line", f"[{kind}] {text}"
    for source in change.sources:
        yield "the sources", source
    yield "the line in the history", change.what


def _entry(place: str, entry: IndexEntry) -> Iterator[tuple[str, str]]:
    yield f"{place}, section's id", entry.section_id
    yield f"{place}, summary of {entry.section_id}", entry.summary
    for keyword in entry.keywords:
        yield f"{place}, keywords of {entry.section_id}", keyword
