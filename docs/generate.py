"""Writes the reference pages that are made from code: `python docs/generate.py` (or `make docs`).

The wire's page comes from the docstrings and types of its modules, its example from messages that were really encoded;
the life of tasks and drafts comes from the plan's tables, the review page from the policy's, the page about Python
from the package's public list, the settings from the fields that hold them.
A test compares the pages with what this would write.
"""

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

import onepen
from onepen.memory import settings as workspace
from onepen.orchestrator.commands import reference
from onepen.orchestrator.kinds import KINDS
from onepen.orchestrator.process import asked, codec, place, protocol
from onepen.orchestrator.results import CommitResult
from onepen.orchestrator.settings import config
from onepen.orchestrator.tasks.plan import DRAFT_TRANSITIONS, MAX_CRASHES, MAX_ROUNDS, TRANSITIONS
from onepen.staging.policy import table_text
from onepen.subagents import messages, prompt, wire
from onepen.subagents.toolbox import toolset

HERE = Path(__file__).resolve().parent

TO_WORKER = ("Hello", "ModelReplied", "ToolReplied", "Cancel")
FROM_WORKER = ("HelloBack", "Progress", "ModelRequested", "ToolRequested", "Report")
PARTS = ("AgentOnWire", "Folders", "WorkerLimits")
BLOCKS = ("Text", "ToolUse", "ToolResult")
# How Python's types are called in JSON.
JSON_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "None": "null",
    "Any": "any",
    "dict[str, object]": "object",
    "tuple[str, ...]": "list of strings",
    "tuple[Block, ...]": "list of blocks",
    "tuple[Message, ...]": "list of messages",
}


def wire_page() -> str:
    """docs/reference/wire.md."""
    head, _, rest = (wire.__doc__ or "").partition("\n\n")
    lines = ["# The wire", "", "<!-- Made by docs/generate.py from subagents/wire.py; change it there. -->", ""]
    lines += [_prose(head), "", _prose(rest), "", f"The version described here is `v: {wire.VERSION}`.", ""]
    lines += ["## An attempt, line by line", "", "`→` goes to the worker, `←` comes from it.", "", "```text"]
    lines += list(_example())
    lines += ["```", "", "## Every message", "", *_fields(wire, "_Wired"), ""]
    lines += ["## To the worker", "", *_sections(wire, TO_WORKER), *_sections(wire, PARTS)]
    lines += ["## From the worker", "", *_sections(wire, FROM_WORKER)]
    lines += ["## The prefix", "", *_prefix()]
    lines += ["## Messages and blocks of a conversation", ""]
    lines += ["A message is `{role, content}`: `role` is `user` or `assistant`, `content` a list of blocks.", ""]
    lines += [
        *_sections(messages, BLOCKS),
        "## The tools",
        "",
        "In this order, the same for all agents.",
        "",
        *_tools(),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _prefix() -> Iterator[str]:
    """How a worker computes what stands before the conversation, so that its hash is ours."""
    yield _prose(prompt.__doc__ or "")
    yield ""
    yield (
        "`prefix_sha` is the SHA-256, in hex, of the JSON object `{model, system, tools}` in one canonical form: keys "
        "sorted, no blanks, everything beyond ASCII escaped. `model` is the name from `hello`, `tools` the list of all "
        "tools as they stand at the end of this page, and `system` a list of blocks, of which an empty one is left out:"
    )
    yield ""
    names = {name: f"`{prompt._TITLES[name]}`" for name in prompt._TITLES}
    for number, files in enumerate((prompt._SHARED, prompt._INDEXES), start=1):
        listed = ", ".join(f"{name} as {names[name]}" for name in files)
        yield f"{number}. files of the snapshot, joined: {listed}"
    yield "3. the agent's own prompt"
    yield ""
    yield "A file of nothing but blanks is left out; a text without a newline at its end gets one. So they are written:"
    yield ""
    yield "```text"
    sample = prompt.system_blocks((("OPS.md", "Dates as 2026-11-29.\n"),), _Agent("researcher", "You find out what…"))
    yield "".join(sample).rstrip("\n")
    yield "```"
    yield ""


@dataclass(frozen=True)
class _Agent:
    id: str
    prompt: str


def _tools() -> Iterator[str]:
    for spec in toolset.tools():
        yield f"### `{spec.name}`"
        yield ""
        yield _plain(spec.description)
        yield ""
        yield "```json"
        yield json.dumps(spec.as_dict(), ensure_ascii=False)
        yield "```"
        yield ""


def socket_page() -> str:
    """docs/reference/socket.md."""
    head, *rest = inspect.cleandoc(protocol.__doc__ or "").split("\n\n")
    lines = ["# The socket", "", "<!-- Made by docs/generate.py from orchestrator/process/; change it there. -->", ""]
    lines += [_prose(head), ""]
    for part in rest:
        shown = part.startswith("    ")
        lines += ["```text", *map(str.strip, part.splitlines()), "```", ""] if shown else [_prose(part), ""]
    lines += [f"A line has at most {protocol.MOST >> 20} MiB.", ""]
    lines += ["## Where it lies", "", _prose((place.__doc__ or "").partition("\n\n")[2]), ""]
    lines += ["## What may be asked", ""]
    for title, kinds in (("Done in a moment", asked.SHORT), ("Goes on without the client", asked.WORK)):
        lines += [f"### {title}", "", "| `op` | `args` | What it is |", "|---|---|---|"]
        lines += [f"| `{op}` | {_arguments(kind)} | {_plain(kind.__doc__ or '')} |" for op, kind in kinds.items()]
        lines.append("")
    lines += [
        "An argument with a `?` may be left out.",
        f"{_words(sorted(asked.ONCE))} are done once for an `id`, however often the request comes.",
        "So whoever got no answer asks again.",
        f"`{asked.DOWN}` ({_arguments(asked.Down)}) ends the orchestrator: after what runs, `now`, or only when idle.",
        "Its answer is `{ends, ran, seconds}`: what it is at work on, and how long that may take.",
        f"`{asked.WATCH}` has no answer: it tells who is at work for as long as the client listens.",
        "Whoever watches keeps no orchestrator from ending.",
        "",
        "A `request` has the fields of `DelegateRequest`, `ChatRequest` or `BatchRequest`, with absolute paths, and "
        "`wanted` those of `GoOn`.",
        "`setup` has those of `Setup` (orchestrator/settings/setup.py).",
        "It holds credentials: it is checked, used for this request, and written nowhere.",
        "",
        "## What is told",
        "",
        "While work goes on: `made` with its `tasks` as soon as they are on the disk, and `progress` of sub-agents.",
        "In a chat also `chat`, `words`, `broke_off`, `tool` and `notice`.",
        "Of a batch only `batch`; `said` is a `Launch` (once, when it is on the disk), `Over`, `Standing` or `Word`.",
        "To who watches `workers`, with a `WorkersView` as `seen`: at once, at each change and at least each second.",
        "",
        "An answer names the types of its values, so that a client can make the same ones again:",
        "",
        "```json",
        json.dumps(codec.typed(CommitResult("c4-k3x9ab", ("memory/2026-11-30.md",)))),
        "```",
        "",
        f"Types are {_words(sorted(codec.TYPES))}.",
        "",
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _arguments(kind: type[asked.Args]) -> str:
    named = (f"`{name}{'' if field.is_required() else '?'}`" for name, field in kind.model_fields.items())
    return ", ".join(named)


def tasks_page() -> str:
    """docs/reference/tasks.md."""
    tasks = [(row.event.__name__, row.phases, row.then) for row in TRANSITIONS]
    return f"""# The life of a task and of a draft

<!-- Made by docs/generate.py from the tables in orchestrator/tasks/plan.py; change them there. -->

A task is a list of events in its `run.jsonl`.
What an event does depends on where the task stands.
An event that meets anything else than what is listed here comes late or twice, and changes nothing.

## A task

{_diagram(tasks)}

{_transitions(tasks)}

`settled` is not a word that you see: after its drafts such a task is `committed`, `in_review`, `answered`, `sent_back`
or `refused`.
`refused` is also where a task stands whose model refused to go on.
A worker that crashes is tried again, {MAX_CRASHES} times in all.
What a budget, a refusal or a time-out ended is not tried again by itself; the drafts that were left are kept.
`Resumed` is your `onepen resume`.

## A draft

{_diagram(DRAFT_TRANSITIONS)}

{_transitions(DRAFT_TRANSITIONS)}

`Accepted`, `SentBack`, `Refused` and `Escalated` are verdicts; `Escalated` leaves the draft to a person.
A reviewer that is no person can send back {MAX_ROUNDS} times, then a person decides.
It speaks once on a draft; when you were quicker, its verdict comes late and changes nothing.
A person may change their mind until the draft is committed.
"""


def policy_page() -> str:
    """docs/reference/policy.md."""
    return f"""# Who has to agree

<!-- Made by docs/generate.py from the table in staging/policy.py; change it there. -->

Every draft passes the stages of the first row that fits it, in order.
`checks` is what can be judged without anybody, `model` a model that judges, where there is one, and `person` is you.

{table_text().rstrip()}

- Provenance is the lower of what a draft claims and of what its transcript shows was read: inputs are `external`.
- *auto* is your `--review auto`.
- *cited*: every statement stands on a quote that was found at its place.
- *verbatim*: nothing but such quotes, headings and fixed phrases.
- Without a model that can judge (`offline` can't) its stage falls away.
  So it does for a draft whose attempt was cut short.
  What would then pass by checks alone under `--review auto` must be verbatim; else you are asked.
- Where you have to agree, too, the model's consent is a recommendation.
- A model that refuses, fails, can't be paid or gives no clear verdict has not agreed: you are asked.
"""


Transitions = Iterable[tuple[str, tuple[str, ...], tuple[str, ...]]]


def _transitions(rows: Transitions) -> str:
    lines = ["| Event | meets | then |", "|---|---|---|"]
    lines += [f"| `{event}` | {_words(before)} | {_words(after)} |" for event, before, after in rows]
    return "\n".join(lines)


def _words(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _diagram(rows: Transitions) -> str:
    """The picture of a table, as text that GitHub draws; what leaves a state as it was is left out."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for event, before, after in rows:
        kept = len(before) == len(after) and set(before) == set(after)
        for start in () if kept else before:
            for end in after:
                if start != end:
                    arrows.setdefault((start, end), []).append(event)
    lines = [f"    {start} --> {end}: {', '.join(events)}" for (start, end), events in arrows.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])


def _sections(module: ModuleType, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        node = _class(module, name)
        kind = next((_constant(field) for field in _annotated(node) if _name(field) == "type"), None)
        yield f"### {f'`{kind}`' if kind else name}"
        yield ""
        yield _prose(ast.get_docstring(node) or "")
        yield ""
        fields = list(_fields(module, name))
        if fields:
            yield from fields
            yield ""


def _fields(module: ModuleType, name: str) -> Iterator[str]:
    """A table of a class's fields; empty if it has none but its type."""
    rows = []
    body = _class(module, name).body
    for field, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(field, ast.AnnAssign) and _name(field) not in {"type", "model_config"}:
            told = _plain(_docstring(after))
            needed = "yes" if field.value is None else _default(field.value)
            rows.append(f"| `{_name(field)}` | {_type(field.annotation)} | {needed} | {told} |")
    if rows:
        yield "| Field | Type | Needed, else | What it is |"
        yield "|---|---|---|---|"
        yield from rows


def _type(annotation: ast.expr) -> str:
    text = ast.unparse(annotation)
    if text.startswith("Literal["):
        return f"`{text[len('Literal[') : -1]}`"
    whole = JSON_TYPES.get(text)
    return whole or " or ".join(JSON_TYPES.get(part, f"[{part}](#{part.lower()})") for part in text.split(" | "))


def _default(value: ast.expr) -> str:
    text = ast.unparse(value)
    return f"`{ {'None': 'null', 'True': 'true', 'False': 'false', '()': '[]'}.get(text, text) }`".replace("'", '"')


def _example() -> Iterator[str]:
    """One attempt, as it goes over the wire."""
    same = {"task": "t1k9x2mq", "attempt": 1}
    call = messages.ToolUse("c1", "search", {"query": "cone 6"})
    found = messages.ToolResult("c1", "inputs/cones.md:14: cone 6 was reached at 1222 degrees")
    task = messages.user(messages.Text("When does cone 6 mature?"))
    folders = {name: f"/…/{place}" for name, place in (
        ("snapshot", ".onepen/cache/context/5d0c…"), ("space", "clients/acme"),
        ("inputs", "clients/acme/staging/t1k9x2mq/inputs"), ("drafts", "clients/acme/staging/t1k9x2mq/1/drafts"),
    )}  # fmt: skip
    hello = wire.Hello.model_validate(
        {
            **same,
            "agent": {
                "id": "researcher",
                "prompt": "You find out what…",
                "tools": ["read_input", "search", "write_draft"],
            },
            "text": "When does cone 6 mature?",
            "inputs": ["cones.md"],
            "folders": folders,
            "limits": {"seconds": 600, "silence": 120, "turns": 40},
            "model": "offline",
        }
    )
    sha = "8c1f…"
    told: tuple[tuple[str, wire.ToWorker | wire.FromWorker], ...] = (
        ("→", hello),
        ("←", wire.HelloBack(task="t1k9x2mq", attempt=1, version="0.1.0", pid=4711)),
        ("←", wire.ModelRequested(task="t1k9x2mq", attempt=1, id=1, prefix_sha=sha, delta=(task,))),
        ("→", wire.ModelReplied(task="t1k9x2mq", attempt=1, id=1, content=(call,), stop_reason="tool_use")),
        ("←", wire.ToolRequested(task="t1k9x2mq", attempt=1, id=2, name="search", input={"query": "cone 6"})),
        ("→", wire.ToolReplied(task="t1k9x2mq", attempt=1, id=2, content=found.content)),
        ("←", wire.ModelRequested(task="t1k9x2mq", attempt=1, id=3, prefix_sha=sha, delta=(messages.user(found),))),
        ("←", wire.Progress(task="t1k9x2mq", attempt=1, text="draft cone-6.md: projects/kiln.md")),
        ("←", wire.Report(task="t1k9x2mq", attempt=1, summary="Answered from one input; one draft.")),
    )
    for arrow, message in told:
        yield f"{arrow} {json.dumps(json.loads(wire.encode(message)), ensure_ascii=False)}"


def _class(module: ModuleType, name: str) -> ast.ClassDef:
    tree = ast.parse(inspect.getsource(module))
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def _annotated(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [field for field in node.body if isinstance(field, ast.AnnAssign)]


def _name(field: ast.AnnAssign) -> str:
    return ast.unparse(field.target)


def _constant(field: ast.AnnAssign) -> str:
    return str(ast.literal_eval(field.value)) if field.value is not None else ""


def _docstring(node: ast.stmt) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
    return ""


def _plain(text: str) -> str:
    """A docstring's paragraphs, each on one line."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


_PERSONS = ("Config", "ProfileTable", "PriceTable", "BudgetTable", "WorkersTable", "WorkerTable", "NotifyTable")
_WORKSPACES = ("WorkspaceSettings", "LimitSettings", "WishSettings")
_TABLES = {
    "Config": "`config.toml`",
    "ProfileTable": "`[profiles.NAME]`",
    "PriceTable": '`[profiles.NAME.prices."ID"]`',
    "BudgetTable": "`[budget]`",
    "WorkersTable": "`[workers]`",
    "WorkerTable": "`[workers.NAME]`",
    "NotifyTable": "`[notify]`",
    "WorkspaceSettings": "`onepen.toml`",
    "LimitSettings": "`[limits]`",
    "WishSettings": "`[wishes]`",
}
_IN_TOML = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "dict": "tables",
    "list": "list of texts",
}


def settings_page() -> str:
    """docs/reference/settings.md."""
    lines = ["# Settings", ""]
    lines += [
        "<!-- Made by docs/generate.py of orchestrator/settings/config.py and memory/settings.py. Change it there. -->",
        "",
    ]
    lines += [
        "Two files say what onepen does: your own config, for all workspaces on this machine, and a workspace's "
        "`onepen.toml`.",
        "A workspace can only tighten: servers, keys, automatic approval and higher budgets come from your config, or "
        "from what you allowed by `onepen trust`.",
        "`onepen config show` tells what is in force and where each thing is set; "
        "[how to use a model](../how-to/models.md) has examples.",
        "",
        "## Your config",
        "",
    ]
    for name in _PERSONS:
        lines += _table(config, name)
    lines += ["## A workspace's", ""]
    for name in _WORKSPACES:
        lines += _table(workspace, name)
    lines += ["Each key that isn't listed here is refused, so that a slip of the pen is no silence.", ""]
    return "\n".join(lines)


def _table(module: ModuleType, name: str) -> list[str]:
    model = getattr(module, name)
    body = _class(module, name).body
    told = {
        _name(field): _plain(_docstring(after)).replace("\n\n", " ").replace("|", "\\|")
        for field, after in zip(body, [*body[1:], ast.Pass()], strict=True)
        if isinstance(field, ast.AnnAssign)
    }
    lines = [f"### {_TABLES[name]}", "", _prose(inspect.getdoc(model) or ""), ""]
    lines += ["| Key | Type | Without it | What it is |", "|---|---|---|---|"]
    for key, field in model.model_fields.items():
        lines.append(f"| `{key}` | {_in_toml(field)} | {_without(field)} | {told[key]} |")
    return [*lines, ""]


def _in_toml(field: FieldInfo) -> str:
    kinds = list(_kinds(field.annotation))
    names = [getattr(get_origin(kind) or kind, "__name__", "") for kind in kinds]
    plain = next((_IN_TOML[one] for one in names if one in _IN_TOML), None)
    words = [f"`{one}`" for kind in kinds if get_origin(kind) is Literal for one in get_args(kind)]
    return plain or ", ".join(words) or "table"


def _kinds(annotation: object) -> Iterator[Any]:
    """A type and those that it is made of."""
    yield annotation
    if get_origin(annotation) is not Literal and get_origin(annotation) is not dict:
        for inner in get_args(annotation):
            yield from _kinds(inner)


def _without(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    plain = isinstance(value, bool | int | float) or (isinstance(value, str) and value)
    return f"`{json.dumps(value)}`" if plain else ""


def python_page() -> str:
    """docs/reference/python.md."""
    lines = ["# In Python", "", "<!-- Made by docs/generate.py from src/onepen/__init__.py; change it there. -->", ""]
    lines += [
        "Everything that a program may build on is a name of `onepen` itself; other modules may change.",
        "A name is imported when it is first asked for: `import onepen` alone takes no time.",
        "Doubles for your tests are in `onepen.testing`.",
        "",
        "```python",
        "from pathlib import Path",
        "",
        "import onepen",
        "",
        'service = onepen.build_service(onepen.find_workspace(Path("notes")))',
        "for draft in service.drafts().drafts:",
        "    print(draft.id, draft.target, draft.status)",
        "```",
        "",
    ]
    rooms: dict[str, list[str]] = {}
    for home, names in onepen._HOMES.items():
        rooms.setdefault(home.partition(".")[0], []).extend(names)
    for room in ("orchestrator", "subagents", "staging", "memory"):
        lines += [f"## {room}", "", "| Name | What it is |", "|---|---|"]
        lines += [f"| `{name}` | {_told(name)} |" for name in sorted(rooms[room])]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _told(name: str) -> str:
    """The first sentence about a public name; of an alias, what it stands for."""
    found = getattr(onepen, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        return re.split(r"(?<=[.!?]) (?=[A-Z])", _plain(inspect.getdoc(found) or ""))[0]
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", str(found)).removeprefix("Annotated[")
    text = re.sub(r"ForwardRef\('(\w+)'\)|'(\w+)'", r"\1\2", text)  # a type that is only named, to be imported later
    return f"`{text.partition(', FieldInfo')[0]}`".replace("|", "\\|")


def problems_page() -> str:
    """docs/reference/problems.md."""
    lines = ["# Problems", "", "<!-- Made by docs/generate.py from orchestrator/kinds.py; change it there. -->", ""]
    lines += [
        "What `onepen doctor` tells, by kind.",
        "An error makes it exit with 1; a warning should be looked at; information is only that.",
        "Nothing is changed by looking.",
        "",
        "`onepen doctor --fix` puts right what is marked with ✓: it shows first what it would do, and asks.",
        "It does only what has one right outcome, and never deletes a text of yours.",
        "What it moves out of the way is kept in `.onepen/aside/`, under its old path.",
        "Each fix is a commit or one renamed file, so it can be interrupted and run again.",
        "",
    ]
    for title, kinds in KINDS.items():
        lines += [f"## {title}", "", "| Kind | Level | What it means | What to do | `--fix` |", "|---|---|---|---|---|"]
        lines += [
            f"| `{k.word}` | {', '.join(k.levels)} | {k.meaning} | {k.remedy} | {'✓' if k.fixed else ''} |"
            for k in kinds
        ]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/wire.md": wire_page,
    "reference/socket.md": socket_page,
    "reference/tasks.md": tasks_page,
    "reference/policy.md": policy_page,
    "reference/commands.md": reference.page,
    "reference/python.md": python_page,
    "reference/settings.md": settings_page,
    "reference/problems.md": problems_page,
}


def _prose(text: str) -> str:
    """The same with a line for each sentence: whoever quotes a line quotes a whole thought."""
    return re.sub(r"(?<=[.!?]) (?=[A-Z`])", "\n", _plain(text))


def main() -> None:
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
