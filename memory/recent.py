"""A day log as a prompt gets it: its newest lines, and before all what somebody said.

A night of a thousand drafts writes a thousand lines, each of which is in the history, too. One line in which a person
or an agent noted what was decided is worth more than all of them, so those are taken first.
"""

from collections import Counter
from functools import lru_cache

from .budget import Budgeted, lines_of, shortened
from .text.daylog import PEN_KINDS, parse_day
from .tokens import estimate


@lru_cache(maxsize=16)
def recent(log: str, tokens: int, path: str) -> Budgeted:
    """The day log at `path` within so many tokens, in its order; `left_out` counts lines.

    What is left out is counted by kind. Lines that the pen wrote about its commits come after all others, and a line
    takes at most a third.
    """
    if estimate(log) <= tokens:
        return Budgeted(log, 0)
    lines = lines_of(log)
    kinds = {one.line - 1: one.kind for one in parse_day(log)}
    written = [at for at in range(len(lines)) if lines[at].strip()]
    said = [at for at in written if kinds.get(at) not in PEN_KINDS]
    room = tokens - estimate(_note(Counter(kinds.values()), len(written), path))
    kept: dict[int, str] = {}
    for at in (*reversed(said), *reversed([at for at in written if kinds.get(at) in PEN_KINDS])):
        line = lines[at] if lines[at].endswith("\n") else lines[at] + "\n"
        if estimate(line) > max(tokens // 3, 1):
            line = shortened(line, tokens // 3)
        room -= estimate(line)
        if room < 0:
            break
        kept[at] = line
    left = [at for at in written if kept.get(at, "").rstrip() != lines[at].rstrip()]
    note = _note(Counter(kinds[at] for at in left if at in kinds), len(left), path)
    return Budgeted(note + "".join(kept[at] for at in sorted(kept)), len(left))


def _note(kinds: Counter[str], count: int, path: str) -> str:
    by_kind = ", ".join(f"{kind} {number:,}" for kind, number in kinds.most_common(4))
    what = "other line is" if count == 1 else "other lines are"
    return f'(… {count:,} {what} not shown here{f" ({by_kind})" if by_kind else ""}: read_card "{path}", or a search)\n'
