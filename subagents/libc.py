"""The C library, loaded once: a forked worker that loads it again copies a third of a megabyte for it."""

import ctypes
from functools import cache


@cache
def libc() -> ctypes.CDLL:
    """Its functions take C's integers; `ctypes.get_errno` says why one failed."""
    return ctypes.CDLL(None, use_errno=True)
