"""`onepen trust`: what a workspace wishes beyond what it may, shown in plain words, and the person's word on it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from .failure import BadText, NeedsAnswer
from .options import DryRun
from .shell import Shell
from .text import count, one_line, wrap

if TYPE_CHECKING:
    from ...memory.workspace import Workspace
    from ..settings.grants import Grant
    from ..settings.trust import Wish


@dataclass(frozen=True)
class Wishes:
    """What a workspace wishes; `allowed` are the hashes of what counts now, `sha256` stands for all that is wished."""

    workspace: str
    title: str
    wishes: "tuple[Wish, ...]"
    allowed: frozenset[str]
    sha256: str
    dry_run: bool = False

    @property
    def open(self) -> "tuple[Wish, ...]":
        return tuple(wish for wish in self.wishes if wish.sha256 not in self.allowed)

    def as_json(self) -> Mapping[str, object]:
        listed = [
            {"name": w.name, "sha256": w.sha256, "lines": list(w.lines), "allowed": w.sha256 in self.allowed}
            for w in self.wishes
        ]
        return {"workspace": self.workspace, "wishes": listed, "sha256": self.sha256, "dry_run": self.dry_run}

    def people(self) -> str:
        if not self.wishes:
            return f"{self.title} wishes nothing beyond what any workspace may.\n"
        return "".join((f"{self.title} wishes:\n", *self._lines()))

    def _lines(self) -> Iterator[str]:
        for wish in self.wishes:
            yield f"  {one_line(wish.name)}: {'allowed' if wish.sha256 in self.allowed else 'not allowed'}\n"
            yield from (f"    {one_line(line)}\n" for line in wish.lines)
        if self.open:
            yield f"sha256: {self.sha256}\n"


@dataclass(frozen=True)
class Allowed:
    """What the person allowed, in all workspaces or, taken back, in this one."""

    grants: "tuple[Grant, ...]"
    revoked: bool = False
    dry_run: bool = False

    def as_json(self) -> Mapping[str, object]:
        named = "revoked" if self.revoked else "allowed"
        return {named: [grant.as_json() for grant in self.grants], "dry_run": self.dry_run}

    def people(self) -> str:
        if not self.grants:
            return "Nothing was allowed.\n" if self.revoked else "Nothing is allowed.\n"
        head = ""
        if self.revoked:
            verb = "Would take back" if self.dry_run else "Took back"
            head = f"{verb} {count(len(self.grants), 'thing')} that you allowed; the workspace works on without them.\n"
        return head + "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for grant in self.grants:
            yield f"{one_line(grant.path)}: {one_line(grant.name)}, since {one_line(grant.time)}\n"
            yield from (f"  {one_line(line)}\n" for line in grant.lines)


def trust(
    shell: Shell,
    yes: Annotated[bool, typer.Option("--yes", help="Allow what is shown without being asked.")] = False,
    sha256: Annotated[
        str | None, typer.Option(metavar="HEX", help="Allow exactly what has this hash, as `trust` shows it.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show all that you allowed, in every workspace.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take back all that you allowed this workspace.")] = False,
    dry_run: DryRun = False,
) -> int:
    from ..settings import grants

    if sum((yes, sha256 is not None, listed, revoke)) > 1:
        raise BadText("--yes, --sha256, --list and --revoke don't go together")
    file = grants.trust_file()
    if (lost := grants.unread(file)) is not None:
        shell.note(lost)
    if listed:
        all_ = Allowed(grants.grants(file))
        shell.answer(all_, partial(_told, shell, all_))
        return 0
    from ...memory.clock import SystemClock
    from ...memory.workspace import open_workspace

    workspace = open_workspace(shell.root)
    settings = workspace.settings
    now = SystemClock(settings.timezone).now().isoformat(timespec="seconds")
    if revoke:
        held = tuple(grant for grant in grants.grants(file) if grant.workspace == settings.id)
        back = Allowed(held if dry_run else grants.revoke(file, settings.id, now), revoked=True, dry_run=dry_run)
        shell.answer(back, partial(_told, shell, back))
        return 0
    asked = _asked(workspace, grants.trusted(file), dry_run)
    if not asked.open:
        shell.answer(asked, partial(_told, shell, asked))
        return 0
    if not dry_run:
        _agreed(shell, asked, yes=yes, sha256=sha256)
        grants.allow(file, settings.id, workspace.root, asked.open, now)
    after = Wishes(asked.workspace, asked.title, asked.wishes, grants.trusted(file), asked.sha256, dry_run)
    shell.answer(after, partial(_told, shell, after))
    if not dry_run:
        shell.note("Allowed as it stands now; whatever changes in it is asked for again (undo: onepen trust --revoke)")
    return 0


def _told(shell: Shell, result: Wishes | Allowed) -> str:
    return wrap(result.people(), shell.terminal.columns)


def _agreed(shell: Shell, asked: Wishes, *, yes: bool, sha256: str | None) -> None:
    """Returns when the person said yes to what is wished; raises NeedsAnswer."""
    way = f"onepen trust --sha256 {asked.sha256}"
    if sha256 is not None and sha256.lower() != asked.sha256:
        raise NeedsAnswer("trust: --sha256 is not the hash of what is wished now", hint="onepen trust")
    if yes or sha256 is not None:
        return
    shell.tell(_told(shell, asked))
    what = "trust: nothing was allowed"
    if not shell.agrees("Allow all of it?", what=what, hint=way):
        raise NeedsAnswer(what, hint="onepen trust")


def _asked(workspace: "Workspace", allowed: frozenset[str], dry_run: bool) -> Wishes:
    """Everything that the workspace wishes now: the table of its settings, then its agents by name."""
    from ...memory.errors import MemoryFault
    from ...memory.ids import AgentId, BadId
    from ...memory.scaffold import shipped
    from ...memory.view import View
    from ...subagents.definition import parse_definition
    from ..settings.trust import REVIEWER, agent_wish, table_wish, together

    settings, view = workspace.settings, View(workspace)
    found = [table_wish(settings)]
    folder = workspace.root / "agents"
    for name in sorted(path.stem for path in folder.glob("*.md")) if folder.is_dir() else ():
        try:
            agent = AgentId(name)
            data = view.bytes(f"agents/{name}.md") or b""
        except (BadId, MemoryFault):
            continue
        asks = parse_definition(agent, data.decode(errors="replace")).asks
        judges = agent == REVIEWER and data != shipped(f"agents/{REVIEWER}.md").encode()
        found.append(agent_wish(settings.id, agent, data, asks, judges=judges))
    wishes = tuple(wish for wish in found if wish is not None)
    title = settings.name or str(workspace.root)
    return Wishes(str(workspace.root), title, wishes, allowed & {w.sha256 for w in wishes}, together(wishes), dry_run)
