"""Whether what is kept of the conversations of attempts and reviews can still be read.

None of it can be made again. A task goes on without its transcript, but then nothing shows any more what its drafts
were made from. The transcript of an attempt or a review whose orchestrator died before the first line of it was written
is as whole as it can be: a line is synced before anybody acts on it.
"""

from collections.abc import Iterable, Iterator

from ...memory.problem import Problem
from ...memory.workspace import Space
from ...staging.folder import TaskFolder
from .dossier import task_ids
from .events import AttemptLost, AttemptStarted, Judged
from .journal import parse_journal
from .transcript import has_begun, is_whole

_MESSAGE = "can't be read as a whole any more, so what its attempt had read is not known: put it back from a backup"


def transcripts(spaces: Iterable[Space]) -> Iterator[Problem]:
    """What of the transcripts of these spaces can't be read; links are not followed."""
    for space in spaces:
        for task in task_ids(space):
            folder = TaskFolder(space.staging(task))
            for number in folder.attempts():
                reviews = folder.reviews(number)
                for k in (0, *reviews):
                    path = folder.review(number, k) if k else folder.transcript(number)
                    if path.is_symlink() or not path.is_file() or is_whole(path):
                        continue
                    asked_again = k and k < max(reviews)
                    died = asked_again or (_judged_by_none(folder) if k else _died_at_once(folder, number))
                    if has_begun(path) or not died:
                        shown = space.path(f"staging/{task}/{number}/{path.name}")
                        yield Problem(shown, 0, "transcript_unreadable", "error", _MESSAGE)


def _judged_by_none(folder: TaskFolder) -> bool:
    """Whether no model has judged a draft of a task, by its journal."""
    try:
        text = folder.run_journal.read_bytes().decode(errors="replace")
    except OSError:
        return False
    judged = (event for event in parse_journal(text, "").events if isinstance(event, Judged))
    return not any(event.verdict.reviewer.startswith("model:") for event in judged)


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
