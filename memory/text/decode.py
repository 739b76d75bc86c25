"""Bytes as text: a module of its own, so that whoever only reads a file needs no parser."""

from ..errors import MemoryFault


class NotText(MemoryFault):
    """Raised when a file is no UTF-8 text."""

    def __init__(self, reason: str, path: str | None = None) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason


def decode(data: bytes) -> str:
    """The text of a file's bytes, line ends untouched; raises NotText."""
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise NotText(f"not UTF-8 text: byte {e.start}, line {line}") from e
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise NotText(f"not text: a NUL character in line {line}")
    return text
