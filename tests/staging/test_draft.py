import hashlib
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.index.index import EntryRefused, IndexEntry
from onepen.memory.target import CardTarget, FileTarget, NoteTarget, Target, parse_target
from onepen.memory.text.card import EditKind
from onepen.staging.draft import MAX_BYTES, Draft, DraftImpossible, edit_of, file_bytes, parse_draft, render_draft
from onepen.staging.finding import Finding
from onepen.staging.policy import Provenance

EXAMPLE = dedent(
    """\
    ---
    target: projects/kiln.md
    edit: replace              # create | append | replace | remove
    section: firing
    old_text: "- fire at 1200\\n"
    index: [{section_id: firing, keywords: [cone 6], summary: Fire at 1220 since 3 Nov.}]
    sources: ["inputs/cones.md:14", "https://example.org/cones"]
    provenance: external       # user | agent | external
    ---
    - fire at 1220
      > "cone 6 was reached at 1222 degrees" (inputs/cones.md:14)
    """
)


def read(text: str | bytes, files: dict[str, bytes] | None = None) -> Draft:
    result = parse(text, files)
    assert isinstance(result, Draft), result
    return result


def refuse(text: str | bytes, files: dict[str, bytes] | None = None) -> tuple[Finding, ...]:
    result = parse(text, files)
    assert not isinstance(result, Draft)
    assert all(finding.level == "block" for finding in result)
    return result


def parse(text: str | bytes, files: dict[str, bytes] | None = None) -> Draft | tuple[Finding, ...]:
    raw = text if isinstance(text, bytes) else text.encode()
    return parse_draft("newsletter.md", raw, (files or {}).get)


def draft(body: str = "text\n", **front: str) -> str:
    keys = {"target": "projects/kiln.md", "edit": "append"} | front
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in keys.items()) + f"---\n{body}"


def test_the_documented_example_reads_as_it_says() -> None:
    assert read(EXAMPLE) == Draft(
        name="newsletter.md",
        target=parse_target("projects/kiln.md"),
        edit="replace",
        section="firing",
        old_text="- fire at 1200\n",
        body='- fire at 1220\n  > "cone 6 was reached at 1222 degrees" (inputs/cones.md:14)\n',
        index=(IndexEntry("firing", "Fire at 1220 since 3 Nov.", ("cone 6",)),),
        sources=("inputs/cones.md:14", "https://example.org/cones"),
        provenance="external",
        title=None,
        file=None,
        file_data=None,
        sha256=hashlib.sha256(EXAMPLE.encode()).hexdigest(),
    )
    assert read(EXAMPLE).body_line == 10


TARGETS: st.SearchStrategy[Target] = st.sampled_from(
    [parse_target(t) for t in ("projects/kiln.md", "research/cones.md", "MEMORY.md", "USER.md")]
)
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60).map(str.strip).filter(bool)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=200)


@st.composite
def entries(draw: st.DrawFn) -> IndexEntry:
    words = draw(st.lists(st.text("abc äöü-6", min_size=1, max_size=12), max_size=4))
    try:
        return IndexEntry(draw(st.from_regex(r"[a-z0-9ä][a-z0-9ä-]{0,20}", fullmatch=True)), draw(LINES), tuple(words))
    except EntryRefused:
        return IndexEntry("firing", 'Fire: "hot", at 0123 # or no', ("no", "0123"))


@given(
    target=TARGETS,
    edit=st.sampled_from(["append", "replace", "remove", "create"]),
    section=st.none() | st.from_regex(r"[a-z0-9ä][a-z0-9ä-]{0,20}", fullmatch=True),
    old_text=TEXTS,
    body=TEXTS,
    index=st.lists(entries(), max_size=3),
    sources=st.lists(LINES, max_size=3),
    provenance=st.sampled_from(["user", "agent", "external"]),
    title=st.none() | LINES,
)
def test_what_is_rendered_reads_back_as_it_was(
    target: Target,
    edit: EditKind,
    section: str | None,
    old_text: str,
    body: str,
    index: list[IndexEntry],
    sources: list[str],
    provenance: Provenance,
    title: str | None,
) -> None:
    takes = edit in ("replace", "remove")
    card = isinstance(target, CardTarget)
    section = None if edit == "create" else section
    old_text = old_text if takes else ""
    entries = tuple(index) if card else ()
    title = title if edit == "create" and card else None
    try:
        raw = render_draft(
            target=target,
            edit=edit,
            section=section,
            old_text=old_text,
            body=body,
            index=entries,
            sources=tuple(sources),
            provenance=provenance,
            title=title,
        )
    except DraftImpossible as e:
        assert title is not None and "title" in e.message  # private-use and separator characters have no place in one
        return
    got = read(raw)
    assert (got.target, got.edit, got.section, got.old_text, got.body) == (target, edit, section, old_text, body)
    assert (got.index, got.sources, got.provenance) == (entries, tuple(sources), provenance)
    assert (
        render_draft(
            target=got.target,
            edit=got.edit,
            section=got.section,
            old_text=got.old_text,
            body=got.body,
            index=got.index,
            sources=got.sources,
            provenance=got.provenance,
            title=got.title,
        )
        == raw
    )


@given(st.binary(max_size=400) | TEXTS.map(lambda text: ("---\n" + text).encode()) | TEXTS.map(str.encode))
def test_no_bytes_whatever_raise(raw: bytes) -> None:
    result = parse(raw)
    assert isinstance(result, Draft) or result


@pytest.mark.parametrize(
    "body", ["", "\n", "no newline", "---\nnot: front\n---\n", "\r\n windows\r\n", "```\n---\n```\n", "\ufeffmark\n"]
)
def test_the_body_is_exactly_what_follows_the_closing_line(body: str) -> None:
    assert read(draft(body)).body == body


def test_a_byte_order_mark_before_the_block_is_fine() -> None:
    assert read("\ufeff" + draft("text\n")).target == parse_target("projects/kiln.md")


def test_what_is_not_said_is_external_and_concerns_the_whole_document() -> None:
    got = read(draft("text\n", section=""))
    assert (got.provenance, got.section, got.index, got.sources, got.title) == ("external", None, (), (), None)


def test_one_source_or_keyword_needs_no_list() -> None:
    got = read(draft(sources="inputs/a.md:1", index="{section_id: firing, summary: Hot, keywords: glaze}"))
    assert got.sources == ("inputs/a.md:1",)
    assert got.index == (IndexEntry("firing", "Hot", ("glaze",)),)


def test_values_stay_the_text_that_was_typed() -> None:
    assert read(draft(section="0123")).section == "0123"
    assert read(draft(section="no")).section == "no"


@pytest.mark.parametrize(
    "target", ["OPS.md", "SOUL.md", "PERSONA.md", "RULES.md", "BRIEF.md", "AGENTS.md", "CLAUDE.md"]
)
def test_who_the_agent_is_changes_by_hand_only(target: str) -> None:
    for spelled in (target, target.lower(), target.title(), f"agents/{target}", "agents/poet.md", "agents/_index.md"):
        (finding,) = refuse(draft(target=spelled))
        assert finding.kind == "identity"


@pytest.mark.parametrize(
    "target",
    [
        "../../projects/kiln.md",
        "projects/../x.md",
        "projects/kiln/../../x.md",
        "/tmp/x.md",
        "C:\\x.md",
        "..\\x.md",
        "clients/bolt/projects/kiln.md",
        "projects/kiln",
        "projects/kiln.md/",
        "projects/Kiln.md",
        "projects/_index.md",
        "research/cones/x.md",
        "memory/2026-11-29.md",
        "logs/commits-2026-11.jsonl",
        "onepen.toml",
        ".onepen/redo/1",
        "projects/kiln/.git/hooks/pre-commit",
        "projects/kiln/AGENTS.md",
        "projects/kiln/deep/claude.md",
        "projects/con.md",
        '"projects/kiln.md\\n"',
        '"projects/kiln\\0.md"',
    ],
)
def test_a_target_is_a_place_of_the_grammar_or_nothing(target: str) -> None:
    (finding,) = refuse(draft(target=target))
    assert finding.kind in ("target", "identity")


def test_a_card_may_be_called_like_an_identity_file() -> None:
    assert str(read(draft(target="research/brief.md")).target) == "research/brief.md"
    assert str(read(draft(target="projects/agents.md")).target) == "projects/agents.md"
    assert str(read(draft(target="projects/kiln/OPS.md", edit="create")).target) == "projects/kiln/OPS.md"


@pytest.mark.parametrize(
    ("text", "kind", "line", "says"),
    [
        ("", "front_matter", 1, "no front matter"),
        ("prose only\n", "front_matter", 1, "no front matter"),
        ("---\ntarget: projects/kiln.md\nnever closed\n", "front_matter", 1, "closes"),
        ("---\n\nA rule, then prose.\n\n---\nMore.\n", "front_matter", 1, "text"),
        ("---\nedit: append\n---\n", "front_matter", 1, "target: missing"),
        ("---\ntarget: projects/kiln.md\nedit: amend\n---\n", "front_matter", 3, "edit"),
        ("---\ntarget: projects/kiln.md\nedit: append\nmode: x\n---\n", "front_matter", 4, "mode: unknown"),
        ("---\ntarget: projects/kiln.md\nedit: append\ntarget: USER.md\n---\n", "front_matter", 4, "twice"),
        ("---\ntarget: projects/kiln.md\nedit: append\nold_text: x\n---\n", "front_matter", 0, "old_text"),
        ("---\ntarget: projects/kiln.md\nedit: create\nsection: x\n---\n", "front_matter", 0, "section"),
        ("---\ntarget: projects/kiln.md\nedit: append\ntitle: X\n---\n", "front_matter", 0, "title"),
        ("---\ntarget: USER.md\nedit: append\nindex: [{section_id: a, summary: b}]\n---\n", "index", 0, "no index"),
        ("---\ntarget: projects/kiln/a.py\nedit: append\n---\n", "front_matter", 0, "whole"),
        ("---\ntarget: projects/kiln.md\nedit: append\nfile: a.py\n---\n", "file", 0, "file"),
        ("---\ntarget: projects/kiln/a.py\nedit: create\nfile: ../a.py\n---\n", "file", 0, "beside"),
        ("---\ntarget: projects/kiln/a.py\nedit: create\nfile: b.py\n---\n", "file", 0, "beside"),
        ("---\ntarget: projects/kiln.md\nedit: append\nindex: [{section_id: a}]\n---\n", "front_matter", 4, "summary"),
    ],
)
def test_what_keeps_a_file_from_being_a_draft_is_said(text: str, kind: str, line: int, says: str) -> None:
    finding = refuse(text)[0]
    assert (finding.kind, finding.line) == (kind, line)
    assert says in finding.message


def _entry(summary: str = "ok", keywords: str = "[]") -> str:
    return draft(index=f"[{{section_id: a, summary: {summary}, keywords: {keywords}}}]")


@pytest.mark.parametrize(
    "summary",
    [
        '"x\\n## y"',
        '"use `a|b`"',
        '"[k](../../etc)"',
        '"<!-- -->"',
        "x" * 2_000,
        '"see https://evil.example"',
        '"a\\u202eb"',
    ],
)
def test_an_entry_that_could_break_the_index_is_refused(summary: str) -> None:
    finding = refuse(_entry(summary))[0]
    assert finding.kind == "index"


def test_a_pipe_in_an_entry_is_text_and_blank_keywords_are_none() -> None:
    assert read(_entry('"a | b"', '["|", "", "  "]')).index == (IndexEntry("a", "a | b", ("|",)),)


@pytest.mark.parametrize(
    "block",
    [
        "a: &x [1]\nb: [*x, *x]\n",
        "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" if i else "a0: &a0 [x, x]\n" for i in range(30)),
        "a: " + "[" * 60_000 + "\n",
        "a: " + "[" * 4_000 + "]" * 4_000 + "\n",
        "a: " + "{a: " * 1_500 + "}" * 1_500 + "\n",
        "- " * 4_000 + "\n",
        "a: !!python/object/apply:os.system [id]\n",
        "<<: {target: USER.md}\n",
        "a: " + "x" * 9_000 + "\n",
        "target: projects/kiln.md\nedit: append\nsection: [a, b]\n",
        "target: [projects/kiln.md]\nedit: append\n",
        "? [target]\n: projects/kiln.md\n",
        "%YAML 1.1\n",
    ],
    ids=[
        "alias",
        "bomb",
        "deep, open",
        "deep",
        "deep maps",
        "deep lists",
        "tag",
        "merge",
        "long",
        "list",
        "list 2",
        "?",
        "%",
    ],
)
def test_hostile_yaml_is_refused_at_once(block: str) -> None:
    assert refuse(f"---\n{block}---\ntext\n")[0].kind == "front_matter"


def test_a_draft_has_at_most_a_mebibyte() -> None:
    assert refuse(draft("x" * MAX_BYTES))[0].kind == "too_large"
    assert len(read(draft("x" * (MAX_BYTES - 100))).body) == MAX_BYTES - 100


@pytest.mark.parametrize(
    "impossible",
    [
        {"old_text": "x\n" * 4_500, "edit": "replace"},
        {"body": "\ud83d"},
        {"section": "a\nb" * 5_000},
        {"title": "\n", "edit": "create"},
        {"title": "Kiln"},
        {"old_text": "x"},
        {"body": "\x00"},
        {"body": "x" * MAX_BYTES},
        {"file": "a.py"},
    ],
    ids=lambda values: next(iter(values)),
)
def test_what_would_not_read_back_is_not_rendered(impossible: dict[str, str]) -> None:
    values = {"target": parse_target("projects/kiln.md"), "edit": "append", "provenance": "agent"} | impossible
    with pytest.raises(DraftImpossible):
        render_draft(**values)  # type: ignore[arg-type]


def test_a_file_beside_the_draft_is_bound_to_it(tmp_path: Path) -> None:
    text = draft("A note.\n", target="projects/kiln/sales/launch.csv", edit="create", file="launch.csv")
    got = read(text, {"launch.csv": b"a,b\n\xff"})
    other = read(text, {"launch.csv": b"a,b\n\xfe"})
    assert isinstance(got.target, FileTarget)
    assert file_bytes(got) == b"a,b\n\xff"
    assert got.sha256 != other.sha256
    (tmp_path / "note.md").write_text(text)
    (tmp_path / "launch.csv").write_bytes(b"a,b\n\xff")
    command = "sha256sum note.md launch.csv | cut -c1-64 | sha256sum | cut -c1-64"
    by_hand = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert got.sha256 == by_hand.stdout.strip()


def test_bytes_moved_between_draft_and_file_change_the_hash() -> None:
    front = draft("", target="projects/kiln/a.csv", edit="create", file="a.csv")
    assert read(front + "x", {"a.csv": b"yz"}).sha256 != read(front + "xy", {"a.csv": b"z"}).sha256


def test_the_edit_is_what_the_draft_says() -> None:
    edit = edit_of(read(EXAMPLE), "0" * 64)
    assert (str(edit.target), edit.kind, edit.section, edit.shown) == (
        "projects/kiln.md",
        "replace",
        "firing",
        "0" * 64,
    )
    assert edit.old_text == "- fire at 1200\n" and edit.text.startswith("- fire at 1220\n")
    assert edit_of(read(draft()), "0" * 64).shown is None  # an append holds as long as its section is there
    assert isinstance(read(draft(target="USER.md")).target, NoteTarget)
    with pytest.raises(DraftImpossible):
        edit_of(read(draft(target="projects/kiln/a.md", edit="create")), None)


def test_no_finding_repeats_a_secret() -> None:
    key = "sk-ant-api03-" + "F" * 80
    for text in (draft(target=key), draft(index=f'[{{section_id: "{key} {key}", summary: s}}]'), draft(edit=key)):
        assert key not in " ".join(finding.message for finding in refuse(text))


@pytest.mark.parametrize(
    ("lines", "said", "line"),
    [
        ("index: [{section_id: a}]", "index, entry 1, summary: missing", 4),
        ("index: [[a]]", "index, entry 1: an entry is a block with section_id, summary", 4),
        ("section: [a, b]", "section: must be a text", 4),
        ("provenance: gossip", "provenance: must be user, agent or external", 4),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(lines: str, said: str, line: int) -> None:
    [finding] = refuse(f"---\ntarget: projects/kiln.md\nedit: append\n{lines}\n---\ntext\n")
    assert said in finding.message and finding.line == line
    assert not any(word in finding.message for word in ("Input", "instance", "EntryFields", "Value error", "'0'"))
