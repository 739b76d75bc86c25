"""What has outgrown its place in a prompt, told to a person each time: a limit that nobody hears of is no limit.

Prompts say it to the model in the texts themselves; here the same is said of the layers of a space as they stand.
"""

from collections.abc import Iterator, Sequence

from .layers import SYNTHESIS_TOKENS, Layer, LayerFile
from .problem import Problem
from .settings import LimitSettings
from .workspace import Space


def outgrown(
    found: Sequence[Layer], space: Space, limits: LimitSettings, tools: int = 0, *, house_too: bool = True
) -> Iterator[Problem]:
    """The files that stand in the layers of this space in part, and whether all together are too much.

    `tools` are the tokens of the tools. A client's prompt shows files of the house, too; without `house_too` they are
    left to the house's own space. Day logs grow by themselves, and nobody has to shorten one.
    """
    every = [file for layer in found for file in layer.files]
    told = [file for file in every if house_too or file.path.startswith(space.prefix)]
    yield from (_problem(file, limits) for file in told if file.left_out and not _is_log(file))
    total = sum(layer.tokens for layer in found) + tools
    if total > limits.start_tokens:
        sizes = {**({"tools": tools} if tools else {}), **{layer.name: layer.tokens for layer in found if layer.tokens}}
        parts = ", ".join(f"{name} ≈{tokens:,}" for name, tokens in sizes.items())
        message = (
            f"a conversation here begins with ≈{total:,} tokens, more than ≈{limits.start_tokens:,} ({parts}): "
            "see onepen context for the files, shorten the notes or raise limits.start_tokens"
        )
        yield Problem(space.prefix or "./", 0, "layers_over_budget", "warning", message)


def in_one_line(problems: Sequence[Problem], found: Sequence[Layer]) -> str:
    """The same in one line, for whoever begins a conversation or asks how things stand; "" for nothing."""
    if not problems:
        return ""
    left = {file.path: f"{file.left_out:,} {file.units}" for layer in found for file in layer.files if file.left_out}
    parts = [f"{p.path} ({left[p.path]})" for p in problems if p.path in left]
    said = f"prompts begin without a part of {', '.join(parts)}" if parts else ""
    whole = next((p.message.partition(" (")[0] for p in problems if p.kind == "layers_over_budget"), "")
    return "; ".join(filter(None, (said, whole))) + " (next: onepen context)"


def note_limit(path: str, limits: LimitSettings) -> tuple[int, str]:
    """How many tokens of a note stand in a prompt, and what sets that."""
    name = path.rpartition("/")[2]
    if name == "MEMORY.md":
        return limits.memory_tokens, "limits.memory_tokens"
    if name == "synthesis.md":
        return SYNTHESIS_TOKENS, ""
    return limits.note_tokens, "limits.note_tokens"


def _problem(file: LayerFile, limits: LimitSettings) -> Problem:
    if file.units != "lines":
        message = (
            f"larger than its place in prompts, ≈{file.tokens:,} tokens: {file.left_out:,} of its {file.units} are "
            "only named or counted there, and read_card lists them; archive what rests, or raise limits.index_tokens "
            "and limits.start_tokens"
        )
        return Problem(file.path, 0, "index_over_budget", "warning", message)
    return note_problem(file.path, file.left_out, limits)


def note_problem(path: str, left_out: int, limits: LimitSettings) -> Problem:
    """That a note has more than what a prompt takes of it."""
    most, setting = note_limit(path, limits)
    raised = f", or raise {setting}" if setting else ""
    what = "line is" if left_out == 1 else "lines are"
    message = (
        f"more than ≈{most:,} tokens: the last {left_out:,} {what} in no prompt, which only says where to read them; "
        f"shorten it, move parts into cards{raised}"
    )
    return Problem(path, 0, "note_over_budget", "warning", message)


def _is_log(file: LayerFile) -> bool:
    name = file.path.rpartition("/")[2]
    return name[:4].isdecimal() and file.units == "lines"
