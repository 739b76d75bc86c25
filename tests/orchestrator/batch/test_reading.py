"""Bytes of an input in, rows or all that is wrong with it out."""

import csv
import io
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.batch import reading
from onepen.orchestrator.batch.reading import RowsRefused, Wrong, ending_of, rows_of

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), min_size=1, max_size=8)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


def told(data: bytes, name: str) -> tuple[tuple[int, str], ...]:
    with pytest.raises(RowsRefused) as caught:
        rows_of(data, name)
    assert caught.value.exit_code == 2
    return tuple((one.line, one.text) for one in caught.value.wrong)


def read(text: str, name: str) -> list[tuple[int, dict[str, str]]]:
    return [(row.line, dict(row.fields)) for row in rows_of(text.encode(), name)]


# -- what is read ------------------------------------------------------------------------------------------------------


def test_lines_of_json_keep_numbers_as_they_were_written() -> None:
    text = '{"a": 1.10, "b": 7E0}\n\n{"a": null, "b": [1.0, {"x": true}], "c": "é"}\r\n'
    assert read(text, "x.jsonl") == [
        (1, {"a": "1.10", "b": "7E0"}),
        (3, {"a": "", "b": '[1.0,{"x":true}]', "c": "é"}),
    ]
    assert read('{"n": 123456789012345678901234567890}', "X.NDJSON") == [(1, {"n": "123456789012345678901234567890"})]


def test_a_record_of_csv_stands_on_the_line_where_it_begins() -> None:
    text = '\ufeffid, name,text\r\n1,Ana,"two\nlines, ""quoted"""\r\n\r\n2,Bo,x\r\n'
    assert read(text, "500.csv") == [
        (2, {"id": "1", "name": "Ana", "text": 'two\nlines, "quoted"'}),
        (5, {"id": "2", "name": "Bo", "text": "x"}),
    ]


def test_what_spreadsheets_write_where_a_comma_stands_in_numbers() -> None:
    assert read("id;text\n1;a, b\n", "x.csv") == [(2, {"id": "1", "text": "a, b"})]
    assert read("id\ttext\n1\ta;b\n", "x.tsv") == [(2, {"id": "1", "text": "a;b"})]


def test_a_list_of_yaml_keeps_words_as_they_were_typed() -> None:
    text = """\
    # for the night
    - name: no
      n: 0123
      day: 2026-11-29
      none: ~
      text: |
        two
        lines
    - {name: "null", tags: [a, 1.0, true, no, null, {x: "1"}]}
    """
    text = "\n".join(line[4:] for line in text.split("\n"))
    assert read(text, "x.yaml") == [
        (2, {"name": "no", "n": "0123", "day": "2026-11-29", "none": "", "text": "two\nlines\n"}),
        (9, {"name": "null", "tags": '["a",1.0,true,"no",null,{"x":"1"}]'}),
    ]


@pytest.mark.parametrize(
    ("text", "ending", "rows"),
    [
        ('\n{"text": "a"}\n', ".jsonl", [(2, {"text": "a"})]),
        ("- text: a\n", ".yaml", [(1, {"text": "a"})]),
        ("---\n- text: a\n", ".yaml", [(2, {"text": "a"})]),
        ("text\na\n", ".csv", [(2, {"text": "a"})]),
    ],
)
def test_what_comes_from_stdin_is_known_by_its_beginning(
    text: str, ending: str, rows: list[tuple[int, dict[str, str]]]
) -> None:
    assert read(text, "-") == rows
    assert ending_of(text.encode(), "-") == ending
    assert read(text, f"copy{ending}") == rows


@given(st.lists(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), min_size=1, max_size=5))
def test_what_json_writes_is_read_again(rows: list[dict[str, str]]) -> None:
    rows = [{**row, "always": "x"} for row in rows]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert [dict(row.fields) for row in rows_of(text.encode(), "x.jsonl")] == rows


@given(
    st.lists(NAMES.map(str.strip).filter(bool), min_size=1, max_size=4, unique=True).flatmap(
        lambda names: st.lists(st.tuples(*[VALUES for _ in names]), min_size=1, max_size=5).map(lambda v: (names, v))
    ),
    st.sampled_from([("x.csv", ","), ("x.tsv", "\t")]),
)
def test_what_csv_writes_is_read_again(table: tuple[list[str], list[tuple[str, ...]]], kind: tuple[str, str]) -> None:
    names, values = table
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=kind[1], quoting=csv.QUOTE_ALL)
    writer.writerow([*names, "always"])
    writer.writerows([*row, "x"] for row in values)
    rows = rows_of(out.getvalue().encode(), kind[0]) if "always" not in names else ()
    assert not rows or [tuple(row.fields.values()) for row in rows] == [(*row, "x") for row in values]


# What YAML 1.1 takes for a line end, and Python's writer doesn't quote for it.
TYPED = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff\x85\u2028\u2029"), max_size=20)


@given(st.lists(st.dictionaries(TYPED.filter(bool), TYPED, min_size=1, max_size=4), min_size=1, max_size=5))
def test_what_yaml_writes_is_read_again(rows: list[dict[str, str]]) -> None:
    rows = [{**row, "always": "x"} for row in rows]
    text = yaml.safe_dump(rows, allow_unicode=True)
    assert [dict(row.fields) for row in rows_of(text.encode(), "x.yaml")] == rows


@given(st.binary(max_size=200), st.sampled_from(["-", "x.csv", "x.jsonl", "x.yaml", "x.tsv"]))
def test_whatever_comes_is_read_or_refused(data: bytes, name: str) -> None:
    try:
        rows = rows_of(data, name)
    except RowsRefused as e:
        assert e.wrong
        last = data.count(b"\n") + data.count(b"\r") + 1
        assert all(0 <= one.line <= last for one in e.wrong)
    else:
        assert rows
        "".join("".join(row.fields.values()) for row in rows).encode()


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_all_errors_are_told_at_once() -> None:
    text = '{"text": "a"}\nno\n["x"]\n{"a": 1, "a": 2}\n{"a": NaN}\n{"text": "b"\n{"t": "\\ud800"}\n{"t": ""}\n'
    assert told(text.encode(), "x.jsonl") == (
        (2, "not JSON at column 1"),
        (3, 'not an object; a row is one a line, such as {"text": "…"}'),
        (4, "field 'a' stands twice"),
        (5, "NaN is no number of JSON"),
        (6, "the line ends inside its JSON"),
        (7, "field 't' holds half a character (a lone surrogate)"),
        (8, "every field of this row is empty; fill it in or remove it"),
    )


def test_errors_of_csv() -> None:
    text = 'id,text\n1\n2,a,b\n3,"a"b\n4,a\n,\n5,"open\n6,x\n'
    assert told(text.encode(), "x.csv") == (
        (2, "has 1 field, and the header 2: id, text"),
        (3, "has 3 fields, and the header 2; a field that holds a comma stands in quotes"),
        (4, "a quote stands inside a quoted field; write it twice"),
        (6, "every field of this row is empty; fill it in or remove it"),
        (7, "a quote opens in this row and nothing closes it"),
    )
    assert told(b"id,,id\n1,2,3\n", "x.csv") == (
        (1, "column 2 has no name; the first line names the fields"),
        (1, "field 'id' stands twice in the header"),
    )
    assert told(b"a\n" + b"x" * 200_000 + b"\n", "x.csv") == (
        (2, "a field has more than 128 KiB; is a quote left open?"),
    )


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: 1\n", 1, "not a list of rows, each begun by '- '"),
        ("- a: 1\n- b\n", 2, "not a row of fields, such as '- text: …'"),
        ("- a: 1\n- [x]\n", 2, "not a row of fields, such as '- text: …'"),
        ("- a: 1\n  a: 2\n", 1, "field 'a' stands twice"),
        ("- a: {x: 1, x: 2}\n", 1, "the key 'x' stands twice"),
        ("- &x a: 1\n- *x\n", 1, "anchors ('&name') are not allowed"),
        ("- a: 1\n- *x\n", 2, "aliases ('*name') are not allowed"),
        ("- a: !!int 1\n", 1, "tags ('!name') are not allowed"),
        ("- <<: {a: 1}\n", 1, "merges ('<<') are not allowed"),
        ("- [a]: 1\n", 1, "the name of a field must be a single text"),
        ("- ? [a]\n  : 1\n", 1, "the name of a field must be a single text"),
        ("- a: 1\n---\n- a: 2\n", 2, "more than one YAML document"),
        ("%YAML 1.1\n---\n- a: 2\n", 1, "directives are not allowed"),
        ("- a: 1\n- a: b: c\n", 2, "a ': ' inside a value; put the value in quotes"),
        ("- a: 1\n\n- a: x\x01\n", 3, "a character that YAML doesn't allow"),
        ("- a: 1\n- a: %x\n", 2, "a tab, or a character that begins no value; put the value in quotes"),
        ("- a: " + "[" * 40 + "]" * 40 + "\n", 1, "nested deeper than 32"),
    ],
)
def test_errors_of_yaml(text: str, line: int, what: str) -> None:
    assert told(text.encode(), "x.yml") == ((line, what),)


def test_rows_that_are_right_come_with_those_that_are_wrong_in_one_telling() -> None:
    text = "- a: 1\n  a: [x, {b: c}]\n  c: 2\n- x\n- b: 1\n  b: 2\n"
    assert told(text.encode(), "x.yaml") == (
        (1, "field 'a' stands twice"),
        (4, "not a row of fields, such as '- text: …'"),
        (5, "field 'b' stands twice"),
    )


@pytest.mark.parametrize(
    ("data", "name", "what"),
    [
        (b"", "x.csv", (0, "holds no rows")),
        (b"id,text\n", "x.csv", (0, "holds no rows")),
        (b"\n\n", "x.jsonl", (0, "holds no rows")),
        (b"# nothing\n", "x.yaml", (0, "holds no rows")),
        (b"id\n1\n\xff\n", "x.csv", (3, "not UTF-8 text; save it as UTF-8")),
        ("id\n1\n".encode("utf-16"), "x.csv", (1, "not UTF-8 text; save it as UTF-8")),
        (b"a\nx\0y\n", "x.csv", (2, "field 'a' holds a NUL character")),
        (b'{"": "x"}', "x.jsonl", (1, "a field has no name")),
        (b"[]", "x.json", (0, "rows stand in a file that ends in .jsonl, .csv, .tsv or .yaml; write one object a line "
                              "(jq -c '.[]' does it) and name it .jsonl")),
        (b"", "rows", (0, "rows stand in a file that ends in .jsonl, .csv, .tsv or .yaml")),
        (b'{"a": ' + b"[" * 100_000, "x.jsonl", (1, "nested deeper than 32")),
    ],
)  # fmt: skip
def test_what_is_no_input(data: bytes, name: str, what: tuple[int, str]) -> None:
    assert told(data, name) == (what,)


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ROWS", 3)
    assert len(rows_of(b"a\n1\n2\n3\n", "x.csv")) == 3
    assert told(b"a\n1\n2\n3\n4\n5\n", "x.csv") == ((5, "more than 3 rows; split it into several"),)
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 20)
    assert told(b"a" * (3 << 20), "x.csv") == ((0, "has 3 MiB, at most 1 MiB are read; split it into several"),)


def test_the_message_names_each_line_and_is_no_longer_than_a_screen_or_two() -> None:
    refused = RowsRefused("in/500.csv", [Wrong(12, "b"), Wrong(0, "a")])
    assert refused.message == "in/500.csv: a\nin/500.csv:12: b"
    assert RowsRefused("a\nb.csv", [Wrong(1, "x\ny\u2028z")]).message == "a b.csv:1: x y z"
    many = RowsRefused("-", [Wrong(line, "x") for line in range(1, 2_051)]).message.split("\n")
    assert (len(many), many[0], many[-1]) == (51, "stdin:1: x", "stdin: and 2,000 more")
