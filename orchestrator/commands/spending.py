"""What was spent and what may be, as people read it: `onepen usage` and `onepen config show`."""

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...subagents.process.descriptors import AT_ONCE
from ..amounts import money
from .chart import bars
from .ink import ink
from .terminal import Terminal
from .text import count, one_line, pad, width, wrap

if TYPE_CHECKING:
    from ..settings.explain import ConfigResult, ProfileView, WorksView
    from ..tally import UsageResult, UsageRow

_HEAD = ("", "input", "cache write", "cache read", "output", "cost")
_LAYERS = {"B": "rules", "A": "persona", "I": "index", "S": "synthesis", "C": "chat", "E": "cards"}
_BARS = 31
_CAPS = {
    "task_usd": ("a task", "USD"),
    "day_usd": ("a day", "USD"),
    "client_day_usd": ("a client's day", "USD"),
    "task_tokens": ("a task, price unknown", "tokens"),
    "day_tokens": ("a day, price unknown", "tokens"),
}


def used(result: "UsageResult", terminal: Terminal) -> str:
    """The range that was understood, a row each, the sum, a chart, and what to look at."""
    lines = [f"By {result.by}, from {result.since or 'the beginning'} to {result.until or 'today'}:\n\n"]
    told = [wrap(f"note: {one_line(warning)}\n", terminal.columns) for warning in result.problems]
    told += _advice(result, terminal)
    if not result.rows:
        return "".join((*lines, "No model calls were booked.\n", *told))
    rows = [_HEAD, *(_used(_name(result, row), row) for row in result.rows)]
    if len(result.rows) > 1:
        rows.append(_used(result.totals.name, result.totals))
    lines.append(_right(rows, terminal))
    if unknown := result.totals.unpriced_tokens:
        words = f"{unknown:,} tokens have no known price and are in no sum of money (onepen config show)"
        lines.append(wrap(words + "\n", terminal.columns))
    if result.totals.lost_calls:
        lost = count(result.totals.lost_calls, "call")
        words = f"{lost} gave no whole reply; in the sums is what they used, or the most that it can have been"
        lines.append(wrap(words + "\n", terminal.columns))
    lines += _cached(result, terminal)
    return "".join((*lines, *_charted(result, terminal), *told))


def _used(name: str, row: "UsageRow") -> tuple[str, ...]:
    u = row.usage
    tokens = (f"{n:,}" for n in (u.input, u.cache_write, u.cache_read, u.output))
    return (name, *tokens, money(row.cost_usd))


def _name(result: "UsageResult", row: "UsageRow") -> str:
    """A layer with its word behind its letter, anything else as it is."""
    named = result.by == "layer" and row.name in _LAYERS
    return f"{row.name} {_LAYERS[row.name]}" if named else one_line(row.name)


def _cached(result: "UsageResult", terminal: Terminal) -> Iterator[str]:
    """How much of the prompts came from a cache."""
    u = result.totals.usage
    prompts = u.input + u.cache_write + u.cache_read
    if not prompts:
        return
    if not u.cache_read and not u.cache_write:
        words = f"not cached: none of {prompts:,} tokens was written to or read from a cache"
    else:
        words = f"cache: {100 * u.cache_read / prompts:.0f} % of {prompts:,} tokens sent were read from it"
    yield wrap(f"{words}; {count(result.totals.responses, 'response')}\n", terminal.columns)
    if result.by == "layer":
        words = "tokens of layers are estimates, scaled to the server's counts; cost is shared out by kind of token"
        yield wrap(f"{words}\n", terminal.columns)
        short = ", ".join(f"{layer} in {count(n, 'response')}" for layer, n in sorted(result.short.items()))
        words = f"marks that were too short for the model, so that a later one covered them: {short}"
        yield wrap(f"{words}\n", terminal.columns) if short else ""


def _charted(result: "UsageResult", terminal: Terminal) -> Iterator[str]:
    """What each row cost, as bars: in money where a price is known, else in tokens by what they cost."""
    rows = result.rows[-_BARS:] if result.by == "day" else result.rows[:_BARS]
    priced = bool(result.totals.cost_usd)
    amounts = [(row.cost_usd or 0.0) if priced else float(row.base_tokens) for row in rows]
    figures = [money(row.cost_usd) if priced else f"{row.base_tokens:,}" for row in rows]
    names = [_name(result, row) for row in rows]
    chart = bars(list(zip(names, amounts, figures, strict=True)), terminal.columns)
    if chart:
        yield f"\n{'Cost' if priced else 'Base tokens (one sent without a cache is 1)'} by {result.by}:\n{chart}"


def _advice(result: "UsageResult", terminal: Terminal) -> Iterator[str]:
    if result.advice:
        yield "\n" + ink("What to look at", "bold", terminal) + "\n"
    for line in result.advice:
        yield wrap(f"- {one_line(line)}\n", terminal.columns)


def _right(rows: Sequence[tuple[str, ...]], terminal: Terminal) -> str:
    """Names to the left, numbers to the right; on a narrow screen one field a line."""
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    if sum(widths) + 2 * len(widths) - 2 > terminal.columns:
        return "".join(_stacked(row) for row in rows[1:])
    lines = []
    for row in rows:
        numbers = (_before(field, w) for field, w in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([pad(row[0], widths[0]), *numbers]).rstrip() + "\n")
    return ink(lines[0].rstrip("\n"), "dim", terminal) + "\n" + "".join(lines[1:])


def _before(text: str, columns: int) -> str:
    return " " * (columns - width(text)) + text


def _stacked(row: tuple[str, ...]) -> str:
    return f"{row[0]}\n" + "".join(f"  {name} {field}\n" for name, field in zip(_HEAD[1:], row[1:], strict=True))


def settings(result: "ConfigResult", terminal: Terminal) -> str:
    """Each thing that is in force, with the place where it is set."""
    return "".join(_settings(result, terminal))


def _settings(result: "ConfigResult", terminal: Terminal) -> Iterator[str]:
    there = "" if result.there else "  (not there yet)"
    yield wrap(f"config: {one_line(str(result.config))}{there}\n", terminal.columns)
    if result.workspace is not None:
        yield wrap(f"workspace: {one_line(result.workspace)}\n", terminal.columns)
    yield "\n" + ink("Who works where no model is named", "bold", terminal) + "\n"
    yield _indented([_works(one) for one in result.works], terminal)
    yield "\n" + ink("Profiles", "bold", terminal) + "\n"
    yield _indented([_profile(profile) for profile in result.profiles], terminal)
    if result.ties:
        yield "\n" + ink("Clients tied to a profile", "bold", terminal) + "\n"
        yield _indented(sorted(result.ties.items()), terminal)
    yield "\n" + ink("Caps", "bold", terminal) + "\n"
    yield _indented([_cap(cap.name, cap.value, cap.source) for cap in result.caps], terminal)
    if result.mirrors:
        yield "\ngit: each commit of onepen is committed to git, too\n"
    if result.workers:
        yield "\n" + ink("Programs of your own that work as sub-agents", "bold", terminal) + "\n"
        yield _indented([(name, one_line(shlex.join(command))) for name, command in result.workers.items()], terminal)
    if result.notify:
        yield wrap(f"\nnotify: {one_line(shlex.join(result.notify))} when a batch has ended\n", terminal.columns)
    if result.at_once != AT_ONCE:
        yield f"\nworkers: {result.at_once} at the same time\n"
    if result.durability == "lazy":
        yield "\ndurability: lazy, so a power cut may take what an orchestrator committed in the last second\n"
    yield "\n" + ink("Who has to agree to a draft", "bold", terminal) + "\n"
    yield result.policy


def _works(one: "WorksView") -> tuple[str, str]:
    where = "here" if one.client is None else f"clients/{one.client}"
    if one.model is None:
        return where, f"none: {one_line(one.problem)}"
    through = f" through profile {one.profile}" if one.profile is not None and one.model != "offline" else ""
    return where, one_line(one.model) + through


def _profile(profile: "ProfileView") -> tuple[str, str]:
    says = [profile.base_url]
    says += [f"key from {profile.credential}"] if profile.credential else []
    says += [f"model {profile.model}"] if profile.model else []
    says += [f"{alias} = {id_}" for alias, id_ in profile.aliases.items()]
    says += ["this machine only"] if profile.local else []
    if not profile.usable:
        says.append(f"can't be used: {profile.lacks or 'no key and no server'}")
    return one_line(profile.name), one_line(", ".join(says))


def _cap(name: str, value: float, source: str) -> tuple[str, str, str]:
    what, unit = _CAPS[name]
    amount = f"${value:,.2f}" if unit == "USD" else f"{value:,.0f} tokens"
    return what, amount, f"by {source}"


def _indented(rows: Sequence[tuple[str, ...]], terminal: Terminal) -> str:
    """The rows as columns; the last one is wrapped, never cut: it is there to be read to its end."""
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]) - 1)] if rows else []
    lines = []
    for row in rows:
        head = "".join(pad(field, w + 2) for field, w in zip(row, widths, strict=False))
        lines.append(wrap(f"  {head}{row[-1]}\n", terminal.columns, "    "))
    return "".join(lines)
