"""What the attempts and reviews of a task have cost, response by response, as it is booked: from their transcripts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..meter.response import Response, model_of
from ..meter.worked import responses, spent_on
from ..review.judge import REVIEWER
from ..usage import Booking
from .dossier import Dossier
from .transcript import Spent, read_transcript


def attempt_bookings(dossier: Dossier, attempt: int, seconds: float, spent: Spent | None = None) -> Sequence[Booking]:
    """What an attempt cost: a line for each response, or one for an attempt that used nothing.

    `spent` is what who saw it through says that it cost, with the responses that were measured meanwhile; where these,
    or without them the transcript, tell otherwise, it counts, in one line.
    """
    sheet = dossier.sheet
    whole = Booking(dossier.task, attempt, sheet.agent, sheet.model, Spent().usage, seconds=seconds)
    found = () if spent is None else spent.responses
    if not found and spent != Spent():
        found = responses(read_transcript(dossier.folder.transcript(attempt)))
    told = spent_on(found)
    if spent is not None and spent != told:
        return (replace(whole, usage=spent.usage, cost_usd=spent.cost_usd, lost=spent.lost),)
    return tuple(_each(whole, found)) if told != Spent() else (whole,)


def review_bookings(dossier: Dossier, attempt: int) -> Iterator[Booking]:
    """What each review of an attempt's drafts cost, by its conversation."""
    for k in dossier.folder.reviews(attempt):
        lines = read_transcript(dossier.folder.review(attempt, k))
        found = responses(lines)
        if spent_on(found) != Spent():
            model = str(lines[0].get("model", ""))
            whole = Booking(dossier.task, attempt, REVIEWER, model, Spent().usage, role="review", k=k)
            yield from _each(whole, found)


def _each(whole: Booking, found: Sequence[Response]) -> Iterator[Booking]:
    """A line for each response; what all took of time stands in the last."""
    for one in found:
        yield replace(
            whole,
            model=model_of(whole.model, found),
            call=one.call,
            usage=one.usage,
            cost_usd=one.cost_usd,
            lost=int(one.lost),
            seconds=whole.seconds if one is found[-1] else 0.0,
            measured=one.measured,
            at=one.at,
        )
