"""Whether what is kept of the conversations of attempts and reviews can still be read.

None of it can be made again. A task goes on without its transcript, but then nothing shows any more what its drafts
were made from. The transcript of an attempt whose orchestrator died before the first line of it was written is as whole
as it can be: a line is synced before anybody acts on it.
"""

from collections.abc import Iterable, Iterator

from ...memory.problem import Problem
from ...memory.workspace import Space
from ...staging.folder import TaskFolder
from .dossier import task_ids
from .events import AttemptLost, AttemptStarted
from .journal import parse_journal
from .transcript import has_begun, is_whole

_MESSAGE = "can't be read as a whole any more, so what its attempt had read is not known: put it back from a backup"


def transcripts(spaces: Iterable[Space]) -> Iterator[Problem]:
    """What of the transcripts of these spaces can't be read; links are not followed."""
    for space in spaces:
        for task in task_ids(space):
            folder = TaskFolder(space.staging(task))
            for number in folder.attempts():
                for path in (folder.transcript(number), *(folder.review(number, k) for k in folder.reviews(number))):
                    if path.is_symlink() or not path.is_file() or is_whole(path):
                        continue
                    if has_begun(path) or not _died_at_once(folder, number):
                        shown = space.path(f"staging/{task}/{number}/{path.name}")
                        yield Problem(shown, 0, "transcript_unreadable", "error", _MESSAGE)


def _died_at_once(folder: TaskFolder, number: int) -> bool:
    """Whether nothing is known of an attempt but that it was started, and perhaps that its orchestrator ended."""
    drafts = folder.drafts(number)
    try:
        if drafts.is_dir() and any(drafts.iterdir()):
            return False
        text = folder.run_journal.read_bytes().decode(errors="replace")
    except OSError:
        return False
    events = [event for event in parse_journal(text, "").events if getattr(event, "attempt", None) == number]
    return bool(events) and all(isinstance(event, AttemptStarted | AttemptLost) for event in events)
