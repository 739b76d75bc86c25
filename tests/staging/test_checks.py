import time
from dataclasses import replace
from datetime import date
from textwrap import dedent

import pytest

from onepen.memory.index.index import IndexEntry
from onepen.memory.target import parse_target
from onepen.staging.checks import Ground, after_text, check, cited
from onepen.staging.draft import Draft, parse_draft, render_draft
from onepen.staging.finding import Finding, blocked
from onepen.staging.verbatim import verbatim

CARD = dedent(
    """\
    ---
    title: Kiln
    updated: 2026-11-01
    ---
    # Kiln

    ## Firing

    - fire at 1200
    - slow

    ## Glaze

    Celadon.
    """
)
SOURCES = {"inputs/cones.md": "# Cones\ncone 6 was reached at 1222 degrees\n", "projects/kiln.md": CARD}
GROUND = Ground(read=SOURCES.get, card_text=CARD, today=date(2026, 11, 29))


def draft(
    body: str = '- fire at 1220\n  > "cone 6 was reached at 1222 degrees" (inputs/cones.md:2)\n', **front: object
) -> Draft:
    values: dict[str, object] = {
        "target": parse_target("projects/kiln.md"),
        "edit": "replace",
        "section": "firing",
        "old_text": "- fire at 1200\n",
        "provenance": "external",
        "index": (IndexEntry("firing", "Fire at 1220 since 3 Nov.", ("cone 6",)),),
        "sources": ("inputs/cones.md:2", "https://example.org/cones"),
        "body": body,
    }
    result = parse_draft("d.md", render_draft(**(values | front)), lambda _: b"a,b\n")  # type: ignore[arg-type]
    assert isinstance(result, Draft)
    return result


def create(body: str = "Fire at 1220.\n", target: str = "research/cones.md", **front: object) -> Draft:
    values: dict[str, object] = {
        "target": parse_target(target),
        "edit": "create",
        "section": None,
        "old_text": "",
        "index": (),
    }
    return draft(body, **(values | front))


def test_a_sound_draft_has_no_findings() -> None:
    assert check(draft(), GROUND) == ()
    after = after_text(draft(), GROUND)
    assert after is not None and "- fire at 1220\n  > " in after and "- fire at 1200" not in after


@pytest.mark.parametrize(
    ("made", "ground", "kind", "says"),
    [
        (draft(old_text="- fire at 1100\n"), GROUND, "edit", "0 times"),
        (draft(old_text="i"), GROUND, "edit", "times"),
        (draft(old_text=""), GROUND, "edit", "empty"),
        (draft("- fire at 1200\n"), GROUND, "edit", "same"),
        (draft(section="cooling"), GROUND, "edit", "not found"),
        (draft(), replace(GROUND, card_text=None), "conflict", "not found"),
        (draft(), replace(GROUND, shown="0" * 64), "conflict", "changed"),
        (create(target="projects/kiln.md"), GROUND, "conflict", "exists"),
        (create(" \n"), replace(GROUND, card_text=None), "empty", "no text"),
        (
            draft(index=(IndexEntry("cooling", "Slow."),)),
            GROUND,
            "index",
            "no section 'cooling'; there are firing, glaze",
        ),
        (draft(index=(IndexEntry("firing", "a"), IndexEntry("firing", "b"))), GROUND, "index", "two entries"),
        (draft(), replace(GROUND, expected=parse_target("research/x.md")), "target", "may change research/x.md"),
        (create(), replace(GROUND, card_text=None, known=frozenset({"projects/cones.md"})), "twin", "taken"),
        (
            create(target="projects/kiln/Launch.md"),
            replace(GROUND, card_text=None, known=frozenset({"projects/kiln/launch.md"})),
            "twin",
            "only in case",
        ),
        (draft(sources=("inputs/none.md",)), GROUND, "source", "no file"),
        (draft(sources=("inputs/cones.md:3",)), GROUND, "source", "no such line"),
        (draft(sources=("../MEMORY.md",)), GROUND, "source", "no file"),
        (draft(sources=("https://a b",)), GROUND, "source", "no address"),
        (draft('> "cone 7 was reached" (inputs/cones.md:2)\n'), GROUND, "quote", "byte for byte"),
        (draft("fire\u202e at 1220\n"), GROUND, "characters", "U+202E"),
        (draft("fire\U000e0041 at 1220\n"), GROUND, "characters", "U+E0041"),
        (draft(sources=("https://example.org/\u202e",)), GROUND, "characters", "sources"),
        (create(target="projects/kiln/a.md"), GROUND, "conflict", "replace it"),
        (
            create(target="projects/kiln/a.csv", file="a.csv"),
            replace(GROUND, card_text=None, file_sha="0" * 64),
            "conflict",
            "replace it",
        ),
        (create(target="projects/kiln/a.md", edit="replace"), replace(GROUND, card_text=None), "conflict", "create it"),
    ],
)
def test_what_keeps_a_draft_from_standing_is_said(made: Draft, ground: Ground, kind: str, says: str) -> None:
    findings = [f for f in check(made, ground) if f.kind == kind]
    assert findings and findings[0].level == "block"
    assert says in findings[0].message


def test_findings_carry_the_line_of_the_drafts_file() -> None:
    made = draft("one\ntwo \u202e\n")
    (finding,) = check(made, GROUND)
    raw = render_draft(
        target=made.target,
        edit=made.edit,
        section=made.section,
        old_text=made.old_text,
        body=made.body,
        index=made.index,
        sources=made.sources,
        provenance=made.provenance,
    ).decode()
    assert "\u202e" in raw.split("\n")[finding.line - 1]


@pytest.mark.parametrize(
    "value",
    [
        "sk-ant-api03-" + "F" * 82,
        "AKIAFAKEFAKEFAKE0000",
        "ghp_" + "F" * 36,
        "-----BEGIN PRIVATE KEY-----",
        "password: hunter2-fake",
        "https://u:p4ss@host/x",
    ],
)
def test_a_secret_blocks_wherever_it_stands_and_is_never_repeated(value: str) -> None:
    places: list[tuple[str, Draft]] = [
        ("", draft(f"text {value}\n")),
        ("old_text", draft(old_text=value)),
        ("sources", draft(sources=(value,))),
        ("the file a.csv", replace(create(target="projects/kiln/a.csv", file="a.csv"), file_data=value.encode())),
    ]
    if "://" not in value:  # addresses have no place in an index anyway
        places.append(("index, summary", draft(index=(IndexEntry("firing", f"key {value}"),))))
    if len(value) <= 40 and "://" not in value:
        places.append(("index, keywords", draft(index=(IndexEntry("firing", "key", (value,)),))))
    for place, made in places:
        findings = check(made, GROUND)
        secrets = [finding for finding in findings if finding.kind == "secret"]
        assert secrets and secrets[0].level == "block", place
        assert place in secrets[0].message
        assert value not in " ".join(str(finding) for finding in findings)


def test_warnings_come_last_and_do_not_block() -> None:
    made = draft("<script>alert(1)</script>\n[a](javascript:alert(1))\n", sources=())
    findings = check(made, GROUND)
    assert [f.kind for f in findings] == ["source", "html", "html"]
    assert not blocked(findings)
    worse = check(draft("<script>\u202e</script>\n", sources=()), GROUND)
    assert [f.level for f in worse] == ["block", "warn", "warn"]


def test_external_words_passed_off_as_the_agents_own_are_pointed_at() -> None:
    findings = check(draft(provenance="agent"), replace(GROUND, seen="external"))
    assert findings == (Finding("provenance", "warn", "says it is from the agent, but was made from external text"),)
    assert check(draft(), replace(GROUND, seen="external")) == ()


def test_a_flood_of_findings_is_bounded() -> None:
    body = '<script>\u202e> x\n> "no place\n> "x" (a:1)\n password: hunter2-fake\n' * 10_000
    assert len(check(draft(body), GROUND)) < 150


def test_a_new_card_has_the_title_and_sections_of_its_entries() -> None:
    made = create("## Cone six\n\ntext\n", title="Cones", index=(IndexEntry("cone-six", "Six."),))
    ground = replace(GROUND, card_text=None)
    assert check(made, ground) == ()
    after = after_text(made, ground)
    assert after is not None and "title: Cones" in after and "# Cones\n" in after


def test_the_text_after_is_none_for_what_is_no_text_or_can_not_be_made() -> None:
    csv = create(target="projects/kiln/a.csv", file="a.csv")
    assert after_text(csv, GROUND) == "a,b\n"
    assert after_text(replace(csv, file_data=b"\xff"), GROUND) is None
    assert after_text(draft(old_text="nowhere"), GROUND) is None


QUOTE = '> "cone 6 was reached at 1222 degrees" (inputs/cones.md:2)'


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        (f"- fire at 1220\n  {QUOTE}\n", True),
        (f"# Heading\n\n- a\n  {QUOTE}\n- b\n  {QUOTE}\n", True),
        (f"A paragraph\nof two lines.\n\n{QUOTE}\n", True),
        (f"{QUOTE}\n", True),
        (f"{QUOTE}\n\nRead 1 file, 2 lines.\n", True),
        ("Read 1 file, 2 lines.\n", False),
        (f"- a\n- b\n  {QUOTE}\n", False),
        (f"- a\n  {QUOTE}\n- b\n", False),
        (f"- a\n  {QUOTE}\n\nAnd so on.\n", False),
        (f"{QUOTE}\nAnd so on.\n", False),
        ("- a\n", False),
        ("", False),
        ("# Heading\n", False),
        (f"- a\n  {QUOTE.replace('1222', '1223')}\n", False),
    ],
)
def test_cited_means_every_statement_has_a_quote_that_holds(body: str, holds: bool) -> None:
    assert cited(draft(body), SOURCES.get) is holds


@pytest.mark.parametrize(
    "body",
    [
        "a\n" * 500_000,
        f"{QUOTE}\n" * 16_000,
        "- a\n\n" * 200_000,
        "#\n" * 500_000,
        '> "aa" (inputs/long.md:1)\n' * 40_000,
        "x" * 1_000_000,
    ],
    ids=["lines", "quotes", "items", "headings", "a long line", "one line"],
)
def test_a_mebibyte_of_anything_is_checked_in_seconds(body: str) -> None:
    read = {**SOURCES, "inputs/long.md": "a" * 1_000_000}.get
    made = draft(body, index=(IndexEntry("firing", "aa aa", ("aa", "ab", "a")),))
    ground = replace(GROUND, read=read)
    begun = time.process_time()
    check(made, ground)
    cited(made, read)
    verbatim(replace(made, edit="append"), "aa bb " * 10_000, read)
    assert time.process_time() - begun < 15


@pytest.mark.parametrize(
    ("flood", "hidden", "kind"),
    [
        ("password: required\n", "AKIAFAKEFAKEFAKE0000", "secret"),
        ("zero\u200bwidth\n", "\u202e", "characters"),
        ('> "no place\n', '> "made up" (inputs/cones.md:2)', "quote_form"),
    ],
)
def test_what_blocks_is_found_behind_thousands_of_warnings(flood: str, hidden: str, kind: str) -> None:
    assert not blocked(check(draft(flood * 3_000), GROUND))
    findings = check(draft(flood * 3_000 + hidden + "\n"), GROUND)
    assert blocked(findings) and hidden not in str(findings)
