"""The work folder of an attempt that goes on with what earlier ones began.

No command is run twice: its result comes from the transcript, and its files from the work folder of the attempt that
ran it, if they still are as they were after the last result that is taken over. The result names that state. Where no
earlier attempt's files are, a command had begun that nobody saw end, or somebody changed them: then nothing of what was
said counts any more, and the attempt begins afresh. All this is decided before the worker starts: later the folder is
the worker's, and nobody writes to a stranger's folder.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...memory import files
from ...memory.guard import UnsafeFile, list_beneath, read_beneath
from ...staging.folder import TaskFolder
from ...subagents.messages import ToolResult
from ...subagents.model import ModelReply
from ...subagents.toolbox.running import state_after
from ...subagents.toolbox.workfolder import DRAFTED, MOST_BYTES, MOST_FILES, Contents, WorkFolder
from .stored import is_of_commands

AFRESH = "the files that its commands had made are not as they were, so the attempt begins afresh"


class Workplace:
    """Makes the work folder of attempt `number`; `base` is the attempt whose files it begins with, 0 for none."""

    def __init__(self, folder: TaskFolder, number: int, base: int = 0) -> None:
        self._folder = folder
        self._number = number
        self._base = base
        self._work = WorkFolder(folder.work(number))
        self._here = Contents().state
        self._told = self._here

    def prepare(self, replies: Iterable[ModelReply]) -> bool:
        """Make the folder as the results in `replies` say it was, those that the worker will be given again; whether
        that could be done. If not, it is as an attempt finds it that begins afresh.
        """
        self._work.make()
        states = [state for reply in replies for state in _states(reply.done)]
        if states and not self._bring(states[-1]):
            self._bring_base()
            return False
        if states:
            self._keep_drafted()
        else:
            self._bring_base()
        return True

    def fits(self, reply: ModelReply) -> bool:
        """Whether the worker may act on a reply: new commands need the files as the results before them left them."""
        calls = [use.id for use in reply.message.tool_uses if is_of_commands(use)]
        done = {result.tool_use_id for result in reply.done}
        if all(id_ in done for id_ in calls):
            self._told = next(reversed(_states(reply.done)), self._told)
            return True
        if self._told != self._here:
            return False
        self._told = self._here = ""  # from here on the folder is this attempt's own
        return True

    def _bring(self, state: str) -> bool:
        """Copy the files of the latest attempt in whose folder they are in this state."""
        for number in range(self._number - 1, 0, -1):
            earlier = WorkFolder(self._folder.work(number))
            contents = _contents(earlier)
            if contents is not None and contents.plain and contents.state == state:
                self._copy(earlier, contents)
                self._here = state
                return True
        return False

    def _bring_base(self) -> None:
        """Begin with the plain files of another attempt, as they are now."""
        earlier = WorkFolder(self._folder.work(self._base))
        contents = _contents(earlier) if self._base else None
        if contents is not None:
            plain = Contents(tuple(entry for entry in contents.entries if entry.sha256))
            self._copy(earlier, plain)
            self._told = self._here = plain.state

    def _copy(self, earlier: WorkFolder, contents: Contents) -> None:
        for entry in contents.entries:
            target = self._work.path / entry.name
            files.make_folder(target.parent, within=self._work.path)
            files.create_exclusive(target, read_beneath(earlier.path, entry.name, max_bytes=MOST_BYTES))
            if entry.runs:
                files.set_mode(target, 0o700)

    def _keep_drafted(self) -> None:
        """What earlier attempts had taken as drafts, by hash, so that the same bytes are drafted again."""
        for number in range(1, self._number):
            earlier = WorkFolder(self._folder.work(number))
            for sha in _names(earlier.path / DRAFTED):
                data = earlier.drafted(sha)
                if data is not None and self._work.drafted(sha) is None:
                    files.create_exclusive(self._work.path / DRAFTED / sha, data)


def names_there(folder: TaskFolder, number: int) -> tuple[str, ...]:
    """The plain files in the work folder of an attempt, for whoever goes on with them."""
    contents = _contents(WorkFolder(folder.work(number)))
    return () if contents is None else tuple(entry.name for entry in contents.entries if entry.sha256)


def _states(done: Sequence[ToolResult]) -> list[str]:
    return [state for result in done if (state := state_after(result.content)) is not None]


def _contents(work: WorkFolder) -> Contents | None:
    try:
        return work.contents()
    except (UnsafeFile, OSError):
        return None


def _names(folder: Path) -> Iterator[str]:
    try:
        yield from list_beneath(folder, max_files=MOST_FILES)
    except (UnsafeFile, OSError):
        return
