from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.text.daylog import (
    BadLogText,
    check_seals,
    day_file,
    log_line,
    parse_day,
    parse_seals,
    seal,
    seal_json,
)

DAY = date(2026, 11, 29)
NOW = datetime(2026, 11, 29, 14, 5, 59, tzinfo=ZoneInfo("Europe/Berlin"))
PATH = "memory/2026-11-29.md"
LOG = "- 09:00+01:00 [note] called Ana\n- 09:30+01:00 [commit] projects/kiln.md: firing\n\nmy own text\n"


def test_a_line_has_time_offset_kind_and_text() -> None:
    line = log_line(NOW, "note", "called Ana")
    assert line == "- 14:05+01:00 [note] called Ana\n"
    assert parse_day("text\n" + line)[0].line == 2


@pytest.mark.parametrize(
    ("zone", "moment", "day", "time"),
    [
        ("Asia/Kathmandu", "2026-11-29T18:20Z", "2026-11-30", "00:05+05:45"),
        ("America/Los_Angeles", "2026-11-30T01:00Z", "2026-11-29", "17:00-08:00"),
        ("America/New_York", "2026-11-01T05:30Z", "2026-11-01", "01:30-04:00"),
        ("America/New_York", "2026-11-01T06:30Z", "2026-11-01", "01:30-05:00"),
        ("America/Santiago", "2026-09-06T03:30Z", "2026-09-05", "23:30-04:00"),
        ("America/Santiago", "2026-09-06T04:30Z", "2026-09-06", "01:30-03:00"),
        ("UTC", "2026-11-29T00:00Z", "2026-11-29", "00:00+00:00"),
    ],
)
def test_the_day_is_that_of_the_zone(zone: str, moment: str, day: str, time: str) -> None:
    now = datetime.fromisoformat(moment).astimezone(ZoneInfo(zone))
    assert day_file(now.date()) == f"memory/{day}.md"
    line = parse_day(log_line(now, "note", "x"))[0]
    assert line.time == time
    assert line.moment(now.date()).astimezone(UTC) == now.astimezone(UTC)


def test_the_hour_that_comes_twice_sorts_by_real_time() -> None:
    zone = ZoneInfo("America/New_York")
    moments = [datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 1, 6, 30, tzinfo=UTC)]
    text = "".join(log_line(moment.astimezone(zone), "note", str(i)) for i, moment in enumerate(moments))
    earlier, later = (line.moment(date(2026, 11, 1)) for line in parse_day(text))
    assert earlier < later


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\nb", "a / b"),
        ("a\r\n\r\n- 10:00+01:00 [note] forged", "a / - 10:00+01:00 [note] forged"),
        ("a\u2028b\x85c\vd", "a / b / c / d"),
        ("  tab\there \n", "tab here"),
    ],
)
def test_a_text_stays_one_line(text: str, kept: str) -> None:
    line = log_line(NOW, "note", text)
    assert line == f"- 14:05+01:00 [note] {kept}\n"
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("text", ["", " \n", "nul \0", "\a", "esc \x1b[31m", "\u202egnp", "\ud83d", "tag \U000e0041"])
def test_what_cannot_be_seen_is_refused(text: str) -> None:
    with pytest.raises(BadLogText):
        log_line(NOW, "note", text)


@pytest.mark.parametrize("kind", ["", "two words", "a]b", "A", "x" * 40])
def test_a_kind_is_a_word(kind: str) -> None:
    with pytest.raises(BadLogText):
        log_line(NOW, kind, "text")


@given(st.text(max_size=80), st.text(max_size=120))
def test_any_text_is_refused_or_one_line_that_is_read_back(text: str, before: str) -> None:
    try:
        line = log_line(NOW, "note", text)
    except BadLogText:
        return
    assert line.count("\n") == 1
    found = parse_day(before + "\n" + line)
    assert found[-1].text == line[len("- 14:05+01:00 [note] ") : -1]


class TestSeals:
    def test_a_seal_is_one_line_of_json_and_is_read_back(self) -> None:
        one = seal(DAY, LOG, NOW, "k3x9ab")
        assert len(one.lines) == 3
        assert all(len(name) == 16 for name in one.lines)
        text = seal_json(one)
        assert text.count("\n") == 1
        other = seal(date(2026, 11, 28), "x\n", NOW, "k3x9ab")
        assert parse_seals(text + "<<<<<<< HEAD\n" + seal_json(other) + text + '{"v": 99}\n[1]\n\n') == (one, other)

    def test_an_untouched_day_is_fine(self) -> None:
        assert check_seals(PATH, LOG, [seal(DAY, LOG, NOW, "a")]) == ()
        assert check_seals(PATH, LOG.replace("\n", "\r\n"), [seal(DAY, LOG, NOW, "a")]) == ()
        assert check_seals(PATH, LOG, []) == ()

    @pytest.mark.parametrize("after", [LOG.replace("called Ana", "called Bea"), LOG[LOG.index("\n") + 1 :], ""])
    def test_a_line_that_is_gone_or_changed_is_an_error(self, after: str) -> None:
        problems = check_seals(PATH, after, [seal(DAY, LOG, NOW, "a")])
        assert (problems[0].kind, problems[0].level, problems[0].path) == ("sealed_line_changed", "error", PATH)
        assert sum(p.level == "error" for p in problems) == 1

    def test_a_line_that_came_by_a_merge_is_information(self) -> None:
        late = LOG + "- 10:00+01:00 [note] from the other machine\n"
        problems = check_seals(PATH, late, [seal(DAY, LOG, NOW, "a")])
        assert [(p.kind, p.level, p.line) for p in problems] == [("late_line", "info", 5)]

    def test_the_seals_of_two_machines_count_together(self) -> None:
        mine, yours = "- 09:00+01:00 [note] same\n- 10:00+01:00 [note] mine\n", "- 09:00+01:00 [note] same\n"
        yours += "- 11:00+01:00 [note] yours\n"
        seals = [seal(DAY, mine, NOW, "a"), seal(DAY, yours, NOW, "b")]
        assert check_seals(PATH, mine + yours.split("\n", 1)[1], seals) == ()
        problems = check_seals(PATH, mine, seals)
        assert [(p.kind, p.message.startswith("a sealed line is gone")) for p in problems] == [
            ("sealed_line_changed", True)
        ]

    def test_equal_lines_are_counted(self) -> None:
        twice = "- 09:00+01:00 [note] x\n" * 2
        problems = check_seals(PATH, twice[: len(twice) // 2], [seal(DAY, twice, NOW, "a")])
        assert [p.kind for p in problems] == ["sealed_line_changed"]
