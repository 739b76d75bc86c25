"""docs/reference/commands.md is what the table says."""

from pathlib import Path

from onepen.orchestrator.commands.reference import page
from onepen.orchestrator.commands.table import ROWS

FILE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_the_page_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == page(), (
        "python -m onepen.orchestrator.commands.reference > docs/reference/commands.md"
    )


def test_the_page_has_every_command_with_its_json() -> None:
    text = page()
    for row in ROWS:
        assert f"## onepen {row.name}\n" in text
        assert f"`--json`: `{row.json}`" in text
