"""`python -P -m onepen.subagents`: one worker, spoken to over stdin and stdout (see wire.py).

With `--order JSON` it is the worker or the program of an order, closed in as that says; with `--serve FD` it is the
fork server and its warden, spoken to over a socket (see order.py for both).
"""

import sys


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--serve", fd]:
            from onepen.subagents.process.warden import guard

            return guard(int(fd))
        case ["--order", text]:
            from onepen.subagents.process.launch import become, prepare
            from onepen.subagents.process.order import Order
            from onepen.subagents.sandbox.level import probe

            return become(prepare(Order.decode(text.encode())), probe())
        case _:
            from onepen.subagents.worker import main

            return main()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
