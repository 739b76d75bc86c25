"""What the attempts and reviews of a task have cost, as it is booked: read from their transcripts."""

from collections.abc import Iterator

from ..review.judge import REVIEWER
from ..usage import Booking
from .dossier import Dossier
from .transcript import Spent, read_transcript, spent_in


def attempt_booking(dossier: Dossier, attempt: int, seconds: float, spent: Spent | None = None) -> Booking:
    """What an attempt cost: by its transcript, unless who saw it through says so."""
    sheet = dossier.sheet
    if spent is None:
        spent = spent_in(read_transcript(dossier.folder.transcript(attempt)))
    usage, cost = spent.usage, spent.cost_usd
    return Booking(dossier.task, attempt, sheet.agent, sheet.model, usage, cost, seconds, lost=spent.lost)


def review_bookings(dossier: Dossier, attempt: int) -> Iterator[Booking]:
    """What each review of an attempt's drafts cost, by its conversation."""
    for k in dossier.folder.reviews(attempt):
        lines = read_transcript(dossier.folder.review(attempt, k))
        spent = spent_in(lines)
        if spent != Spent():
            model = str(lines[0].get("model", ""))
            usage, cost, lost = spent.usage, spent.cost_usd, spent.lost
            yield Booking(dossier.task, attempt, REVIEWER, model, usage, cost, role="review", k=k, lost=lost)
