"""What `doctor` says of the sandbox: which one holds workers here, and what of it a person should know."""

from collections.abc import Iterator

from ..memory.problem import Problem
from ..memory.workspace import Workspace
from ..subagents.sandbox import folders
from ..subagents.sandbox.confinement import Confinement, exposed, private
from ..subagents.sandbox.level import Level, probe


def looked_at(workspace: Workspace) -> tuple[Level, tuple[Problem, ...]]:
    """The level that is in force, and what is wrong with it for this workspace."""
    level = probe()
    return level, tuple(_problems(workspace, level))


def _problems(workspace: Workspace, level: Level) -> Iterator[Problem]:
    if not level.confines:
        yield Problem(".", 0, "sandbox_none", "warning", f"sandbox: {level.words}")
        return
    if not level.full:
        yield Problem(".", 0, "sandbox_weaker", "info", f"sandbox: {level.words}; leaves open: {'; '.join(level.gaps)}")
    spaces = (place for space in workspace.spaces() for place in private(space.folder))
    found = exposed((*folders.libraries(), *folders.programs()), Confinement(private=tuple(spaces)))
    if found:
        folder, place = found
        said = f"{place} lies in {folder}, which every worker has to read: no work starts here; move one of them"
        yield Problem(".", 0, "sandbox_exposes", "error", said)
