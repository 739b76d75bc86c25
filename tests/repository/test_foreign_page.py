"""The page about programs of one's own shows the examples as they are."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["asks.py", "counts.sh"])
def test_the_page_shows_the_examples_as_they_are(name: str) -> None:
    page = (REPOSITORY / "docs/how-to/foreign-workers.md").read_text(encoding="utf-8")
    example = (REPOSITORY / "examples/workers" / name).read_text(encoding="utf-8")
    assert f"```{name.rpartition('.')[2].replace('py', 'python')}\n{example}```" in page
    assert len([line for line in example.splitlines() if line.strip()]) <= 40, "a small one shows how little it takes"
    assert "onepen" not in "".join(line for line in example.splitlines(keepends=True) if "import" in line)
