"""Bytes as they come, made into messages: whole lines, parts of lines, several objects on one, and all that is none."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from .messages import first_error, well_formed

MAX_LINE = 4 << 20
"""Bytes that a line of the wire may have, its end included."""

_MOST_OBJECTS = 64
_HEAD = 4_096  # bytes kept of a line that is too long
_NEEDLE = b'"type"'  # every message has it; what hasn't need not be parsed
_OBJECT = re.compile(r'\{\s*"')


@dataclass(frozen=True)
class Noise:
    """What stood on the wire and is no message: kept in a log, with the reason; `meant` if it looked like one."""

    data: bytes
    reason: str
    meant: bool = False


M = TypeVar("M")


class LineSplitter(Generic[M]):
    """Makes messages of bytes as they come: `LineSplitter(FROM_WORKER)` at one end, `TO_WORKER` at the other.

    Takes lines in any pieces and several objects on one line. Anything else comes out as Noise; nothing is raised.
    It holds at most one line of 4 MiB.
    """

    def __init__(self, adapter: TypeAdapter[M]) -> None:
        self._adapter = adapter
        self._pieces: list[bytes] = []
        self._held = 0
        self._skipping = False
        self.skipped = 0
        """Bytes passed over so far: what stood on lines that were too long."""

    def feed(self, data: bytes) -> list[M | Noise]:
        """The messages and the noise that these bytes complete, in order."""
        found: list[M | Noise] = []
        start = 0
        end = data.rfind(b"\n") + 1
        while start < end:
            quiet = start if self._held or self._skipping else _quiet_end(data, start, end)
            if quiet > start:
                found.append(Noise(data[start:quiet], "no message"))
                start = quiet
            else:
                after = data.index(b"\n", start) + 1
                found.extend(self._line(data[start:after]))
                start = after
        found.extend(self._hold(data[start:]))
        return found

    def finish(self) -> list[M | Noise]:
        """What the last bytes hold when no more will come: a line without an end is one, too."""
        return list(self._line(b""))

    def _line(self, tail: bytes) -> Iterator[M | Noise]:
        if self._skipping:
            self._skipping = False
            self.skipped += len(tail)
            return
        if self._held + len(tail) > MAX_LINE:
            yield from self._give_up(tail)
            self._skipping = False
            return
        line = b"".join((*self._pieces, tail))
        self._pieces, self._held = [], 0
        if line.strip():
            yield from self._read(line)

    def _hold(self, rest: bytes) -> Iterator[Noise]:
        if self._skipping:
            self.skipped += len(rest)
            return
        if not rest:
            return
        if self._held + len(rest) >= MAX_LINE:
            yield from self._give_up(rest)
            return
        self._pieces.append(rest)
        self._held += len(rest)

    def _give_up(self, rest: bytes) -> Iterator[Noise]:
        head = _beginning((*self._pieces, rest), _HEAD)
        self.skipped += self._held + len(rest) - len(head)
        self._pieces, self._held, self._skipping = [], 0, True
        yield Noise(head, f"a line longer than {MAX_LINE} bytes, of which these are the first", meant=head[:1] == b"{")

    def _read(self, line: bytes) -> Iterator[M | Noise]:
        if _NEEDLE not in line:
            yield Noise(line, "no message")
            return
        try:
            yield self._adapter.validate_json(line)
            return
        except ValidationError:
            pass  # what is wrong is told object by object, below
        try:
            text = line.decode()
        except UnicodeDecodeError:
            yield Noise(line, "not UTF-8")
            return
        yield from self._objects(text)

    def _objects(self, text: str) -> Iterator[M | Noise]:
        """The objects on one line, with whatever stands before, between and behind them."""
        decoder = json.JSONDecoder()
        plain = position = 0
        for _ in range(_MOST_OBJECTS):
            opening = _OBJECT.search(text, position)
            if opening is None:
                break
            try:
                value, position = decoder.raw_decode(text, opening.start())
            except (ValueError, RecursionError):
                position = opening.start() + 1
                continue
            if text[plain : opening.start()].strip():
                yield Noise(text[plain : opening.start()].encode(), "not JSON")
            yield self._message(value, text[opening.start() : position])
            plain = position
        if text[plain:].strip():
            yield Noise(text[plain:].encode(), "not JSON, or nested too deeply")

    def _message(self, value: object, text: str) -> M | Noise:
        assert isinstance(value, dict)
        meant = "type" in value and "v" in value and "task" in value
        try:
            return self._adapter.validate_json(well_formed(json.dumps(value, ensure_ascii=False)))
        except (ValidationError, RecursionError) as e:
            reason = first_error(e) if isinstance(e, ValidationError) else "nested too deeply"
            return Noise(text.encode(), reason if meant else "not a message of the wire", meant)


def _beginning(pieces: Iterable[bytes], size: int) -> bytes:
    """The first bytes of what the pieces make together; to join all of them would take as much memory again."""
    head = bytearray()
    for piece in pieces:
        head += piece[: size - len(head)]
        if len(head) == size:
            break
    return bytes(head)


def _quiet_end(data: bytes, start: int, end: int) -> int:
    """Where the lines from `start` end that can't hold a message: a flood of them is one piece of noise."""
    needle = data.find(_NEEDLE, start, end)
    return end if needle < 0 else data.rfind(b"\n", start, needle) + 1 or start
