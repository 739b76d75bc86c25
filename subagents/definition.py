"""Definitions of agents: Claude Code's sub-agent files, `agents/<id>.md`; the body is the agent's own prompt.

A file from `.claude/agents/` works when copied in: its tool names are mapped, keys that onepen doesn't know are kept,
and a front matter that isn't strict YAML is read line by line.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from ..memory.ids import AgentId
from ..memory.text.block import Value
from ..memory.text.frontmatter import FrontMatter, lenient_values, parse_front_matter
from .errors import SubagentFault

READING = frozenset({"read_card", "read_input", "search"})
DRAFTING = frozenset({"write_draft", "edit_draft", "propose_edit"})
SAFE_TOOLS = READING | DRAFTING | {"report"}
"""What every agent may use unless its definition says less; `report` can't be taken away."""

ON_REQUEST = frozenset({"run_command", "web_search", "web_fetch", "code_execution"})
"""What an agent gets only by a consent of the person, or from a provider that has it."""

_FOREIGN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "read": READING,
        "grep": READING,
        "glob": READING,
        "ls": READING,
        "write": DRAFTING,
        "edit": DRAFTING,
        "multiedit": DRAFTING,
        "notebookedit": DRAFTING,
        "bash": frozenset({"run_command"}),
        "websearch": frozenset({"web_search"}),
        "webfetch": frozenset({"web_fetch"}),
    }
)
_KNOWN_KEYS = frozenset({"name", "description", "tools", "disallowedTools", "model", "maxTurns", "onepen"})
_MOST_TURNS = 1_000


class NoSuchAgent(SubagentFault):
    """Raised when a workspace has no definition of that name."""

    exit_code = 2

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"agent {name}: not in agents/ (known: {names})", hint="onepen add agent TITLE")


@dataclass(frozen=True)
class AgentDefinition:
    """What kind of sub-agent it is.

    `tools` are onepen's own names, `report` always among them; `asks` is what the file wants beyond that and gets by
    consent only. `model` is as written: `inherit`, `sonnet`, `opus`, `haiku` or an id. `offline` says that the
    extractive model can do its work; `worker` names a program of the person's that is to do it, and `program` is its
    command line where their own config has one; `unsafe` is their word that it may run where nothing confines it.
    `extra` keeps the keys that onepen doesn't know; `notices` say what was
    not understood, one line each.
    """

    id: AgentId
    description: str
    tools: frozenset[str]
    model: str
    max_turns: int | None
    prompt: str
    offline: bool = False
    worker: str = ""
    program: tuple[str, ...] = ()
    unsafe: bool = False
    extra: Mapping[str, Value] = field(default_factory=dict)
    asks: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()


def parse_definition(agent: AgentId, text: str) -> AgentDefinition:
    """The definition in a file's text; it never raises: what can't be understood is left out and said in `notices`."""
    return _parsed(agent, text)


@lru_cache(maxsize=32)
def _parsed(agent: AgentId, text: str) -> AgentDefinition:
    front = parse_front_matter(text)
    values, notices = _values(front, text)
    wanted, unknown = _tools(values.get("tools"))
    denied, _ = _tools(values.get("disallowedTools"))
    if wanted is None:
        wanted = SAFE_TOOLS
    wanted -= denied or frozenset()
    if unknown:
        notices.append(f"tools that onepen doesn't have: {', '.join(unknown)}")
    turns = _turns(values.get("maxTurns"), notices)
    return AgentDefinition(
        id=agent,
        description=_text(values.get("description")),
        tools=(wanted & SAFE_TOOLS) | {"report"},
        model=_text(values.get("model")) or "inherit",
        max_turns=turns,
        prompt=(text[front.end :] if front.present else text).strip(),
        offline=_own(values.get("onepen"), "offline").lower() == "true",
        worker=_own(values.get("onepen"), "worker"),
        extra=MappingProxyType({key: value for key, value in values.items() if key not in _KNOWN_KEYS}),
        asks=wanted & ON_REQUEST,
        notices=tuple(notices),
    )


def _values(front: FrontMatter, text: str) -> tuple[Mapping[str, Value], list[str]]:
    if front.problem is None:
        return front.values, []
    if not front.present:
        return {}, [f"line {front.problem.line}: {front.problem.message}; read as a prompt without front matter"]
    lenient: Mapping[str, Value] = lenient_values(text)
    return lenient, [f"line {front.problem.line}: {front.problem.message}; its front matter was read line by line"]


def _tools(value: Value | None) -> tuple[frozenset[str] | None, tuple[str, ...]]:
    """onepen's names for what a file names (None: it names none), and the names that mean nothing here."""
    if value is None or isinstance(value, Mapping) or value == "":
        return None, ()
    listed = re.split(r"[,\s]+(?![^(]*\))", value.strip("[] ")) if isinstance(value, str) else [_text(v) for v in value]
    found: frozenset[str] = frozenset()
    unknown: list[str] = []
    for name in (one.strip("\"' ") for one in listed):
        plain = name.partition("(")[0]
        if plain in SAFE_TOOLS | ON_REQUEST:
            found |= {plain}
        elif plain.lower() in _FOREIGN:
            found |= _FOREIGN[plain.lower()]
        elif plain == "*":
            found |= SAFE_TOOLS
        elif plain:
            unknown.append(name)
    return found, tuple(unknown)


def _turns(value: Value | None, notices: list[str]) -> int | None:
    text = _text(value)
    if not text:
        return None
    if re.fullmatch(r"[0-9]{1,9}", text) and int(text) >= 1:
        return min(int(text), _MOST_TURNS)
    notices.append(f"maxTurns: {text[:40]!r} is no whole number from 1; the workspace's limit counts")
    return None


def _own(value: Value | None, key: str) -> str:
    """One of our own keys, which stand under `onepen:`; a file read line by line has them as a text."""
    if isinstance(value, Mapping):
        return _text(value.get(key))
    found = re.search(rf"\b{key}:\s*([^\s,}}]+)", value) if isinstance(value, str) else None
    return found[1] if found else ""


def _text(value: Value | None) -> str:
    return value.strip() if isinstance(value, str) else ""
