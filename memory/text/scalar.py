"""How a text is written as a YAML value: plain where every reader of YAML sees the same text, else in quotes."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import yaml

# Characters that can't be seen or that end a line for some readers; always written as an escape.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
_PLAIN_START = re.compile(r"[^\s\-?:,\[\]{}#&*!|>'\"%@`=~<]")
_FLOW_MARKS = re.compile(r"[,\[\]{}:\"'?#]")
# Dates read alike for people and are the one type that is left bare.
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?")
_OTHER_TYPES = re.compile(r"[yYnN]|0[oO][0-7]+|[+-]?[._,]*\d[\d._,]*(?:[eE][+-]?\d+)?")
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x00": "\\0"}


def render_scalar(text: str, *, style: str | None = None, flow: bool = False) -> str:
    """One text as YAML, in the quotes that stood there (`style`) where they can hold it."""
    if style == '"':
        return _quoted(text)
    if style == "'" and not _UNSEEN.search(text):
        return "'" + text.replace("'", "''") + "'"
    return text if _is_plain(text, flow) else _quoted(text)


def render_key(text: str) -> str:
    """A key of a mapping."""
    bare = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", text) and not _has_other_type(text)
    return text if bare else _quoted(text)


def render_value(value: object, *, flow: bool = False) -> str:
    """Any value that front matter may have; lists and mappings in flow style, None as nothing."""
    if isinstance(value, str):
        return render_scalar(value, flow=flow)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if value is None:
        return '""' if flow else ""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{render_key(k)}: {render_value(v, flow=True)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(render_value(item, flow=True) for item in value) + "]"
    return str(value)


def _is_plain(text: str, flow: bool) -> bool:
    if not _PLAIN_START.match(text) or text != text.strip() or _UNSEEN.search(text):
        return False
    if ": " in text or " #" in text or text.endswith(":") or (flow and _FLOW_MARKS.search(text)):
        return False
    return bool(_DATE.fullmatch(text)) or not _has_other_type(text)


def _has_other_type(text: str) -> bool:
    resolvers: Any = yaml.SafeLoader.yaml_implicit_resolvers
    known = (*resolvers.get(text[0], ()), *resolvers.get(None, ()))
    return bool(_OTHER_TYPES.fullmatch(text)) or any(pattern.match(text) for _, pattern in known)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _UNSEEN.sub(lambda match: _escape(match[0]), escaped) + '"'


def _escape(character: str) -> str:
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return _ESCAPES.get(character) or (
        f"\\U{ord(character):08X}" if ord(character) > 0xFFFF else f"\\u{ord(character):04X}"
    )
