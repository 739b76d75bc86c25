"""`onepen worker check`: a program is run against a scripted orchestrator, and each rule of the wire is told apart.

Every scenario is a run of its own, in a new folder. What a program doesn't do (it may well ask no model) can't be
wrong; it is said to be skipped.
"""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...memory import files
from ...memory.ids import AgentId, TaskId, shown
from ...staging.folder import TaskFolder, collect
from ...subagents.assignment import Assignment, Limits
from ...subagents.definition import parse_definition
from ...subagents.messages import Text, ToolUse
from ...subagents.outcome import GRACE
from ...subagents.prompt import prefix_sha, read_snapshot, system_blocks, tools
from ...subagents.sandbox.level import Level
from .dialogue import SECONDS, Reply, Seen, cancel, talk
from .trial import Trial, scene

ANSWER = "Cone 6 was reached at 1222 degrees."
_TASK = TaskId("t0trial")
_QUESTION = 'At which temperature was cone 6 reached? ("Kegel 6", é, 窯, 😀)'
_AGENT = parse_definition(AgentId("tried"), "---\nname: tried\n---\nYou find out what the sources say.\n")
_LONG = 3 << 20
_ALONE = "it says hello without the sandbox only: what it reads has to be named in its command, by whole paths"

NOWHERE = Level("none")
"""Where nothing confines a program."""

Mark = Literal["ok", "wrong", "note", "skipped"]


@dataclass(frozen=True)
class Check:
    """One rule and what was seen of it; `seen` is "" where there is nothing to add."""

    name: str
    level: Mark
    seen: str = ""

    def as_json(self) -> Mapping[str, object]:
        return {"name": self.name, "level": self.level, "seen": self.seen}


@dataclass(frozen=True)
class ConformanceResult:
    """The answer of `worker check`."""

    command: tuple[str, ...]
    checks: tuple[Check, ...]
    sandbox: str = "none"

    @property
    def ok(self) -> bool:
        return not any(check.level == "wrong" for check in self.checks)

    def as_json(self) -> Mapping[str, object]:
        checks = [check.as_json() for check in self.checks]
        return {"ok": self.ok, "command": list(self.command), "sandbox": self.sandbox, "checks": checks}


def conformance(command: Sequence[str], *, level: Level) -> ConformanceResult:
    """What a program does right and wrong, confined as far as `level` goes.

    One that doesn't say hello or doesn't come to an end is not tried further. Raises FileNotFoundError.
    """
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    found = _seen(_task, command, level)
    if found[0].level == "wrong" and level.confines and _seen(_task, command, NOWHERE)[0].level == "ok":
        found.append(Check("works in the sandbox", "wrong", _ALONE))
    if all(check.level != "wrong" for check in found[:3]):
        for scenario in (_question, _cancelled, _refused, _long, _turns):
            found += _seen(scenario, command, level)
    return ConformanceResult(tuple(command), tuple(found), level.kind)


Scenario = Callable[[Sequence[str], TaskFolder, Level], Iterator[Check]]


def _seen(scenario: Scenario, command: Sequence[str], level: Level) -> list[Check]:
    with files.scratch() as folder:
        return list(scenario(command, scene(folder), level))


def _assignment(task: TaskFolder, **changed: object) -> Assignment:
    root = task.path.parents[2]
    usual = Assignment(
        task=_TASK,
        attempt=1,
        agent=_AGENT,
        text=_QUESTION,
        snapshot=root / "snapshot",
        space=root / "space",
        folder=task.path,
        inputs=("firing notes.md",),
        limits=Limits(seconds=60.0, silence=SECONDS, turns=8),
        model="scripted",
    )
    return replace(usual, **changed)  # type: ignore[arg-type]


# -- scenarios ---------------------------------------------------------------------------------------------------------


def _replies(turn: int) -> Reply:
    """A search; two tools at once, one of which isn't there; a draft; the report; then nothing more."""
    match turn:
        case 1:
            return (Text("I look \u2028 窯 😀"), ToolUse("c1", "search", {"query": "cone 6"}))
        case 2:
            missing, reads = ToolUse("c2", "no_such_tool", {}), ToolUse("c3", "read_input", {"name": "firing notes.md"})
            return (missing, reads)
        case 3:
            text = f"# Cone 6\n\n## Heat\n\n{ANSWER}\n"
            return (Text(ANSWER), ToolUse("c4", "write_draft", {"title": "Cone 6", "text": text}))
        case 4:
            return (Text(ANSWER),)
        case 5:
            return (ToolUse("c5", "report", {"summary": "Found.", "answer": ANSWER}),)
    return "the limit of 5 model calls is reached"


def _task(command: Sequence[str], task: TaskFolder, level: Level) -> Iterator[Check]:
    before = _fingerprints(task)
    with Trial(command, _assignment(task), level) as trial:
        trial.begin()
        seen = talk(trial, _replies)
        yield _hello(trial, seen)
        if not seen.hello:
            return
        yield _check("speaks the wire", seen.wrong)
        yield _check("reports", [] if seen.report else [_no_report(trial, seen)])
        if seen.report:
            yield from _after_report(trial)
        noise = [shown(one.data.decode(errors="replace").strip(), 60) for one in trial.noise]
        kept = f"{len(noise)} lines that are no messages, kept in worker.log; the first: {noise[0]}" if noise else ""
        yield _check("prints nothing else on stdout", [kept] if noise else [], "note")
        yield _prefix(trial, seen)
    yield from _drafts(task, seen)
    changed = sorted(name for name, was in before.items() if _fingerprints(task).get(name) != was)
    yield _check("changes nothing but its drafts", changed)


def _after_report(trial: Trial) -> Iterator[Check]:
    code = trial.ended(GRACE)
    late = f"it still ran {GRACE:g} s later, and would be killed"
    yield _check("ends after its report", [late] if code is None else [])
    if code:
        yield Check("exits with 0", "note", f"it exited with {code}, which nobody looks at once it has reported")
    again = ", ".join(message.type for message in trial.rest())
    yield _check("says nothing after its report", [f"{again}: too late, and ignored"] if again else [], "note")


def _question(command: Sequence[str], task: TaskFolder, level: Level) -> Iterator[Check]:
    name = "answers a question in its report"
    with Trial(command, _assignment(task, answer=True), level) as trial:
        trial.begin()
        seen = talk(trial, _replies)
    if seen.report is None:
        yield Check(name, "wrong", _no_report(trial, seen))
    elif seen.asked == 0:
        yield Check(name, "skipped", "it asks no model")
    else:
        yield _check(name, [] if (seen.report.answer or "").strip() else ["`answer` is empty"])


def _cancelled(command: Sequence[str], task: TaskFolder, level: Level) -> Iterator[Check]:
    """Cancelled while it waits for its model, else right after its first word."""
    with Trial(command, _assignment(task), level) as trial:
        trial.begin()
        seen = talk(trial, lambda _: None)
        if seen.report is not None:
            yield Check("ends when it is cancelled", "skipped", "it was done before")
            return
        cancel(trial)
        yield _ends(trial, "ends when it is cancelled", "after `cancel`")


def _refused(command: Sequence[str], task: TaskFolder, level: Level) -> Iterator[Check]:
    with Trial(command, _assignment(task), level) as trial:
        trial.begin()
        seen = talk(trial, lambda _: "no further call can be paid")
        if not seen.asked:
            yield Check("ends when its model is refused", "skipped", "it asks no model")
            return
        yield _ends(trial, "ends when its model is refused", "after a reply with `error`")


def _long(command: Sequence[str], task: TaskFolder, level: Level) -> Iterator[Check]:
    name = f"reads a line of {_LONG >> 20} MiB"
    with Trial(command, _assignment(task), level) as trial:
        trial.begin()
        seen = talk(trial, lambda turn: (Text("cone 6. " * (_LONG // 8)),) if turn == 1 else _replies(5))
        if not seen.asked:
            yield Check(name, "skipped", "it asks no model")
        else:
            yield _check(name, seen.wrong or ([] if seen.report else [_no_report(trial, seen)]))


def _turns(command: Sequence[str], task: TaskFolder, level: Level) -> Iterator[Check]:
    """The model calls tools for ever; what the limit allows is asked, then it has to report by itself."""
    limits = Limits(seconds=60.0, silence=SECONDS, turns=2)

    def replies(turn: int) -> Reply:
        return (ToolUse(f"c{turn}", "search", {"query": "cone"}),) if turn <= limits.turns else "the limit is reached"

    with Trial(command, _assignment(task, limits=limits), level) as trial:
        trial.begin()
        seen = talk(trial, replies)
        if not seen.asked:
            yield Check("keeps to its turns", "skipped", "it asks no model")
        elif seen.asked > limits.turns:
            yield Check("keeps to its turns", "wrong", f"it asked {seen.asked} times, limits.turns was {limits.turns}")
        else:
            yield _check("keeps to its turns", seen.wrong)
            yield _check("reports when its turns are used up", [] if seen.report else [_no_report(trial, seen)])


# -- what was seen -----------------------------------------------------------------------------------------------------


def _check(name: str, wrong: Sequence[str], level: Mark = "wrong") -> Check:
    return Check(name, level if wrong else "ok", "; ".join(wrong))


def _hello(trial: Trial, seen: Seen) -> Check:
    if seen.hello or seen.wrong:
        return Check("says hello", "ok" if seen.hello else "wrong", "" if seen.hello else seen.wrong[0])
    return Check("says hello", "wrong", _no_report(trial, seen))


def _no_report(trial: Trial, seen: Seen) -> str:
    """Why no report came."""
    code = trial.ended(0.2)
    last = trial.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    words = f"; its last words: {shown(last, 120)}" if last else ""
    meant = next((one.reason for one in trial.noise if one.meant), "")
    if meant:
        return f"a message was not understood: {meant}{words}"
    if code is None:
        return f"no message for {SECONDS:g} s" if seen.silent else f"it was ended, since {'; '.join(seen.wrong)}"
    return f"it exited with {code}{words}"


def _ends(trial: Trial, name: str, after: str) -> Check:
    if trial.ended(GRACE) is None:
        return Check(name, "wrong", f"it still ran {GRACE:g} s {after}, and would be killed")
    return Check(name, "ok")


def _prefix(trial: Trial, seen: Seen) -> Check:
    name = "knows the prefix"
    if not seen.asked:
        return Check(name, "skipped", "it asks no model")
    if not seen.prefix:
        return Check(name, "skipped", "it leaves prefix_sha out, so the orchestrator's own counts")
    given = trial.assignment
    ours = prefix_sha(given.model, system_blocks(read_snapshot(given.snapshot), given.agent), tools())
    return _check(name, [] if seen.prefix == ours else [f"prefix_sha is {seen.prefix[:12]}…, ours {ours[:12]}…"])


def _drafts(task: TaskFolder, seen: Seen) -> Iterator[Check]:
    found = collect(task, _TASK, 1)
    bad = [f"{one.name}: {'; '.join(f.message for f in one.findings)}" for one in found if one.draft is None]
    names = ", ".join(f"{one.name} → {one.draft.target}" for one in found if one.draft is not None)
    yield Check("leaves drafts that can be read", "wrong" if bad else "ok", "; ".join(bad) or names or "none")
    said = seen.report is not None and bool((seen.report.answer or "").strip())
    if not found and not said:
        yield Check("leaves something", "wrong", "neither a draft nor an answer: the task would count as failed")


def _fingerprints(task: TaskFolder) -> dict[str, str]:
    """What lies outside the drafts folder, by its hash."""
    root = task.path.parents[2]
    drafts = task.drafts(1)
    files = (path for path in root.rglob("*") if path.is_file() and drafts not in path.parents)
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
