"""worker.log: what a worker printed beside the wire, up to a limit, and what onepen has to say about it.

Lines of onepen begin with `[onepen] `. What a worker prints is kept as it came, byte for byte.
"""

from collections.abc import Callable


class WorkerLog:
    """Appends to a log through `append`, at `flush`; what goes beyond `limit` bytes is counted and said."""

    def __init__(self, append: Callable[[bytes], None], limit: int) -> None:
        self._append = append
        self._room = limit
        self._dropped = 0
        self._open_line = False
        self._buffer = bytearray()
        self.last_line = ""
        """The last line of stderr, for messages."""

    def stderr(self, data: bytes) -> None:
        lines = data.decode(errors="replace").split("\n")
        self.last_line = next((line.strip() for line in reversed(lines) if line.strip()), self.last_line)
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
        self.flush()

    def flush(self) -> None:
        """Write out what has gathered: a line at a time would cost more than the line."""
        if self._buffer:
            self._append(bytes(self._buffer))
            self._buffer.clear()

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
