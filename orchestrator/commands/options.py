"""Arguments and options that several commands share, each written once."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else there.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback when something fails.")]
Folder = Annotated[
    Path | None,
    typer.Option("-C", metavar="DIR", help="Work as if you stood in DIR. [else ONEPEN_WORKSPACE, else here or above]"),
]
Client = Annotated[
    str | None,
    typer.Option("--client", metavar="ID", help="The client's space. [else the client whose folder you stand in]"),
]
AllClients = Annotated[bool, typer.Option("--all-clients", help="The house's own space and every client's.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
AllowSecret = Annotated[
    bool, typer.Option("--allow-secret", help="Write it although it looks like a key or a password.")
]
Detach = Annotated[bool, typer.Option("--detach", help="Don't wait: the orchestrator goes on with it.")]
UnsafeNoSandbox = Annotated[
    bool,
    typer.Option("--unsafe-no-sandbox", help="Where there is no sandbox, run programs all the same, with your rights."),
]
Foreground = Annotated[
    bool, typer.Option("--foreground", help="Do it in this process, with no orchestrator in the background.")
]
Profile = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help="The profile of your config to go through; a client's tie holds."),
]
Budget = Annotated[
    float | None,
    typer.Option("--budget", metavar="USD", min=0, help="At most so many US dollars, within the caps."),
]
Reason = Annotated[
    str | None,
    typer.Option("-m", "--message", metavar="TEXT", help="Why; '-' reads it from stdin. [asked for on a terminal]"),
]

DraftArgument = Annotated[str, typer.Argument(metavar="ID", help="A draft, or the beginning of its id.")]
DraftArguments = Annotated[list[str], typer.Argument(metavar="ID", help="Drafts, or the beginnings of their ids.")]
TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="A task, or the beginning of its id.")]

Review = Literal["person", "auto"]

BARE = {"--failed": "all"}
"""Options that may stand without a value, and which it is then; what follows such a word is never taken for it, unless
it is one of the option's choices."""
