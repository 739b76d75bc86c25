from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepen.memory.layers import LAYERS, LOG_TOKENS, Layer, layers
from onepen.memory.scaffold import init
from onepen.memory.settings import LimitSettings
from onepen.memory.snapshot import INDEX_LEAST
from onepen.memory.tokens import estimate
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace

TODAY = date(2026, 11, 29)
FILES = {
    "RULES.md": "rules\n",
    "OPS.md": "ops\n",
    "SOUL.md": "soul\n",
    "USER.md": "user\n",
    "MEMORY.md": "CANARY\n",
    "projects/_index.md": "# Projects\n\nCANARY\n",
    "agents/_index.md": "# Agents\n",
    "memory/synthesis.md": "CANARY\n",
    "memory/2026-11-27.md": "- 09:00+01:00 [note] CANARY\n",
    "memory/2026-11-29.md": "- 09:00+01:00 [note] CANARY\n",
    "clients/acme/PERSONA.md": "persona\n",
    "clients/acme/BRIEF.md": "brief",
    "clients/acme/MEMORY.md": "learned\n",
    "clients/acme/research/_index.md": "# Research\n",
    "clients/acme/memory/2026-11-28.md": "- 09:00+01:00 [note] called\n",
}


def written(root: Path, files: dict[str, str]) -> View:
    for path, text in {"onepen.toml": 'id = "abcdefgh"\n', **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return View(open_workspace(root))


def paths(found: tuple[Layer, ...]) -> dict[str, list[str]]:
    return {layer.name: [file.path for file in layer.files] for layer in found}


def test_a_client_gets_rules_persona_and_registry_of_the_house_and_the_rest_of_its_own(tmp_path: Path) -> None:
    view = written(tmp_path, FILES)
    found = layers(view, view.workspace.space("acme"), TODAY)
    assert paths(found) == {
        "B": ["RULES.md", "OPS.md"],
        "A": ["SOUL.md", "USER.md", "clients/acme/PERSONA.md", "clients/acme/BRIEF.md"],
        "I": ["clients/acme/MEMORY.md", "clients/acme/research/_index.md", "agents/_index.md"],
        "S": ["clients/acme/memory/2026-11-28.md"],
        "C": [],
    }
    assert not any("CANARY" in file.text for layer in found for file in layer.files)


def test_the_house_has_its_memory_and_today_and_yesterday(tmp_path: Path) -> None:
    view = written(tmp_path, FILES)
    assert paths(layers(view, view.workspace.house, TODAY))["S"] == ["memory/synthesis.md", "memory/2026-11-29.md"]
    assert paths(layers(view, view.workspace.house))["S"][1:] == ["memory/2026-11-27.md", "memory/2026-11-29.md"]


def test_each_file_ends_with_a_newline_and_each_layer_counts_its_files(tmp_path: Path) -> None:
    view = written(tmp_path, FILES)
    found = layers(view, view.workspace.space("acme"), TODAY)
    assert tuple(layer.name for layer in found) == LAYERS
    assert [layer.mark for layer in found] == [False, True, True, True, True]
    for layer in found:
        assert layer.tokens == sum(file.tokens for file in layer.files)
        assert all(file.text.endswith("\n") and file.bytes == len(file.text.encode()) for file in layer.files)


def test_a_change_in_a_later_layer_leaves_the_earlier_ones(tmp_path: Path) -> None:
    view = written(tmp_path, FILES)
    before = layers(view, view.workspace.house, TODAY)
    (tmp_path / "projects/_index.md").write_text("# Projects\n\nanother\n")
    after = layers(view, view.workspace.house, TODAY)
    assert [a.sha256 == b.sha256 for a, b in zip(after, before, strict=True)] == [True, True, False, True, True]


def test_a_long_log_keeps_its_newest_lines_and_says_so(tmp_path: Path) -> None:
    log = "".join(f"- 14:{k % 60:02}+01:00 [note] line {k}\n" for k in range(500))
    view = written(tmp_path, {"memory/2026-11-29.md": log})
    [file] = layers(view, view.workspace.house, TODAY)[3].files
    assert file.tokens <= LOG_TOKENS
    assert file.left_out > 0
    assert f"{file.left_out} other lines are not shown" in file.text
    assert "line 499\n" in file.text


def test_a_new_workspace_starts_small(tmp_path: Path) -> None:
    init(tmp_path / "ws", id="abcdefgh", name="", today=TODAY)
    view = View(open_workspace(tmp_path / "ws"))
    found = layers(view, view.workspace.house, TODAY)
    assert sum(layer.tokens for layer in found) <= 1_500


LONG = "A word that matters.\n" * 2_000


def blocks(count: int) -> str:
    return "# Index\n\n" + "".join(
        f"## [Card {k}](c{k}.md)\nstatus: active · updated: 2026-{1 + k % 12:02}-29\n\n- [a](c{k}.md#a) — Said.\n\n"
        for k in range(count)
    )


@pytest.mark.parametrize("memory", ["", LONG])
def test_ten_thousand_cards_and_full_logs_start_within_five_thousand_tokens(tmp_path: Path, memory: str) -> None:
    init(tmp_path, id="abcdefgh", name="", today=TODAY)
    texts = {f"{shelf}/_index.md": blocks(5_000) for shelf in ("projects", "research")}
    logs = {f"memory/2026-11-{day}.md": "- 14:05+01:00 [draft] a task was done\n" * 1_000 for day in (28, 29)}
    view = written(tmp_path, {**texts, **logs, "memory/synthesis.md": LONG, "MEMORY.md": memory})
    tools = 1_450
    found = layers(view, view.workspace.house, TODAY, tools=tools)
    assert sum(layer.tokens + len(layer.files) * 45 for layer in found) + tools <= 5_000
    assert {file.path for layer in found for file in layer.files if file.left_out} == {
        *texts,
        *logs,
        "memory/synthesis.md",
        *(["MEMORY.md"] if memory else []),
    }
    for path in texts:
        assert f'read_card "{path}"' in text_of(found, path)
        assert "All 5,000 cards: 2026-12 416, " in text_of(found, path)


def text_of(found: tuple[Layer, ...], path: str) -> str:
    return next(file.text for layer in found for file in layer.files if file.path == path)


@pytest.mark.parametrize("long", ["RULES.md", "OPS.md", "SOUL.md", "MEMORY.md", "memory/synthesis.md"])
def test_one_long_file_is_cut_loudly_and_starves_no_other(tmp_path: Path, long: str) -> None:
    short = {path: f"{path}\n" for path in ("RULES.md", "OPS.md", "SOUL.md", "MEMORY.md", "memory/synthesis.md")}
    view = written(tmp_path, {**short, long: LONG, "projects/_index.md": blocks(50)})
    found = layers(view, view.workspace.house, TODAY, tools=1_500)
    assert f'read_card "{long}" from start ' in text_of(found, long)
    assert all(text_of(found, path) == text for path, text in short.items() if path != long)
    assert estimate(text_of(found, "projects/_index.md")) > INDEX_LEAST * 2 // 3


@pytest.mark.parametrize(
    ("path", "limit"), [("OPS.md", "note_tokens"), ("MEMORY.md", "memory_tokens"), ("USER.md", "note_tokens")]
)
def test_a_note_that_just_fits_is_whole(tmp_path: Path, path: str, limit: str) -> None:
    most = getattr(LimitSettings(), limit)
    fits = "a word.\n" * (most * 4 // 11)
    while estimate(fits + "b") <= most:
        fits += "b"
    view = written(tmp_path, {path: fits})
    assert text_of(layers(view, view.workspace.house, TODAY), path).rstrip() == fits.rstrip()
    (tmp_path / path).write_text(fits + "bbbb")
    cut = text_of(layers(view, view.workspace.house, TODAY), path)
    assert estimate(cut) <= most
    assert "not shown here" in cut


@given(st.integers(0, 3), st.integers(0, 4_000))
@settings(max_examples=20, deadline=None)
def test_no_layer_depends_on_a_later_one(tmp_path_factory: pytest.TempPathFactory, at: int, size: int) -> None:
    root = tmp_path_factory.mktemp("ws")
    files = ["OPS.md", "SOUL.md", "research/_index.md", "memory/synthesis.md"]
    note = "Ask first.\n" * 40  # so long that each layer gets less than it wants, and more than its least
    view = written(root, {**dict.fromkeys(files, note), "memory/synthesis.md": LONG, "projects/_index.md": blocks(200)})
    before = layers(view, view.workspace.house, TODAY, tools=2_900)
    (root / files[at]).write_text("x.\n" * size)
    after = layers(view, view.workspace.house, TODAY, tools=2_900)
    assert [layer.sha256 for layer in before[:at]] == [layer.sha256 for layer in after[:at]]
