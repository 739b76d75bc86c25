"""Rewrites the commit logs of a space without the text of old commits; what goes and what stays, pruning.py says.

It is the one place where a log is written anew, so nobody may be about to add to it: the pen is held, and the redo log
says nothing of it. A log at a time is replaced in one step, so this can be broken off anywhere and done again.
"""

from datetime import date
from pathlib import Path

from .. import files
from ..history import log_paths
from ..links import resolve
from ..pruning import prune_log
from ..view import read_file
from ..workspace import Space


def shorten_logs(root: Path, space: Space, before: date, disk: files.Disk) -> int:
    """Take the text out of commits from before a day; how many they were. Raises LinkLeadsOut or an OSError."""
    count = 0
    for path in log_paths(space):
        pruned = prune_log(read_file(root, path) or b"", before)
        if pruned.commits:
            files.replace(resolve(root, path), pruned.data, sync=True, disk=disk)
            count += pruned.commits
    return count
