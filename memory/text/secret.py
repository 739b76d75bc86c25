"""Values that look like keys and passwords: found by shape, named by kind and place, never repeated. Pure.

The table is small and known to be incomplete: it catches the accident, not the determined. Whoever knows the values of
credentials hands them in as `held`: those are found whatever they look like.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Literal

Held = Mapping[str, str]
"""Values of credentials by what they are called, such as "the value of ANTHROPIC_API_KEY"."""

NONE: Held = MappingProxyType({})

SecretLevel = Literal["block", "warn"]
"""`block`: it has the shape of a secret and of little else; `warn`: it may be prose."""


@dataclass(frozen=True)
class Seen:
    """That a line (from 0) holds a secret of this kind; the value itself is not kept."""

    line: int
    kind: str
    level: SecretLevel


@dataclass(frozen=True)
class _Shape:
    """What a kind of secret looks like; a text without any of its `signs` (case-folded) holds none.

    Looking for the signs first makes a text without secrets, which is nearly every one, cost next to nothing.
    """

    kind: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    level: SecretLevel = "block"


# A named password with a value of six characters or more. Placeholders such as <password>, ***, $NAME or {{ name }}
# are none; a value of plain letters may be prose ("password: required") and is only pointed at.
_NAMED = (
    r"(?i)\b(?:pass(?:word|wd|phrase)?|pwd|passwor[dt]|kennwort|mot de passe|contraseña|secret(?:[_-]?key)?|"
    r"(?:api|access|auth|private)[_ -]?(?:key|token))[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
)
_NAMES = ("pass", "pwd", "kennwort", "contrase", "secret", "key", "token")
_PEM = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]{0,8192}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)


@cache
def _shapes() -> tuple[_Shape, ...]:
    """The table; compiled by the first text that is looked at."""
    return (
        _Shape("an Anthropic key", ("sk-ant-",), re.compile(r"\bsk-ant-[A-Za-z0-9_-]{16,}")),
        _Shape(
            "an OpenAI-style key", ("sk-",), re.compile(r"\bsk-(?!ant-)(?:proj-|or-v1-|svcacct-)?[A-Za-z0-9_-]{20,}")
        ),
        _Shape("an AWS access key id", ("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
        _Shape(
            "an AWS secret key",
            ("aws_secret_access_key",),
            re.compile(r"(?i)\baws_secret_access_key[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?[^\s\"'<>$*{]{4,}"),
        ),
        _Shape(
            "a GitHub token",
            ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
            re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})"),
        ),
        _Shape("a GitLab token", ("glpat-",), re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}")),
        _Shape("a Slack token", ("xox",), re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
        _Shape("a Google API key", ("aiza",), re.compile(r"\bAIza[A-Za-z0-9_-]{35}")),
        _Shape("a Stripe key", ("k_live_",), re.compile(r"\b[rs]k_live_[A-Za-z0-9]{16,}")),
        _Shape("a Hugging Face token", ("hf_",), re.compile(r"\bhf_[A-Za-z0-9]{30,}")),
        _Shape("an npm token", ("npm_",), re.compile(r"\bnpm_[A-Za-z0-9]{36}")),
        _Shape("a PyPI token", ("pypi-age",), re.compile(r"\bpypi-AgE[A-Za-z0-9_-]{16,}")),
        _Shape(
            "a JSON web token",
            ("eyj",),
            re.compile(r"\beyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,4096}"),
        ),
        _Shape("a private key", ("private key",), re.compile(_PEM)),
        _Shape(
            "a password in a URL",
            ("://",),
            re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@<>{}$]{0,128}:[^\s/@<>{}$*]{1,256}@"),
        ),
        _Shape(
            "a named password",
            _NAMES,
            re.compile(_NAMED + r"(?=[^\s\"'<>$*{]{0,256}[0-9!#%&+/=?@^_~-])[^\s\"'<>$*{,;]{6,}"),
        ),
        _Shape("a named password, perhaps", _NAMES, re.compile(_NAMED + r"[^\s\"'<>$*{,;]{6,}"), "warn"),
    )


def secrets_in(text: str, held: Held = NONE) -> Iterator[Seen]:
    """Each secret by line; in a line the values that are held come first, then the shapes in the table's order."""
    shapes = _shapes()
    starts = sorted(
        (
            *((at, rank - len(held)) for rank, value in enumerate(held.values()) for at in _places(text, value)),
            *((m.start(), rank) for rank, shape in _likely(text) for m in shape.pattern.finditer(text)),
        )
    )
    found: list[tuple[int, int]] = []
    line, seen = 0, 0
    for start, rank in starts:
        line += text.count("\n", seen, start)
        seen = start
        found.append((line, rank))
    names = tuple(held)
    for line, rank in sorted(found):
        if rank < 0:
            yield Seen(line, names[rank], "block")
        else:
            yield Seen(line, shapes[rank].kind, shapes[rank].level)


def mask(text: str, held: Held = NONE) -> str:
    """The text with each secret replaced by its kind in brackets: values that are held, and those of a clear shape.

    Lines stay lines: what is masked leaves its line ends behind.
    """
    for name in sorted(held, key=lambda name: -len(held[name])):
        text = text.replace(held[name], f"[{name}]")
    for _, shape in _likely(text):
        if shape.level == "block":
            text = shape.pattern.sub(partial(_masked, shape.kind), text)
    return text


@cache
def _signs() -> tuple[str, ...]:
    """Every sign of every shape, once."""
    return tuple(dict.fromkeys(sign for shape in _shapes() for sign in shape.signs))


def _likely(text: str) -> Iterator[tuple[int, _Shape]]:
    """The shapes of which the text has a sign, each with its place in the table."""
    folded = text.casefold()
    if not any(map(folded.__contains__, _signs())):  # one pattern of all signs takes twenty times as long
        return
    for rank, shape in enumerate(_shapes()):
        if any(sign in folded for sign in shape.signs):
            yield rank, shape


def _masked(kind: str, match: re.Match[str]) -> str:
    return f"[{kind}]" + "\n" * match[0].count("\n")


def _places(text: str, value: str) -> Iterator[int]:
    at = text.find(value) if value else -1
    while at >= 0:
        yield at
        at = text.find(value, at + len(value))
