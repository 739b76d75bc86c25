"""The texts of an attempt before the first one: what each worker would make anew is made once, and all share it.

Patterns are compiled, validators built and tables filled by the first text that needs them. In a process that is forked
for one attempt every text is the first: three quarters of an attempt's processor time went into that.
"""

from datetime import date
from pathlib import Path

from ...memory.guard import leads_straight
from ...memory.ids import CardId, id_from_title
from ...memory.index.index import IndexEntry
from ...memory.target import CardTarget
from ...memory.text.card import CardEdit, apply_edit
from ...staging.draft import parse_draft, render_draft
from ...staging.quotes import parse_quote
from ...staging.secret import mask
from .. import wire
from ..messages import ToolUse, parse_message, user
from ..prompt import prefix_sha, tools
from ..toolbox.draftname import name_for
from ..toolbox.page import page
from ..toolbox.toolinput import WriteDraft, parse_input

_TEXT = '# Practice\n\n## Part one\n\n- "Celadon" at cone 6\n\n> "Celadon since May." (inputs/glaze.md:3)\n'
_TASK, _ATTEMPT = "practice", 1


def practise(turn: int = 0) -> None:
    """Goes through what an attempt does, in memory: nothing is read or written.

    Each `turn` has texts of its own, so that none is only remembered.
    """
    _speak()
    _draft(f"{_TEXT}\nTurn {turn}.\n")
    page("inputs/glaze.md", f"{_TEXT}password: none\n", 1, 10)
    leads_straight(Path("/"))


def _speak() -> None:
    """Messages of the wire in both directions."""
    call = ToolUse("toolu_1", "report", {"summary": "Nothing."})
    reply = wire.ModelReplied(task=_TASK, attempt=_ATTEMPT, id=1, content=(call,), stop_reason="tool_use")
    wire.LineSplitter(wire.TO_WORKER).feed(wire.encode(reply))
    wire.encode(wire.Progress(task=_TASK, attempt=_ATTEMPT, text="started"))
    parse_message({"role": "assistant", "content": [{"type": "text", "text": "ö"}]})
    prefix_sha("", ("",), tools())
    user()


def _draft(text: str) -> None:
    """A draft with all that a draft can have."""
    given = {"text": text, "title": "Practice", "index": [{"section_id": "part-one", "summary": "Celadon."}]}
    parse_input("write_draft", WriteDraft, given)
    target = CardTarget("research", CardId("practice"))
    entry = IndexEntry("part-one", "Celadon, at cone 6.", ("glaze",))
    apply_edit(None, CardEdit(target, "create", text=text, title="Practice"), date(2000, 1, 1))
    raw = render_draft(
        target=target, edit="create", body=text, title="Practice", index=(entry,), sources=("inputs/glaze.md:3",),
        provenance="agent",
    )  # fmt: skip
    parse_draft("practice.md", raw, lambda name: None)
    card = CardEdit(target, "replace", section="part-one", old_text="cone 6", text="cone 7")
    apply_edit(f"---\ntitle: Practice\n---\n\n{text}", card, date(2000, 1, 1))
    id_from_title("Übung macht den Meister")
    name_for(str(target), "part-one")
    parse_quote(_TEXT.split("\n")[6])
    mask(text)
