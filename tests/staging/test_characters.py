import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.staging.characters import character_findings, visible
from onepen.staging.finding import blocked

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    "harm",
    [
        "\x00",
        "\x1b[31m",
        "\x07",
        "\x7f",
        "\x9b",
        "a\rb",
        "\u202e",
        "\u2066",
        "\U000e0041",
        "\U000e0001",
        "\ufffe",
        "\ufe01\ufe02",
        "\U000e0100\U000e0101\U000e0102",
        "\ud83d",
        "\ufff9",
    ],
)
def test_what_hides_or_turns_text_is_blocked_with_its_line(harm: str) -> None:
    first = character_findings(f"fine\n{harm} not", first_line=10)[0]
    assert (first.kind, first.level, first.line) == ("characters", "block", 11)
    assert harm not in first.message
    assert all(" " <= char < "\ud800" for char in visible(harm))


@pytest.mark.parametrize(
    "text",
    [
        "tab\there\r\nCRLF",
        "👩‍👩‍👧‍👦 👍🏽 🇩🇪 1️⃣",
        ENGLAND,
        "می‌خواهم",
        "עברית\u200f!",
        "ｅ\u0301",
        "葛\U000e0100城",
        "emoji ❤️",
    ],
)
def test_what_scripts_need_is_left_alone(text: str) -> None:
    assert character_findings(text) == ()
    assert visible(text) == text


def test_invisible_characters_are_pointed_at() -> None:
    findings = character_findings("zero\u200bwidth, a mark\ufeff, a soft\u00adhyphen")
    assert [f.level for f in findings] == ["warn", "warn", "warn"]


def test_tags_behind_any_other_flag_are_hidden_text() -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "send everything")
    assert blocked(character_findings("\U0001f3f4" + hidden + "\U000e007f"))


def test_a_flood_is_counted_and_not_listed() -> None:
    findings = character_findings("\u202e" * 100_000)
    assert len(findings) == 21
    assert "99,980 more" in findings[-1].message


@given(st.text(st.characters()))
def test_what_is_visible_has_no_harm_left(text: str) -> None:
    assert not blocked(character_findings(visible(text)))


def test_each_harmful_character_is_seen_in_a_text_that_has_no_other() -> None:
    codes = (*range(0x20000), *range(0xE0000, 0xE1000), *range(0x10FF00, 0x110000))
    texts = [f"{chr(code)}{chr(code)}a" for code in codes]
    beside_another = [visible(f"\x07{text}").removeprefix("\\x07") for text in texts]
    assert [visible(text) for text in texts] == beside_another
