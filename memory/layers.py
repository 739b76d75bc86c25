"""The layers of the main agent's prompt as files: which text stands in which layer, how large it is, where a mark goes.

    B  rules       RULES.md, OPS.md (or AGENTS.md)                                    hardly ever changes
    A  persona     SOUL.md, USER.md, BRIEF.md, the client's PERSONA, USER, OPS, BRIEF   rarely
    I  index       MEMORY.md, the indexes of the space, the registry of agents          now and then
    S  synthesis   memory/synthesis.md, the two latest day logs                         every so many exchanges
    C  chat        the messages of a session                                            every turn

Stable layers come first, so that a change burns no more of a cached prompt than it must. Of the root, a client's
prompt gets the rules, the persona and the registry; the root's MEMORY, logs and cards stay in the root's own space.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

from .archive import at_work
from .budget import last_lines, within_budget
from .snapshot import operating_rules
from .tokens import estimate
from .view import View
from .workspace import SYNTHESIS, Space

LAYERS = ("B", "A", "I", "S", "C")
LOG_TOKENS = 400
"""How many tokens (estimated) of each day log stand in layer S; the earlier lines of a longer one are left out."""


@dataclass(frozen=True)
class LayerFile:
    """A file as it stands in a layer: `tokens` estimated, `bytes` counted, `sha256` of that text.

    `left_out` is how many of its blocks or lines are not in `text` because of a budget; the text itself says so, too.
    """

    path: str
    tokens: int
    sha256: str
    bytes: int
    left_out: int = 0
    text: str = field(default="", repr=False)


@dataclass(frozen=True)
class Layer:
    """One layer; `mark` says that a cache mark stands behind it. A layer without files is there all the same."""

    name: str
    files: tuple[LayerFile, ...]
    tokens: int
    sha256: str
    mark: bool


def layers(view: View, space: Space, today: date | None = None) -> tuple[Layer, ...]:
    """The five layers of a chat in this space as it would begin now; C is still empty.

    With `today` the day logs are that day's and yesterday's, else the two latest there are. Marks stand as for a single
    client: behind A (and so B), I, S and C. Raises what `view` raises for a file that can't be read.
    """
    client = space.client is not None
    own = [space.path(name) for name in ("PERSONA.md", "USER.md", "OPS.md", "BRIEF.md")] if client else []
    return (
        _layer("B", _whole(view, ["RULES.md", operating_rules(view)]), mark=False),
        _layer("A", _whole(view, ["SOUL.md", "USER.md", "BRIEF.md", *own]), mark=True),
        _layer("I", _indexes(view, space), mark=True),
        _layer("S", _synthesis(view, space, today), mark=True),
        _layer("C", iter(()), mark=True),
    )


def _whole(view: View, paths: list[str]) -> Iterator[LayerFile]:
    for path in paths:
        if text := view.text(path):
            yield _file(path, text)


def _indexes(view: View, space: Space) -> Iterator[LayerFile]:
    yield from _whole(view, [space.path("MEMORY.md")])
    budget = view.workspace.settings.limits.index_tokens
    for path, what in (
        (space.index_path("projects"), "cards"),
        (space.index_path("research"), "cards"),
        ("agents/_index.md", "agents"),
    ):
        if text := view.text(path):
            cut = within_budget(at_work(text) if what == "cards" else text, budget, what=what)
            yield _file(path, cut.text, cut.left_out)


def _synthesis(view: View, space: Space, today: date | None) -> Iterator[LayerFile]:
    yield from _whole(view, [space.path(SYNTHESIS)])
    days = view.days(space)
    shown = sorted(days)[-2:] if today is None else [d for d in (today - timedelta(days=1), today) if d in days]
    for day in shown:
        path = space.path(f"memory/{day.isoformat()}.md")
        if text := view.text(path):
            cut = last_lines(text, LOG_TOKENS)
            yield _file(path, cut.text, cut.left_out)


def _file(path: str, text: str, left_out: int = 0) -> LayerFile:
    text = text if text.endswith("\n") else text + "\n"
    data = text.encode()
    return LayerFile(path, estimate(text), hashlib.sha256(data).hexdigest(), len(data), left_out, text)


def _layer(name: str, files: Iterator[LayerFile], *, mark: bool) -> Layer:
    found = tuple(files)
    digest = hashlib.sha256("".join(each.text for each in found).encode()).hexdigest()
    return Layer(name, found, sum(each.tokens for each in found), digest, mark)
