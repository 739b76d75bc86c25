"""The counters of a response, told for each layer of its prompt; the sums stay what the server counted, to the token.

A cache holds the beginning of a prompt. So what was read covers the first layers, what was written goes on from there,
and the rest was sent without the cache. Cards stand in the conversation, among its words: the two share what falls to
both.
"""

from collections.abc import Iterator, Mapping

from ...subagents.model import Usage
from .measured import Layer

_BEFORE: tuple[Layer, ...] = ("B", "A", "I", "S")


def spread(layers: Mapping[str, int], usage: Usage) -> dict[str, Usage]:
    """For each layer what of the prompt's counters is its own; without layers, nothing."""
    sizes = {name: max(0, tokens) for name, tokens in layers.items()}
    total = usage.prompt_total
    if not total or not sum(sizes.values()):
        return {}
    found: dict[str, Usage] = {}
    left = _Left(usage)
    ends = dict(_ends(sizes, total))
    begin = 0
    for layer in _BEFORE:
        if layer in ends:
            found[layer] = left.take(ends[layer] - begin)
            begin = ends[layer]
    talk = left.take(total - begin)
    cards = _part(talk, sizes.get("E", 0), sizes.get("C", 0) + sizes.get("E", 0))
    words = Usage(
        talk.input - cards.input,
        talk.cache_write - cards.cache_write,
        talk.cache_read - cards.cache_read,
        0,
        talk.cache_write_1h - cards.cache_write_1h,
    )
    found |= {name: one for name, one in (("C", words), ("E", cards)) if one != Usage()}
    return found


class _Left:
    """What is left of the counters, from the beginning of the prompt on."""

    def __init__(self, usage: Usage) -> None:
        self._read, self._written, self._plain = usage.cache_read, usage.cache_write, usage.input
        self._hour = min(usage.cache_write_1h, usage.cache_write)

    def take(self, tokens: int) -> Usage:
        """The next so many tokens of the prompt."""
        read = min(tokens, self._read)
        written = min(tokens - read, self._written)
        plain = min(tokens - read - written, self._plain)
        hour = min(written, self._hour)  # marks that live an hour stand before those that live five minutes
        self._read -= read
        self._written -= written
        self._plain -= plain
        self._hour -= hour
        return Usage(plain, written, read, 0, hour)


def _ends(sizes: Mapping[str, int], total: int) -> Iterator[tuple[str, int]]:
    """Where each layer before the conversation ends in a prompt of so many tokens."""
    estimated, so_far = sum(sizes.values()), 0
    for layer in _BEFORE:
        if sizes.get(layer):
            so_far += sizes[layer]
            yield layer, round(total * so_far / estimated)


def _part(usage: Usage, part: int, of: int) -> Usage:
    """So many parts of each counter, rounded down."""
    if not part:
        return Usage()
    return Usage(*(n * part // of for n in (usage.input, usage.cache_write, usage.cache_read, 0, usage.cache_write_1h)))
