"""Every way on which something of a client can come out, named: commands, operations of the socket, tools of agents.

A test holds these lists beside the program's own: who adds a command, an operation or a tool says here how it is tried.
In the lines `$ME` is the client, `$X` the other; `$T` is its first task, `$LAST` its latest, `$C` its first commit,
`$SHA` the hash of its second draft, `$B` its batch;
`$XT`, `$XD`, `$XC`, `$XS` and `$XB` are the other's task, draft, commit, chat and batch, which are no business of its.
`WORDS |` stands for standard input, `NAME=VALUE` for the environment.
"""

from collections.abc import Mapping
from dataclasses import dataclass

FOR = "--client $ME"


@dataclass(frozen=True)
class Path:
    """How a command is tried: lines that work, and `reaches`, lines for what is the other's, which have to fail."""

    lines: tuple[str, ...]
    reaches: tuple[str, ...] = ()


def _read(line: str) -> tuple[str, str]:
    return f"{line} {FOR}", f"{line} {FOR} --json"


COMMANDS: Mapping[str, Path] = {
    "log": Path((f"onepen log 'called about $MARK' {FOR} --json",)),
    "add project": Path((f"onepen add project 'Wheel $MARK' --id wheel {FOR} --json",)),
    "add research": Path((f"onepen add research 'Clay $MARK' --id clay --from text.md {FOR} --json",)),
    "delegate": Path(
        (
            f"onepen delegate 'How hot, $MARK?' --input $ME/doc.md {FOR} --model sonnet --json",
            f"onepen delegate 'How hot is $MARK?' --input $ME/doc.md {FOR} --model sonnet --review auto",
            f"onepen delegate 'What of the degrees of $MARK?' --answer {FOR} --model offline --json",
            f"onepen delegate 'Newsletter of $MARK' --agent writer --project kiln {FOR} --model sonnet",
            f"onepen delegate 'Slowly, $MARK' --answer --model sonnet --detach {FOR} --json",
        ),
        (f"onepen delegate 'Look, $MARK' --project clients/$X/projects/kiln {FOR}",),
    ),
    "batch run": Path(
        (
            f"onepen batch run $ME/rows.csv --prompt 'How hot is {{name}}?' --input $ME/doc.md {FOR} --model offline"
            " --json",
        ),
        (
            f"onepen batch run $ME/rows.csv --prompt 'Look at {{name}}' --project clients/$X/projects/kiln {FOR} --yes",
            f"onepen batch run $ME/rows.csv --prompt 'Look' --target clients/$X/projects/kiln.md {FOR} --yes",
        ),
    ),
    "batch status": Path(_read("onepen batch status"), (f"onepen batch status $XB {FOR}",)),
    "batch list": Path(_read("onepen batch list")),
    "batch resume": Path((f"onepen batch resume $B {FOR} --json",), (f"onepen batch resume $XB {FOR}",)),
    "batch retry": Path((f"onepen batch retry $B --failed {FOR} --json",), (f"onepen batch retry $XB --failed {FOR}",)),
    "batch pause": Path((f"onepen batch pause $B {FOR} --json",), (f"onepen batch pause $XB {FOR}",)),
    "batch cancel": Path((f"onepen batch cancel $B {FOR} --json",), (f"onepen batch cancel $XB {FOR}",)),
    "batch report": Path(_read("onepen batch report $B"), (f"onepen batch report $XB {FOR}",)),
    "cancel": Path((f"onepen cancel $LAST {FOR} --json",), (f"onepen cancel $XT {FOR} --json",)),
    "resume": Path((f"onepen resume $T {FOR}",), (f"onepen resume $XT {FOR}",)),
    "drafts": Path(_read("onepen drafts")),
    "show": Path(_read("onepen show $T-1"), (f"onepen show $XD {FOR}", f"onepen show $XT {FOR} --json")),
    "edit": Path((), (f"EDITOR=cat onepen edit $T-1 {FOR}", f"EDITOR=cat onepen edit $XD {FOR}")),
    "send-back": Path(
        (f"onepen send-back $T-1 -m 'shorter, $MARK' {FOR}",), (f"onepen send-back $XD -m 'shorter' {FOR}",)
    ),
    "approve": Path(
        (f"onepen show $T-2 {FOR}", f"onepen approve $T-2 --sha256 $SHA {FOR} --json"),
        (f"onepen approve $XD --yes {FOR} --json",),
    ),
    "reject": Path((f"onepen reject $T-1 -m 'no, $MARK' {FOR}",), (f"onepen reject $XD -m no {FOR}",)),
    "ask": Path((f"onepen ask 'Look around, $MARK' --model sonnet {FOR} --json",)),
    "chat": Path(
        (f"'And once more, $MARK' | onepen chat --resume --model sonnet {FOR}",),
        (
            f"'And once more' | onepen chat --resume $XS {FOR}",
            f"'And once more' | onepen chat --resume ../../$X/chats/$XS {FOR}",
        ),
    ),
    "status": Path(_read("onepen status")),
    "search": Path(
        (
            f"onepen search 'kiln degrees called' {FOR}",
            f"onepen search 'hot around' --in chat,log,research {FOR} --json",
        )
    ),
    "context": Path(_read("onepen context")),
    "history": Path(
        (
            *_read("onepen history"),
            f"onepen history $C {FOR} --json",
            f"onepen history clients/$X/projects/kiln.md {FOR}",
        ),
        (f"onepen history $XC {FOR}",),
    ),
    "why": Path((f"onepen why degrees {FOR}", f"onepen why 'called' {FOR} --json")),
    "usage": Path((*_read("onepen usage"), f"onepen usage --by client {FOR} --json")),
    "rename": Path(
        (f"onepen rename wheel disc --title 'Disc $MARK' {FOR} --json",),
        (f"onepen rename clients/$X/projects/kiln.md oven {FOR}", f"onepen rename ../../$X/projects/kiln oven {FOR}"),
    ),
    "archive": Path((f"onepen archive disc {FOR} --json",), (f"onepen archive ../../$X/projects/kiln {FOR}",)),
    "undo": Path((f"onepen undo --yes {FOR} --json",), (f"onepen undo $XC --yes {FOR} --json",)),
    "prune": Path((f"onepen prune --staging-older 0d --dry-run {FOR} --json", f"onepen prune --dry-run {FOR} --json")),
}
"""For each command that works in a client's space; they are told in this order. No editor opens without a terminal."""

MAKES = {"log", "add project", "delegate", "batch run", "cancel", "send-back", "approve", "ask", "chat"}
"""What the other's day consists of: all that leaves something behind."""

HOUSE = {
    "init": "makes the workspace, before there is a client",
    "add client": "says the id and folder that it made",
    "add agent": "agents are the same for all clients",
    "up": "starts the process that serves all",
    "down": "names the tasks that it ends, to the person who ends all of them",
    "doctor": "looks through the whole workspace, for the person whose it is",
    "config show": "says which profile each client is tied to",
    "worker check": "runs a program against the wire, in no workspace",
    "trust": "says what the workspace as a whole wishes",
}
"""Commands that work in no client's space, and why a client's name may stand in what they say."""

ACROSS = {"status", "drafts", "search"}
"""Commands that a person may ask about all clients, with a word for it."""

OPERATIONS = {
    "log": "log",
    "add_client": "add client",
    "add_project": "add project",
    "add_research": "add research",
    "add_agent": "add agent",
    "rename": "rename",
    "archive": "archive",
    "undo": "undo",
    "prune": "prune",
    "remove_client": "prune",
    "approve": "approve",
    "reject": "reject",
    "cancel": "cancel",
    "fix": "doctor",
    "delegate": "delegate",
    "resume": "resume",
    "send_back": "send-back",
    "turn": "ask",
    "renew": "chat",
    "batch_run": "batch run",
    "batch_go_on": "batch resume",
    "batch_pause": "batch pause",
    "batch_cancel": "batch cancel",
    "down": "down",
    "watch": "status",
}
"""What may be asked over the socket, and the command that asks it."""

TRICKS = (
    "../{x}/projects/kiln.md",
    "../../{x}/projects/kiln.md",
    "clients/{x}/projects/kiln.md",
    "../../clients/{x}/research/cones.md",
    "/proc/self/cwd/clients/{x}/projects/kiln.md",
    "projects/../../{x}/projects/kiln.md",
    "../{x}/projects/kiln/notes.txt",
)
"""Names under which an agent asks for the other's card."""

ASKED = (
    "../../{x}/research/cones.md",
    "../../{x}/projects/kiln",
    "clients/{x}/projects/kiln",
    "../../{x}/chats/",
    "the same with --client {x}",  # a hint that repeats whose path the person wrote
)
"""Other names of what is the other's, as lines and agents give them."""

Call = tuple[str, Mapping[str, object]]


def main_agent(x: str, draft: str) -> list[Call]:
    """Every tool of the main agent, for what is its own and for what is the other's; `draft` is one of the other's."""
    entry = {"section_id": "firing", "keywords": ["heat"], "summary": "As before."}
    write = {"old_text": "degrees", "new_text": "degree", "index_entry": entry}
    return [
        *(("read_card", {"card": trick.format(x=x)}) for trick in TRICKS),
        ("read_card", {"card": "kiln"}),
        ("read_card", {"card": "kiln/notes.txt"}),
        ("search_history", {"query": "degrees called hot early"}),
        ("search_history", {"query": "OUTSIDE"}),
        ("search_history", {"query": "synthesis notes stray look", "where": ["cards", "log", "chat", "research"]}),
        ("list_drafts", {}),
        ("read_draft", {"id": draft}),
        ("decide_draft", {"id": draft, "verdict": "accept"}),
        ("log_event", {"text": "looked around"}),
        ("set_project_status", {"project": f"../../{x}/projects/kiln", "status": "done", "note": "over"}),
        ("write_memory_card", {"project": f"../../{x}/projects/kiln", **write}),
        ("delegate", {"agent": "researcher", "task": "How hot is it?", "answer": True}),
        ("delegate", {"agent": "researcher", "task": "How hot?", "target": f"../../{x}/research/cones.md"}),
    ]


def sub_agent(x: str) -> list[Call]:
    """Every tool of a sub-agent but those that end its work."""
    entry = {"section_id": "firing", "keywords": ["heat"], "summary": "As before."}
    edit = {"old_text": "degrees", "new_text": "degree", "index_entry": entry}
    return [
        *(("read_card", {"card": trick.format(x=x)}) for trick in TRICKS),
        *(("read_input", {"name": trick.format(x=x)}) for trick in TRICKS),
        ("read_card", {"card": "kiln"}),
        ("read_card", {"card": "MEMORY.md"}),
        ("read_input", {"name": "doc.md"}),
        ("search", {"query": "degrees called early notes synthesis", "limit": 50}),
        ("propose_edit", {"card": f"../../{x}/projects/kiln", **edit}),
        ("run_command", {"command": "cat ../../*/projects/kiln.md"}),
    ]


MAIN_TOOLS = {name for name, _ in main_agent("", "")}
SUB_TOOLS = {name for name, _ in sub_agent("")} | {"write_draft", "edit_draft", "report"}
