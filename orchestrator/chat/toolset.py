"""The main agent's tools as a model sees them: sorted by name, the same in every chat.

The words are part of every prompt: each one is paid for, and a change of one byte makes every cached prefix worthless.
"""

from collections.abc import Mapping

from ...subagents.model import ToolSpec

Schema = Mapping[str, object]


def tools() -> tuple[ToolSpec, ...]:
    """All tools of the main agent, sorted by name."""
    return TOOLS


def _object(required: tuple[str, ...], **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _text(description: str = "") -> Schema:
    return {"type": "string", "description": description} if description else {"type": "string"}


_DRAFT = _text("The draft's id, such as k3x9abcd-1")
_DAY = "A day, 2026-11-29; both days count"

TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        "decide_draft",
        "Decide on a draft of a sub-agent, where the policy leaves that to you; else it says who decides.",
        _object(
            ("id", "verdict"),
            id=_DRAFT,
            verdict={"type": "string", "enum": ["accept", "send_back", "refuse"]},
            feedback=_text("send_back, refuse: why, and what to change"),
        ),
    ),
    ToolSpec(
        "delegate",
        "Give a task to a sub-agent and wait for its answer or drafts. Several calls in one reply run side by side.",
        _object(
            ("agent", "task"),
            agent=_text("Who does it, from agents/_index.md"),
            task=_text("All that it must know: it sees nothing of this chat"),
            project=_text("Id of the project that it is for"),
            target=_text("Where the result goes, if you know: projects/<id>/<path> or research/<id>.md"),
            answer={"type": "boolean", "description": "true: words only, no draft"},
        ),
    ),
    ToolSpec("list_drafts", "List the drafts that wait, and who decides on each.", _object(())),
    ToolSpec(
        "log_event",
        "Note in today's day log what happened or was decided, in one line. Past days can't be changed.",
        _object(("text",), text=_text("The thing itself, never a secret")),
    ),
    ToolSpec(
        "read_card",
        "Read a card, or one section of it. Lines come with their numbers, to be cited as path:line.",
        _object(
            ("card",),
            card=_text("The card's id, or a project's file as kiln/sales/launch.md"),
            section=_text("Id of the section, from the index"),
            start={"type": "integer", "minimum": 1, "description": "First line"},
        ),
    ),
    ToolSpec(
        "read_draft",
        "Read a draft: what it would change, and what was found about it.",
        _object(("id",), id=_DRAFT),
    ),
    ToolSpec(
        "search_history",
        "Find lines in cards, findings, day logs and earlier chats; the best come first.",
        _object(
            ("query",),
            query=_text("Words that stand there"),
            since=_text(_DAY),
            until=_text(_DAY),
            where={"type": "array", "items": {"type": "string", "enum": ["cards", "log", "chat", "research"]}},
        ),
    ),
    ToolSpec(
        "set_project_status",
        "Set the status of a project, with a line in the day log.",
        _object(
            ("project", "status", "note"),
            project=_text("The project's id"),
            status=_text("One word: active, waiting, done, archived …"),
            note=_text("Why, in one line"),
        ),
    ),
    ToolSpec(
        "write_memory_card",
        "Change a card and its index line: old_text, which stands in the card exactly once, becomes new_text (empty: "
        "it is removed). With old_text empty, new_text is a new section, or a new card if there is none of this id.",
        _object(
            ("project", "old_text", "new_text", "index_entry"),
            project=_text("The card's id, project or finding"),
            old_text=_text("Copied letter for letter"),
            new_text=_text("Markdown; a new section begins with its ## heading"),
            index_entry=_object(
                ("section_id", "keywords", "summary"),
                section_id=_text("Id of the section: its heading in small letters, with - for blanks"),
                keywords={"type": "array", "items": {"type": "string"}, "description": "Up to 8 words to find it by"},
                summary=_text("What it says, in one line of at most 200 characters"),
            ),
        ),
    ),
)
