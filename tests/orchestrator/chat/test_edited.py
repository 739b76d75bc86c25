"""What was edited in an editor meanwhile: no commit tells of it, and the agent is told all the same."""

from pathlib import Path

from onepen.memory.fence import PLAIN
from onepen.orchestrator.chat.edited import TOKENS, Edited, edits_told, hash_of
from onepen.orchestrator.chat.lines import Prompt
from onepen.orchestrator.chat.prompt import sent_file
from onepen.orchestrator.requests import Notice
from onepen.subagents.model import Listener, ModelReply, ModelRequest, OnLost
from onepen.testing.parlour import Parlour, says

ENTRY = {"section_id": "firing", "keywords": ["cone 6"], "summary": "Fire at 1220."}
EDIT = {"project": "kiln", "old_text": "- fire at 1200\n", "new_text": "- fire at 1220\n", "index_entry": ENTRY}
READ = ("read_card", {"card": "kiln"})


def note(parlour: Parlour) -> str:
    """What the last message told of edits by hand."""
    words = parlour.model.requests[-1].messages[-1].content
    return "".join(b.text for b in words if b.type == "text" and b.text.startswith("(Edited by hand"))


def by_hand(root: Path, path: str, old: str, new: str) -> None:
    file = root / path
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_card_that_was_read_and_then_edited_is_to_be_read_again(parlour: Parlour) -> None:
    first = parlour.turn("What do we fire at?", says(READ), says("1200."))
    by_hand(parlour.root, "projects/kiln.md", "celadon", "tenmoku")
    parlour.turn("And the glaze?", says("I look again."), session=first.session)
    told = (
        "(Edited by hand meanwhile, in files that you know:)\n- projects/kiln.md: read it again before you rely on it\n"
    )
    assert note(parlour) == told
    parlour.turn("Well?", says("Tenmoku."), session=first.session)
    assert note(parlour) == "", "it is told once"


def test_a_card_that_was_not_read_is_none_of_its_concern(parlour: Parlour) -> None:
    first = parlour.turn("Hello", says("Hello."))
    by_hand(parlour.root, "projects/kiln.md", "celadon", "tenmoku")
    parlour.turn("And?", says("Nothing."), session=first.session)
    assert note(parlour) == ""


def test_its_own_change_is_no_edit_and_one_that_hides_behind_it_is(parlour: Parlour) -> None:
    write = ("write_memory_card", EDIT)
    first = parlour.turn("We fire at 1220", says(READ), says(write), says("Done."))
    parlour.turn("And?", says("Nothing."), session=first.session)
    assert note(parlour) == ""
    again = ("write_memory_card", {**EDIT, "old_text": "- fire at 1220\n", "new_text": "- fire at 1210\n"})
    parlour.turn("1210 now", says(again), says("Done."), session=first.session)
    by_hand(parlour.root, "projects/kiln.md", "celadon", "tenmoku")
    parlour.turn("So?", says("So."), session=first.session)
    assert "projects/kiln.md: read it again" in note(parlour), "its own commit doesn't tell of a hand's edit behind it"

    def meanwhile(request: ModelRequest, listener: Listener, on_lost: OnLost) -> ModelReply:
        by_hand(parlour.root, "projects/kiln.md", "tenmoku", "shino")
        return says(("write_memory_card", {**EDIT, "old_text": "- fire at 1210\n"}), ids=("toolu_last",))

    parlour.turn("1220 again", meanwhile, says("Done."), session=first.session)
    parlour.turn("So?", says("So."), session=first.session)
    assert "projects/kiln.md: read it again" in note(parlour), "nor of one before it"


def test_a_file_of_the_prompt_is_shown_with_the_lines_that_changed(parlour: Parlour) -> None:
    first = parlour.turn("Hello", says("Hello."))
    (parlour.root / "USER.md").write_text((parlour.root / "USER.md").read_text() + "She is called Ana.\n")
    (parlour.root / "MEMORY.md").write_text((parlour.root / "MEMORY.md").read_text() + "Ask before noon.\n")
    parlour.turn("And?", says("Hello Ana."), session=first.session)
    told = note(parlour)
    assert '<changed path="USER.md">' in told and "+She is called Ana." in told
    assert "data: changed in MEMORY.md]" in told and "+Ask before noon." in told
    assert len({request.system for request in parlour.model.requests}) == 1
    (parlour.root / "USER.md").unlink()
    parlour.turn("And?", says("Well."), session=first.session)
    assert note(parlour).endswith("- USER.md: it is gone\n") and "MEMORY.md" not in note(parlour)


def test_what_a_commit_tells_is_not_told_twice(parlour: Parlour) -> None:
    first = parlour.turn("Hello", says(READ), says("Hello."))
    parlour.service.log("called Ana")
    parlour.service.add_project("Glaze")
    parlour.turn("And?", says("Nothing."), session=first.session)
    assert note(parlour) == "" and "projects/glaze.md: created" in parlour.model.requests[-1].messages[-1].text


def test_a_large_change_is_named_and_not_shown() -> None:
    old = "# Memory\n"
    system = (f"{PLAIN.around('MEMORY.md', old)}\n",)
    prompt = Prompt(
        model="m",
        system=system,
        tools=(),
        layers={},
        max_tokens=9,
        parts=("I",),
        files={"MEMORY.md": hash_of(old.encode())},
    )
    assert sent_file(system, "MEMORY.md") == old
    small = edits_told([Edited("MEMORY.md", old + "One line.\n")], prompt, PLAIN, "")
    assert "+One line." in small
    large = edits_told([Edited("MEMORY.md", old + "Many a line.\n" * TOKENS)], prompt, PLAIN, "")
    assert "Many a line" not in large and 'read_card "' in large
    many = edits_told([Edited(f"projects/p{n}.md", "x") for n in range(50)], prompt, PLAIN, "")
    assert many.count("read it again") == 20 and "- … and 30 more files" in many


def test_the_person_sees_one_line_of_what_the_agent_is_told(parlour: Parlour) -> None:
    """Also of what commits changed; where there are no cards among it, of day logs."""
    first = parlour.turn("What do we fire at?", says(READ), says("1200."))
    parlour.service.log("called Ana")
    parlour.turn("And?", says("Nothing."), session=first.session)
    by_hand(parlour.root, "projects/kiln.md", "celadon", "tenmoku")
    for title in ("A", "B", "C"):
        parlour.service.add_project(title)
    parlour.turn("And now?", says("Nothing."), session=first.session)
    parlour.turn("Well?", says("Nothing."), session=first.session)
    lines = [event.text for event in parlour.events if isinstance(event, Notice) and "the agent is told" in event.text]
    assert lines == [
        "the agent is told what was changed meanwhile: memory/2026-11-29.md",
        "the agent is told what was changed meanwhile: projects/a.md, projects/b.md, projects/c.md and 1 more",
    ]
