"""A request as rules see it."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LABELS = frozenset({"role", "type", "id", "tool_use_id", "signature", "data", "media_type", "ttl"})
"""Fields that hold no words."""


@dataclass(frozen=True)
class Asked:
    """What stands in a request; `n` counts those to its endpoint from 1, `since` the seconds from the first.

    `system` is the system prompt as one text, `words` all texts of the messages (inputs and results of tools included),
    `last` those of the last message, `forced` the tool that has to be called. A request in a Message Batch is
    `batched`, and has its `custom_id`.
    """

    to: str
    n: int
    since: float
    body: Mapping[str, Any]
    system: str = ""
    words: str = ""
    last: str = ""
    turn: int = 1
    model: str = ""
    forced: str | None = None
    custom_id: str = ""

    @property
    def batched(self) -> bool:
        return bool(self.custom_id)


def asked(to: str, n: int, since: float, body: Mapping[str, Any], custom_id: str = "") -> Asked:
    """Reads what it can; what is wrong with the request is judged elsewhere."""
    messages = body.get("messages")
    messages = messages if isinstance(messages, list) else []
    spoken = sum(1 for message in messages if isinstance(message, Mapping) and message.get("role") == "assistant")
    choice = body.get("tool_choice")
    forced = choice.get("name") if isinstance(choice, Mapping) and choice.get("type") == "tool" else None
    return Asked(
        to, n, since, body,
        system="\n".join(texts(body.get("system"))), words="\n".join(texts(messages)),
        last="\n".join(texts(messages[-1:])), turn=spoken + 1, model=str(body.get("model", "")), forced=forced,
        custom_id=custom_id,
    )  # fmt: skip


def texts(value: object, without: Container[str] = LABELS) -> Iterator[str]:
    """All texts in a value of JSON's types, except the names of fields and what stands in the fields `without`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in without:
                yield from texts(inner, without)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, without)
