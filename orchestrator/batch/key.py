"""What makes two tasks of batches the same: a hash of what each is, never of where it stands. Pure.

Every task runs at least once and is committed exactly once. So the key is what a commit remembers, and a row that was
done in one batch is known again in the next, however the rows are ordered there.
"""

import hashlib
import json
import unicodedata
from collections.abc import Mapping

_LENGTH = 32


def task_key(
    *,
    client: str | None,
    project: str | None,
    agent: str,
    model: str,
    text: str,
    target: str | None,
    inputs: Mapping[str, str],
    template: str,
    answer: bool = False,
) -> str:
    """The key of a task: 32 hex digits.

    `text` is the filled text, `template` that of the prompt, "" without one; `inputs` are the hashes of the inputs by
    name; `target` is the one that was asked for, None where onepen or the worker chooses. A task that only asks for an
    `answer` is another one than the same with a draft.
    """
    hashed = digest(normal(template)) if template else ""
    what = [client, project, agent, model, normal(text), target, dict(inputs), hashed]
    return digest(canonical([*what, "answer"] if answer else what))[:_LENGTH]


def normal(text: str) -> str:
    """A text without what no reader sees: composed characters, newlines, no blanks at the ends of lines or of it all.

    An editor's save changes these, and nobody wants to pay for a task again because of that.
    """
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def canonical(value: object) -> str:
    """JSON in its one form: sorted keys, no blanks, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(text: str) -> str:
    """The hex sha256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
