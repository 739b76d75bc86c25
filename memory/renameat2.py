"""The system call renameat2(2): two names exchanged at one moment, or a file renamed where nothing stands yet."""

import errno
import os
import sys
from pathlib import Path

EXCHANGE = 2  # RENAME_EXCHANGE
NO_REPLACE = 1  # RENAME_NOREPLACE
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


def renameat2(source: Path, target: Path, flags: int) -> bool:
    """Rename with these flags; False where the system, or the file system, can't. Raises OSError."""
    if sys.platform != "linux":
        return False
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    here = ctypes.c_int(-100)  # AT_FDCWD
    if call(here, os.fsencode(source), here, os.fsencode(target), ctypes.c_uint(flags)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(source), None, str(target))
