"""Whether what is kept of the conversations of attempts and reviews can still be read.

None of it can be made again. A task goes on without its transcript, but then nothing shows any more what its drafts
were made from.
"""

from collections.abc import Iterable, Iterator

from ...memory.problem import Problem
from ...memory.workspace import Space
from ...staging.folder import TaskFolder
from .dossier import task_ids
from .transcript import is_whole

_MESSAGE = "can't be read as a whole any more, so what its attempt had read is not known: put it back from a backup"


def transcripts(spaces: Iterable[Space]) -> Iterator[Problem]:
    """What of the transcripts of these spaces can't be read; links are not followed."""
    for space in spaces:
        for task in task_ids(space):
            folder = TaskFolder(space.staging(task))
            for number in folder.attempts():
                for path in (folder.transcript(number), *(folder.review(number, k) for k in folder.reviews(number))):
                    if path.is_file() and not path.is_symlink() and not is_whole(path):
                        shown = space.path(f"staging/{task}/{number}/{path.name}")
                        yield Problem(shown, 0, "transcript_unreadable", "error", _MESSAGE)
