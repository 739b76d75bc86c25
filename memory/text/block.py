"""The strict reading of a block of front matter: what its values are, as text, and where each one stands."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from ..errors import MemoryFault
from ..ids import shown

MAX_BYTES = 8 * 1024
_MAX_DEPTH = 16
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Value = str | tuple["Value", ...] | Mapping[str, "Value"]


class FrontMatterUnreadable(MemoryFault):
    """Raised when a block is to be changed that isn't there or can't be read; the file stays as it is."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"front matter, line {line}: {message}")
        self.line = line
        self.reason = message


@dataclass(frozen=True)
class Place:
    """Where a value of the top level stands in the block."""

    start: int
    end: int
    line: int
    style: str | None
    scalar: bool


@dataclass
class Layout:
    values: dict[str, Value] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    indent: int = 0
    flow: bool = False


def read_block(block: str) -> Layout:
    """The values of a block and where they stand; raises FrontMatterUnreadable."""
    if len(block) > MAX_BYTES or len(block.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise FrontMatterUnreadable(1, f"larger than {MAX_BYTES // 1024} KiB")
    try:
        return _Reader(yaml.parse(block, Loader=_Loader)).layout()
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        raise FrontMatterUnreadable(_line(block, mark), _cause(block, mark, e.problem or "not YAML")) from e
    except yaml.YAMLError as e:
        raise FrontMatterUnreadable(_bad_character(block), "a character that YAML doesn't allow") from e
    except UnicodeEncodeError as e:
        raise FrontMatterUnreadable(line_at(block, e.start) + 1, "half a character (a lone surrogate)") from e


def _line(block: str, mark: yaml.Mark | None) -> int:
    # YAML also counts U+0085 and U+2028 as line ends; a person's editor doesn't.
    return min(mark.line, block.count("\n")) + 2 if mark else 1


def _bad_character(block: str) -> int:
    bad = re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]", block)
    return line_at(block, bad.start()) + 1 if bad else 1


def _cause(block: str, mark: yaml.Mark | None, problem: str) -> str:
    lines = block.split("\n")
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    if "mapping values are not allowed" in problem:
        return "a ': ' inside a value; put the value in quotes"
    if line[: len(line) - len(line.lstrip())].count("\t") or "'\\t'" in problem:
        return "a tab can't indent here; use spaces"
    if "<document start>" in problem:
        return "more than one YAML document"
    return problem


class _Reader:
    """Builds values from YAML's events, and refuses what front matter may not have."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events

    def layout(self) -> Layout:
        layout = Layout()
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if event.version or event.tags:
                    raise _refused(event, "directives are not allowed")
            elif isinstance(event, yaml.MappingStartEvent) and not layout.values:
                self._plain(event)
                layout.indent = _start(event)[2]
                layout.flow = bool(event.flow_style)
                layout.values = self._mapping(1, layout.places)
            elif isinstance(event, yaml.DocumentEndEvent):
                break
            elif not isinstance(event, yaml.StreamStartEvent | yaml.StreamEndEvent) and not _nothing(event):
                raise _refused(event, "not 'key: value' lines")
        for event in self._events:
            if not isinstance(event, yaml.StreamEndEvent):
                raise _refused(event, "more than one YAML document")
        return layout

    def _mapping(self, depth: int, places: dict[str, Place] | None = None) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            self._plain(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise _refused(event, "a key must be a single text")
            key = event.value
            if key == "<<":
                raise _refused(event, "merges ('<<') are not allowed")
            if key in values:
                raise _refused(event, f"the key {shown(key)} stands twice")
            first = next(self._events)
            values[key] = self._value(first, depth)
            if places is not None:
                scalar = isinstance(first, yaml.ScalarEvent)
                style = first.style if isinstance(first, yaml.ScalarEvent) else None
                index, line, _ = _start(first)
                end = first.end_mark
                assert end is not None
                places[key] = Place(index, end.index, line + 2, style=style, scalar=scalar)
        return values

    def _sequence(self, depth: int) -> tuple[Value, ...]:
        items: list[Value] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event, depth))
        return tuple(items)

    def _value(self, event: yaml.Event, depth: int) -> Value:
        self._plain(event)
        if isinstance(event, yaml.ScalarEvent):
            return str(event.value)
        if depth >= _MAX_DEPTH:
            raise _refused(event, f"nested deeper than {_MAX_DEPTH}")
        return self._mapping(depth + 1) if isinstance(event, yaml.MappingStartEvent) else self._sequence(depth + 1)

    def _plain(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise _refused(event, "aliases ('*name') are not allowed")
        if isinstance(event, yaml.NodeEvent) and event.anchor:
            raise _refused(event, "anchors ('&name') are not allowed")
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            raise _refused(event, "tags ('!name') are not allowed")


def _nothing(event: yaml.Event) -> bool:
    return isinstance(event, yaml.ScalarEvent) and not event.value and not event.style and not event.tag


def _refused(event: yaml.Event, message: str) -> FrontMatterUnreadable:
    return FrontMatterUnreadable(_start(event)[1] + 2, message)


def _start(event: yaml.Event) -> tuple[int, int, int]:
    """Index, line and column (all from 0) at which an event begins."""
    mark = event.start_mark
    # Events made by a parser always have marks; only those that a program makes by hand lack them.
    assert mark is not None
    return mark.index, mark.line, mark.column


def line_at(text: str, offset: int) -> int:
    """The number of the line in which `offset` lies, counted from 1."""
    return text.count("\n", 0, offset) + 1
