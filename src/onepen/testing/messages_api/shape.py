"""The shape of a request, field by field: what is missing, what doesn't belong there, what is of a wrong type."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .models import OUTPUT_LIMIT

MARK = "cache_control"

# Fields of a request, and those that counting its tokens takes.
COUNTED = {
    "messages", "model", "cache_control", "output_config", "speed", "system", "thinking", "tool_choice", "tools",
}  # fmt: skip
FIELDS = COUNTED | {
    "max_tokens", "container", "diagnostics", "inference_geo", "metadata", "service_tier", "stop_sequences", "stream",
    "temperature", "top_p", "top_k",
}  # fmt: skip
SAMPLING = ("temperature", "top_p", "top_k")
_WITHOUT_SAMPLING = re.compile(r"claude-opus-4-[7-9]|claude-[a-z]+-[5-9]")

# Each kind of block: the fields that it needs with their types, and those that it may have.
_RESULT = ({"tool_use_id": str, "content": object}, {MARK, "caller"})
BLOCKS: Mapping[str, tuple[Mapping[str, type], Collection[str]]] = {
    "text": ({"text": str}, {MARK, "citations"}),
    "image": ({"source": dict}, {MARK, "transformations"}),
    "document": ({"source": dict}, {MARK, "citations", "context", "title"}),
    "search_result": ({"content": list, "source": str, "title": str}, {MARK, "citations"}),
    "thinking": ({"signature": str, "thinking": str}, set()),
    "redacted_thinking": ({"data": str}, set()),
    "tool_use": ({"id": str, "input": dict, "name": str}, {MARK, "caller", "toolset_name"}),
    "tool_result": ({"tool_use_id": str}, {MARK, "content", "is_error", "toolset_name"}),
    "server_tool_use": ({"id": str, "input": dict, "name": str}, {MARK, "caller"}),
    "web_search_tool_result": _RESULT,
    "web_fetch_tool_result": _RESULT,
    "code_execution_tool_result": _RESULT,
    "bash_code_execution_tool_result": _RESULT,
    "text_editor_code_execution_tool_result": _RESULT,
    "tool_search_tool_result": _RESULT,
    "container_upload": ({"file_id": str}, {MARK}),
    "tool_reference": ({"tool_name": str}, {MARK}),
}
IN_RESULT = ("text", "image", "search_result", "document", "tool_reference")
ONLY_BY = {"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant", "tool_result": "user"}

TOOL = {
    "input_schema", "name", "allowed_callers", MARK, "defer_loading", "description", "eager_input_streaming",
    "input_examples", "strict", "type",
}  # fmt: skip
CHOICES = {
    "auto": {"type", "disable_parallel_tool_use"},
    "any": {"type", "disable_parallel_tool_use"},
    "tool": {"type", "name", "disable_parallel_tool_use"},
    "none": {"type"},
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")

_WORDS = {str: "string", dict: "dictionary", list: "list", int: "integer", bool: "boolean"}


def shape_fault(body: Mapping[str, Any], *, counting: bool, beta: bool, kinds: Collection[str] = ()) -> str | None:
    """The first thing that is wrong with the shape, as `place: what`; `kinds` are further kinds of blocks."""
    return next(_faults(body, counting, beta, kinds), None)


def _faults(body: Mapping[str, Any], counting: bool, beta: bool, kinds: Collection[str]) -> Iterator[str]:
    needed = {"model": str, "messages": list} if counting else {"model": str, "messages": list, "max_tokens": int}
    yield from _needs("", body, needed)
    if not beta:
        yield from _extra("", body, COUNTED if counting else FIELDS)
    yield from _numbers(body)
    yield from _diagnostics(body.get("diagnostics"))
    yield from _tools(body)
    yield from _system(body.get("system"))
    if not body["messages"]:
        yield "messages: at least one message is required"
    for index, message in enumerate(body["messages"]):
        yield from _message(f"messages.{index}", message, kinds)


def _numbers(body: Mapping[str, Any]) -> Iterator[str]:
    wanted = body.get("max_tokens", 0)
    if wanted < 0:
        yield "max_tokens: Input should be greater than or equal to 0"
    if wanted > OUTPUT_LIMIT:
        yield (
            f"max_tokens: {wanted} > {OUTPUT_LIMIT}, which is the maximum allowed number of output tokens for "
            f"{body['model']}"
        )
    if "stream" in body and not isinstance(body["stream"], bool):
        yield "stream: Input should be a valid boolean"
    if _WITHOUT_SAMPLING.match(body["model"]):
        yield from (f"`{name}` is deprecated for this model." for name in SAMPLING if name in body)


def _diagnostics(asked: object) -> Iterator[str]:
    if asked is None:
        return
    if not isinstance(asked, dict):
        yield "diagnostics: Input should be a valid dictionary"
        return
    yield from _extra("diagnostics.", asked, {"previous_message_id"})
    if not isinstance(asked.get("previous_message_id"), str | None):
        yield "diagnostics.previous_message_id: Input should be a valid string"


def _tools(body: Mapping[str, Any]) -> Iterator[str]:
    tools = body.get("tools", [])
    if not isinstance(tools, list):
        yield "tools: Input should be a valid list"
        return
    names: list[str] = []
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict):
            yield f"tools.{index}: Input should be a valid dictionary"
        elif tool.get("type") in (None, "custom"):
            yield from _tool(f"tools.{index}.custom", tool)
        names.append(tool.get("name", ""))
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    if (choice := body.get("tool_choice")) is not None:
        yield from _choice(choice, names)


def _tool(place: str, tool: Mapping[str, Any]) -> Iterator[str]:
    yield from _needs(f"{place}.", tool, {"name": str, "input_schema": dict})
    yield from _extra(f"{place}.", tool, TOOL)
    if not _NAME.fullmatch(tool["name"]):
        yield f"{place}.name: String should match pattern '^{_NAME.pattern}$'"
    schema = tool["input_schema"]
    if "type" not in schema:
        yield f"{place}.input_schema.type: Field required"
    elif schema["type"] != "object":
        yield f"{place}.input_schema.type: Input should be 'object'"


def _choice(choice: object, names: Collection[str]) -> Iterator[str]:
    if not isinstance(choice, dict) or choice.get("type") not in CHOICES:
        found = choice.get("type") if isinstance(choice, dict) else choice
        yield (
            f"tool_choice: Input tag '{found}' found using 'type' does not match any of the expected tags: "
            "'any', 'auto', 'none', 'tool'"
        )
        return
    kind = choice["type"]
    yield from _extra(f"tool_choice.{kind}.", choice, CHOICES[kind])
    if kind != "tool":
        return
    yield from _needs("tool_choice.tool.", choice, {"name": str})
    if choice["name"] not in names:
        yield f"Tool '{choice['name']}' not found in provided tools"


def _system(system: object) -> Iterator[str]:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        yield "system: Input should be a valid list"
        return
    for index, block in enumerate(system):
        yield from _block(f"system.{index}", block, ("text",), ())
    yield from _blank("system", [block["text"] for block in system])


def _message(place: str, message: object, kinds: Collection[str]) -> Iterator[str]:
    if not isinstance(message, dict):
        yield f"{place}: Input should be a valid dictionary"
        return
    if "role" not in message:
        yield f"{place}.role: Field required"
    role = message["role"]
    if role not in ("user", "assistant", "system"):
        yield f"{place}.role: Input should be 'user', 'assistant' or 'system'"
    if "content" not in message:
        yield f"{place}.content: Field required"
    yield from _extra(f"{place}.", message, {"role", "content"})
    content = message["content"]
    if isinstance(content, str):
        yield from _blank("messages", [content] if content else [])
        return
    if not isinstance(content, list):
        yield f"{place}.content: Input should be a valid list"
        return
    allowed = ("text",) if role == "system" else tuple(kind for kind in BLOCKS if kind != "tool_reference")
    for index, block in enumerate(content):
        yield from _block(f"{place}.content.{index}", block, allowed, kinds)
        owner = ONLY_BY.get(block["type"], role)
        if owner != role:
            yield f"{place}: `{block['type']}` blocks can only be in `{owner}` messages"


def _block(place: str, block: object, allowed: Collection[str], kinds: Collection[str]) -> Iterator[str]:
    if not isinstance(block, dict):
        yield f"{place}: Input should be a valid dictionary"
        return
    if "type" not in block:
        yield f"{place}.type: Field required"
    kind = block["type"]
    if kind in kinds:
        return
    if kind not in allowed:
        tags = ", ".join(f"'{one}'" for one in sorted(allowed))
        yield f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        return
    needed, may = BLOCKS[kind]
    place = f"{place}.{kind}"
    yield from _needs(f"{place}.", block, needed)
    yield from _extra(f"{place}.", block, {"type", *needed, *may})
    match kind:
        case "text":
            if block.get(MARK) and not block["text"]:
                yield f"{place}: cache_control cannot be set for empty text blocks"
            yield from _blank(place.partition(".")[0], [block["text"]])
        case "tool_use":
            if not _ID.fullmatch(block["id"]):
                yield f"{place}.id: String should match pattern '^{_ID.pattern}$'"
        case "tool_result":
            yield from _result(place, block)


def _result(place: str, block: Mapping[str, Any]) -> Iterator[str]:
    content = block.get("content", "")
    if "is_error" in block and not isinstance(block["is_error"], bool):
        yield f"{place}.is_error: Input should be a valid boolean"
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield f"{place}.content: Input should be a valid list"
        return
    for index, inner in enumerate(content):
        yield from _block(f"{place}.content.{index}", inner, IN_RESULT, ())


def _blank(place: str, said: list[str]) -> Iterator[str]:
    for text in said:
        if not text:
            yield f"{place}: text content blocks must be non-empty"
        elif not text.strip():
            yield f"{place}: text content blocks must contain non-whitespace text"


def _needs(place: str, value: Mapping[str, Any], needed: Mapping[str, type]) -> Iterator[str]:
    for name, kind in needed.items():
        if name not in value:
            yield f"{place}{name}: Field required"
        elif not isinstance(value[name], kind) or (kind is int and isinstance(value[name], bool)):
            yield f"{place}{name}: Input should be a valid {_WORDS[kind]}"


def _extra(place: str, value: Mapping[str, Any], known: Collection[str]) -> Iterator[str]:
    for name in value:
        if name not in known:
            yield f"{place}{name}: Extra inputs are not permitted"
