"""What the fork server is asked for and what it says, one JSON object a packet.

An order comes over the server's socket, with four descriptors: the worker's stdin, stdout and stderr, and a socket for
this one worker, its lead. Over the lead the server says `started`, `exited` and `cleared`, or `refused`, and is told
`signal`. A lead that is let go of ends the worker and whatever it started.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

LARGEST = 1 << 17
"""Bytes of a packet; the environment and the folders of one worker take a few thousand."""

DESCRIPTORS = 4


@dataclass(frozen=True)
class Order:
    """One worker: its environment, whether it is a `program` or, with none, our own worker, and what it may touch.

    `confinement` is what sandbox/ makes of it; None leaves the worker free.
    """

    environment: Mapping[str, str]
    program: tuple[str, ...] = ()
    confinement: Mapping[str, object] | None = None

    def encode(self) -> bytes:
        fields = {"environment": dict(self.environment), "program": self.program, "confinement": self.confinement}
        return json.dumps(fields).encode()

    @classmethod
    def decode(cls, data: bytes) -> "Order":
        fields = json.loads(data)
        return cls(fields["environment"], tuple(fields["program"]), fields["confinement"])


@dataclass(frozen=True)
class Word:
    """One thing said about a worker.

    started: `value` is its process id; exited: its exit status, negative for a signal; cleared: nothing of it is there
    any more, how many processes that it had left were ended; refused: it could not be forked, `text` says why; signal:
    `value` is the number of the signal that its session is to get, SIGKILL for all that belongs to it.
    """

    kind: Literal["started", "exited", "cleared", "refused", "signal"]
    value: int = 0
    text: str = field(default="")

    def encode(self) -> bytes:
        return json.dumps([self.kind, self.value, self.text]).encode()

    @classmethod
    def decode(cls, data: bytes) -> "Word":
        kind, value, text = json.loads(data)
        return cls(kind, value, text)
