"""Prompts as people read them: layers with their files, one layer as it is sent, and what has changed since."""

from typing import TYPE_CHECKING

from .failure import BadText
from .ink import ink
from .terminal import Terminal
from .text import one_line, table, visible, wrap

if TYPE_CHECKING:
    from ..results import ContextDiff, ContextResult
    from ..sent import SentLayer

_LAYERS = (
    "B: tools and rules, A: who you are and for whom, I: indexes, S: what happened of late, C: the conversation; a "
    "model's cache keeps what stands before a mark, so the layers that change least come first.\n"
)
_NAMES = ("tools", "B", "A", "I", "S", "C")


def layers(result: "ContextResult", terminal: Terminal) -> str:
    """Each layer with its files and their sizes in estimated tokens, its mark, and what is left out."""
    rows = []
    for layer in result.layers:
        rows.append((layer.name, f"≈{layer.tokens:,}", f"tokens{_marked(layer)}"))
        if layer.name == "B":
            rows.append(("", f"≈{result.tool_tokens:,}", "(tools)"))
        for file in layer.files:
            left = f"  ({file.left_out:,} {file.units} left out)" if file.left_out else ""
            rows.append(("", f"≈{file.tokens:,}", one_line(file.path) + left))
    total = ink(f"≈{result.total_tokens:,} tokens", "bold", terminal)
    whose = "A chat that begins now" if result.chat is None else f"Chat {result.chat}"
    end = f"{whose}: together {total}.\n" + wrap(_LAYERS, terminal.columns, "")
    return table(rows, terminal.columns) + end


def text_of(result: "ContextResult", name: str) -> str:
    """The text of a layer, or the tools, as they are sent; raises BadText for a name that is none."""
    texts = {"tools": result.tools, **{layer.name: layer.text for layer in result.layers}}
    found = next((text for known, text in texts.items() if known.lower() == name.strip().lower()), None)
    if found is None:
        raise BadText(f"--layer {one_line(name)}: it is one of {', '.join(_NAMES)}")
    return found


def changed(result: "ContextDiff", terminal: Terminal) -> str:
    """What differs, layer by layer as a diff, and what it will cost to take it over."""
    found = result.difference
    if not found.changes:
        return f"Chat {found.chat}: a prompt that is put together now is the same as at {found.at}.\n"
    since = f"Since the prompt of chat {found.chat} was put together ({found.at}):\n"
    parts = [wrap(since, terminal.columns, "")]
    for one in found.changes:
        size = f"{one.bytes[0]:,} to {one.bytes[1]:,} bytes, ≈{one.tokens[0]:,} to ≈{one.tokens[1]:,} tokens"
        parts.append("\n" + ink(f"{one.name}: {size}", "bold", terminal) + "\n")
        parts.append(wrap(visible(one.diff), terminal.columns, ""))
    names = ", ".join(one.name for one in found.changes)
    parts.append(
        wrap(
            f"\nThis chat goes on without it until it is renewed. Then {names} and all behind, ≈{found.rewritten:,} "
            f"tokens, are written to the cache anew: as much as ≈{found.base_tokens:,.0f} tokens of plain input, where "
            f"reading them costs ≈{found.saved:,.0f}.\n",
            terminal.columns,
            "",
        )
    )
    return "".join(parts)


def _marked(layer: "SentLayer") -> str:
    return f", ends in a cache mark ({layer.life})" if layer.mark else ""
