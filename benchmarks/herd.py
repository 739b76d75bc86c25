"""What sub-agents that start together cost: `python -m benchmarks.herd [--json] [--tasks N] [--latency S]`.

Real workers, a real orchestrator in this process, and the double of the Messages API with its cache. Each sub-agent
takes three turns (searches, writes a draft, reports), then a model reviews its draft. What the input of all calls costs
is set against its lower bound: each distinct token written once (1.25), and read (0.1) wherever else it stands. Beside
it, in the same run, the same without the gate that lets one call fill the cache first. It asserts nothing.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from onepen.memory.workspace import open_workspace
from onepen.orchestrator.compose import build_orchestrator
from onepen.orchestrator.gateway.herd import Herd
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.gateway.warmth import Turn
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.orchestrator.usage import bookings
from onepen.subagents.model import ModelRequest
from onepen.testing.messages_api import Asked, MessagesApi
from onepen.testing.messages_api.bound import bound, paid

from .startup import REPOSITORY, fresh_copy, machine

MODEL = "claude-sonnet-5-5"
TARGET = 1.15
EXAMPLE = REPOSITORY / "examples" / "workspace"
HERDS: Mapping[str, tuple[str, ...]] = {
    "agents of one kind": ("writer",),
    "agents of two kinds": ("writer", "researcher"),
}


class Open(Herd):
    """A gate that holds up nobody."""

    async def admit(
        self,
        request: ModelRequest,
        model: str,
        patience: float,
        waiting: Callable[[str, float], AbstractContextManager[None]],
    ) -> Turn:
        return Turn()


@dataclass(frozen=True)
class Cost:
    """The input of some calls: what it cost and the least that it could have, in plain input tokens."""

    calls: int
    paid: float
    bound: float

    @property
    def ratio(self) -> float:
        return self.paid / self.bound


@dataclass(frozen=True)
class Ran:
    """A herd, from its start to its end: its workers' calls, and all calls, those of the reviews among them."""

    workers: Cost
    everything: Cost
    seconds: float


def replies(latency: float) -> Callable[[Asked], Mapping[str, object]]:
    """What the model says, each reply beginning after `latency` seconds."""

    def reply(asked: Asked) -> Mapping[str, object]:
        number = asked.words.partition("Question ")[2].split("?")[0]
        said: list[dict[str, Any]]
        if asked.forced == "verdict":
            said = [{"tool": "verdict", "input": {"verdict": "accept", "reason": "It says what was asked for."}}]
        elif asked.turn == 1:
            said = [{"text": "I look it up."}, {"tool": "search", "input": {"query": f"glaze {number}"}}]
        elif asked.turn == 2:
            text = f"# Finding {number}\n\n## Result\n\n" + f"What was asked under {number} is answered. " * 20 + "\n"
            said = [{"tool": "write_draft", "input": {"title": f"Finding {number}", "text": text}}]
        else:
            said = [{"tool": "report", "input": {"summary": "done"}}]
        return {"reply": said, "delay": latency}

    return reply


def ran(root: Path, agents: Sequence[str], tasks: int, latency: float, *, gate: bool) -> Ran:
    """Delegates so many questions at once, and waits until all are done."""
    with MessagesApi([replies(latency)], cache=True) as api:
        profile = Profile("default", api.url, Secret("sk-test"), prices={MODEL: Price(3.0, 3.75, 0.3, 15.0)})
        setup = Setup(model=MODEL, profiles={"default": profile})
        texts = tuple(f"Question {k}? Say in one finding what we know of it." for k in range(tasks))
        request = DelegateRequest(texts, tuple(agents[k % len(agents)] for k in range(tasks)))

        async def work() -> float:
            async with build_orchestrator(root, setup=setup) as orchestrator:
                if not gate:
                    setattr(orchestrator.workshop.gateway, "herd", lambda limit: Open())  # noqa: B010
                began = time.perf_counter()
                result = await orchestrator.service.delegate(request)
                seconds = time.perf_counter() - began
            states = {task.status for task in result.tasks}
            assert states == {"in_review"}, f"the tasks are {', '.join(sorted(states))}: {result.tasks[0].reason}"
            return seconds

        seconds = anyio.run(work)
        bodies = [seen.body for seen in api.asked]
    booked = [booking for booking, _ in bookings(open_workspace(root).space(None))]
    costs = {
        booking.key: (booking.role, paid(booking.usage.input, booking.usage.cache_write, booking.usage.cache_read))
        for booking in booked
    }
    own = [body for body in bodies if "tool_choice" not in body]
    return Ran(
        Cost(len(own), sum(cost for role, cost in costs.values() if role == ""), bound(own)),
        Cost(len(bodies), sum(cost for _, cost in costs.values()), bound(bodies)),
        seconds,
    )


def measure(tasks: int, latency: float) -> dict[str, object]:
    """All figures of one run, as the JSON document that `--json` prints."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="onepen-herd-") as scratch:
        place = Path(scratch, "workspace")
        ran(fresh_copy(EXAMPLE, place), ("writer",), 1, 0.0, gate=True)  # warms the file cache, and is not counted
        for name, agents in HERDS.items():
            for gate in (True, False):
                rows.append(row(name, ran(fresh_copy(EXAMPLE, place), agents, tasks, latency, gate=gate), gate=gate))
    return {"machine": machine(), "tasks": tasks, "latency_s": latency, "target": TARGET, "herds": rows}


def row(name: str, one: Ran, *, gate: bool) -> dict[str, object]:
    """A herd as `--json` prints it: costs in plain input tokens."""
    return {
        "name": name,
        "gate": gate,
        "calls": one.workers.calls,
        "paid": round(one.workers.paid),
        "bound": round(one.workers.bound),
        "times_bound": round(one.workers.ratio, 3),
        "with_reviews_times_bound": round(one.everything.ratio, 3),
        "seconds": round(one.seconds, 2),
    }


def table(result: Mapping[str, object]) -> str:
    """The same for people."""
    where, rows = result["machine"], result["herds"]
    assert isinstance(where, dict) and isinstance(rows, list)
    lines = [
        "onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**where),
        f"{result['tasks']} sub-agents of three turns start together; a reply begins after {result['latency_s']} s",
        "",
        f"{'':42}{'paid':>9}{'least':>9}{'× least':>9}{'with reviews':>14}{'seconds':>9}",
    ]
    for one in rows:
        name = f"{one['name']}, {'one goes first' if one['gate'] else 'all at once'}"
        lines.append(
            f"{name:42}{one['paid']:>9,}{one['bound']:>9,}{one['times_bound']:>9}{one['with_reviews_times_bound']:>14}"
            f"{one['seconds']:>9}"
        )
    lines += ["", f"paid and least: input in plain tokens; target: at most {result['target']} × least"]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.herd", description="Sub-agents that start together.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--tasks", type=int, default=20, help="sub-agents that start together (default: 20)")
    parser.add_argument("--latency", type=float, default=0.3, help="seconds until a reply begins (default: 0.3)")
    arguments = parser.parse_args()
    result = measure(max(2, arguments.tasks), max(0.0, arguments.latency))
    print(json.dumps(result, indent=2) if arguments.json else table(result))


if __name__ == "__main__":
    main()
