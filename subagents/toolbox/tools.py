"""The toolbox of a worker: runs what the model asks for, and turns every refusal into a result that the model reads."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ...memory.errors import OnepenError
from ...memory.fence import PLAIN, Fences
from ..messages import ToolResult, ToolUse, well_formed
from .drafting import Drafting, drafted_in
from .page import Page
from .reading import Reading
from .toolinput import (
    EditDraft,
    ProposeEdit,
    ReadCard,
    ReadInput,
    ReportInput,
    RunCommand,
    Search,
    ToolRefused,
    WriteDraft,
    parse_input,
)

if TYPE_CHECKING:
    from .running import Running

Ask = Callable[[str, Mapping[str, object]], tuple[str, bool]]
"""Has a tool answered by the orchestrator: its name and input, then what it says and whether that is an error."""


class Toolbox:
    """The tools that one agent may use, `allowed`; `report` is filled once the model has called that tool.

    `running` is None where no command may be run; `asks` are tools that the agent's definition asks for in vain.
    What it reads comes between `fences`.
    """

    def __init__(
        self,
        allowed: frozenset[str],
        reading: Reading,
        drafting: Drafting,
        ask: Ask,
        running: "Running | None" = None,
        asks: frozenset[str] = frozenset(),
        fences: Fences = PLAIN,
    ) -> None:
        self._allowed = (allowed | {"report"}) - (frozenset({"run_command"}) if running is None else frozenset())
        self._asks = asks
        self._running = running
        self._done: dict[str, ToolResult] = {}
        self._reading = reading
        self._drafting = drafting
        self._ask = ask
        self._fences = fences
        self._known: Mapping[str, Callable[[object], str]] = {
            "edit_draft": lambda given: drafting.edit(parse_input("edit_draft", EditDraft, given)),
            "propose_edit": lambda given: drafting.propose(parse_input("propose_edit", ProposeEdit, given)),
            "read_card": self._read_card,
            "read_input": self._read_input,
            "report": self._report,
            "run_command": self._run_command,
            "search": self._search,
            "write_draft": lambda given: drafting.write(parse_input("write_draft", WriteDraft, given)),
        }
        self.report: ReportInput | None = None

    @property
    def drafts(self) -> tuple[str, ...]:
        """Names of the drafts written so far."""
        return self._drafting.names

    def remember(self, done: Iterable[ToolResult]) -> None:
        """Results that an earlier attempt had for calls which are about to be made: no command is run twice."""
        self._done |= {result.tool_use_id: result for result in done}

    def run(self, use: ToolUse) -> ToolResult:
        """The result of one call; what can't be done is an error result with the reason."""
        done = self._done.get(use.id)
        if use.name == "run_command" and self._running is not None:
            self._reading.by_command(unconfined=self._running.unconfined)
        if done is not None and (done.is_error or use.name == "run_command"):
            return done
        try:
            if done is not None and use.name == "write_draft":
                wanted = parse_input("write_draft", WriteDraft, use.input)
                return ToolResult(use.id, self._drafting.write(wanted, drafted_in(done.content)))
            content = self._tool(use.name)(use.input)
        except OnepenError as e:
            return ToolResult(use.id, well_formed(e.message), is_error=True)
        return ToolResult(use.id, well_formed(content))

    def _tool(self, name: str) -> Callable[[object], str]:
        tool = self._known.get(name)
        mine = ", ".join(sorted(self._allowed & self._known.keys()))
        if tool is None:
            raise ToolRefused(f"there is no tool {name[:64]!r}; yours are: {mine}")
        if name not in self._allowed and name in self._asks:
            raise ToolRefused(
                f"{name}: not allowed: this agent asks for it, and the person has not said yes (onepen trust); go on "
                "without it, and say in the report what it was needed for"
            )
        if name not in self._allowed:
            raise ToolRefused(f"{name}: this agent may not use it; its definition gives it: {mine}")
        return tool

    def _read_card(self, given: object) -> str:
        wanted = parse_input("read_card", ReadCard, given)
        return self._fenced(self._reading.card(wanted.card, wanted.section, wanted.start))

    def _read_input(self, given: object) -> str:
        wanted = parse_input("read_input", ReadInput, given)
        return self._fenced(self._reading.input(wanted.name, wanted.start, wanted.lines))

    def _fenced(self, page: Page) -> str:
        return self._fences.around(page.path, page.render())

    def _search(self, given: object) -> str:
        wanted = parse_input("search", Search, given)
        if not wanted.query.strip():
            raise ToolRefused("search: query is empty; give the words to look for")
        content, is_error = self._ask("search", wanted.model_dump(exclude_none=True))
        if is_error:
            raise ToolRefused(content)
        if "inputs/" in content:
            self._reading.external = True
        return content

    def _run_command(self, given: object) -> str:
        assert self._running is not None  # else it is not among what is allowed
        told, cut = self._running.run(parse_input("run_command", RunCommand, given))
        content = self._fences.around("what the command did", told)
        if cut:
            raise ToolRefused(content)
        return content

    def _report(self, given: object) -> str:
        self.report = parse_input("report", ReportInput, given)
        return "reported"
