"""What `onepen context` tells is what is sent, to the byte; and what has changed since."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from onepen.orchestrator.chat.store import NoSuchChat
from onepen.orchestrator.chat.toolset import tools
from onepen.orchestrator.commands.failure import BadText
from onepen.orchestrator.commands.prompting import changed, layers, text_of
from onepen.orchestrator.commands.terminal import Terminal
from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock
from onepen.testing.parlour import Parlour, says

SCREEN = Terminal(can_ask=False, colour=False, live=False, columns=80)


@pytest.fixture
def parlour(root: Path, clock: FixedClock, service: Service) -> Parlour:
    service.add_project("Kiln", text="## Firing\n- fire at 1200\n")
    service.log("Ana called.")
    return Parlour(root, clock, service)


def test_what_is_told_beforehand_is_what_is_sent(parlour: Parlour, service: Service) -> None:
    parlour.turn("Hello", says("Hello."))
    told = service.context()
    request = parlour.model.requests[0]
    assert tuple(layer.text for layer in told.layers if layer.text) == request.system
    assert told.tools == "".join(json.dumps(tool.as_dict(), ensure_ascii=False) + "\n" for tool in tools())
    assert [layer.name for layer in told.layers] == ["B", "A", "I", "S", "C"]
    assert [layer.mark for layer in told.layers] == [False, True, True, True, True]
    assert {layer.life for layer in told.layers if layer.mark} == {"5m"}
    for layer in told.layers:
        assert layer.sha256 == hashlib.sha256(layer.text.encode()).hexdigest()
    assert told.total_tokens > told.tool_tokens > 1_000


def test_a_chat_that_goes_on_shows_its_own_layers_and_its_conversation(parlour: Parlour, service: Service) -> None:
    session = parlour.turn("Which glaze?", says("Celadon.")).session
    (parlour.root / "OPS.md").write_text("Never fire on Sundays.\n")
    old, new = service.context(chat=session), service.context()
    assert old.chat == session and new.chat is None
    assert "".join(layer.text for layer in old.layers[:4]) == "".join(parlour.model.requests[0].system)
    assert "Never fire on Sundays." in new.layers[0].text
    assert "Which glaze?" in old.layers[4].text and old.layers[4].tokens > 0
    with pytest.raises(NoSuchChat):
        service.context(chat="none")


def test_what_changed_since_is_a_diff_and_what_it_costs(parlour: Parlour, service: Service) -> None:
    session = parlour.turn("Hello", says("Hello.")).session
    assert service.context_diff().difference.changes == ()
    assert "is the same" in changed(service.context_diff(), SCREEN)
    (parlour.root / "SOUL.md").write_text("You are calm.\n")
    service.add_project("Roof", text="## Tiles\n- red ones\n")
    found = service.context_diff(chat=session).difference
    assert [one.name for one in found.changes] == ["A", "I", "S"]
    persona, index, lately = found.changes
    assert "+You are calm.\n" in persona.diff
    assert "+## [Roof](roof.md)\n" in index.diff and "-## [Kiln]" not in index.diff
    assert "+- " in lately.diff and "projects/roof.md: Roof" in lately.diff
    assert not re.search(r"^[+-]\[[^\n]*data", index.diff, re.MULTILINE), "marks of fences are no change"
    now = service.context()
    assert found.rewritten == sum(layer.tokens for layer in now.layers if layer.name in {"A", "I", "S"})
    screen = changed(service.context_diff(), SCREEN)
    assert f"≈{found.rewritten:,}" in screen and f"≈{found.rewritten * 1.25:,.0f}" in screen
    assert max(map(len, screen.splitlines())) <= 80


def test_only_the_layers_from_the_first_change_on_are_paid_again(parlour: Parlour, service: Service) -> None:
    parlour.turn("Hello", says("Hello."))
    service.log("Ben called.")
    found = service.context_diff().difference
    assert [one.name for one in found.changes] == ["S"]
    assert found.rewritten == service.context().layers[3].tokens


def test_a_layer_is_printed_as_it_is_sent(service: Service) -> None:
    told = service.context()
    assert text_of(told, "b") == told.layers[0].text
    assert text_of(told, "tools") == told.tools
    with pytest.raises(BadText, match="it is one of tools, B, A, I, S, C"):
        text_of(told, "X")


def test_people_see_files_marks_and_what_is_left_out(parlour: Parlour, service: Service) -> None:
    (parlour.root / "OPS.md").write_text("Never fire on Sundays.\n" * 1_000)
    told = service.context()
    screen = layers(told, SCREEN)
    assert "OPS.md  (" in screen and "lines left out)" in screen
    assert "tokens, ends in a cache mark (5m)" in screen
    assert f"together ≈{told.total_tokens:,} tokens" in screen
    assert any("OPS.md" in notice for notice in told.notices)
    [file] = [f for layer in told.as_json()["layers"] for f in layer["files"] if f["path"] == "OPS.md"]  # type: ignore[attr-defined]
    assert file["left_out"] > 0 and file["units"] == "lines"
