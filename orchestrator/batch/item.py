"""One task of a batch as its input says it, with every template filled in."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """`key` is the hash of what it is (key.py), never of where it stands; `line` is where, counted from 1.

    `id` is the row's own name for it, "" for none. Rows that come to the same key are one item, `twins` the lines of
    the others. `model` is the name that its task's sheet keeps.
    """

    key: str
    line: int
    text: str
    agent: str
    model: str
    client: str | None = None
    project: str | None = None
    target: str | None = None
    id: str = ""
    twins: tuple[int, ...] = ()
