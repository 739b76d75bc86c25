"""The system call renameat2(2): two names exchanged at one moment, or a file renamed where nothing stands yet."""

import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

EXCHANGE = 2  # RENAME_EXCHANGE
NO_REPLACE = 1  # RENAME_NOREPLACE
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


_HERE = -100  # AT_FDCWD


def renameat2(source: Path, target: Path, flags: int) -> bool:
    """Rename with these flags; False where the system, or the file system, can't. Raises OSError."""
    if sys.platform != "linux":
        return False
    import ctypes

    call = _call()
    if call is None:
        return False
    if call(_HERE, os.fsencode(source), _HERE, os.fsencode(target), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(source), None, str(target))


@cache
def _call() -> Callable[..., int] | None:
    """The function of the C library, looked up once; None where it has none."""
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return call
