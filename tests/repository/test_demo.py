"""The demo does the main job for real: another question over other files gives another draft, and a gap is said."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(180)  # each demo starts eight programs, one after another

REPOSITORY = Path(__file__).resolve().parents[2]
KILN = "# Kiln\n\nThe kiln was rebuilt in 2024.\nCone 6 was reached at 1222 degrees on 3 November.\nThe floor is oak.\n"
HONEY = "# Bees\n\nThe linden honey was spun on 14 July.\nThere are nine hives behind the barn.\n"
QUOTE = re.compile(r'> "(.+)" \((\S+):(\d+)\)')


def demo(place: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "NO_COLOR": "1", "DEMO": str(place), "HOME": str(place.parent), **settings}
    script = REPOSITORY / "examples" / "demo.sh"
    return subprocess.run(
        ["bash", script],
        env=env,
        cwd=place.parent,
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def card(done: subprocess.CompletedProcess[str], place: Path) -> str:
    """The text of the one finding that the demo committed."""
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = [one for one in (place / "research").glob("*.md") if one.name != "_index.md"]
    return path.read_text(encoding="utf-8")


def notes(folder: Path, name: str, text: str) -> str:
    folder.mkdir()
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder)


def test_over_these_docs_it_ends_with_card_index_line_and_log_line(tmp_path: Path) -> None:
    place = tmp_path / "demo"
    done = demo(place)
    found = QUOTE.findall(card(done, place))
    assert found
    for text, path, line in found:
        source = REPOSITORY / "docs" / Path(path).relative_to("inputs/docs") if "docs/" in path else None
        source = source or REPOSITORY / "docs" / Path(path).relative_to("inputs")
        assert text in source.read_text(encoding="utf-8").split("\n")[int(line) - 1]
    last = done.stdout.split("# What memory holds now")[1]
    index, log = (place / "research" / "_index.md"), next((place / "memory").glob("2*.md"))
    assert index.read_text(encoding="utf-8") in last
    assert log.read_text(encoding="utf-8") in last
    assert re.search(r"^- \[[a-z0-9-]+\]\([a-z0-9-]+\.md#", index.read_text(encoding="utf-8"), re.MULTILINE)


def test_another_question_over_other_files_gives_another_draft(tmp_path: Path) -> None:
    kiln = demo(tmp_path / "a", Q="When was cone 6 reached?", INPUT=notes(tmp_path / "kiln", "kiln.md", KILN))
    bees = demo(tmp_path / "b", Q="How many hives are there?", INPUT=notes(tmp_path / "bees", "bees.md", HONEY))
    assert "Cone 6 was reached at 1222 degrees on 3 November." in card(kiln, tmp_path / "a")
    assert "There are nine hives behind the barn." in card(bees, tmp_path / "b")
    assert "hives" not in card(kiln, tmp_path / "a")


def test_a_question_whose_answer_is_not_there_says_so(tmp_path: Path) -> None:
    done = demo(tmp_path / "a", Q="Which submarine did Zaphod buy?", INPUT=notes(tmp_path / "kiln", "kiln.md", KILN))
    text = card(done, tmp_path / "a")
    assert not QUOTE.findall(text)
    assert "submarine" in text and "not found" in text.lower()


def test_it_replaces_what_an_earlier_demo_left(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.mkdir()
    (place / ".demo").touch()
    (place / "stale.md").touch()
    texts = notes(tmp_path / "kiln", "kiln.md", KILN)
    assert "1222" in card(demo(place, Q="When was cone 6 reached?", INPUT=texts), place)
    assert not (place / "stale.md").exists()


def test_it_spares_a_folder_that_it_did_not_make(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter.txt").write_text("dear\n", encoding="utf-8")
    done = demo(mine)
    assert done.returncode == 1
    assert "move it away" in done.stderr
    assert [path.name for path in mine.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("question", ["What's 'cone 6' \"really\"? $HOME; `id`"])
def test_a_question_is_passed_as_it_is(tmp_path: Path, question: str) -> None:
    done = demo(tmp_path / "a", Q=question, INPUT=notes(tmp_path / "kiln", "kiln.md", KILN))
    assert done.returncode == 0, done.stdout + done.stderr
    (sheet,) = (tmp_path / "a" / "staging").glob("*/task.md")
    assert question in sheet.read_text(encoding="utf-8")
