"""Templates of prompts and targets: `{field}` is a row's field, `{{` and `}}` are braces. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...memory.ids import id_from_title, shown
from ..errors import OrchestratorFault

_BRACE = re.compile(r"[{}]")
_AS_IT_IS = "a brace that is to stay is written twice"


class BadTemplate(OrchestratorFault):
    """Raised when a template's braces don't make fields; `what` names it, such as "the prompt"."""

    exit_code = 2

    def __init__(self, what: str, text: str, at: int, reason: str) -> None:
        line = f", line {text.count(chr(10), 0, at) + 1}" if "\n" in text.strip() else ""
        super().__init__(f"{what}{line}: {reason}; {_AS_IT_IS}")


@dataclass(frozen=True)
class _Part:
    """Text, and the field behind it; the last part has none."""

    text: str
    field: str | None = None


@dataclass(frozen=True)
class Template:
    """A template that was read; `fields` are the fields that it uses, each once, in their order."""

    text: str
    parts: tuple[_Part, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.field for part in self.parts if part.field is not None))

    def fill(self, fields: Mapping[str, str]) -> str:
        """The text with each field's value, whatever is in it; raises KeyError for a field that isn't there."""
        return self._filled(fields, str)

    def fill_target(self, fields: Mapping[str, str]) -> str:
        """The same with each value made into an id, so that it can be part of a target; raises BadTitle, too."""
        return self._filled(fields, id_from_title)

    def _filled(self, fields: Mapping[str, str], write: Callable[[str], str]) -> str:
        return "".join(
            part.text if part.field is None else part.text + write(fields[part.field]) for part in self.parts
        )


def template(text: str, what: str) -> Template:
    """The template in a text; raises BadTemplate with the first brace that is wrong."""
    parts = list[_Part]()
    literal = ""
    at = 0
    while (brace := _BRACE.search(text, at)) is not None:
        literal += text[at : brace.start()]
        if text.startswith(brace[0], brace.end()):
            literal += brace[0]
            at = brace.end() + 1
            continue
        field, at = _field(text, brace, what)
        parts.append(_Part(literal, field))
        literal = ""
    parts.append(_Part(literal + text[at:]))
    return Template(text, tuple(parts))


def _field(text: str, brace: re.Match[str], what: str) -> tuple[str, int]:
    """The field that a brace opens, and where the text goes on behind it; raises BadTemplate."""
    if brace[0] == "}":
        raise BadTemplate(what, text, brace.start(), "'}' closes no field")
    end = _BRACE.search(text, brace.end())
    inside = text[brace.end() : end.start()] if end is not None and end[0] == "}" else "\n"
    if "\n" in inside:
        raise BadTemplate(what, text, brace.start(), "'{' opens a field that nothing closes on its line")
    assert end is not None
    if not inside.strip():
        raise BadTemplate(what, text, brace.start(), f"{shown('{' + inside + '}')} names no field")
    return inside.strip(), end.end()
