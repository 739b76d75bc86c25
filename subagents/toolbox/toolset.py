"""The tools as a model sees them: one set for all agents, sorted by name, so that all prompts begin alike.

What an agent may not use is refused when it is called, not left out here. The words are part of every prompt: each
one is paid for, and a change of one byte makes every cached prefix worthless.
"""

from collections.abc import Mapping
from functools import lru_cache

from ...memory.tokens import estimate
from ..model import ToolSpec

Schema = Mapping[str, object]


def tools() -> tuple[ToolSpec, ...]:
    """All tools of a worker, sorted by name."""
    return TOOLS


@lru_cache(maxsize=8)
def tool_tokens(specs: tuple[ToolSpec, ...]) -> int:
    """Estimated tokens of these tools, which stand before all texts."""
    return sum(estimate(str(spec.as_dict())) for spec in specs)


def _object(required: tuple[str, ...], **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _text(description: str = "") -> Schema:
    return {"type": "string", "description": description} if description else {"type": "string"}


def _number(description: str) -> Schema:
    return {"type": "integer", "minimum": 1, "description": description}


_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_ENTRY: Schema = _object(
    ("section_id", "summary"),
    section_id=_text("Id of the section, such as firing"),
    summary=_text("What it says, in one line of at most 200 characters"),
    keywords={**_TEXTS, "description": "Up to 8 words to find it by"},
)
_SOURCES: Schema = {**_TEXTS, "description": "Where it was read: path:line or an address"}

TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        "edit_draft",
        "Correct a draft of this task: old_text, which stands in its text exactly once, becomes new_text.",
        _object(("name", "old_text", "new_text"), name=_text("The draft's name"), old_text=_text(), new_text=_text()),
    ),
    ToolSpec(
        "propose_edit",
        "Propose to change words of a card: old_text, which stands in the section exactly once, becomes new_text "
        "(empty: it is removed).",
        _object(
            ("card", "old_text", "new_text", "index_entry"),
            card=_text("The card's id"),
            section=_text("Id of the section"),
            old_text=_text("Copied letter for letter"),
            new_text=_text(),
            index_entry=_ENTRY,
            sources=_SOURCES,
        ),
    ),
    ToolSpec(
        "read_card",
        "Read a card, or one section of it. Lines come with their numbers.",
        _object(
            ("card",),
            card=_text("The card's id, or a project's file as kiln/sales/launch.md"),
            section=_text("Id of the section"),
            start=_number("First line"),
        ),
    ),
    ToolSpec(
        "read_input",
        "Read a document of this task. Lines come with their numbers; a long one comes in pages.",
        _object(
            ("name",),
            name=_text("The document's name"),
            start=_number("First line"),
            lines=_number("How many lines"),
        ),
    ),
    ToolSpec(
        "report",
        "End the task. Call it once, after the drafts are written.",
        _object(
            ("summary",),
            summary=_text("What was found and what is missing, in two or three sentences"),
            answer=_text("The answer, if the task is a question"),
            complete={"type": "boolean", "description": "false if something is missing"},
        ),
    ),
    ToolSpec(
        "run_command",
        "Run a line of shell in the work folder, without network; $INPUTS holds the documents, $SPACE the cards. "
        "A file that it makes is kept by write_draft with file.",
        _object(
            ("command",),
            command=_text(),
            seconds=_number("Time limit, 60 unless given, at most 600"),
        ),
    ),
    ToolSpec(
        "search",
        "Find lines in the cards and in the documents of this task.",
        _object(("query",), query=_text("Words that stand there"), limit=_number("Most hits")),
    ),
    ToolSpec(
        "write_draft",
        "Write a draft: a new card or file, or text that is added to one.",
        _object(
            ("text",),
            text=_text("Markdown; each part under a heading"),
            target=_text("Only if it is not the task's: projects/<id>.md, projects/<id>/<path> or research/<id>.md"),
            file=_text("A text file of the work folder to be drafted; text then says what it is"),
            edit={"type": "string", "enum": ["create", "append", "replace", "remove"]},
            section=_text("append, replace, remove: id of the section"),
            old_text=_text("replace, remove: the text that goes"),
            title=_text("create: title of the new card"),
            index={"type": "array", "items": _ENTRY, "description": "One entry for each section of the text"},
            sources=_SOURCES,
            name=_text("The draft's name"),
        ),
    ),
)
