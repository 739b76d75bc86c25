"""Midnight passes while a chat is open: each line goes to its own day, none is lost, and the prompt stays the same."""

from datetime import timedelta
from pathlib import Path

from onepen.orchestrator.pens import HeldPen
from onepen.testing.clock import FixedClock
from onepen.testing.parlour import Parlour, says


def test_midnight_passes_while_a_chat_is_open(parlour: Parlour, clock: FixedClock) -> None:
    """Field case 22: a call that asks for yesterday, or a day to come, is refused with words that can be acted on."""
    clock.move(timedelta(hours=14, minutes=28))  # 23:58
    with HeldPen.open(parlour.view, clock) as pen:
        parlour.pens = pen
        first = parlour.turn("Note it", says(("log_event", {"text": "before"})), says("Noted."))
        clock.move(timedelta(minutes=5))
        for day in ("2026-11-29", "2026-12-24"):
            asked = says(("log_event", {"text": "misdated", "date": day}))
            parlour.turn("Note it", asked, says(("log_event", {"text": f"for {day}"})), says("Noted."), session="last")
    wrong = [content for m in parlour.model.requests[-1].messages for b in m.content
             if b.type == "tool_result" and b.is_error for content in [b.content]]  # fmt: skip
    assert len(wrong) == 2 and all("date" in content for content in wrong)
    assert parlour.text("memory/2026-11-29.md").endswith("- 23:58+01:00 [event] before\n")
    today = parlour.text("memory/2026-11-30.md")
    assert "for 2026-11-29" in today and "for 2026-12-24" in today and "misdated" not in today
    assert sorted(path.name for path in Path(parlour.root / "memory").glob("2*.md"))[-1] == "2026-11-30.md"
    prompts = {request.system for request in parlour.model.requests}
    assert len(prompts) == 1 and first.session
