"""What a command printed, as much of it as is kept: its beginning and its end, and how much lay between."""

import codecs

from ...staging.characters import visible

HEAD, TAIL = 6_000, 10_000
"""Bytes kept of the beginning and of the end of one stream: the end is where a program says what went wrong."""

_CONTINUED = bytes(range(0x80, 0xC0))  # the bytes of UTF-8 that begin no character


class Printed:
    """Takes a stream in pieces and keeps `head` bytes of its beginning and `tail` of its end; `size` counts all."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._most_head, self._most_tail = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:][-self._most_tail :] if room < len(data) else b""
        if len(self._tail) > 2 * self._most_tail:
            del self._tail[: -self._most_tail]

    def text(self) -> str:
        """What was kept, as text that hides nothing: control characters are escaped; bytes that are no text are not
        shown at all.
        """
        tail = bytes(self._tail[-self._most_tail :])
        left_out = self.size - len(self._head) - len(tail)
        if not left_out:
            return _shown(bytes(self._head) + tail, self.size)
        if b"\0" in self._head or b"\0" in tail:
            return _shown(b"\0", self.size)
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))  # without half a character
        tail = tail[:3].lstrip(_CONTINUED) + tail[3:]
        left_out = self.size - len(self._head) - len(tail)
        return f"{visible(head)}\n[… {left_out:,} bytes left out …]\n{visible(tail.decode(errors='replace'))}"


def _shown(data: bytes, size: int) -> str:
    return f"({size:,} bytes that are no text)" if b"\0" in data else visible(data.decode(errors="replace"))
