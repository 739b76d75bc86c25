"""The person's own editor."""

from pathlib import Path

import pytest

from onepen.orchestrator.commands.editor import EditorFailed, NoEditor, command, open_in_editor

FILE = Path("drafts/kiln.md")


def test_visual_comes_before_editor_and_may_have_options() -> None:
    assert command({"VISUAL": "code --wait", "EDITOR": "nano"}, FILE) == ["code", "--wait", "drafts/kiln.md"]
    assert command({"VISUAL": "", "EDITOR": "nano"}, FILE) == ["nano", "drafts/kiln.md"]


@pytest.mark.parametrize("env", [{}, {"EDITOR": "  "}, {"EDITOR": "no-such-editor-anywhere"}, {"EDITOR": "'open"}])
def test_without_an_editor_the_file_is_named(env: dict[str, str]) -> None:
    with pytest.raises(NoEditor, match=r"drafts/kiln\.md"):
        open_in_editor(env, FILE)


def test_an_editor_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(EditorFailed, match="false ended with 1"):
        open_in_editor({"EDITOR": "false"}, tmp_path / "kiln.md")


def test_a_file_name_is_one_word(tmp_path: Path) -> None:
    file = tmp_path / "two words;touch x"
    file.write_text("a\n")
    open_in_editor({"EDITOR": "sed -i s/a/b/"}, file)
    assert file.read_text() == "b\n"
