"""Colours for people's output, by a table of our own: on a terminal that can do them, else not a single escape."""

from .terminal import Terminal

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def ink(text: str, style: str, terminal: Terminal) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if terminal.colour and text else text


def diff(text: str, terminal: Terminal) -> str:
    """A unified diff with its lines coloured."""
    if not terminal.colour:
        return text
    return "".join(_line(line, terminal) for line in text.splitlines(keepends=True))


def _line(line: str, terminal: Terminal) -> str:
    bare = line.rstrip("\n")
    end = line[len(bare) :]
    if bare.startswith(("+++", "---")):
        return ink(bare, "bold", terminal) + end
    style = {"+": "green", "-": "red", "@": "cyan"}.get(bare[:1])
    return (ink(bare, style, terminal) if style else bare) + end
