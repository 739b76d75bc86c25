"""What costs more than it has to, each in a line with its figures and what a person can do about it.

A pattern is told from a few cases on, and when it costs a share of all that was spent: what happens once, or costs
nothing, is not worth a line. Shares are of base tokens, so that models without a price have advice, too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from .entry import Entry
from .measured import Cause, Missed
from .rates import READ, WRITE, usd_of

FEW = 3
"""How often something has to happen to be a pattern."""
SHARE = 0.02
"""Of all that was spent, in base tokens: what costs less is not told."""
DEAR_PROMPT = 50_000
"""Tokens of a prompt from which on each further answer of a chat is dear."""
REVIEWS = 0.4
"""The share of the money from which on reviews are worth a look."""
EACH_TURN = 0.5
"""The share of a chat's answers before which a layer changed, from which on it "changes at each turn"."""


@dataclass(frozen=True)
class _Miss:
    """A miss with its line."""

    entry: Entry
    missed: Missed

    @property
    def base(self) -> float:
        """What it cost beyond reading the same from the cache, in base tokens."""
        return self.missed.tokens * (WRITE - READ)


def advice(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The lines, what costs most first; () where all is well."""
    spent = sum(entry.base for entry in entries)
    misses = [_Miss(entry, entry.booking.measured.missed) for entry in entries if entry.booking.measured.missed]
    found: list[tuple[float, str]] = []
    for pattern in _PATTERNS:
        found += [(cost, line) for cost, line in pattern(entries, misses) if cost >= SHARE * spent]
    return tuple(line for _, line in sorted(found, key=lambda one: -one[0]))


_Found = Iterator[tuple[float, str]]


def _expired(entries: Sequence[Entry], misses: Sequence[_Miss]) -> _Found:
    late = _of(misses, "expired")
    pauses = [miss.missed.after for miss in late if miss.missed.after is not None]
    if len(late) < FEW or not pauses:
        return
    talked = sum(1 for entry in entries if entry.booking.chat and not entry.booking.lost)
    line = (
        f"the cache had expired before {len(late)} of {talked:,} answers, after pauses of about "
        f"{_time(median(pauses))}: {_anew(late)}. Marks live an hour where the pace of a chat makes that cheaper; what "
        "is written again gets shorter by a synthesis before a long pause (onepen chat --resume, then /renew)"
    )
    yield _sum(late), line


def _changed(entries: Sequence[Entry], misses: Sequence[_Miss]) -> _Found:
    answers: dict[str, int] = {}
    for entry in entries:
        if entry.booking.chat and not entry.booking.lost:
            answers[entry.booking.chat] = answers.get(entry.booking.chat, 0) + 1
    groups: dict[tuple[str, str], list[_Miss]] = {}
    for miss in _of(misses, "changed"):
        groups.setdefault((miss.entry.booking.chat, miss.missed.layer), []).append(miss)
    for (chat, layer), changed in groups.items():
        if chat and len(changed) >= FEW and len(changed) >= EACH_TURN * answers[chat]:
            line = (
                f"layer {layer} changed before {len(changed)} of {answers[chat]} answers of chat {chat}: "
                f"{_anew(changed)} (what changed: onepen context --diff {chat})"
            )
            yield _sum(changed), line


def _switched(entries: Sequence[Entry], misses: Sequence[_Miss]) -> _Found:
    switched = _of(misses, "model changed")
    if len(switched) >= FEW:
        line = (
            f"the model was changed {len(switched)} times in the middle of a conversation, and a cache is one model's: "
            f"{_anew(switched)} (begin a new chat for another model: onepen chat --model ID)"
        )
        yield _sum(switched), line


def _gone(entries: Sequence[Entry], misses: Sequence[_Miss]) -> _Found:
    gone = _of(misses, "gone")
    if len(gone) >= FEW:
        line = (
            f"the server no longer had {len(gone)} prompts whose time was not over: {_anew(gone)} "
            "(through whom calls go: onepen config show)"
        )
        yield _sum(gone), line


def _whole(entries: Sequence[Entry], misses: Sequence[_Miss]) -> _Found:
    """Cards that were read as a whole: written once, and read with each further answer of the turn."""
    cards: dict[tuple[str | None, str], list[tuple[Entry, int]]] = {}
    for entry in entries:
        for card, tokens in entry.booking.measured.whole.items():
            cards.setdefault((entry.client, card), []).append((entry, tokens))
    for (client, card), reads in cards.items():
        if len(reads) < FEW:
            continue
        tokens = sum(read for _, read in reads)
        cost = _money(usd_of(read * WRITE, e.booking.usage, e.booking.cost_usd) for e, read in reads)
        place = card if client is None else f"clients/{client}/{card}"
        line = (
            f"{place} was read as a whole {len(reads)} times, {tokens:,} tokens{cost}, where a section might have been "
            "enough (say so in OPS.md, or make several cards of it: onepen context --layer B)"
        )
        yield tokens * WRITE, line


def _short(entries: Sequence[Entry], misses: Sequence[_Miss]) -> _Found:
    short = _of(misses, "too short")
    if len(short) >= FEW:
        tokens = [miss.entry.booking.usage.prompt_total for miss in short]
        line = (
            f"{len(short)} prompts of about {round(median(tokens)):,} tokens were too short for the model's cache and "
            "were paid in full; a conversation grows beyond that (onepen chat in place of onepen ask)"
        )
        yield sum(tokens), line


def _uncounted(entries: Sequence[Entry], misses: Sequence[_Miss]) -> _Found:
    silent = _of(misses, "no counters")
    if len(silent) >= FEW:
        models = ", ".join(sorted({miss.entry.booking.model for miss in silent}))
        tokens = sum(miss.entry.booking.usage.input for miss in silent)
        line = (
            f"{models}: the server told of no cache for {len(silent)} answers, {tokens:,} tokens; it has none, or "
            "doesn't count it (through whom calls go: onepen config show)"
        )
        yield tokens, line


def _dear(entries: Sequence[Entry], misses: Sequence[_Miss]) -> _Found:
    chats: dict[tuple[str | None, str], list[Entry]] = {}
    for entry in entries:
        if entry.booking.chat and not entry.booking.lost:
            chats.setdefault((entry.client, entry.booking.chat), []).append(entry)
    for (_, chat), answers in chats.items():
        last = max(answers, key=lambda entry: (entry.booking.turn, entry.booking.call)).booking
        if last.usage.prompt_total >= DEAR_PROMPT and len(answers) >= FEW:
            cost = _money(entry.booking.cost_usd for entry in answers)
            line = (
                f"chat {chat} has grown dear: {len(answers)} answers{cost}, and each further one sends "
                f"{last.usage.prompt_total:,} tokens (onepen chat --resume {chat}, then /renew; or onepen chat for a "
                "new one)"
            )
            yield sum(entry.base for entry in answers), line


def _reviews(entries: Sequence[Entry], misses: Sequence[_Miss]) -> _Found:
    reviews = [entry for entry in entries if entry.booking.role == "review"]
    spent = sum(entry.base for entry in entries if not entry.booking.chat)
    paid = sum(entry.base for entry in reviews)
    if len(reviews) >= FEW and paid >= REVIEWS * spent:
        cost = _money(entry.booking.cost_usd for entry in reviews)
        line = (
            f"{len(reviews)} reviews took {100 * paid / spent:.0f} % of what delegated work cost{cost} (a smaller "
            "model for them: `model:` in agents/reviewer.md; who has to agree: onepen config show)"
        )
        yield paid, line


_PATTERNS: tuple[Callable[[Sequence[Entry], Sequence[_Miss]], _Found], ...] = (
    _expired, _changed, _switched, _gone, _whole, _short, _uncounted, _dear, _reviews,
)  # fmt: skip


def _of(misses: Iterable[_Miss], cause: Cause) -> list[_Miss]:
    return [miss for miss in misses if miss.missed.cause == cause]


def _sum(misses: Iterable[_Miss]) -> float:
    return sum(miss.base for miss in misses)


def _anew(misses: Sequence[_Miss]) -> str:
    """What was sent anew, and what that cost."""
    tokens = sum(miss.missed.tokens for miss in misses)
    return f"{tokens:,} tokens were paid for again{_money(miss.missed.usd for miss in misses)}"


def _money(costs: Iterable[float | None]) -> str:
    known = [cost for cost in costs if cost is not None]
    total = sum(known)
    return f", ${total:.2f}" if total >= 0.01 else (f", ${total:.4f}" if total > 0 else "")


def _time(seconds: float) -> str:
    """A pause for people."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.0f} h"
