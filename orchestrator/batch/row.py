"""One row of a batch's input, as it came."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`line` is where the row begins in its file, counted from 1.

    Values are texts: numbers as they were written, lists and objects as compact JSON, nothing (null) as "".
    """

    line: int
    fields: Mapping[str, str]
