"""What a prompt shows in part is one call away; and what belongs to another space is none."""

from pathlib import Path

import pytest

from onepen.memory.ids import ClientId
from onepen.memory.workspace import Space
from onepen.orchestrator.chat.notes import note_path
from onepen.testing.parlour import Parlour, says

LONG = "".join(f"Rule {k}: ask first.\n" for k in range(1, 700)) + "MARKER of the last line.\n"


@pytest.mark.parametrize(
    ("name", "house", "acme"),
    [
        ("OPS.md", "OPS.md", "OPS.md"),
        (" ./USER.md", "USER.md", "USER.md"),
        ("clients/acme/USER.md", None, "clients/acme/USER.md"),
        ("MEMORY.md", "MEMORY.md", "clients/acme/MEMORY.md"),
        ("memory/2026-11-29.md", "memory/2026-11-29.md", "clients/acme/memory/2026-11-29.md"),
        ("memory/synthesis.md", "memory/synthesis.md", "clients/acme/memory/synthesis.md"),
        ("agents/_index.md", "agents/_index.md", "agents/_index.md"),
        ("clients/bolt/MEMORY.md", None, None),
        ("clients/acme/../../MEMORY.md", None, None),
        ("../../MEMORY.md", None, None),
        ("/MEMORY.md", None, None),
        ("onepen.toml", None, None),
        ("memory/2026-11-29.md.md", None, None),
        ("chats/x.jsonl", None, None),
        ("kiln", None, None),
    ],
)
def test_a_note_is_named_as_in_the_prompt(name: str, house: str | None, acme: str | None) -> None:
    assert note_path(name, Space(Path("/ws"), None)) == house
    assert note_path(name, Space(Path("/ws"), ClientId("acme"))) == acme


@pytest.mark.parametrize("path", ["MEMORY.md", "OPS.md", "memory/2026-11-29.md", "memory/synthesis.md"])
def test_the_marker_in_the_last_line_of_a_long_file_is_one_call_away(parlour: Parlour, path: str) -> None:
    target = parlour.root / path
    target.parent.mkdir(exist_ok=True)
    target.write_text(LONG)
    call = ("read_card", {"card": path, "start": 650})
    result = parlour.turn("Hello", says(call), says("Read."))
    asked = parlour.model.requests[0]
    prompt = "".join(asked.system)
    assert "MARKER of the last line" in prompt or f'read_card "{path}"' in prompt
    ((content, is_error),) = parlour.results()
    assert not is_error
    assert "   700\tMARKER of the last line." in content
    assert result.exit_code == 0
