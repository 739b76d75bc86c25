"""What is left of JSON that breaks off: the members that are whole, as the API hands over a call cut by max_tokens."""

import json
from typing import Any

_CLOSED_BY = {"{": "}", "[": "]"}


def whole_part(text: str) -> Any:
    """The value in a text of JSON that may break off anywhere; an empty object where nothing of it is whole."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    except RecursionError:
        return {}
    for end, closing in reversed(_ends(text)):
        try:
            return json.loads(text[:end] + closing)
        except ValueError:
            continue
    return {}


def _ends(text: str) -> list[tuple[int, str]]:
    """Where a value could end, from the first on, with what would close all that is open there."""
    ends: list[tuple[int, str]] = []
    opened: list[str] = []
    quoted = escaped = False
    for place, letter in enumerate(text):
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif letter in _CLOSED_BY:
            opened.append(letter)
            ends.append((place + 1, _closing(opened)))
        elif letter == ",":
            ends.append((place, _closing(opened)))
        elif letter in "}]" and opened:
            opened.pop()
            ends.append((place + 1, _closing(opened)))
    return ends


def _closing(opened: list[str]) -> str:
    return "".join(_CLOSED_BY[letter] for letter in reversed(opened))
