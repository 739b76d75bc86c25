"""Day logs: `- 14:05+01:00 [kind] text` lines, appended only; earlier days are sealed by the hashes of their lines.

The day of a line is the day in the workspace's zone at that moment, and the time carries its offset, so the hour that
comes twice in autumn sorts right.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import MemoryFault
from ..ids import shown
from ..problem import Problem

_KIND = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_LINE = re.compile(r"- ((?:[01][0-9]|2[0-3]):[0-5][0-9][+-](?:[01][0-9]|2[0-3]):[0-5][0-9]) \[([^\[\]\s]+)\] (.*)")
_BREAK = re.compile(r"[ \t]*(?:\r\n|[\n\r\v\f\x85\u2028\u2029])+[ \t]*")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
SEAL_VERSION = 1
PEN_KINDS = frozenset({"added", "archived", "card", "draft", "fixed", "removed", "renamed"})
"""The kinds of lines that tell of a commit which the history tells, too; all others say something of their own."""


class BadLogText(MemoryFault):
    """Raised when a text can't be a line of a day log."""

    exit_code = 2

    def __init__(self, text: str, rule: str) -> None:
        super().__init__(f"log line {shown(text)}: {rule}")


@dataclass(frozen=True)
class LogLine:
    """A line that onepen wrote; `line` counts from 1, `time` is as written, such as "14:05+01:00"."""

    line: int
    time: str
    kind: str
    text: str

    def moment(self, day: date) -> datetime:
        """When it was written, given the day of its file."""
        return datetime.fromisoformat(f"{day.isoformat()}T{self.time}")


def day_file(day: date) -> str:
    """The path of a day's log, relative to its space."""
    return f"memory/{day.isoformat()}.md"


def log_line(now: datetime, kind: str, text: str) -> str:
    """The line to append, its newline included; line ends in the text become " / ".

    `now` is an aware datetime in the workspace's zone. Raises BadLogText.
    """
    assert now.tzinfo is not None, "a log line needs a time with its offset"
    if not _KIND.fullmatch(kind):
        raise BadLogText(kind, "a kind is a word of a-z, 0-9, '-' and '_'")
    folded = _BREAK.sub(" / ", text.strip()).replace("\t", " ").strip()
    if not folded:
        raise BadLogText(text, "it is empty")
    bad = _UNSEEN.search(folded)
    if bad:
        raise BadLogText(text, f"it has the character U+{ord(bad[0]):04X}, which can't be seen")
    return f"- {now.isoformat(timespec='minutes')[-11:]} [{kind}] {folded}\n"


def parse_day(text: str) -> tuple[LogLine, ...]:
    """The lines of a day log that onepen wrote, in the order of the file; other text is passed over."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        match = _LINE.fullmatch(line.removesuffix("\r"))
        if match:
            lines.append(LogLine(number, match[1], match[2], match[3]))
    return tuple(lines)


@dataclass(frozen=True)
class Seal:
    """What a day's log held when it was sealed: 16 hex digits of the sha256 of each line that isn't blank, in order."""

    v: int
    day: str
    time: str
    machine: str
    lines: tuple[str, ...]


class _SealRecord(BaseModel):
    """A line of logs/seals-*.jsonl."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    v: int = Field(ge=1, le=SEAL_VERSION)
    """The version of this form."""
    day: date
    """The day that is sealed."""
    time: datetime
    """When it was sealed."""
    machine: str = Field(max_length=64)
    """The machine that sealed it."""
    lines: tuple[str, ...]
    """Of each line that isn't blank, in order: the first 16 hex digits of its sha256."""


def seal(day: date, text: str, now: datetime, machine: str) -> Seal:
    """The seal of a day's log as it is now."""
    return Seal(SEAL_VERSION, day.isoformat(), now.isoformat(timespec="seconds"), machine, _hashes(text))


def seal_json(sealed: Seal) -> str:
    """The seal as one line of JSON, its newline included."""
    return (
        _SealRecord(
            v=sealed.v,
            day=date.fromisoformat(sealed.day),
            time=datetime.fromisoformat(sealed.time),
            machine=sealed.machine,
            lines=sealed.lines,
        ).model_dump_json()
        + "\n"
    )


def parse_seals(text: str) -> tuple[Seal, ...]:
    """The seals in a file of logs/, doubles dropped; lines that are none (such as conflict markers) are passed over."""
    seals: dict[Seal, None] = {}
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            record = _SealRecord.model_validate_json(line)
        except ValidationError:
            continue
        time = record.time.isoformat(timespec="seconds")
        seals[Seal(record.v, record.day.isoformat(), time, record.machine, record.lines)] = None
    return tuple(seals)


def check_seals(path: str, text: str, seals: Sequence[Seal]) -> tuple[Problem, ...]:
    """What became of the sealed lines of one day's log, given all seals of that day.

    Sealed lines that are gone or changed are one error; each line that no seal knows is information (it may have come
    by a merge). Without a seal there is nothing to say.
    """
    if not seals:
        return ()
    sealed: Counter[str] = Counter()
    for one in seals:
        sealed |= Counter(one.lines)
    problems: list[Problem] = []
    left = sealed.copy()
    late: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        for name in _hashes(line):
            if left[name]:
                left[name] -= 1
            else:
                late.append(Problem(path, number, "late_line", "info", "came after the day was sealed"))
    gone = left.total()
    if gone:
        what = "a sealed line is" if gone == 1 else f"{gone} sealed lines are"
        when = max(one.time for one in seals)
        problems.append(Problem(path, 0, "sealed_line_changed", "error", f"{what} gone or changed since {when}"))
    return (*problems, *late)


def _hashes(text: str) -> tuple[str, ...]:
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return tuple(
        hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:16] for line in lines if line.strip()
    )
