"""worker.log: what a worker printed beside the wire, up to a limit, and what onepen has to say about it.

Lines of onepen begin with `[onepen] `. What a worker prints is kept as it came, byte for byte, but for secrets, which
are masked. A line is written once it is whole, since half a key has no shape.
"""

from collections.abc import Callable

from ..staging.secret import mask as mask_shapes

_BEGIN, _END = b"-----BEGIN ", b"-----END "
_LONGEST_BLOCK = 16_384  # bytes of a private key that are waited for
_LONGEST_LINE = 65_536
_OVERLAP = 1_024  # of a line that doesn't end, so much is kept back: a secret may go on


class WorkerLog:
    """Appends to a log through `append`, at `flush`; what goes beyond `limit` bytes is counted and said.

    `mask` takes secrets out of a text: by their shape, and those whose values somebody knows.
    """

    def __init__(self, append: Callable[[bytes], None], limit: int, mask: Callable[[str], str] = mask_shapes) -> None:
        self._append = append
        self._mask = mask
        self._room = limit
        self._dropped = 0
        self._open_line = False
        self._buffer = bytearray()
        self.last_line = ""
        """The last line of stderr, for messages."""

    def stderr(self, data: bytes) -> None:
        lines = data.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), None)
        self.last_line = self.last_line if last is None else self._mask(last)
        self._keep(data)

    def noise(self, data: bytes, reason: str) -> None:
        """Something on stdout that is no message."""
        self._keep(self._line(f"on stdout ({reason}):") + data + (b"" if data.endswith(b"\n") else b"\n"))

    def note(self, text: str) -> None:
        """Something that onepen says, also beyond the limit."""
        self._write(self._line(text))

    def close(self) -> None:
        """Say how much was not kept."""
        if self._dropped:
            self.note(f"{self._dropped} bytes more were printed and not kept")
        self._write_out(len(self._buffer))

    def flush(self) -> None:
        """Write out the whole lines that have gathered: one at a time would cost more than the line."""
        self._write_out(_ready(self._buffer))

    def _write_out(self, size: int) -> None:
        if size:
            text = bytes(self._buffer[:size]).decode("utf-8", "surrogateescape")
            self._append(self._mask(text).encode("utf-8", "surrogateescape"))
            del self._buffer[:size]

    def _line(self, text: str) -> bytes:
        return (b"\n" if self._open_line else b"") + f"[onepen] {text}\n".encode(errors="replace")

    def _keep(self, data: bytes) -> None:
        kept = data[: self._room]
        self._room -= len(kept)
        self._dropped += len(data) - len(kept)
        if kept:
            self._write(kept)

    def _write(self, data: bytes) -> None:
        self._buffer += data
        self._open_line = not data.endswith(b"\n")


def _ready(data: bytearray) -> int:
    """How many of these bytes can be judged: whole lines, but not the beginning of a private key without its end."""
    size = data.rfind(b"\n") + 1
    if not size and len(data) > _LONGEST_LINE:
        return len(data) - _OVERLAP
    begun = data.rfind(_BEGIN)
    if 0 <= begun < size and data.find(_END, begun, size) < 0 and len(data) - begun < _LONGEST_BLOCK:
        return data.rfind(b"\n", 0, begun) + 1
    return size
