"""`python -P -m onepen.subagents`: one worker, spoken to over stdin and stdout (see wire.py).

With `--serve FD` it is the fork server and its warden, spoken to over a socket (see order.py).
"""

import sys


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--serve", fd]:
            from onepen.subagents.warden import guard

            return guard(int(fd))
        case _:
            from onepen.subagents.worker import main

            return main()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
