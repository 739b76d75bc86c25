"""What is sent before a person's words: by a chat that would begin now, by one that goes on, and how the two differ."""

import difflib
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from ..memory.fence import fences_of
from ..memory.layers import LAYERS, Layer, LayerFile, layers
from ..memory.view import View
from ..memory.workspace import Space
from ..subagents.messages import message_dict
from ..subagents.model import Life, ToolSpec
from ..subagents.toolbox.toolset import tool_tokens
from .chat.marking import FIRST, Pace, caching, pace_of
from .chat.prompt import conversation_tokens, layer_tokens, system_blocks
from .chat.session import Session, messages
from .chat.toolset import tools
from .meter.rates import READ, WRITE

TOOLS = "tools"
_MARK = re.compile(r"^\[[0-9a-f]{16} (?=data: |end of data\])", re.MULTILINE)


@dataclass(frozen=True)
class SentLayer:
    """A layer with its text exactly as it is sent; `tokens` are estimated, those of the tools stand in B.

    `mark` says that a cache mark stands behind it, `life` how long what it ends is kept. `files` are those of memory,
    as far as they are known: a chat that goes on keeps its text only.
    """

    name: str
    text: str = field(repr=False)
    tokens: int
    mark: bool = False
    life: Life | None = None
    files: tuple[LayerFile, ...] = ()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode(errors="replace")).hexdigest()


@dataclass(frozen=True)
class LayerChange:
    """How a layer that would be sent now differs from the one that was; `diff` is without the marks of fences."""

    name: str
    tokens: tuple[int, int]
    bytes: tuple[int, int]
    diff: str


@dataclass(frozen=True)
class Difference:
    """What became different since a chat's prompt was put together, at `at`; `rewritten` tokens are those of the layers
    from the first that changed on, which a server's cache doesn't hold."""

    chat: str
    at: str
    changes: tuple[LayerChange, ...]
    rewritten: int

    @property
    def base_tokens(self) -> float:
        """What it costs to write them to the cache, in tokens that are neither written nor read there."""
        return self.rewritten * WRITE

    @property
    def saved(self) -> float:
        """What it would cost to read them from there instead."""
        return self.rewritten * READ


@dataclass(frozen=True)
class Sent:
    """The tools as they are sent, a line each, and the layers behind them."""

    tools: str = field(repr=False)
    layers: tuple[SentLayer, ...]


def begins(view: View, space: Space, today: date) -> Sent:
    """What a chat would send that begins now; C is still empty. Raises what `layers` raises."""
    found = layers(view, space, today, tools=tool_tokens(tools()))
    blocks = system_blocks(found, space, fences_of(space.root, keep=False))
    parts, system = [name for name, _ in blocks], [text for _, text in blocks]
    return Sent(tools_text(tools()), sent(parts, system, layer_tokens(found, tools()), found=found))


def goes_on(session: Session, now: datetime) -> Sent:
    """What a chat sends with its next message, as far as that is known; C has what tools showed of cards, too."""
    prompt, said = session.prompt, messages(session)
    sizes = conversation_tokens(said)
    tokens = {**prompt.layers, "C": sum(sizes.values())}
    pace = pace_of(session.lines, sum(prompt.layers.values()), now)
    text = "".join(json.dumps(message_dict(message), ensure_ascii=False) + "\n" for message in said)
    return Sent(tools_text(session.tools), sent(prompt.parts, prompt.system, tokens, pace, conversation=text))


def sent(
    parts: Sequence[str],
    system: Sequence[str],
    tokens: Mapping[str, int],
    pace: Pace = FIRST,
    found: Sequence[Layer] = (),
    conversation: str = "",
) -> tuple[SentLayer, ...]:
    """These blocks as layers, with the marks that they would be sent with at this pace."""
    wish = caching(parts, pace)
    texts = dict(zip(parts, system, strict=False)) if parts else {"B": "".join(system)}
    texts["C"] = conversation
    marked = {parts[k] for k in wish.ends if k < len(parts)}
    files = {layer.name: layer.files for layer in found}
    return tuple(
        SentLayer(
            name=name,
            text=texts.get(name, ""),
            tokens=tokens.get(name, 0),
            mark=name in marked or name == "C",
            life=wish.tail if name == "C" else wish.prefix if name in marked else None,
            files=files.get(name, ()),
        )
        for name in LAYERS
    )


def difference(chat: str, at: str, before: "Sent", after: "Sent") -> Difference:
    """What differs in the tools and in the layers before the conversation; with other tools, nothing is as it was."""
    pairs = [
        (SentLayer(TOOLS, before.tools, 0), SentLayer(TOOLS, after.tools, 0)),
        *((old, new) for old, new in zip(before.layers, after.layers, strict=True) if old.name != "C"),
    ]
    differs = [k for k, (old, new) in enumerate(pairs) if _plain(old.text) != _plain(new.text)]
    rewritten = sum(new.tokens for _, new in pairs[differs[0] :]) if differs else 0
    return Difference(chat, at, tuple(_change(*pairs[k]) for k in differs), rewritten)


def tools_text(specs: Sequence[ToolSpec]) -> str:
    """The tools as they are sent, a line each."""
    return "".join(json.dumps(spec.as_dict(), ensure_ascii=False) + "\n" for spec in specs)


def _change(old: SentLayer, new: SentLayer) -> LayerChange:
    rows = difflib.unified_diff(_plain(old.text).splitlines(), _plain(new.text).splitlines(), n=1, lineterm="")
    diff = "".join(f"{row}\n" for row in list(rows)[2:])
    sizes = len(old.text.encode(errors="replace")), len(new.text.encode(errors="replace"))
    return LayerChange(new.name, (old.tokens, new.tokens), sizes, diff)


def _plain(text: str) -> str:
    """The text without the marks of its fences, which are other ones for each text."""
    return _MARK.sub("[", text)
