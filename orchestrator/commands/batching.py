"""Commands of batches: `batch run` and all that a person can do with one that is there.

First the plan is shown, then the person is asked, where money could be spent; from then on the batch goes on by itself.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .failure import BadText, NeedsAnswer
from .options import AllowSecret, Detach, DryRun, Foreground, Profile, Review, UnsafeNoSandbox
from .shell import MOST_TASK, Shell
from .values import refuse_known
from .working import resolved

if TYPE_CHECKING:
    from ..batch.answer import BatchPlan, BatchView
    from ..batch.request import BatchRequest, GoOn
    from ..process.handover import Writer
    from .batchtext import Rehearsed
    from .batchwork import How

Via = Literal["messages", "message-batches"]
Failed = Literal["all", "refused", "invalid", "overload", "timeout", "budget", "cancelled", "bug"]

_MOST_STDIN = 1 << 20
"""Bytes of rows on stdin: they go over the socket in one line, as JSON. A file is read where the batch is run."""

_Batch = Annotated[str, typer.Argument(metavar="ID", help="A batch, or the beginning of its id.")]
_Latest = Annotated[
    str | None, typer.Argument(metavar="ID", help="A batch, or the beginning of its id. [the latest one]")
]
_Concurrency = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="So many tasks at the same time, within [workers] at_once. [10]")
]
_Budget = Annotated[
    float | None,
    typer.Option("--budget", metavar="USD", min=0, help="At most so many US dollars for all of it, within the caps."),
]
_MaxFailures = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Start nothing more once so many tasks have failed in a run.")
]
_Sample = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Run N tasks, say what all would take and cost, and stop.")
]
_Review = Annotated[
    Review | None,
    typer.Option(help="Who reviews; auto commits what is quoted word for word, where the policy lets it. [person]"),
]
_DONE = "every task of {} came to its end before"
_Events = Annotated[bool, typer.Option("--events", help="Tell what happens as lines of JSON on stdout.")]


def run(
    shell: Shell,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The rows: JSONL, CSV, TSV or YAML; '-' reads stdin.")],
    prompt: Annotated[
        str | None,
        typer.Option(metavar="TEMPLATE", help="What each task is told; {field} is a row's field, '-' reads stdin."),
    ] = None,
    prompt_file: Annotated[Path | None, typer.Option(metavar="FILE", help="The same from a file.")] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="ID", help="Who does it, where a row names nobody. [researcher]")
    ] = None,
    project: Annotated[str | None, typer.Option(metavar="ID", help="The project that the tasks belong to.")] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TEMPLATE", help="Where results go, such as research/{name}.md. [a new research/<slug>.md]"
        ),
    ] = None,
    inputs: Annotated[
        list[Path] | None,
        typer.Option("--input", metavar="PATH", help="A file or folder for each task to work from; may be repeated."),
    ] = None,
    review: _Review = None,
    answer: Annotated[bool, typer.Option("--answer", help="Only answers are wanted; no drafts are filed.")] = False,
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="The model: a name, offline, or scripted:FILE in tests.")
    ] = None,
    profile: Profile = None,
    concurrency: _Concurrency = None,
    budget: _Budget = None,
    max_failures: _MaxFailures = None,
    via: Annotated[
        Via, typer.Option(help="How models are asked; message-batches: for half the price, within a day.")
    ] = "messages",
    review_via: Annotated[Via | None, typer.Option(help="How the reviewing model is asked. [as --via]")] = None,
    sample: _Sample = None,
    max_turns: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many model calls an attempt.")
    ] = None,
    time_limit: Annotated[
        int | None, typer.Option(metavar="SECONDS", min=1, help="At most so long an attempt, in seconds.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Start what the plan shows without being asked.")] = False,
    events: _Events = False,
    detach: Detach = False,
    foreground: Foreground = False,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
) -> int:
    from ..batch.request import BatchRequest
    from . import batchtext
    from .batchwork import How, carried_out

    how = How(foreground, detach, events, dry_run, sample).checked(shell)
    if prompt is not None and prompt_file is not None:
        raise BadText("--prompt and --prompt-file don't go together: name one")
    if [file, prompt, str(prompt_file)].count("-") > 1:
        raise BadText("'-': stdin can be read once only")
    for path in inputs or ():
        if path.is_symlink() and path.exists():
            shell.note(f"note: --input {path} is a link; what is read is {path.resolve()}")
    shell.via, shell.unsafe = profile, unsafe_no_sandbox
    request = BatchRequest(
        name="stdin" if file == "-" else Path(file).name,
        path=None if file == "-" else Path(file).absolute(),
        data=_rows(shell) if file == "-" else None,
        prompt=_prompt(shell, prompt, prompt_file),
        agent=agent,
        client=shell.client,
        project=project,
        target=target,
        inputs=tuple(path.absolute() for path in inputs or ()),
        review=review,
        answer=answer,
        model=resolved(model),
        max_turns=max_turns,
        time_limit=time_limit,
        concurrency=concurrency,
        budget_usd=budget,
        max_failures=max_failures,
        via=via,
        review_via=review_via,
        sample=sample,
        allow_secret=allow_secret,
    )
    refuse_known(shell, allow_secret, **{"--prompt": request.prompt, "--target": target})
    plan = _planned(shell, request)
    shell.notes(plan.notices)
    if dry_run:
        shell.answer(plan, lambda: batchtext.plan(plan, shell.terminal) + batchtext.NOTHING)
        return 0
    if plan.begun and not plan.new and (view := shell.service.batch_status(plan.batch)).state == "finished":
        return _nothing_left(shell, view, how, _DONE.format(plan.batch))
    shell.tell(batchtext.plan(plan, shell.terminal))
    _agreed(shell, plan, request, yes=yes)
    _remember(shell, plan.batch, plan.tasks_sha256, plan.review)
    return carried_out(shell, plan.batch, "batch_run", {"request": replace(request, expected=plan.batch)}, how)


def resume(
    shell: Shell,
    batch: _Batch,
    concurrency: _Concurrency = None,
    budget: _Budget = None,
    max_failures: _MaxFailures = None,
    review: _Review = None,
    sample: _Sample = None,
    profile: Profile = None,
    events: _Events = False,
    detach: Detach = False,
    foreground: Foreground = False,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
    dry_run: DryRun = False,
) -> int:
    from ..batch.request import GoOn
    from .batchwork import How

    shell.via, shell.unsafe = profile, unsafe_no_sandbox
    wanted = GoOn(batch, concurrency, budget, max_failures, review, sample)
    return _goes_on(shell, wanted, How(foreground, detach, events, dry_run, sample).checked(shell))


def retry(
    shell: Shell,
    batch: _Batch,
    failed: Annotated[
        Failed,
        typer.Option("--failed", help="Those that failed in this way; alone, all of them. See `batch report`."),
    ] = "all",
    concurrency: _Concurrency = None,
    budget: _Budget = None,
    max_failures: _MaxFailures = None,
    review: _Review = None,
    sample: _Sample = None,
    profile: Profile = None,
    events: _Events = False,
    detach: Detach = False,
    foreground: Foreground = False,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
    dry_run: DryRun = False,
) -> int:
    from ..batch.request import GoOn
    from .batchwork import How

    shell.via, shell.unsafe = profile, unsafe_no_sandbox
    wanted = GoOn(batch, concurrency, budget, max_failures, review, sample, retry=failed)
    return _goes_on(shell, wanted, How(foreground, detach, events, dry_run, sample).checked(shell))


def status(
    shell: Shell,
    batch: _Latest = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again and again, until it ends or Ctrl-C.")] = False,
) -> int:
    if watch:
        from .batchwatch import watch as follow

        return follow(shell, batch)
    return _told(shell, shell.service.batch_status(batch))


def list_(shell: Shell) -> int:
    from . import batchtext

    result = shell.service.batches()
    shell.notes(result.notices)
    shell.answer(result, lambda: batchtext.listed(result, shell.terminal))
    return 0


def pause(shell: Shell, batch: _Batch, dry_run: DryRun = False) -> int:
    return _short(shell, batch, lambda pen, found: pen.batch_pause(found), dry_run)


def cancel(shell: Shell, batch: _Batch, dry_run: DryRun = False) -> int:
    return _short(shell, batch, lambda pen, found: pen.batch_cancel(found), dry_run)


def report(shell: Shell, batch: _Latest = None) -> int:
    from .batchtext import Reported

    view = shell.service.batch_status(batch)
    result = Reported(view, shell.service.batch_report(view.batch))
    shell.answer(result, lambda: result.text)
    return 0


# -- before it begins --------------------------------------------------------------------------------------------------


def _rows(shell: Shell) -> str:
    return shell.text("-", "FILE", _MOST_STDIN)


def _prompt(shell: Shell, prompt: str | None, file: Path | None) -> str | None:
    """The template, wherever it stands; raises BadText or TooLong."""
    if prompt is not None:
        return shell.text(prompt, "--prompt", MOST_TASK)
    if file is None:
        return None
    if str(file) == "-":
        return shell.text("-", "--prompt-file", MOST_TASK)
    from . import streams

    with file.open("rb") as source:
        return streams.bounded(source, f"--prompt-file {file}", MOST_TASK).decode("utf-8-sig")


def _planned(shell: Shell, request: "BatchRequest") -> "BatchPlan":
    """What the batch would do; everything that is wrong with its rows is raised at once."""
    import anyio

    async def work() -> "BatchPlan":
        return await shell.service.batch_plan(request, setup=shell.setup)

    return anyio.run(work)


def _agreed(shell: Shell, plan: "BatchPlan", request: "BatchRequest", *, yes: bool) -> None:
    """Returns when the person wants what was shown, or nothing is spent; raises NeedsAnswer."""
    if yes or plan.free or not plan.new:
        return
    from .batchtext import at_most
    from .text import count

    tasks = plan.new if request.sample is None else min(request.sample, plan.new)
    question = f"Start {count(tasks, 'task')}{at_most(plan) if request.sample is None else ''}?"
    what = f"batch run {request.name}: nothing was started"
    if not shell.agrees(question, what=what, hint="the same with --yes"):
        raise NeedsAnswer(what, hint="the same with --dry-run")


def _remember(shell: Shell, batch: str, tasks_sha256: str, review: str) -> None:
    """Keeps the person's word that these tasks need no person, as theirs: whoever resumes them asks for it.

    The settings are read again after it, since it is one of them.
    """
    from ...memory.clock import SystemClock
    from ..settings import grants
    from ..settings.trust import batch_wish

    workspace = shell.service.workspace
    wish = batch_wish(workspace.settings.id, str(workspace.root), batch, tasks_sha256, review)
    file = grants.trust_file()
    if wish is None or wish.sha256 in grants.trusted(file):
        return
    now = SystemClock(workspace.settings.timezone).now().isoformat(timespec="seconds")
    grants.allow(file, workspace.settings.id, workspace.root, (wish,), now)
    shell.forget_setup()


def _nothing_left(shell: Shell, view: "BatchView", how: "How", why: str) -> int:
    """A batch with nothing to do says so; nothing of it is done again."""
    from .batchevents import Events

    if how.events:
        from ..batch.happening import Launch

        events = Events()
        events.happened(Launch(view))
        events.end(view, view.exit_code)
        return view.exit_code
    shell.note(f"nothing was done: {why}")
    _told(shell, view)
    return view.exit_code


# -- one that is there -------------------------------------------------------------------------------------------------


def _goes_on(shell: Shell, wanted: "GoOn", how: "How") -> int:
    from .batchwork import carried_out

    view = shell.service.batch_status(wanted.batch)
    wanted = replace(wanted, batch=view.batch)
    if how.dry_run:
        return _rehearsed(shell, view, wanted)
    if view.state != "running" and (why := _nothing_to_do(view, wanted)):
        return _nothing_left(shell, view, how, why)
    if wanted.review == "auto":
        _remember(shell, view.batch, _tasks_sha256(shell, view.batch), "auto")
    return carried_out(shell, view.batch, "batch_go_on", {"wanted": wanted}, how)


def _rehearsed(shell: Shell, view: "BatchView", wanted: "GoOn") -> int:
    """What would be done, and what that may cost and take by what the batch's tasks have until now."""
    from .batchtext import Rehearsed
    from .text import count

    if wanted.retry is None:
        left, again = f"what is left ({count(view.counts.pending, 'task')})", None
    else:
        again = sum(kind.count for kind in view.failures if wanted.retry in {"all", kind.kind})
        left = f"what failed ({count(again, 'task')})"
    return _told(shell, view, Rehearsed(view, left, shell.service.batch_outlook(view.batch, again)))


def _nothing_to_do(view: "BatchView", wanted: "GoOn") -> str:
    """Why going on with a batch would do nothing; "" where it would."""
    if wanted.retry is None:
        return "" if view.counts.pending else _DONE.format(view.batch)
    if any(wanted.retry in {"all", kind.kind} for kind in view.failures):
        return ""
    return f"no task of {view.batch} failed" + ("" if wanted.retry == "all" else f" as {wanted.retry}")


def _tasks_sha256(shell: Shell, batch: str) -> str:
    """The hash of the tasks as they are now, whatever batch.toml says of them."""
    import hashlib

    from ..batch.folder import find_batch

    return hashlib.sha256(find_batch(shell.root, batch).tasks_file.read_bytes()).hexdigest()


def _short(shell: Shell, batch: str, act: "Callable[[Writer, str], BatchView]", dry_run: bool) -> int:
    view = shell.service.batch_status(batch)
    if not dry_run:
        found = view.batch
        view = shell.write(lambda pen: act(pen, found))
    from .batchtext import Rehearsed

    return _told(shell, view, Rehearsed(view) if dry_run else None)


def _told(shell: Shell, view: "BatchView", rehearsed: "Rehearsed | None" = None) -> int:
    from .batchtext import standing

    shell.notes(view.told)
    shell.answer(rehearsed or view, lambda: standing(view, shell.terminal, rehearsed=rehearsed))
    return 0
