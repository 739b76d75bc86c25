"""What a commit may write, as a grammar of paths: the files of memory, and nothing else.

A redo log is believed only as far as this goes. It lies in a folder that may have come from elsewhere, and a record for
`.git/config` or a Makefile would run a stranger's commands one day. Pure.
"""

import re

from ..ids import AgentId, BadId, ClientId
from ..target import BadTarget, parse_target
from ..tombstone import TOMBSTONES
from ..workspace import NOTES, SYNTHESIS, inner_path

_INDEXES = frozenset({"projects/_index.md", "research/_index.md", "agents/_index.md"})
_AGENT = re.compile(r"agents/([^/]+)\.md")
_DAY = re.compile(r"memory/(\d{4}-\d{2}-\d{2})\.md")
_LOG = re.compile(r"logs/(?:commits|seals)-\d{4}-\d{2}\.jsonl")


def may_write(path: str) -> bool:
    """Whether a workspace path is one that a commit writes."""
    if path == TOMBSTONES:
        return True
    if path.startswith("clients/"):
        client, _, inner = path.removeprefix("clients/").partition("/")
        return _is_id(ClientId, client) and _in_space(inner)
    return _in_space(path)


def may_remove(path: str) -> bool:
    """Whether a workspace path is one that a commit removes: a card, a file of a project, an agent's definition.

    Or the synthesis, where the commit that made it is undone.
    """
    if not may_write(path):
        return False
    inner = inner_path(path)
    if inner == SYNTHESIS:
        return True
    if agent := _AGENT.fullmatch(inner):
        return agent[1] not in ("_index", "RULES")
    return inner.startswith(("projects/", "research/")) and inner not in _INDEXES


def _in_space(path: str) -> bool:
    if path in NOTES or path in _INDEXES or path in ("agents/RULES.md", SYNTHESIS):
        return True
    if _LOG.fullmatch(path) or _DAY.fullmatch(path):
        return True
    if agent := _AGENT.fullmatch(path):
        return _is_id(AgentId, agent[1])
    try:
        parse_target(path)
    except (BadTarget, BadId):
        return False
    return True


def _is_id(kind: type[AgentId] | type[ClientId], text: str) -> bool:
    try:
        kind(text)
    except BadId:
        return False
    return True
