"""What is written down when a run of a batch is over: its report, and a line in the day log of each space it worked in.

A batch commits thousands of drafts and none of them has a line of its own: the day log tells that the batch came to its
end, or why it couldn't. What a person stopped, they know; its line comes when it has ended by itself.
"""

from collections import Counter
from collections.abc import Sequence

from ...memory.clock import Clock
from ...memory.errors import OnepenError
from ...memory.workspace import Space
from ..commit import Scribe
from ..premises import write
from .dossier import BatchDossier
from .events import DayTold, RunEnded
from .outcome import DONE, Place
from .picture import picture
from .plan import End
from .report import points, report_text
from .view import batch_view

_WORDS: dict[str, str] = {
    "finished": "is done",
    "over_budget": "has reached a budget",
    "too_many_failures": "has failed too often",
    "cancelled": "was cancelled",
}


async def conclude(
    batch: BatchDossier, end: End, scribe: Scribe, spaces: Sequence[Space], clock: Clock, user: str
) -> tuple[str, ...]:
    """Writes both and journals the run's end, and says what could not be written: the run is over either way.

    The lines in the day logs come first: who is killed before them goes on with a run that hasn't ended.
    """
    told: list[str] = []
    why = end.why
    day = clock.now().date().isoformat()
    for space in spaces:
        if why not in _WORDS or ((day, space.client) in batch.state.told and why != "finished"):
            continue
        text = f"{batch.spec.name} ({batch.spec.batch}) {_WORDS[why]}: {_numbers(batch, space)}"
        key = f"{batch.spec.batch} {day} {why}"
        try:
            commit = await scribe.log_shared(space, "batch", text, user, key=key)
            batch.happened(DayTold(day, space.client, commit.id))
        except (OnepenError, OSError) as e:
            told.append(f"the day log has no line of it: {e}")
    batch.happened(RunEnded(end.why, end.reason))
    try:
        write_report(batch, clock)
    except (OnepenError, OSError) as e:
        told.append(f"its report could not be written: {e}")
    return tuple(told)


def write_report(batch: BatchDossier, clock: Clock) -> None:
    """Writes `report.md` and its picture anew, from what is known now; raises an OSError or LinkLeadsOut."""
    now = clock.now()
    view = batch_view(batch.spec, batch.state, now, running=False, report=f"batches/{batch.spec.batch}/report.md")
    over, pauses = points(batch.state)
    drawn = picture(over, title=batch.spec.name, total=view.counts.total, pauses=pauses)
    write(batch.folder.picture_file, drawn.encode())
    write(batch.folder.report_file, report_text(batch.spec, batch.items, batch.state, view, now).encode())


def _numbers(batch: BatchDossier, space: Space) -> str:
    """What became of the tasks of one space: another client's are nobody's business there."""
    mine = {item.key: 1 + len(item.twins) for item in batch.items if item.client == space.client}
    found: Counter[Place] = Counter()
    usd = 0.0
    for key, rows in mine.items():
        facts = batch.state.tasks[key]
        found[facts.place] += 1
        found["duplicate"] += rows - 1
        usd += facts.cost_usd or 0.0
    done = sum(found[place] for place in DONE)
    parts = [f"{found[place]} {words}" for place, words in _SHOWN if found[place]]
    cost = f", ${usd:.2f}" if usd else ""
    return f"{done} of {sum(mine.values())} tasks done ({', '.join(parts) or 'nothing'}){cost}"


_SHOWN: tuple[tuple[Place, str], ...] = (
    ("committed", "committed"),
    ("in_review", "wait for review"),
    ("answered", "answered"),
    ("refused", "refused"),
    ("duplicate", "done before"),
    ("failed", "failed"),
    ("pending", "not begun or not at their end"),
)
