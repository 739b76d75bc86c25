"""The synthesis is renewed by a sub-agent, or extracted without one; and what it tells is gone from the chats."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from onepen.memory.history import Commit, read_commits
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.chat.lines import Renewed
from onepen.orchestrator.chat.renewing import RenewalRuns
from onepen.orchestrator.service import Service
from onepen.testing.parlour import Parlour, says

Make = Callable[..., Service]
WRITTEN = """# Where things stand

The kiln is fired at 1220 since 3 Nov.

## Log
- Ana decided on 1220 degrees.
- The launch is on 5 December.
"""


def limits(root: Path, **values: int) -> None:
    """The workspace with these limits."""
    rows = "".join(f"{name} = {value}\n" for name, value in values.items())
    (root / "onepen.toml").write_text((root / "onepen.toml").read_text() + f"\n[limits]\n{rows}")


def answers(*texts: str) -> list[dict[str, object]]:
    """A synthesizer that answers with these, one attempt after the other."""
    return [
        {
            "agent": "synthesizer",
            "times": 1,
            "reply": [{"tool": "report", "input": {"summary": "Done.", "answer": text}}],
        }
        for text in texts
    ]


def by_script(parlour: Parlour, make_service: Make, *texts: str) -> None:
    parlour.service = make_service(script=answers(*texts))


def history(root: Path) -> Sequence[Commit]:
    view = View(open_workspace(root))
    return read_commits(view, view.workspace.house)


def talk(parlour: Parlour, *words: str) -> str:
    """A chat with these messages; its id."""
    session: str | None = None
    for word in words:
        session = parlour.turn(word, says(f"Answer to {word}."), session=session).session
    assert session is not None
    return session


def test_an_answer_says_when_the_synthesis_is_due(parlour: Parlour) -> None:
    limits(parlour.root, synthesis_exchanges=3)
    assert parlour.turn("one", says("1")).renewal == ""
    assert parlour.turn("two", says("2")).renewal == "", "another chat of the same space"
    assert parlour.turn("three", says("3")).renewal == "3 exchanges"


def test_a_chat_that_grew_too_long_makes_it_due(parlour: Parlour) -> None:
    limits(parlour.root, chat_tokens=2_000)
    assert parlour.turn("one", says("1")).renewal == ""
    assert parlour.turn("word " * 3_000, says("2")).renewal.startswith("a chat of ")


def test_the_synthesizer_writes_it_and_one_commit_holds_it_with_the_log(parlour: Parlour, make_service: Make) -> None:
    by_script(parlour, make_service, WRITTEN)
    session = talk(parlour, "one", "two")
    result = parlour.renew(why="2 exchanges")
    assert (result.by, result.exchanges, result.notices) == ("synthesizer", 2, ())
    assert result.line == f"the synthesis was renewed (2 exchanges): commit {result.commit}"
    assert parlour.text("memory/synthesis.md") == "# Where things stand\n\nThe kiln is fired at 1220 since 3 Nov.\n"
    commit = history(parlour.root)[-1]
    assert (commit.id, commit.who, commit.task) == (result.commit, "agent:synthesizer", result.task)
    assert commit.what == "memory/synthesis.md: renewed after 2 exchanges"
    assert commit.sources == (f"chats/{session}.jsonl, turns 1 to 2",)
    log = parlour.text("memory/2026-11-29.md")
    assert "[event] Ana decided on 1220 degrees." in log and "[event] The launch is on 5 December." in log
    said = (parlour.root / f"staging/{result.task}/inputs/said.md").read_text()
    assert "data: the person]\none\n[" in said and "Answer to two." in said
    assert parlour.renew(why="again").commit == "", "nothing was said since"


def test_the_chat_that_asked_begins_anew_at_once(parlour: Parlour, make_service: Make) -> None:
    by_script(parlour, make_service, WRITTEN)
    session = talk(parlour, "one", "two")
    result = parlour.renew(session)
    assert "goes on from it and its last 2 exchanges" in result.chat
    assert isinstance(parlour.lines(session)[-1], Renewed)
    parlour.turn("three", says("3"), session=session)
    assert "The kiln is fired at 1220" in parlour.model.requests[-1].system[3]
    assert sum(isinstance(line, Renewed) for line in parlour.lines(session)) == 1


@pytest.mark.parametrize("bad", ["", "   ", "## Log\n- only a log", "word " * 8_000])
def test_an_answer_that_is_no_synthesis_is_asked_for_again(parlour: Parlour, make_service: Make, bad: str) -> None:
    by_script(parlour, make_service, bad or " ", "All is well.")
    talk(parlour, "one")
    result = parlour.renew(why="1 exchange")
    assert result.by in ("synthesizer", "extracted")
    if result.by == "synthesizer":
        assert parlour.text("memory/synthesis.md") == "All is well.\n"


def test_without_a_synthesizer_it_is_extracted_and_that_is_said(parlour: Parlour, make_service: Make) -> None:
    by_script(parlour, make_service)
    write = ("log_event", {"text": "called Ana"})
    first = parlour.turn("Note that I called Ana", says(write), says("Noted."))
    result = parlour.renew(why="1 exchange")
    assert result.by == "extracted" and result.notices[0].startswith("the synthesis was extracted, not written: task ")
    text = parlour.text("memory/synthesis.md")
    assert '- 2026-11-29 09:30 "Note that I called Ana" → log_event: noted in today\'s log' in text
    assert f"(chats/{first.session}.jsonl, exchange 1)" in text
    parlour.turn("More", says("Well."), session=first.session)
    (told,) = [line.why for line in parlour.lines(first.session) if isinstance(line, Renewed)]
    assert "renewed after 1 exchange; the synthesis was extracted, not written: task " in told
    parlour.renew(why="1 exchange")
    text = parlour.text("memory/synthesis.md")
    assert '"More"' in text and text.count("# Where things stand") == 1 and "called Ana" in text


def test_the_offline_model_starts_no_task_for_it(parlour: Parlour) -> None:
    talk(parlour, "one")
    parlour.model_name = "offline"
    result = parlour.renew(why="1 exchange")
    assert result.by == "extracted" and "the offline model writes no prose" in result.notices[0]
    assert not list((parlour.root / "staging").glob("*/task.md"))


def test_a_secret_gets_neither_into_the_inputs_nor_into_the_synthesis(parlour: Parlour, make_service: Make) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    by_script(parlour, make_service, f"The key is {key}.")
    talk(parlour, f"my key is {key}")
    result = parlour.renew(why="1 exchange")
    assert result.commit
    assert key not in parlour.text("memory/synthesis.md")
    given = list((parlour.root / "staging").rglob("inputs/*"))
    assert given and not any(key in path.read_text() for path in given)


def test_two_chats_do_not_overwrite_each_others_synthesis(parlour: Parlour, make_service: Make) -> None:
    """Meanwhile somebody else wrote it: what was made from the old one is not written, and it is begun from the new."""
    by_script(parlour, make_service, "From the old one.", "From the new one.")
    talk(parlour, "one")
    service, asked = parlour.service, []
    real = service.delegate

    async def delegate(request, **more):  # type: ignore[no-untyped-def]
        asked.append(dict(request.papers)["synthesis.md"])
        if len(asked) == 1:
            (parlour.root / "memory/synthesis.md").write_text("By another hand.\n")
        return await real(request, **more)

    service.delegate = delegate  # type: ignore[method-assign]
    result = parlour.renew(why="1 exchange")
    assert asked == ["(there is none yet)\n", "By another hand.\n"]
    assert parlour.text("memory/synthesis.md") == "From the new one.\n"
    assert result.notices == ("the synthesis was changed while it was being renewed, so it was begun again from that",)


def test_one_renewal_at_a_time(parlour: Parlour) -> None:
    talk(parlour, "one")
    parlour.renewing.add("")
    with pytest.raises(RenewalRuns, match="being renewed at this moment"):
        parlour.renew(why="1 exchange")


def test_what_was_said_while_it_was_being_renewed_is_told_by_the_next(parlour: Parlour, make_service: Make) -> None:
    by_script(parlour, make_service, "First.", "Second.")
    session = talk(parlour, "one", "two")
    real = parlour.service.delegate

    async def delegate(request, **more):  # type: ignore[no-untyped-def]
        result = await real(request, **more)
        await parlour.talk().turn(parlour.request("three", session), parlour.happened, parlour.stop)
        return result

    parlour.service.delegate = delegate  # type: ignore[method-assign]
    parlour.model.steps.append(says("Answer to three."))
    assert parlour.renew(why="2 exchanges").exchanges == 2
    parlour.service.delegate = real  # type: ignore[method-assign]
    told = parlour.renew(why="1 exchange")
    assert told.exchanges == 1 and parlour.text("memory/synthesis.md") == "Second.\n"


def test_an_unchanged_synthesis_is_a_renewal_all_the_same(parlour: Parlour, make_service: Make) -> None:
    by_script(parlour, make_service, "The same.", "The same.")
    session = talk(parlour, "one")
    parlour.renew(why="1 exchange")
    parlour.turn("two", says("2"), session=session)
    result = parlour.renew(why="1 exchange")
    assert result.commit and parlour.renew(why="1 exchange").commit == ""
    assert "[synthesis] unchanged after 1 exchange" in parlour.text("memory/2026-11-29.md")


def test_a_line_that_the_day_log_has_is_not_logged_again(parlour: Parlour, make_service: Make) -> None:
    again = WRITTEN.replace("since 3 Nov", "again") + "- Bo fires on Monday.\n"
    by_script(parlour, make_service, WRITTEN, again)
    session = talk(parlour, "one")
    parlour.renew()
    parlour.turn("two", says("2"), session=session)
    parlour.renew()
    log = parlour.text("memory/2026-11-29.md")
    lines = ("Ana decided on 1220 degrees.", "The launch is on 5 December.", "Bo fires on Monday.")
    assert [log.count(line) for line in lines] == [1, 1, 1]
