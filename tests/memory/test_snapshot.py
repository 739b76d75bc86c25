from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.fence import inside
from onepen.memory.snapshot import (
    INDEX_LEAST,
    SNAPSHOT_FILES,
    SnapshotIncomplete,
    load,
    snapshot_of,
    store,
    take,
)
from onepen.memory.tokens import estimate
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace

FILES = {
    "agents/RULES.md": "# Rules of every sub-agent\n",
    "agents/_index.md": "# Agents\n",
    "OPS.md": "# Operating rules\n",
    "BRIEF.md": "English",
    "SOUL.md": "CANARY soul\n",
    "USER.md": "CANARY user\n",
    "MEMORY.md": "CANARY memory\n",
    "projects/_index.md": "# Projects\n\nhouse projects\n",
    "clients/acme/OPS.md": "Acme rules\n",
    "clients/acme/BRIEF.md": "German\n",
    "clients/acme/PERSONA.md": "CANARY persona\n",
    "clients/acme/research/_index.md": "# Research\n\nacme findings\n",
    "clients/other/BRIEF.md": "CANARY other\n",
}


def written(root: Path, files: dict[str, str]) -> View:
    for path, text in {"onepen.toml": 'id = "abcdefgh"\n', **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return View(open_workspace(root))


def test_it_holds_rules_briefs_and_indexes_and_nothing_personal(tmp_path: Path) -> None:
    view = written(tmp_path, FILES)
    snapshot = take(view, view.workspace.space("acme"))
    assert {name: inside(text) for name, text in snapshot.files} == {
        "RULES.md": "# Rules of every sub-agent\n",
        "OPS.md": "# Operating rules\n\n(clients/acme/OPS.md)\n\nAcme rules\n",
        "BRIEF.md": "English\n\n(clients/acme/BRIEF.md)\n\nGerman\n",
        "agents.md": "# Agents\n",
        "projects.md": "",
        "research.md": "# Research\n\nacme findings",
    }
    assert tuple(name for name, _ in snapshot.files) == SNAPSHOT_FILES
    assert not any("CANARY" in text for _, text in snapshot.files)


def test_the_house_has_its_own_indexes(tmp_path: Path) -> None:
    view = written(tmp_path, FILES)
    assert "house projects" in take(view, view.workspace.house).text("projects.md")


def test_agents_md_is_read_where_there_is_no_ops_md(tmp_path: Path) -> None:
    view = written(tmp_path, {"AGENTS.md": "old rules\n"})
    assert take(view, view.workspace.house).text("OPS.md") == "old rules\n"
    (tmp_path / "OPS.md").write_text("new rules\n")
    assert take(view, view.workspace.house).text("OPS.md") == "new rules\n"


def test_an_index_over_its_budget_says_what_it_leaves_out(tmp_path: Path) -> None:
    blocks = "".join(f"## [Card {k}](c{k}.md)\n\n- [a](c{k}.md#a) — Something. `x`\n\n" for k in range(200))
    view = written(tmp_path, {"projects/_index.md": f"# Projects\n\n{blocks}", "OPS.md": "last line of OPS"})
    snapshot = take(view, view.workspace.house)
    shown = snapshot.text("projects.md").count("## [")
    assert f"({200 - shown} more cards. " in snapshot.text("projects.md")
    assert 'read_card "projects/_index.md"' in snapshot.text("projects.md")
    assert snapshot.text("OPS.md") == "last line of OPS\n"


def test_a_long_note_is_cut_and_kept_whole_beside_it(tmp_path: Path) -> None:
    long = "Ask before you fire.\n" * 1_000
    view = written(tmp_path, {**FILES, "clients/acme/OPS.md": long + "MARKER"})
    snapshot = take(view, view.workspace.space("acme"))
    assert "MARKER" not in snapshot.text("OPS.md")
    assert 'read_card "clients/acme/OPS.md" from start' in snapshot.text("OPS.md")
    assert snapshot.text("OPS.md").startswith("# Operating rules\n\n(clients/acme/OPS.md)\n\nAsk")
    assert snapshot.whole == (("clients/acme/OPS.md", long + "MARKER"),)
    folder = store(view.workspace, snapshot)
    assert (folder / "whole/clients/acme/OPS.md").read_text().endswith("MARKER")
    assert load(folder) == snapshot
    (tmp_path / "clients/acme/OPS.md").write_text(long + "OTHER")
    assert take(view, view.workspace.space("acme")).sha != snapshot.sha


def test_long_notes_leave_the_indexes_their_least(tmp_path: Path) -> None:
    blocks = "".join(f"## [Card {k}](c{k}.md)\n\n- [a](c{k}.md#a) — Something. `x`\n\n" for k in range(200))
    long = "Ask before you fire.\n" * 1_000
    texts = {"projects/_index.md": blocks, "research/_index.md": blocks, "OPS.md": long, "BRIEF.md": long}
    view = written(tmp_path, texts)
    snapshot = take(view, view.workspace.house, tools=1_600)
    assert 200 < estimate(inside(snapshot.text("research.md"))) <= INDEX_LEAST
    (tmp_path / "onepen.toml").write_text('id = "abcdefgh"\nlimits.start_tokens = 20_000\n')
    assert estimate(take(View(open_workspace(tmp_path)), view.workspace.house).text("research.md")) > 1_000


def test_equal_memory_has_one_folder_and_other_memory_another(tmp_path: Path) -> None:
    view = written(tmp_path, FILES)
    first = store(view.workspace, take(view, view.workspace.house))
    assert store(view.workspace, take(view, view.workspace.house)) == first
    (tmp_path / "BRIEF.md").write_text("French")
    second = store(view.workspace, take(view, view.workspace.house))
    assert second != first
    assert load(first).text("BRIEF.md") == "English\n"


@given(st.dictionaries(st.sampled_from(SNAPSHOT_FILES), st.text(alphabet=st.characters(codec="utf-8"))))
def test_what_is_loaded_is_what_was_stored(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> None:
    view = written(tmp_path_factory.mktemp("ws"), {})
    snapshot = snapshot_of(texts)
    folder = store(view.workspace, snapshot)
    assert folder.name == snapshot.sha
    assert load(folder) == snapshot


def test_a_text_cannot_pass_for_a_part_of_the_next_one() -> None:
    assert snapshot_of({"RULES.md": "a\n", "OPS.md": "b\n"}).sha != snapshot_of({"RULES.md": "a\nb\n"}).sha


def test_a_damaged_copy_is_written_again(tmp_path: Path) -> None:
    view = written(tmp_path, FILES)
    snapshot = take(view, view.workspace.house)
    folder = store(view.workspace, snapshot)
    (folder / "OPS.md").unlink()
    with pytest.raises(SnapshotIncomplete, match=r"OPS\.md is missing"):
        load(folder)
    assert load(store(view.workspace, snapshot)) == snapshot
