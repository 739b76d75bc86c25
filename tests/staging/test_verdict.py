import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.target import parse_target
from onepen.staging.draft import Draft, parse_draft
from onepen.staging.verdict import (
    Accepted,
    Bound,
    Escalated,
    Refused,
    SentBack,
    Verdict,
    VerdictUnreadable,
    bind,
    moved_on,
    parse_verdict,
    verdict_json,
)

TEXT = """\
---
target: projects/kiln.md
edit: append
section: firing
index: [{section_id: firing, summary: Hot.}]
---
- fire
"""
CARD = "# Kiln\n\n## Firing\n\n- fire at 1200\n\n## Glaze\n\nCeladon.\n"
SHA = st.text("0123456789abcdef", min_size=64, max_size=64)


def draft(text: str = TEXT) -> Draft:
    result = parse_draft("d.md", text.encode(), lambda _: b"a,b\n")
    assert isinstance(result, Draft)
    return result


@given(
    st.sampled_from([Accepted, SentBack, Refused, Escalated]),
    st.text(min_size=1, max_size=30),
    SHA,
    SHA | st.just(""),
    st.text(max_size=50),
)
def test_a_verdict_comes_back_from_json_as_it_was(
    kind: type[Accepted], reviewer: str, sha: str, section: str, reason: str
) -> None:
    verdict: Verdict = kind(reviewer, Bound(sha, section), reason)
    assert parse_verdict(json.loads(json.dumps(verdict_json(verdict)))) == verdict


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "maybe"},
        {"verdict": None},
        {"reviewer": ""},
        {"bound": {}},
        {"bound": {"sha256": "xyz", "section": ""}},
        {"bound": {"sha256": "A" * 64, "section": ""}},
        {"extra": 1},
        {"reason": 7},
    ],
)
def test_what_is_no_verdict_is_not_guessed(change: dict[str, object]) -> None:
    good = verdict_json(Accepted("user:ana", Bound("0" * 64, "")))
    with pytest.raises(VerdictUnreadable):
        parse_verdict(good | change)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- fire\n", "- fire \n"),
        ("Hot.", "Cold."),
        ("edit: append", "edit: append   "),
        ("projects/kiln.md", "projects/loom.md"),
        ("section: firing", "section: glaze"),
    ],
    ids=["body", "index entry", "blanks in front matter", "target", "section"],
)
def test_any_change_of_the_draft_ends_what_its_verdict_was_bound_to(before: str, after: str) -> None:
    then = bind(draft(), CARD)
    now = bind(draft(TEXT.replace(before, after)), CARD)
    assert "the draft was changed" in (moved_on(then, now) or "")


def test_only_the_section_that_was_shown_counts() -> None:
    then = bind(draft(), CARD)
    assert moved_on(then, bind(draft(), CARD)) is None
    assert moved_on(then, bind(draft(), CARD.replace("Celadon", "Ash"))) is None
    assert "what the draft changes" in (moved_on(then, bind(draft(), CARD.replace("1200", "1220"))) or "")
    assert moved_on(then, bind(draft(), None)) is not None


def test_a_file_is_bound_with_its_draft_and_the_file_that_it_replaces() -> None:
    text = "---\ntarget: projects/kiln/a.csv\nedit: replace\nfile: a.csv\n---\nnote\n"
    made = draft(text)
    assert made.target == parse_target("projects/kiln/a.csv")
    then = bind(made, b"\xff old")
    assert moved_on(then, bind(made, b"\xff old")) is None
    assert moved_on(then, bind(made, b"\xff new")) is not None
    other = parse_draft("d.md", text.encode(), lambda _: b"a,c\n")
    assert isinstance(other, Draft)
    assert moved_on(then, bind(other, b"\xff old")) is not None
    assert bind(replace(made, body="x"), b"\xff old") == then  # the hash is that of the file, whoever made the value
