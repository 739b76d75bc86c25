"""report.md of a batch: what was asked, what came of it, what it cost, what failed and why, and what waits for whom.

Pure: made anew from the batch's own files whenever it ends, so a report that is lost or out of date is no loss.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from ..amounts import count, lasting, money, percent
from .answer import BatchView
from .item import Item
from .journal import seconds_between
from .picture import Point, told
from .spec import BatchSpec
from .state import BatchState, Run, TaskFacts

REPORT, PICTURE = "report.md", "progress.svg"
_FIRST = 5  # reasons of each class of failure
_MOST = 200  # drafts that are listed
_STATES = {
    "planned": "not begun",
    "running": "running",
    "stopped": "stopped",
    "over_budget": "stopped at its budget",
    "too_many_failures": "stopped after too many failures",
    "cancelled": "cancelled",
    "finished": "finished",
}
_CLASSES = {
    "refused": "the model refused",
    "invalid": "neither draft nor answer came of it",
    "overload": "the server could not be asked to the end",
    "timeout": "it took too long",
    "budget": "a task's own budget was reached",
    "cancelled": "a person cancelled it",
    "bug": "a worker crashed, or onepen has a bug",
}
_ENDS = {"sample": "the pilot was done", "finished": "nothing was left to start"}


def report_text(spec: BatchSpec, items: Sequence[Item], state: BatchState, view: BatchView, now: datetime) -> str:
    """The report as Markdown; `now` is when it is made."""
    parts = (
        _head(spec, view, now),
        _asked(spec, view, state),
        _cost(state, view),
        _clients(items, state),
        _failed(spec, state, view),
        _waiting(spec, state),
        _runs(state),
    )
    return "\n".join(line for part in parts for line in part).rstrip("\n") + "\n"


def points(state: BatchState) -> tuple[tuple[Point, ...], tuple[float, ...]]:
    """How it went over the time in which it ran, for the picture; and when it stood still in between."""
    begun, before = [], 0.0
    for run in state.runs:
        begun.append((run.began, before))
        before += seconds_between(run.began, run.ended or run.last)
    over = sorted((facts for facts in state.tasks.values() if facts.ended_at), key=lambda facts: facts.ended_at)
    found: list[Point] = []
    done, failed, usd, at, known = 0, 0, 0.0, 0, True
    for facts in over:
        while at + 1 < len(begun) and facts.ended_at >= begun[at + 1][0]:
            at += 1
        seconds = begun[at][1] + seconds_between(begun[at][0], facts.ended_at) if begun else 0.0
        done, failed = done + (facts.place != "failed"), failed + (facts.place == "failed")
        known = known and facts.cost_usd is not None
        usd += facts.cost_usd or 0.0
        last = found[-1].seconds if found else 0.0
        found.append(Point(max(seconds, last), done, failed, usd if known else None))
    return tuple(found), tuple(before for _, before in begun[1:])


def _head(spec: BatchSpec, view: BatchView, now: datetime) -> Iterator[str]:
    reason = f": {_plain(view.reason)}" if view.reason else ""
    yield f"# {_plain(spec.name)}: {_STATES[view.state]}"
    yield ""
    yield f"Batch `{spec.batch}`, asked for by {_plain(spec.by)} at {spec.created}."
    yield f"At {now.isoformat(timespec='seconds')} it is {_STATES[view.state]}{reason}."
    yield ""
    yield "| What became of its tasks | |"
    yield "|---|--:|"
    counts = view.counts
    rows = (
        ("committed to memory", counts.committed), ("drafts wait for a person", counts.in_review),
        ("answered, without a draft", counts.answered), ("refused by a reviewer", counts.refused),
        ("done before, or the same as an earlier row", counts.duplicate), ("failed", counts.failed),
        ("running", counts.running), ("not begun, or to go on", counts.pending),
    )  # fmt: skip
    for words, number in rows:
        if number:
            yield f"| {words} | {number:,} |"
    yield f"| all | {counts.total:,} |"
    yield ""


def _asked(spec: BatchSpec, view: BatchView, state: BatchState) -> Iterator[str]:
    yield "## What was asked"
    yield ""
    twins = f"; {count(state.twins, 'row says', 'rows say')} the same as an earlier one" if state.twins else ""
    yield f"- {count(len(state.tasks), 'task')} from `{spec.input}` (SHA-256 `{spec.input_sha256}`){twins}"
    through = "asked call by call" if view.via == "messages" else "asked by Message Batches"
    yield f"- agent {_code(view.agent or 'as the rows say')}, model {_code(view.model or 'as the rows say')}, {through}"
    for words, value in (("client", spec.client), ("project", spec.project), ("where results go", spec.target)):
        if value:
            yield f"- {words}: {_code(value)}"
    if spec.inputs:
        yield f"- inputs: {', '.join(map(_code, spec.inputs))}"
    who = {"auto": "without a person where the policy allows it", "person": "by a person"}
    yield f"- reviewed {who.get(view.review, view.review)}"
    most = "none of its own" if view.budget_usd is None else money(view.budget_usd)
    yield f"- budget: {most}; {view.concurrency:,} tasks at a time"
    if spec.prompt:
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", spec.prompt)), 3)
        yield "- each was told, with its row's fields filled in:"
        yield ""
        yield f"{fence}text"
        yield from (_visible(line) for line in spec.prompt.rstrip("\n").split("\n"))
        yield fence
    yield ""


def _cost(state: BatchState, view: BatchView) -> Iterator[str]:
    found, pauses = points(state)
    yield "## What it cost"
    yield ""
    yield f"![{told(found, view.counts.total, pauses)}]({PICTURE})"
    yield ""
    of = f" of {money(view.budget_usd)}" if view.budget_usd is not None else ""
    over = [facts for facts in state.tasks.values() if facts.ended_at and facts.task]
    priced = [facts.cost_usd for facts in over if facts.cost_usd is not None]
    a_task = f", {money(sum(priced) / len(priced))} a task" if priced else ""
    yield f"- money: {money(view.cost_usd)}{of}{a_task if view.cost_usd else ''}"
    yield f"- tokens: {_tokens(state)}"
    yield f"- time: it ran for {lasting(view.seconds)}{_spread([facts.seconds for facts in over])}"
    yield ""
    yield from _known(state, view)
    yield ""


def _spread(seconds: Sequence[float]) -> str:
    """How long single tasks took."""
    if not seconds:
        return ""
    ranked = sorted(seconds)
    middle, late = (ranked[min(int(share * len(ranked)), len(ranked) - 1)] for share in (0.5, 0.95))
    return f"; half of the tasks took at most {lasting(middle)}, 19 of 20 at most {lasting(late)}"


def _tokens(state: BatchState) -> str:
    tasks = state.tasks.values()
    sums = (
        ("sent", sum(facts.input for facts in tasks)),
        ("written to a cache", sum(facts.cache_write for facts in tasks)),
        ("read from it", sum(facts.cache_read for facts in tasks)),
        ("written by models", sum(facts.output for facts in tasks)),
    )
    if not any(number for number, _ in sums):
        return "none"
    share = state.cached()
    cached = "" if share is None else f"; {percent(share)} of what was sent came from the cache"
    return ", ".join(f"{number:,} {words}" for words, number in sums) + cached


def _known(state: BatchState, view: BatchView) -> Iterator[str]:
    """What of these figures is measured, and what nobody knows."""
    yield "Tokens are as the servers counted them, and prices as `onepen config show` knows them."
    unpriced = [facts for facts in state.tasks.values() if facts.cost_usd is None]
    if unpriced:
        tokens = sum(facts.prompt_tokens + facts.output for facts in unpriced)
        yield (
            f"Of {count(len(unpriced), 'task')} nobody knows the price: their {tokens:,} tokens are in no sum of money,"
            " and what all of it cost is not known."
        )
    if view.paid_again:
        yield (
            f"{count(view.paid_again, 'call was', 'calls were')} out when the orchestrator was killed, and made again: "
            "that much may have been paid twice. It is counted with "
            f"{money(view.again_usd)}, the most it can have cost."
        )
    elif view.counts.total:
        yield "No call was cut by a crash, so none was paid twice."


def _clients(items: Sequence[Item], state: BatchState) -> Iterator[str]:
    of: dict[str, list[TaskFacts]] = {}
    for item in items:
        of.setdefault(item.client or "", []).append(state.tasks[item.key])
    if set(of) <= {""}:
        return
    yield "## By client"
    yield ""
    yield "| Client | Tasks | Done | Failed | Cost |"
    yield "|---|--:|--:|--:|--:|"
    for client in sorted(of):
        tasks = of[client]
        failed = sum(facts.place == "failed" for facts in tasks)
        done = sum(facts.place not in {"failed", "pending", "running"} for facts in tasks)
        costs = [facts.cost_usd for facts in tasks]
        cost = None if None in costs else sum(one or 0.0 for one in costs)
        name = _code(client) if client else "the house"
        yield f"| {name} | {len(tasks):,} | {done:,} | {failed:,} | {money(cost)} |"
    yield ""


def _failed(spec: BatchSpec, state: BatchState, view: BatchView) -> Iterator[str]:
    if not view.failures:
        return
    yield "## What failed"
    yield ""
    yield f"All of it again: `onepen batch retry {spec.batch} --failed`"
    yield ""
    for kind in view.failures:
        tasks = [f for f in state.tasks.values() if f.place == "failed" and (f.kind or "bug") == kind.kind]
        yield f"### {kind.kind}: {kind.count:,}"
        yield ""
        yield f"{_CLASSES[kind.kind].capitalize()}. Again: `onepen batch retry {spec.batch} --failed={kind.kind}`"
        yield ""
        for facts in tasks[:_FIRST]:
            yield f"- {_row(spec, facts)}: {_code(facts.reason or 'no reason was told')}"
        if len(tasks) > _FIRST:
            yield f"- and {len(tasks) - _FIRST:,} more"
        yield ""


def _waiting(spec: BatchSpec, state: BatchState) -> Iterator[str]:
    waiting = [facts for facts in state.tasks.values() if facts.place == "in_review"]
    if not waiting:
        return
    yield "## What waits for you"
    yield ""
    yield "In the order of the rows; `onepen approve ID` commits one, `onepen reject ID -m WHY` refuses it."
    yield ""
    for facts in waiting[:_MOST]:
        drafts = facts.drafts or (facts.task,)
        yield f"- {_row(spec, facts)}: {', '.join(f'`onepen show {draft}`' for draft in drafts)}"
    if len(waiting) > _MOST:
        yield f"- and {len(waiting) - _MOST:,} more: `onepen drafts`"
    yield ""


def _runs(state: BatchState) -> Iterator[str]:
    if not state.runs:
        return
    yield "## When it ran"
    yield ""
    yield "| Begun | Ended | For | At a time | Budget | How it ended |"
    yield "|---|---|--:|--:|--:|---|"
    for run in state.runs:
        ended = run.ended or run.last
        budget = "" if run.budget_usd is None else money(run.budget_usd)
        seconds = lasting(seconds_between(run.began, ended))
        yield f"| {run.began} | {ended} | {seconds} | {run.concurrency:,} | {budget} | {_how(run)} |"
    yield ""


def _how(run: Run) -> str:
    if not run.ended:
        return "without a word: it was killed, or still runs"
    words = _ENDS.get(run.why) or _STATES.get(run.why, run.why)
    return f"{words}: {_plain(run.reason)}" if run.reason else words


def _row(spec: BatchSpec, facts: TaskFacts) -> str:
    """The row of the input that a task came from, and the task."""
    return f"{_plain(spec.name)}:{facts.line} `{facts.task}`"


def _plain(text: str) -> str:
    """Text from outside on one line, without power over the page around it."""
    return re.sub(r"([\\`*_\[\]<>|#!&~])", r"\\\1", _visible(" ".join(text.split())))


def _code(text: str) -> str:
    """The same as code."""
    return f"`{_visible(' '.join(text.split())).replace('`', chr(39)).replace('|', '¦')}`"


def _visible(text: str) -> str:
    """Without characters that can't be seen or turn the text around them."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" for c in text)
