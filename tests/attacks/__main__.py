"""The table of attacks: what a hostile worker can do without a sandbox, and what it can do inside.

python -m tests.attacks                    all, as this user and, for root, as an ordinary one, too
python -m tests.attacks --only TEXT        those whose group or name holds TEXT
python -m tests.attacks --landlock N       as on a kernel with an older Landlock
python -m tests.attacks --json
"""

import argparse
import fcntl
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.attacks.stage import MODES, NOBODY, Outcome, as_user, outcomes
from tests.attacks.table import rendered


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks")
    parser.add_argument("--only", default="")
    parser.add_argument("--landlock", type=int)
    parser.add_argument("--user", choices=("root", "ordinary"))
    parser.add_argument("--modes", default=",".join(MODES), type=lambda text: tuple(text.split(",")))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    with alone():
        return tried(asked)


@contextmanager
def alone() -> Iterator[None]:
    """Without a sandbox root's attacks end whatever they meet: two stages at a time would be each other's victims."""
    place = Path(tempfile.gettempdir()) / "onepen-attacks.lock"
    with open(os.open(place, os.O_RDWR | os.O_CREAT, 0o666), "w") as lock:  # noqa: PTH123
        fcntl.lockf(lock, fcntl.LOCK_EX)  # not flock: what an attack leaves behind would hold that for ever
        yield


def tried(asked: argparse.Namespace) -> int:
    told: dict[str, list[Outcome]] = {}
    root = os.getuid() == 0
    if asked.user != "root":
        how = (asked.modes, asked.only, asked.landlock)
        told["ordinary"] = as_user(NOBODY, *how) if root else outcomes(*how)
    if root and asked.user != "ordinary":
        told["root"] = as_user(0, asked.modes, asked.only, asked.landlock)
    if asked.json:
        print(json.dumps({user: [vars(one) for one in many] for user, many in told.items()}))
    else:
        print("\n\n".join(rendered(user, many) for user, many in told.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
