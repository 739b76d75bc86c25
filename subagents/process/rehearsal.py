"""An attempt that is played through before there is a task, so that each one finds all in its place.

What Python and pydantic build or rewrite at first use (validators, specialized bytecode, caches) lies in memory that a
forked worker would have to copy page by page; after a rehearsal it is shared. Nothing is read or written but pipes.
"""

import os
from pathlib import Path

from .. import wire
from ..messages import Block, ToolUse
from ..worker import Line, run

TIMES = 8
"""CPython 3.11 rewrites a function's code at its eighth call or so (PEP 659)."""

_NOWHERE = str(Path(__file__).parent)  # a folder that is there, and holds neither cards nor inputs
_CALLS = (
    ToolUse("a", "read_card", {"card": "kiln"}),
    ToolUse("b", "read_input", {"name": "cones.md"}),
    ToolUse("c", "search", {"query": "cone 6"}),
    ToolUse("d", "report", {"summary": "done"}),
)


def rehearse() -> None:
    """Play an attempt: a question to the model, three tools that find nothing, a report."""
    to_worker, ours = os.pipe()
    from_worker, outgoing = os.pipe()
    try:
        for message in _script():
            os.write(ours, wire.encode(message))
        run(Line(to_worker, outgoing), (("OPS.md", "# Ops\n"), ("projects/_index.md", "# Projects\n")))
    finally:
        for fd in (to_worker, ours, from_worker, outgoing):
            os.close(fd)


def _script() -> tuple[wire.ToWorker, ...]:
    tools = ("read_card", "read_input", "report", "search")
    hello = wire.Hello(
        task="t1", attempt=1, agent=wire.AgentOnWire(id="researcher", prompt="You find out.\n", tools=tools),
        text="When?", target=None, project=None, feedback=None, answer=False, inputs=("cones.md",),
        folders=wire.Folders(snapshot=_NOWHERE, space=_NOWHERE, inputs=_NOWHERE, drafts=_NOWHERE),
        limits=wire.WorkerLimits(seconds=1.0, silence=1.0, turns=9), model="offline",
    )  # fmt: skip
    return (
        hello,
        _said(1, _CALLS[:3]),
        wire.ToolReplied(task="t1", attempt=1, id=2, content="nothing found", is_error=False),
        _said(3, _CALLS[3:]),
    )


def _said(number: int, content: tuple[Block, ...]) -> wire.ModelReplied:
    return wire.ModelReplied(task="t1", attempt=1, id=number, content=content, stop_reason="tool_use")
