"""What quotes say: whole sentences, put together from the lines over which they run.

Half a sentence can say the opposite of the whole: "lead glazes are safe for cups." may stand below "Nobody may say
that". So a quote counts with the quotes right above and below it, and only as far as whole sentences come of them.
"""

from collections.abc import Iterator, Sequence

from .quotes import Lines, Quote
from .sentence import Paragraph

Span = tuple[int, int]


def statements(quotes: Sequence[Quote], sources: Lines) -> tuple[tuple[str, ...], tuple[Quote, ...]]:
    """The statements that quotes make, in order, and the quotes that make none because a sentence is cut in them.

    All quotes stand where they say; those in lines of the body right below each other may go on with each other.
    """
    whole: list[str] = []
    halves: list[Quote] = []
    for run in _neighbours(quotes, sources):
        paragraph = sources.paragraph(run[0])
        for (begin, end), parts in _joined(run, sources, paragraph):
            if begin in paragraph.begins and end in paragraph.stops:
                whole.append(paragraph.text[begin:end])
            else:
                halves.extend(parts)
    return tuple(whole), tuple(halves)


def _neighbours(quotes: Sequence[Quote], sources: Lines) -> Iterator[list[Quote]]:
    """Quotes in lines of the body right below each other that are of one paragraph."""
    run: list[Quote] = []
    for quote in quotes:
        if run and not (
            quote.at == run[-1].at + 1
            and quote.path == run[-1].path
            and sources.paragraph(quote).first == sources.paragraph(run[-1]).first
        ):
            yield run
            run = []
        run.append(quote)
    if run:
        yield run


def _joined(run: Sequence[Quote], sources: Lines, paragraph: Paragraph) -> Iterator[tuple[Span, Sequence[Quote]]]:
    """Quotes of one paragraph, those put together of which one goes on where the one before it ends."""
    at = 0
    while at < len(run):
        first = at
        begin, end = _span(sources.spans(run[at]), paragraph, None)
        at += 1
        while at < len(run) and (span := _span(sources.spans(run[at]), paragraph, end))[0] == end + 1:
            end, at = span[1], at + 1
        yield (begin, end), run[first:at]


def _span(spans: Sequence[Span], paragraph: Paragraph, before: int | None) -> Span:
    """Where a quote stands that may stand in several places: behind what ends at `before`, else as a whole."""
    if before is not None:
        for span in spans:
            if span[0] == before + 1:
                return span
    return max(spans, key=lambda span: (span[0] in paragraph.begins, span[1] in paragraph.stops))
