"""Ids in a row: t1, t2, t3 …"""

from onepen.memory.ids import TaskId


class CountedIds:
    """New task ids that a test can foretell."""

    def __init__(self, prefix: str = "t") -> None:
        self._prefix = prefix
        self._last = 0

    def task(self) -> TaskId:
        self._last += 1
        return TaskId(f"{self._prefix}{self._last}")
