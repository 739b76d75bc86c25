"""The main agent's prompt: layers of text that stand before the conversation, stable ones first.

    block 1  B   RULES, OPS; the tools stand before it
    block 2  A   SOUL, USER, BRIEF and the client's own
    block 3  I   MEMORY.md, the indexes, the registry of agents   | between fences: what stands there is
    block 4  S   the synthesis, the two latest day logs           | data, whoever wrote it (memory/fence.py)

No clock, no counter and no id stands here: the same files give the same bytes. The blocks are made when a chat begins
or is renewed, and kept in its file, so a chat that goes on has the same prompt to the byte, whatever was changed since.
"""

import re
from collections.abc import Mapping, Sequence

from ...memory.fence import Fences
from ...memory.layers import Layer
from ...memory.tokens import estimate
from ...memory.workspace import Space
from ...subagents.messages import Message, Text, ToolResult, ToolUse, well_formed
from ...subagents.model import ToolSpec
from ...subagents.toolbox.toolset import tool_tokens

MAIN = "main"
"""The agent id of the main agent; it has no file in agents/, its rules are RULES.md."""

FROZEN = {
    "I": "(What exists, as it stood when this was put together; notes between the messages say what changed since.)\n",
    "S": "(What happened lately, as it stood when this was put together; search_history finds all of it.)\n",
}
"""How the blocks of these layers begin: that they stay as they were."""
_LINES = re.DOTALL | re.MULTILINE
READING = frozenset({"read_card", "read_draft", "search_history"})
"""Tools whose results are counted as layer E."""


def system_blocks(layers: Sequence[Layer], space: Space, fences: Fences) -> tuple[tuple[str, str], ...]:
    """The blocks before the conversation, each with its layer's name before it and a newline at its end.

    A block without text is left out. What a client's space is called is said where it matters: B is the same for all.

    Rules and persona change by a person's word only. What agents wrote as well, I and S, comes between fences.
    """
    texts = {layer.name: "".join(_file(f.path, f.text) for f in layer.files) for layer in layers}
    texts |= {
        layer.name: "".join(f"{fences.around(f.path, well_formed(f.text))}\n" for f in layer.files)
        for layer in layers
        if layer.name in FROZEN
    }
    whose = f"(This is the space of the client {space.client}; nothing of another client is known here.)\n"
    texts["A"] = ("" if space.client is None else whose) + texts.get("A", "")
    return tuple((name, FROZEN.get(name, "") + texts[name]) for name in ("B", "A", "I", "S") if texts.get(name))


def sent_file(system: Sequence[str], path: str) -> str | None:
    """The text of a file as it stands in these blocks, with a newline at its end; None when it stands in none."""
    name = re.escape(" ".join(path.split()))
    fenced = re.compile(
        rf"^\[(?P<mark>[0-9a-f]{{16}}) data: {name}\]\n(?P<text>.*?)\n\[(?P=mark) end of data\]$",
        re.DOTALL | re.MULTILINE,
    )
    plain = re.compile(rf'^<file path="{name}">\n(?P<text>.*?)</file>\n(?=<file path=|\Z)', re.DOTALL | re.MULTILINE)
    for block in system:
        if found := fenced.search(block):
            return found["text"] + "\n"
        if found := plain.search(block):
            return found["text"]
    return None


def layer_tokens(layers: Sequence[Layer], tools: Sequence[ToolSpec]) -> dict[str, int]:
    """Estimated tokens of each layer as it is sent; the tools stand in B."""
    found = {layer.name: sum(estimate(_file(f.path, f.text)) for f in layer.files) for layer in layers}
    found["B"] = found.get("B", 0) + tool_tokens(tuple(tools))
    return {name: found.get(name, 0) for name in ("B", "A", "I", "S")}


def conversation_tokens(messages: Sequence[Message]) -> dict[str, int]:
    """Estimated tokens of C, and of E: what tools showed of cards, drafts and the history."""
    found = {"C": 0, "E": 0}
    readers: set[str] = set()
    for message in messages:
        for block in message.content:
            match block:
                case Text(text=text):
                    found["C"] += estimate(text)
                case ToolUse(id=id_, name=name, input=given):
                    found["C"] += estimate(f"{name} {given}")
                    if name in READING:
                        readers.add(id_)
                case ToolResult(tool_use_id=id_, content=text):
                    found["E" if id_ in readers else "C"] += estimate(text)
                case _:
                    found["C"] += estimate(str(block.raw))
    return found


def scaled(layers: Mapping[str, int], counted: int) -> dict[str, int]:
    """The estimates made to sum up to what the server counted; unchanged where it counted nothing."""
    total = sum(layers.values())
    if not total or not counted:
        return dict(layers)
    found = {name: round(tokens * counted / total) for name, tokens in layers.items()}
    largest = max(found, key=lambda name: found[name])
    found[largest] += counted - sum(found.values())
    return found


def _file(path: str, text: str) -> str:
    text = well_formed(text)
    return f'<file path="{path}">\n{text if text.endswith(chr(10)) else text + chr(10)}</file>\n'
