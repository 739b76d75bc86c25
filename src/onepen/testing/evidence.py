"""What a workspace's files themselves say about their being whole, read without any of onepen's own code.

It knows the formats from docs/reference/files.md only, and little of them: enough to tell whether cards and indexes go
together, whether a key was used twice, whether a day log lost a byte, and whether something was left over.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

State = dict[str, bytes]
"""Files by their path in the workspace."""

_ENTRY = re.compile(r"^- \[[^]]*\]\(([^)#]+)(?:#([^)]+))?\)", re.MULTILINE)
_HEADING = re.compile(r"^##+ +(.+?) *$", re.MULTILINE)
_DAY = re.compile(r"(?:.*/)?memory/\d{4}-\d{2}-\d{2}\.md")
_LEFT = re.compile(r"\..*\.tmp|.*\.(?:due|kept)-c\d+-.*|.*corrupt.*")


def state(root: Path) -> dict[str, bytes]:
    """All files of a workspace but those of the machine's room."""
    files = (path for path in root.rglob("*") if path.is_file() and ".onepen" not in path.relative_to(root).parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def told(root: Path, before: State) -> list[str]:
    """What is wrong with a workspace that nobody works on; `before` is some earlier state of it."""
    now = state(root)
    left = [f"left over: {path.relative_to(root)}" for path in root.rglob("*") if _LEFT.fullmatch(path.name)]
    return [*left, *_logs(now), *_days(before, now), *_indexes(now)]


def keys(now: State) -> list[str]:
    """The keys of all commits, in the order of their lines."""
    return [str(found["key"]) for found in _commits(now) if found.get("key")]


def _commits(now: State) -> Iterator[Mapping[str, object]]:
    for path, data in sorted(now.items()):
        if re.fullmatch(r"(?:clients/[^/]+/)?logs/commits-.*\.jsonl", path):
            yield from (json.loads(line) for line in data.splitlines())


def _logs(now: State) -> Iterator[str]:
    try:
        commits = list(_commits(now))
    except ValueError as e:
        yield f"a line of the history is no JSON: {e}"
        return
    for what in ("id", "key"):
        counts = Counter(str(found[what]) for found in commits if found.get(what))
        yield from (
            f"{what} {value} stands {count} times in the history" for value, count in counts.items() if count > 1
        )


def _days(before: State, now: State) -> Iterator[str]:
    for path, data in before.items():
        if _DAY.fullmatch(path) and not now.get(path, b"").startswith(data):
            yield f"{path}: what stood there is no beginning of it any more"
    for path, data in now.items():
        if _DAY.fullmatch(path) and data and not data.endswith(b"\n"):
            yield f"{path}: ends in half a line"


def _indexes(now: State) -> Iterator[str]:
    shelves = {
        path.rpartition("/")[0] for path in now if re.fullmatch(r"(?:clients/[^/]+/)?(?:projects|research)/[^/]+", path)
    }
    for shelf in sorted(shelves):
        entries: dict[str, set[str]] = {}
        for link, anchor in _ENTRY.findall(now.get(f"{shelf}/_index.md", b"").decode()):
            entries.setdefault(link, set()).update({anchor} - {""})
        cards = {
            path.rpartition("/")[2]: data
            for path, data in now.items()
            if re.fullmatch(rf"{shelf}/[^/_][^/]*\.md", path)
        }
        for name, data in cards.items():
            sections = {_anchor(heading) for heading in _HEADING.findall(data.decode())}
            if entries.get(name, set()) != sections:
                yield f"{shelf}/{name}: has {sorted(sections)}, its index {sorted(entries.get(name, set()))}"
        for link in entries.keys() - cards.keys():
            if f"{shelf}/{link}" not in now:
                yield f"{shelf}/_index.md: names {link}, which isn't there"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
