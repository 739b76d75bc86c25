"""The layers of the main agent's prompt as files: which text stands in which layer, how large it is, where a mark goes.

    B  rules       RULES.md, OPS.md (or AGENTS.md)                                    hardly ever changes
    A  persona     SOUL.md, USER.md, BRIEF.md, the client's PERSONA, USER, OPS, BRIEF   rarely
    I  index       MEMORY.md, the indexes of the space, the registry of agents          now and then
    S  synthesis   memory/synthesis.md, the two latest day logs                         every so many exchanges
    C  chat        the messages of a session                                            every turn

Stable layers come first, so that a change burns no more of a cached prompt than it must. Of the root, a client's
prompt gets the rules, the persona and the registry; the root's MEMORY, logs and cards stay in the root's own space.

Each file has a budget, and says in its own text what is missing and which call shows it. What is left of
`limits.start_tokens` by the layers before goes to the indexes, less what S is due, and then to S: a layer never depends
on a later one. Notes of a person are cut by their own limit alone, so with long ones the whole is larger.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from .budget import Budgeted, first_lines, shares
from .overview import overview_of
from .recent import recent
from .snapshot import REGISTRY_TOKENS, index_budgets, operating_rules
from .tokens import estimate
from .view import View
from .workspace import SHELVES, SYNTHESIS, Space

LAYERS = ("B", "A", "I", "S", "C")
SYNTHESIS_TOKENS = 500
"""How many tokens (estimated) of memory/synthesis.md stand in layer S."""
LOG_TOKENS = 250
"""How many tokens (estimated) of each day log stand in layer S."""
_SYNTHESIS_DUE = SYNTHESIS_TOKENS + 2 * LOG_TOKENS
_SYNTHESIS_LEAST = 450
_FRAME = 45
"""Tokens of the lines that a prompt puts around each file."""


@dataclass(frozen=True)
class LayerFile:
    """A file as it stands in a layer: `tokens` estimated, `bytes` counted, `sha256` of that text.

    `left_out` is how many of its `units` (lines, cards, agents) are not in `text`; the text itself says so, too.
    """

    path: str
    tokens: int
    sha256: str
    bytes: int
    left_out: int = 0
    text: str = field(default="", repr=False)
    units: str = "lines"


@dataclass(frozen=True)
class Layer:
    """One layer; `mark` says that a cache mark stands behind it. A layer without files is there all the same."""

    name: str
    files: tuple[LayerFile, ...]
    tokens: int
    sha256: str
    mark: bool


def layers(view: View, space: Space, today: date | None = None, *, tools: int = 0) -> tuple[Layer, ...]:
    """The five layers of a chat in this space as it would begin now; C is still empty.

    `tools` are the tokens of the tools, which stand before B. With `today` the day logs are that day's and yesterday's,
    else the two latest there are. Marks stand as for a single client: behind A (and so B), I, S and C. Raises what
    `view` raises for a file that can't be read.
    """
    client = space.client is not None
    own = [space.path(name) for name in ("PERSONA.md", "USER.md", "OPS.md", "BRIEF.md")] if client else []
    left = view.workspace.settings.limits.start_tokens - tools
    rules = tuple(_notes(view, ["RULES.md", operating_rules(view)]))
    persona = tuple(_notes(view, ["SOUL.md", "USER.md", "BRIEF.md", *own]))
    left -= _sent(rules) + _sent(persona)
    index = tuple(_indexes(view, space, left - _SYNTHESIS_DUE))
    synthesis = tuple(_synthesis(view, space, today, max(_SYNTHESIS_LEAST, left - _sent(index))))
    return (
        _layer("B", rules, mark=False),
        _layer("A", persona, mark=True),
        _layer("I", index, mark=True),
        _layer("S", synthesis, mark=True),
        _layer("C", (), mark=True),
    )


def _notes(view: View, paths: Sequence[str]) -> Iterator[LayerFile]:
    most = view.workspace.settings.limits.note_tokens
    for path in paths:
        if text := view.text(path):
            yield _file(path, first_lines(text, most, path))


def _indexes(view: View, space: Space, room: int) -> Iterator[LayerFile]:
    """MEMORY.md, the two indexes and the registry; the indexes share what the others leave of `room`."""
    limits = view.workspace.settings.limits
    path, registry = space.path("MEMORY.md"), "agents/_index.md"
    memory = [_file(path, first_lines(text, limits.memory_tokens, path))] if (text := view.text(path)) else []
    agents = (
        _index(registry, registry, found, min(REGISTRY_TOKENS, limits.index_tokens))
        if (found := view.bytes(registry))
        else []
    )
    indexes = {shelf: found for shelf in SHELVES if (found := view.bytes(space.index_path(shelf)))}
    room -= _sent(memory) + _sent(agents) + len(indexes) * _FRAME
    budgets = index_budgets(indexes, room, limits.index_tokens)
    yield from memory
    for shelf, data in indexes.items():
        yield from _index(space.index_path(shelf), f"{shelf}/_index.md", data, budgets[shelf])
    yield from agents


def _index(path: str, name: str, data: bytes, tokens: int) -> list[LayerFile]:
    units = "agents" if path.startswith("agents/") else "cards"
    return [_file(path, overview_of(data, tokens, name, path), units=units)]


def _synthesis(view: View, space: Space, today: date | None, room: int) -> Iterator[LayerFile]:
    days = view.days(space)
    shown = sorted(days)[-2:] if today is None else [d for d in (today - timedelta(days=1), today) if d in days]
    paths = [space.path(SYNTHESIS), *(space.path(f"memory/{day.isoformat()}.md") for day in shown)]
    texts = {path: text for path in paths if (text := view.text(path))}
    most = {path: SYNTHESIS_TOKENS if path == paths[0] else LOG_TOKENS for path in texts}
    wanted = [min(most[path], estimate(text)) for path, text in texts.items()]
    for (path, text), tokens in zip(texts.items(), shares(wanted, room - len(texts) * _FRAME), strict=True):
        cut = first_lines(text, tokens, path) if path == paths[0] else recent(text, tokens, path)
        yield _file(path, cut)


def _sent(files: Sequence[LayerFile]) -> int:
    return sum(file.tokens + _FRAME for file in files)


def _file(path: str, cut: Budgeted, *, units: str = "lines") -> LayerFile:
    text = cut.text if cut.text.endswith("\n") else cut.text + "\n"
    data = text.encode()
    return LayerFile(path, estimate(text), hashlib.sha256(data).hexdigest(), len(data), cut.left_out, text, units)


def _layer(name: str, found: tuple[LayerFile, ...], *, mark: bool) -> Layer:
    digest = hashlib.sha256("".join(each.text for each in found).encode()).hexdigest()
    return Layer(name, found, sum(each.tokens for each in found), digest, mark)
