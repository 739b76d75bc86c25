"""What a file's status tells of whether it changed: inode, size and both times, as long as the clock can tell them.

The kernel stamps files by a clock that ticks, so a file that changed about when it was looked at could change once more
and look the same. Only a stamp that is older than a tick speaks for the content.
"""

import os

_TICK = 20_000_000  # nanoseconds; the slowest kernels tick a hundred times a second
_COARSE = 2_500_000_000  # some file systems keep whole or even seconds

Stamp = tuple[int, ...]
"""Inode, size and both times of a file."""


def stamp_of(found: os.stat_result) -> Stamp:
    """The stamp in a status."""
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def settled(stamp: Stamp, moment: int) -> bool:
    """Whether what changes after `moment`, the nanosecond before the file was looked at, will show in its stamp."""
    return all(at < moment - (_TICK if at % 10_000_000 else _COARSE) for at in stamp[2:])
