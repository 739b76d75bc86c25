"""Batches as people read them: the plan before anything begins, how one stands, and all of them in a list."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..amounts import lasting, money, percent
from .ink import ink
from .terminal import Terminal
from .text import count, cut, one_line, table, visible, wrap

if TYPE_CHECKING:
    from ..batch.answer import BatchesResult, BatchPlan, BatchView, Counts, Range
    from ..batch.estimate import Estimate

_ROWS = 8  # of a row as it will be told
_WORDS = {
    "planned": ("not begun", "yellow"),
    "running": ("running", "cyan"),
    "stopped": ("stopped", "yellow"),
    "over_budget": ("stopped at its budget", "yellow"),
    "too_many_failures": ("stopped: too many failures", "red"),
    "cancelled": ("cancelled", "yellow"),
    "finished": ("finished", "green"),
}
NOTHING = "Nothing was started, nobody was asked.\n"


@dataclass(frozen=True)
class Rehearsed:
    """How a batch stands where something would be done about it: for `left` tasks, as far as that can be foreseen."""

    view: "BatchView"
    left: str = ""
    outlook: "Estimate | None" = None

    def as_json(self) -> Mapping[str, object]:
        return {**self.view.as_json(), "dry_run": True, **_foreseen(self.outlook)}

    def people(self) -> str:
        return "" if self.outlook is None else f"{self.left}: {_in_words(self.outlook)}\n"


@dataclass(frozen=True)
class Piloted:
    """The answer after a pilot: how the batch stands, and what its other tasks may take and cost."""

    view: "BatchView"
    outlook: "Estimate"

    def as_json(self) -> Mapping[str, object]:
        return {**self.view.as_json(), **_foreseen(self.outlook)}

    def people(self) -> str:
        return f"the {count(self.view.counts.pending, 'other task')}: {_in_words(self.outlook)}\n"


def _foreseen(outlook: "Estimate | None") -> Mapping[str, object]:
    """The ranges as --json tells them."""
    if outlook is None:
        return {}
    told = {"cost_usd": outlook.cost, "seconds": outlook.seconds}
    ranges = {name: None if both is None else both.as_json() for name, both in told.items()}
    return {"outlook": {**ranges, "basis": outlook.basis}}


def _in_words(outlook: "Estimate") -> str:
    cost = "nobody can say" if outlook.cost is None else _range(outlook.cost, money)
    lasts = "" if outlook.seconds is None else f", {_range(outlook.seconds, lasting)}"
    return f"{cost}{lasts} (by {one_line(outlook.basis)})"


@dataclass(frozen=True)
class Reported:
    """The answer of `batch report`: the report in Markdown beside the batch as it stands."""

    view: "BatchView"
    text: str

    def as_json(self) -> Mapping[str, object]:
        return {**self.view.as_json(), "text": self.text}


# -- before ------------------------------------------------------------------------------------------------------------


def plan(result: "BatchPlan", terminal: Terminal) -> str:
    """What the batch would do, what that may cost and what this rests on, and the first row as it will be told."""
    lines = [wrap(f"{one_line(result.name)}: batch {result.batch}\n", terminal.columns)]
    lines += [
        wrap(f"{ink(name + ':', 'dim', terminal)} {value}\n", terminal.columns)
        for name, value in _facts(result)
        if value
    ]
    if result.reads:
        lines.append(wrap(ink("the first row, as it will be told:", "dim", terminal) + "\n", terminal.columns))
        lines += _read(result.reads[0], terminal)
    return "".join(lines)


def _facts(result: "BatchPlan") -> Iterator[tuple[str, str]]:
    yield "tasks", _tasks(result)
    through = "" if result.via == "messages" else ", by Message Batches (half the price, and patience)"
    yield "who", f"{one_line(result.agent)} with {one_line(result.model)}{through}, {result.concurrency:,} at a time"
    yield "client", result.client or ""
    if result.free:
        yield "cost", "nothing"
    else:
        yield "cost", "nobody can say" if result.cost is None else _range(result.cost, money)
        yield "tokens", "" if result.tokens is None else _range(result.tokens, lambda tokens: f"{tokens:,.0f}")
    yield "time", "" if result.seconds is None else _range(result.seconds, lasting)
    yield "based on", one_line(result.basis)
    yield "budget", "" if result.free else _budget(result)
    yield "review", one_line(result.reviewers)
    targets = [one_line(target) for target in result.targets if target]
    rest = result.new - len(targets)
    yield "goes to", ", ".join(targets) + (f" and {rest:,} more" if targets and rest > 0 else "")


def _tasks(result: "BatchPlan") -> str:
    parts = [f"{result.new:,} new"]
    parts += [f"{result.done:,} done before"] if result.done else []
    parts += [f"{result.failed:,} failed before"] if result.failed else []
    twice = f"; {count(result.twice, 'row says', 'rows say')} the same as an earlier one" if result.twice else ""
    return ", ".join(parts) + twice


def _range(both: "Range", shown: Callable[[float], str]) -> str:
    least, most = shown(both.least), shown(both.most)
    return least if least == most else f"{least} to {most}"


def _budget(result: "BatchPlan") -> str:
    said = "none of its own" if result.budget_usd is None else f"{money(result.budget_usd)} for all of it"
    return f"{said} ({one_line(result.budget_from)})" if result.budget_from else said


def at_most(result: "BatchPlan") -> str:
    """What a question says of the cost."""
    return "" if result.cost is None else f" for {_range(result.cost, money)}"


def _read(text: str, terminal: Terminal) -> list[str]:
    rows = wrap(visible(text).strip("\n") + "\n", terminal.columns - 2, "").splitlines()
    more = [f"  … and {count(len(rows) - _ROWS, 'more line')}\n"] if len(rows) > _ROWS else []
    return [f"  {row}\n" for row in rows[:_ROWS]] + more


# -- meanwhile and after -----------------------------------------------------------------------------------------------


def standing(
    view: "BatchView", terminal: Terminal, *, rehearsed: Rehearsed | None = None, pilot: Piloted | None = None
) -> str:
    """How a batch stands: what became of its tasks, what it cost, why some failed, and the command that goes on."""
    word, style = _WORDS[view.state]
    reason = f": {one_line(view.reason)}" if view.reason else ""
    lines = [f"{view.batch}  {ink(word, style, terminal)}{reason}\n"]
    lines.append(f"{one_line(view.name)}: {counted(view.counts)}\n")
    lines.append(f"{spent(view)}\n")
    if view.waits.requests:
        lines.append(f"{waits(view)}\n")
    lines = [wrap(line, terminal.columns) for line in lines]
    lines += _failures(view, terminal)
    if view.paid_again:
        words = f"{count(view.paid_again, 'call')} that a crash cut may have been paid twice: {money(view.again_usd)}"
        lines.append(wrap(f"{words} at the most\n", terminal.columns))
    lines += [wrap(told.people(), terminal.columns) for told in (pilot, rehearsed) if told is not None]
    if view.report:
        lines.append(wrap(f"report: {view.report}\n", terminal.columns))
    lines.append(NOTHING if rehearsed is not None else wrap(f"Next: {following(view)}\n", terminal.columns))
    return "".join(lines)


def handed_over(view: "BatchView", terminal: Terminal) -> str:
    """A batch that goes on without this command."""
    line = f"{view.batch}  {_WORDS[view.state][0]}, {count(view.counts.total, 'task')}\n"
    return wrap(line, terminal.columns) + f"Next: onepen batch status {view.batch} --watch\n"


def counted(counts: "Counts") -> str:
    """How many tasks stand where, such as "488 of 500 done (480 committed, 8 in review), 12 failed"."""
    done = _named(("committed", counts.committed), ("in review", counts.in_review), ("answered", counts.answered),
                  ("refused", counts.refused), ("done before or twice", counts.duplicate))  # fmt: skip
    inside = f" ({', '.join(done)})" if done else ""
    rest = _named(("failed", counts.failed), ("running", counts.running), ("left", counts.pending))
    return ", ".join([f"{counts.done:,} of {counts.total:,} done{inside}", *rest])


def _named(*parts: tuple[str, int]) -> list[str]:
    return [f"{n:,} {word}" for word, n in parts if n]


def spent(view: "BatchView") -> str:
    """What it cost, of which budget, how much that is a task, and how long it ran."""
    return ", ".join([*costs(view), f"ran for {lasting(view.seconds)}"])


def costs(view: "BatchView") -> list[str]:
    """Money of its budget, money a task, and the share of prompts that came from a cache."""
    said = [f"cost unknown, {view.tokens:,} tokens" if view.cost_usd is None else money(view.cost_usd)]
    if view.budget_usd is not None:
        said[0] += f" of {money(view.budget_usd)}"
    over = view.counts.done - view.counts.duplicate + view.counts.failed
    if view.cost_usd and over > 0:
        said.append(f"{money(view.cost_usd / over)} a task")
    if view.cached is not None:
        said.append(f"cache {percent(view.cached)}")
    return said


def waits(view: "BatchView") -> str:
    """What is at a server, and until when at the latest."""
    batches = count(len(view.waits.batches), "Message Batch", "Message Batches")
    until = f", until {moment(view.waits.expires)} at the latest" if view.waits.expires else ""
    return f"{count(view.waits.requests, 'request waits', 'requests wait')} in {batches}{until}"


def moment(time: str) -> str:
    """A time as it is written in files, to the minute and without its offset."""
    return one_line(time[:16].replace("T", " "))


def _failures(view: "BatchView", terminal: Terminal) -> list[str]:
    rows = []
    for kind in view.failures:
        first = f"{where(view, kind.line)} {kind.task}: {one_line(kind.reason) or 'no reason was told'}"
        rows.append((kind.kind, f"{kind.count:,}", first))
    return [f"  {line}" for line in table(rows, terminal.columns - 2).splitlines(keepends=True)]


def where(view: "BatchView", line: int) -> str:
    """The row of the input from which a task came."""
    return f"{one_line(view.name)}:{line}"


def following(view: "BatchView") -> str:
    """The command to go on with."""
    match view.state:
        case "running":
            return f"onepen batch status {view.batch} --watch"
        case "over_budget" if _of_the_day(view.reason):
            return f"onepen config show, and tomorrow or with a higher cap: onepen batch resume {view.batch}"
        case "over_budget":
            return f"onepen batch resume {view.batch} --budget USD"
        case "too_many_failures":
            return f"onepen batch report {view.batch}"
        case "planned" | "stopped" | "cancelled":
            return f"onepen batch resume {view.batch}"
    if view.counts.failed:
        return f"onepen batch retry {view.batch} --failed"
    drafts = "onepen drafts" if view.client is None else f"onepen drafts --client {view.client}"
    return drafts if view.counts.in_review else f"onepen batch report {view.batch}"


def _of_the_day(reason: str) -> bool:
    """Whether it was a day's cap that was reached: a larger budget of the batch would not help."""
    return "the day's budget" in reason


def listed(result: "BatchesResult", terminal: Terminal) -> str:
    """Each batch on a line, the latest first."""
    if not result.batches:
        return "There is no batch here.\nNext: onepen batch run FILE --dry-run\n"
    head = ("batch", "done", "failed", "cost", "begun", "state")
    rows = [head, *(_listed(view) for view in result.batches)]
    first, _, rest = table(rows, terminal.columns).partition("\n")
    return ink(first, "dim", terminal) + "\n" + rest


def _listed(view: "BatchView") -> tuple[str, ...]:
    counts = view.counts
    word = _WORDS[view.state][0] + (f": {one_line(view.reason)}" if view.reason else "")
    done = f"{counts.done:,}/{counts.total:,}"
    return (view.batch, done, f"{counts.failed:,}", money(view.cost_usd), moment(view.created), word)


# -- on its way --------------------------------------------------------------------------------------------------------


def begun(view: "BatchView") -> str:
    """That it begins, or goes on."""
    counts = view.counts
    left_, before = counts.pending + counts.running, counts.done - counts.duplicate + counts.failed
    goes = f"goes on: {left_:,} of {count(counts.total, 'task')} left" if before else f"begins: {count(left_, 'task')}"
    return f"{one_line(view.name)} {goes}, {view.concurrency:,} at a time (batch {view.batch})"


def line(view: "BatchView") -> str:
    """How far it is, on one line without an end: for a log."""
    counts = view.counts
    over = counts.done + counts.failed
    share = f" ({percent(over / counts.total)})" if counts.total else ""
    parts = [f"{over:,} of {counts.total:,} over{share}", *busy(view), *costs(view)]
    parts += [waits(view)] if view.waits.requests else []
    parts += [left(view.left_seconds)] if view.left_seconds is not None else []
    return f"{one_line(view.name)}: {', '.join(parts)}"


def busy(view: "BatchView") -> list[str]:
    """How many are at work or idle, and what became of the others."""
    counts = view.counts
    return _named(
        ("running", counts.running), ("idle", view.idle if view.state == "running" else 0), ("failed", counts.failed),
        ("in review", counts.in_review), ("committed", counts.committed), ("answered", counts.answered),
        ("refused", counts.refused), ("done before or twice", counts.duplicate),
    )  # fmt: skip


def left(seconds: float) -> str:
    return f"about {lasting(seconds)} left"


def shortened(name: str, columns: int) -> str:
    """A batch's name where it must not take all the room."""
    return cut(one_line(name), max(columns, 8))
