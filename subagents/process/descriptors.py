"""Room for workers: how many can be alive side by side with the descriptors that a process may have open."""

import resource

AT_ONCE = 32
"""How many workers run at the same time where nothing else is said; others wait."""

_EACH = 4
_OTHERS = 256
_ENOUGH = 1 << 14


def make_room(at_once: int) -> int:
    """Let this process open what so many workers need, as far as it is allowed to; for how many there is room now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (_ENOUGH if limit == resource.RLIM_INFINITY else limit for limit in (soft, hard))
    wanted = at_once * _EACH + _OTHERS
    if wanted > soft:
        soft = min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return min(at_once, workers_within(soft))


def workers_within(descriptors: int) -> int:
    """How many workers fit, four descriptors each, beside the files and sockets of the rest; one at least."""
    return max(1, (descriptors - _OTHERS) // _EACH)
