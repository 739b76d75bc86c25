"""The rows of a batch's input: JSON lines, CSV, TSV or a YAML list in, rows out. Pure.

Everything is looked at before anything is refused, so that a person hears of all that is wrong at once. What is
ambiguous is refused rather than guessed: a key that stands twice, a row with a cell too many, a file that isn't UTF-8.
"""

import csv
import io
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import yaml

from ...memory.ids import shown
from ..errors import OrchestratorFault
from .row import Row

if TYPE_CHECKING:
    from _csv import Reader

MOST_ROWS = 100_000
MOST_BYTES = 64 << 20
STDIN = "-"
_MOST_LISTED = 50
_DEEPEST = 32
_BOM = "\ufeff"
_UNFIT = re.compile(r"[\x00\ud800-\udfff]")
# What libyaml refuses wherever it stands; it doesn't say where.
_NO_YAML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PARTERS: Mapping[str, str] = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
_INSTEAD: Mapping[str, str] = {
    ".json": "; write one object a line (jq -c '.[]' does it) and name it .jsonl",
    ".xlsx": "; save it as CSV (UTF-8)",
    ".xls": "; save it as CSV (UTF-8)",
    ".ods": "; save it as CSV (UTF-8)",
}


@dataclass(frozen=True)
class Wrong:
    """One thing that is wrong with a line of the input; line 0: with all of it."""

    line: int
    text: str


class RowsRefused(OrchestratorFault):
    """Raised when rows can't become tasks; it holds all that is wrong, and nothing was begun."""

    exit_code = 2

    def __init__(self, name: str, wrong: Sequence[Wrong]) -> None:
        self.wrong = tuple(sorted(wrong, key=lambda one: one.line))
        called = "stdin" if name == STDIN else name
        listed = [f"{called}:{one.line}: {one.text}" if one.line else f"{called}: {one.text}" for one in self.wrong]
        if len(listed) > _MOST_LISTED:
            listed = [*listed[:_MOST_LISTED], f"{called}: and {len(listed) - _MOST_LISTED:,} more"]
        # A line is one thing that is wrong, whatever stands in the words that it repeats.
        super().__init__("\n".join(" ".join(line.splitlines()) for line in listed))


def rows_of(data: bytes, name: str) -> tuple[Row, ...]:
    """The rows of an input by the ending of its name; raises RowsRefused with everything at once.

    Without a name ("-") it is JSONL if it begins with "{", YAML if it begins with "- ", and else CSV.
    """
    if len(data) > MOST_BYTES:
        size = f"{len(data) / (1 << 20):.0f} MiB, at most {MOST_BYTES >> 20} MiB are read"
        raise RowsRefused(name, [Wrong(0, f"has {size}; split it into several")])
    try:
        text = data.decode().removeprefix(_BOM)
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise RowsRefused(name, [Wrong(line, "not UTF-8 text; save it as UTF-8")]) from e
    ending = _ending(name)
    read = _kind_of(text) if name == STDIN else _READERS.get(ending)
    if read is None:
        instead = _INSTEAD.get(ending, "")
        known = "rows stand in a file that ends in .jsonl, .csv, .tsv or .yaml"
        raise RowsRefused(name, [Wrong(0, known + instead)])
    rows, wrong = list[Row](), list[Wrong]()
    for found in read(text):
        flaw = _unfit(found) if isinstance(found, Row) else found
        if len(rows) + len(wrong) == MOST_ROWS:
            wrong.append(Wrong(found.line, f"more than {MOST_ROWS:,} rows; split it into several"))
            break
        if flaw is not None:
            wrong.append(flaw)
        elif isinstance(found, Row):
            rows.append(found)
    if not rows and not wrong:
        wrong.append(Wrong(0, "holds no rows"))
    if wrong:
        raise RowsRefused(name, wrong)
    return tuple(rows)


def _ending(name: str) -> str:
    dot = name.rfind(".")
    return name[dot:].lower() if dot >= 0 else ""


def _unfit(row: Row) -> Wrong | None:
    """What keeps a row from being written down as it is; the same for all formats."""
    for field, value in row.fields.items():
        if not field:
            return Wrong(row.line, "a field has no name")
        if (bad := _UNFIT.search(value) or _UNFIT.search(field)) is not None:
            what = "a NUL character" if bad[0] == "\0" else "half a character (a lone surrogate)"
            return Wrong(row.line, f"field {shown(field)} holds {what}")
    if not any(value.strip() for value in row.fields.values()):
        return Wrong(row.line, "every field of this row is empty; fill it in or remove it")
    return None


# -- JSON lines --------------------------------------------------------------------------------------------------------


class _Number(str):
    """A number of JSON, as it was written."""

    __slots__ = ()


class _Twice(ValueError):
    pass


def _jsonl(text: str) -> Iterator[Row | Wrong]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _json_row(number, line)


def _json_row(number: int, line: str) -> Row | Wrong:
    try:
        found = _JSON.decode(line)
        if isinstance(found, dict):
            return Row(number, {key: _plain(value) for key, value in found.items()})
    except _Twice as e:
        return Wrong(number, str(e))
    except RecursionError:
        return Wrong(number, f"nested deeper than {_DEEPEST}")
    except json.JSONDecodeError as e:
        cut = e.pos >= len(line.rstrip())
        return Wrong(number, "the line ends inside its JSON" if cut else f"not JSON at column {e.colno}")
    except ValueError as e:
        return Wrong(number, str(e))
    return Wrong(number, 'not an object; a row is one a line, such as {"text": "…"}')


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Twice(f"field {shown(twice)} stands twice")
    return found


def _constant(word: str) -> object:
    raise ValueError(f"{word} is no number of JSON")


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_float=_Number, parse_int=_Number, parse_constant=_constant)


def _plain(value: object) -> str:
    """A value as the text that a template puts in."""
    if isinstance(value, str):
        return str(value)
    return "" if value is None else _compact(value)


def _compact(value: object, depth: int = 1) -> str:
    """A value as JSON without blanks; numbers stay as they were written. Raises RecursionError."""
    if depth > _DEEPEST:
        raise RecursionError
    match value:
        case _Number():
            return str(value)
        case list():
            return f"[{','.join(_compact(one, depth + 1) for one in value)}]"
        case dict():
            inner = (f"{json.dumps(key, ensure_ascii=False)}:{_compact(one, depth + 1)}" for key, one in value.items())
            return f"{{{','.join(inner)}}}"
    return json.dumps(value, ensure_ascii=False)


# -- CSV and TSV -------------------------------------------------------------------------------------------------------


def _csv(text: str, delimiter: str | None = None) -> Iterator[Row | Wrong]:
    delimiter = delimiter or _parted_by(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    for line, cells in _records(reader):
        if isinstance(cells, Wrong):
            yield cells
            if header is None:
                return
        elif not cells:
            continue  # an empty line
        elif header is None:
            header = [name.strip() for name in cells]
            if wrong := list(_header_flaws(line, header)):
                yield from wrong
                return
        elif len(cells) < len(header):
            yield Wrong(line, f"has {_count(len(cells))}, and the header {len(header)}: {', '.join(header)}")
        elif len(cells) > len(header):
            quoted = f"a field that holds {_PARTERS[delimiter]} stands in quotes"
            yield Wrong(line, f"has {_count(len(cells))}, and the header {len(header)}; {quoted}")
        else:
            yield Row(line, dict(zip(header, cells, strict=True)))


def _parted_by(text: str) -> str:
    """What parts the fields: a comma, or what a spreadsheet writes where a comma stands in numbers."""
    head = text.lstrip("\r\n").partition("\n")[0]
    return ";" if ";" in head and "," not in head else ","


def _records(reader: "Reader") -> Iterator[tuple[int, list[str] | Wrong]]:
    """Each record with the line on which it begins."""
    while True:
        line = reader.line_num + 1
        try:
            yield line, next(reader)
        except StopIteration:
            return
        except csv.Error as e:
            yield line, Wrong(line, _said(str(e)))


def _said(error: str) -> str:
    if "unexpected end of data" in error:
        return "a quote opens in this row and nothing closes it"
    if "field larger" in error:
        return "a field has more than 128 KiB; is a quote left open?"
    if "expected after" in error:
        return "a quote stands inside a quoted field; write it twice"
    return error


def _header_flaws(line: int, header: Sequence[str]) -> Iterator[Wrong]:
    for k, name in enumerate(header):
        if not name:
            yield Wrong(line, f"column {k + 1} has no name; the first line names the fields")
        elif name in header[:k]:
            yield Wrong(line, f"field {shown(name)} stands twice in the header")


def _count(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"


# -- YAML --------------------------------------------------------------------------------------------------------------


class _Refused(Exception):
    """Raised inside this part for what a list of rows may not have."""

    def __init__(self, at: int, text: str) -> None:
        super().__init__(text)
        self.at = at
        self.text = text


def _yaml(text: str) -> Iterator[Row | Wrong]:
    breaks = [match.start() for match in re.finditer("\n", text)]

    def line_of(index: int) -> int:
        return bisect_right(breaks, index - 1) + 1

    try:
        yield from _yaml_rows(iter(yaml.parse(text, Loader=_Loader)), line_of)
    except _Refused as e:
        yield Wrong(line_of(e.at), e.text)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        yield Wrong(line_of(mark.index) if mark else 0, _yaml_cause(e.problem or ""))
    except (yaml.YAMLError, UnicodeEncodeError):
        bad = _NO_YAML.search(text)
        yield Wrong(line_of(bad.start()) if bad else 0, "a character that YAML doesn't allow")


def _yaml_cause(problem: str) -> str:
    if "mapping values are not allowed" in problem:
        return "a ': ' inside a value; put the value in quotes"
    if "'\\t'" in problem or "cannot start any token" in problem:
        return "a tab, or a character that begins no value; put the value in quotes"
    return f"not YAML: {problem}" if problem else "not YAML"


def _yaml_rows(events: Iterator[yaml.Event], line_of: Callable[[int], int]) -> Iterator[Row | Wrong]:
    begun = False
    for event in events:
        match event:
            case yaml.StreamStartEvent() | yaml.StreamEndEvent() | yaml.DocumentEndEvent():
                continue
            case yaml.DocumentStartEvent():
                if begun:
                    raise _Refused(_at(event), "more than one YAML document")
                if event.version or event.tags:
                    raise _Refused(_at(event), "directives are not allowed")
            case yaml.SequenceStartEvent():
                _check(event)
                begun = True
                yield from _yaml_list(events, line_of)
            case _ if _nothing(event):
                continue  # an empty file, or nothing but remarks
            case _:
                raise _Refused(_at(event), "not a list of rows, each begun by '- '")


def _yaml_list(events: Iterator[yaml.Event], line_of: Callable[[int], int]) -> Iterator[Row | Wrong]:
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            return
        line = line_of(_at(event))
        try:
            found = _yaml_value(event, events, 0)
        except _Twice as e:
            yield Wrong(line, str(e))
            _skip(events)
            continue
        if isinstance(found, dict):
            yield Row(line, {key: _plain(value) for key, value in found.items()})
        else:
            yield Wrong(line, "not a row of fields, such as '- text: …'")


def _skip(events: Iterator[yaml.Event]) -> None:
    """To the end of the mapping that was left."""
    depth = 1
    while depth:
        event = next(events)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)


def _yaml_value(event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> object:
    """A value as JSON's types; a plain word that is a number of JSON stays as it was written."""
    _check(event)
    if depth > _DEEPEST:
        raise _Refused(_at(event), f"nested deeper than {_DEEPEST}")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event, inner=depth > 1)
    if isinstance(event, yaml.SequenceStartEvent):
        values = list[object]()
        while not isinstance(inner := next(events), yaml.SequenceEndEvent):
            values.append(_yaml_value(inner, events, depth + 1))
        return values
    fields = dict[str, object]()
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        _check(key)
        if not isinstance(key, yaml.ScalarEvent):
            raise _Refused(_at(key), "the name of a field must be a single text")
        if key.value == "<<":
            raise _Refused(_at(key), "merges ('<<') are not allowed")
        if key.value in fields:
            if depth == 0:
                raise _Twice(f"field {shown(key.value)} stands twice")
            raise _Refused(_at(key), f"the key {shown(key.value)} stands twice")
        fields[key.value] = _yaml_value(next(events), events, depth + 1)
    return fields


def _scalar(event: yaml.ScalarEvent, *, inner: bool) -> object:
    """The text that was typed; in lists and mappings of a row, what JSON has no quotes for is none either."""
    value = str(event.value)
    if event.style:
        return value
    if value in _NULLS:
        return None
    if inner and value in ("true", "false"):
        return value == "true"
    return _Number(value) if inner and _NUMBER.fullmatch(value) else value


def _check(event: yaml.Event) -> None:
    if isinstance(event, yaml.AliasEvent):
        raise _Refused(_at(event), "aliases ('*name') are not allowed")
    if isinstance(event, yaml.NodeEvent) and event.anchor:
        raise _Refused(_at(event), "anchors ('&name') are not allowed")
    if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
        raise _Refused(_at(event), "tags ('!name') are not allowed")


def _nothing(event: yaml.Event) -> bool:
    return isinstance(event, yaml.ScalarEvent) and not event.value and not event.style and not event.tag


def _at(event: yaml.Event) -> int:
    # Events made by a parser always have marks; only those that a program makes by hand lack them.
    assert event.start_mark is not None
    return event.start_mark.index


# -- which of them -----------------------------------------------------------------------------------------------------


_Read = Callable[[str], Iterator[Row | Wrong]]
_READERS: Mapping[str, _Read] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _csv,
    ".tsv": partial(_csv, delimiter="\t"),
    ".yaml": _yaml,
    ".yml": _yaml,
}


def _kind_of(text: str) -> _Read:
    head = text.lstrip()
    if head.startswith("{"):
        return _jsonl
    return _yaml if head.startswith(("- ", "-\n", "---\n")) else _csv


def ending_of(data: bytes, name: str) -> str:
    """The ending under which a copy of the input is read again as the same rows."""
    if name != STDIN:
        return _ending(name)
    kind = _kind_of(data.decode(errors="replace").removeprefix(_BOM))
    return next(ending for ending, read in _READERS.items() if read is kind)
