"""What a server lacks, told once in a line for people; nothing fails for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...subagents.messages import ToolUse
from ...subagents.model import ModelReply, ModelRequest
from .least import SHORTEST

if TYPE_CHECKING:
    import anthropic

_SECONDS = 10.0
_NEVER = "some servers never cache, or don't count it"


class Probe:
    """Looks at replies; each thing that is missing at a place is told once in the life of a process."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._told: set[tuple[str, str]] = set()

    def named(self, place: str, model: str, models: tuple[str, ...]) -> None:
        """Whether the server lists the model that it is asked for."""
        if models and model not in models:
            shown = ", ".join(models[:5]) + (" …" if len(models) > 5 else "")
            self._tell(place, "model", f"{place}: the server doesn't list this model; it lists {shown}")

    def replied(self, place: str, request: ModelRequest, reply: ModelReply, least: int) -> None:
        """Whether the reply has what was asked for; the model caches from about `least` tokens on."""
        usage = reply.usage
        goes_on = (
            request.tool_choice is None
        )  # else its conversation has no mark, and its rules may be too short for one
        if goes_on and usage.prompt_total >= SHORTEST and not usage.cache_write and not usage.cache_read:
            short = f"this model caches from about {least:,} tokens on"
            self._tell(
                place,
                "cache",
                f"{place}: not cached: a prompt of {usage.prompt_total:,} tokens was sent with cache marks, and none "
                f"was written to or read from a cache ({short if usage.prompt_total < least else _NEVER})",
            )
        if not usage.prompt_total:
            self._tell(place, "usage", f"{place}: the server doesn't count tokens, so costs and budgets are too low")
        called = [block.name for block in reply.content if isinstance(block, ToolUse)]
        wanted = request.tool_choice
        if wanted is not None and reply.stop_reason in {"end_turn", "tool_use"} and wanted not in called:
            self._tell(
                place, "tool_choice", f"{place}: the server doesn't make the model call the tool that it is told to"
            )

    def _tell(self, place: str, what: str, line: str) -> None:
        if (place, what) not in self._told:
            self._told.add((place, what))
            self._notice(line)


async def listed(client: "anthropic.AsyncAnthropic") -> tuple[str, ...] | None:
    """The ids of the models that a server lists, in its order; () when it has no list, None when nobody answers."""
    from anthropic import AnthropicError, APIConnectionError

    try:
        answer = await client.get("/v1/models", cast_to=object, options={"timeout": _SECONDS})
    except APIConnectionError:
        return None
    except (AnthropicError, ValueError):
        return ()
    match answer:
        case {"data": list(models)}:
            return tuple(str(m["id"]) for m in models if isinstance(m, dict) and isinstance(m.get("id"), str))
    return ()
