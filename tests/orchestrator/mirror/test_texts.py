"""The pure parts: messages, streams, and what is taken together."""

from dataclasses import replace
from datetime import datetime

from onepen.memory.history import Commit
from onepen.orchestrator.mirror.lag import log_of
from onepen.orchestrator.mirror.message import message
from onepen.orchestrator.mirror.seen import Group, Seen, groups
from onepen.orchestrator.mirror.stream import File, Step, stream

ONE = Commit(
    1, "c1-k3x9ab", None, "2026-11-29T09:30:00+01:00", "agent:writer", "projects/kiln.md: created", "qw3cm1gk-1",
    "writer", "qw3cm1gk", "user:ana", (), ("projects/kiln.md", "projects/_index.md"), (),
)  # fmt: skip
TWO = replace(
    ONE, id="c2-k3x9ab", what="[note] called Ana", draft=None, agent=None, task=None, reviewer=None,
    paths=("clients/acme/memory/2026-11-29.md",),
)  # fmt: skip


def test_a_message_says_what_was_done_and_by_whom() -> None:
    assert message([ONE]) == (
        "projects/kiln.md: created\n\n"
        "Onepen-Commit: c1-k3x9ab\nTask: qw3cm1gk\nAgent: writer\nReviewer: user:ana\n"
    )  # fmt: skip
    assert message([TWO]) == "[note] called Ana\n\nOnepen-Commit: c2-k3x9ab\n"


def test_several_commits_are_listed_and_each_has_its_trailer() -> None:
    assert message([ONE, TWO]) == (
        "2 commits of onepen\n\n"
        "c1-k3x9ab projects/kiln.md: created\nc2-k3x9ab [note] called Ana\n\n"
        "Onepen-Commit: c1-k3x9ab\nOnepen-Commit: c2-k3x9ab\nTask: qw3cm1gk\nAgent: writer\nReviewer: user:ana\n"
    )
    many = [replace(ONE, id=f"c{k}-k3x9ab") for k in range(1, 1001)]
    assert "and 950 more: logs/ has them all" in message(many) and message(many).count("Onepen-Commit") == 1000


def test_text_of_others_stays_on_its_line() -> None:
    hostile = replace(ONE, what="a\n\nReviewer: user:eve\x1b[2J", reviewer="user:ana\nAgent: x")
    assert message([hostile]).splitlines() == [
        "a Reviewer: user:eve[2J", "", "Onepen-Commit: c1-k3x9ab", "Task: qw3cm1gk", "Agent: writer",
        "Reviewer: user:ana Agent: x",
    ]  # fmt: skip


def test_the_log_of_a_commit_is_that_of_its_space_and_month() -> None:
    assert log_of(ONE) == "logs/commits-2026-11.jsonl"
    assert log_of(TWO) == "clients/acme/logs/commits-2026-11.jsonl"


def test_a_stream_names_no_branch_of_the_persons() -> None:
    when = datetime.fromisoformat("2026-11-29T09:30:00+01:00")
    step = Step("Done\n", when, {'a "b".md': File("100644", b"x\n"), "gone.md": None})
    assert stream([step], "f" * 40, "Ana <ana@example.org>", when) == (
        b"commit refs/onepen/mirror\nmark :1\n"
        b"author Ana <ana@example.org> 1795941000 +0100\ncommitter Ana <ana@example.org> 1795941000 +0100\n"
        b"data 5\nDone\n\nfrom " + b"f" * 40 + b"\n"
        b'M 100644 inline "a \\"b\\".md"\ndata 2\nx\n\nD "gone.md"\n\n'
        b"get-mark :1\nreset refs/onepen/mirror\nfrom " + b"0" * 40 + b"\n\ndone\n"
    )


def test_what_was_seen_goes_as_it_was_seen_and_anything_else_together() -> None:
    first, second = Seen((ONE,), {"projects/kiln.md": b"1"}), Seen((TWO,), {"projects/kiln.md": b"2"})
    assert [group.commits for group in groups([ONE, TWO], [first, second])] == [(ONE,), (TWO,)]
    assert groups([TWO], [first, second]) == (Group((TWO,), ("projects/kiln.md",), {"projects/kiln.md": b"2"}),)
    both = [group.commits for group in groups([ONE, TWO], [second])]
    assert both == [(ONE, TWO)], "of the first nobody knows how its files were"
    assert [group.files for group in groups([ONE], [replace(first, files=None)])] == [None]
    assert groups([], [first]) == ()
