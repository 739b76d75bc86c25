"""An index's lines while they are being changed: which go, which are put in another's place, which come behind one."""

import re

from ..text.oneline import made_safe
from .entry import IndexEntry, escaped, render_entry
from .lines import SEPARATOR, CardPlace, Lines

_LINK = re.compile(
    r"(?P<head>[-*+] +\[)(?P<label>(?:[^\[\]\\]++|\\.)++)(?P<mid>\]\([^\s()#]*#)(?P<anchor>[^\s()]*)(?=\))"
)
_HEADING = re.compile(r"( {0,3}##[ \t]+)\[(?:[^\[\]\\\r\n]++|\\.|\[[^\[\]\r\n]*\])*+\]\([^\s()]*\)")


class Sheet:
    """Collects changes of many cards and makes one text of them; each change must be of another line."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._newline = lines.newline
        self._instead: dict[int, str] = {}
        self._behind: dict[int, list[str]] = {}
        self._new: dict[str, list[str]] = {}

    def put_card(self, card_id: str, title: str, status: str, updated: str) -> None:
        """A block for a card that has none, else its title, status and date."""
        place = self._lines.place(card_id)
        if place is None:
            facts = _status_line(status, updated)
            self._new[card_id] = [_heading(card_id, title), *([facts] if facts else [])]
            return
        if place.id != card_id or (place.title != title and escaped(place.title) != escaped(title)):
            line = self._lines.lines[place.heading]
            new = _heading(card_id, title).removeprefix("## ")
            self._instead[place.heading] = _HEADING.sub(lambda match: match[1] + new, line, count=1)
        if place.id != card_id:
            self._lead_to(card_id, place)
        if place.status_line is None:
            if facts := _status_line(status, updated):
                self._behind.setdefault(place.heading, []).insert(0, facts)
        else:
            line = self._lines.lines[place.status_line]
            if (now := _with_facts(line, place, status, updated)) != line:
                self._instead[place.status_line] = now

    def _lead_to(self, card_id: str, place: CardPlace) -> None:
        """Let the entries of a card whose name was spelt otherwise lead to its file."""
        for found in place.entries.values():
            if found.entry.link is None:
                line = self._lines.lines[found.line]
                self._instead[found.line] = line.replace(f"{place.id}.md#", f"{card_id}.md#", 1)

    def put_entry(self, card: str, entry: IndexEntry, *, after: str | None = None, instead: str | None = None) -> None:
        """An entry in the place of the one of that section (or of section `instead`), else behind the last.

        With `after`, a new entry comes behind the one of that section.
        """
        if card in self._new:
            lines = self._new[card]
            lines.extend(([""] if not lines[-1].startswith("- ") else []) + [render_entry(card, entry, "")])
            return
        place = self._lines.place(card)
        assert place is not None, f"{card} has no block"
        found = place.entries.get(instead or entry.section_id)
        if found is not None:
            old = self._lines.lines[found.line]
            self._instead[found.line] = render_entry(card, entry, _line_end(old))
            return
        before = place.entries.get(after) if after is not None else None
        at = before.line if before is not None else place.last
        behind = self._behind.setdefault(at, [])
        if not place.entries and not any(line.startswith("- ") for line in behind):
            behind.append("")
        behind.append(render_entry(card, entry, ""))

    def drop_entry(self, card: str, section_id: str) -> None:
        place = self._lines.place(card)
        found = place.entries.get(section_id) if place is not None else None
        if found is not None:
            self._instead[found.line] = ""

    def drop_entries(self, card: str) -> None:
        """All entries, and the blank lines between them and what the block begins with."""
        place = self._lines.place(card)
        if place is None or not place.entries:
            return
        for found in place.entries.values():
            self._instead[found.line] = ""
        head = place.heading if place.status_line is None else place.status_line
        at = min(found.line for found in place.entries.values()) - 1
        blank = []
        while at > head and not self._lines.lines[at].strip():
            blank.append(at)
            at -= 1
        if at == head:
            self._instead.update(dict.fromkeys(blank, ""))

    def rename_entry(self, card: str, old: str, new: str) -> None:
        """The same words for another section id; a label that a person chose stays."""
        place = self._lines.place(card)
        found = place.entries.get(old) if place is not None else None
        if found is None or found.entry.link is not None:
            return

        def renamed(match: re.Match[str]) -> str:
            label = new if match["label"] == old else match["label"]
            return f"{match['head']}{label}{match['mid']}{new}"

        self._instead[found.line] = _LINK.sub(
            renamed, self._instead.get(found.line, self._lines.lines[found.line]), count=1
        )

    def drop_card(self, card_id: str) -> None:
        """Heading, status line, entries, and the blank lines among them; the rest of the block stays."""
        place = self._lines.place(card_id)
        if place is None:
            return
        lines = self._lines.lines
        own = {place.heading, *(found.line for found in place.entries.values())}
        if place.status_line is not None:
            own.add(place.status_line)
        for at in sorted(own):
            self._instead[at] = ""
            behind = at + 1
            while behind < len(lines) and not lines[behind].strip():
                self._instead[behind] = ""
                behind += 1
        # At the end of the file the blank line that stood before the block goes with it.
        above = place.heading - 1
        if (
            above > 0
            and not lines[above].strip()
            and all(at in self._instead for at in range(place.heading, len(lines)))
        ):
            self._instead[above] = ""

    @property
    def is_clean(self) -> bool:
        """Whether nothing was changed."""
        return not (self._instead or self._behind or self._new)

    def text(self) -> str:
        """The whole text with all changes made."""
        parts: list[str] = []
        cut = len(self._lines.lines) if self._lines.open_from is None else self._lines.open_from
        for at, line in enumerate(self._lines.lines):
            if at == cut:
                self._add_new(parts)
            parts.append(self._instead.get(at, line))
            for more in self._behind.get(at, ()):
                self._on_own_line(parts)
                parts.append(more + self._newline)
        if cut == len(self._lines.lines):
            self._add_new(parts)
        return "".join(parts)

    def _add_new(self, parts: list[str]) -> None:
        for block in self._new.values():
            last = next((part for part in reversed(parts) if part), "")
            self._on_own_line(parts)
            if last and last.strip():
                parts.append(self._newline)
            parts.extend(line + self._newline for line in block)

    def _on_own_line(self, parts: list[str]) -> None:
        last = next((part for part in reversed(parts) if part), "")
        if last and not last.endswith("\n"):
            parts.append(self._newline)


def _heading(card_id: str, title: str) -> str:
    return f"## [{escaped(title) or card_id}]({card_id}.md)"


def _status_line(status: str, updated: str) -> str:
    facts = (
        f"status: {_fact(status)}" if _fact(status) else "",
        f"updated: {_fact(updated)}" if _fact(updated) else "",
    )
    return SEPARATOR.join(fact for fact in facts if fact)


def _with_facts(line: str, place: CardPlace, status: str, updated: str) -> str:
    """The status line with status and date made so; what a person added to it stays."""
    for name, old, new in (("status", place.status, _fact(status)), ("updated", place.updated, _fact(updated))):
        if not new or new == old:
            continue
        if old is None:
            end = _line_end(line)
            line = f"{line.removesuffix(end).rstrip()}{SEPARATOR}{name}: {new}{end}"
        else:
            match = re.search(rf"\b{name}[ \t]*:[ \t]*(?={re.escape(old)})", line, re.IGNORECASE)
            assert match is not None, f"{line!r} was read as having {name}"
            line = line[: match.end()] + new + line[match.end() + len(old) :]
    return line


def _fact(text: str) -> str:
    return made_safe(text, 40).replace("·", " ").strip()


def _line_end(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""
