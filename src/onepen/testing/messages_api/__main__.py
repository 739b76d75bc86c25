"""`python -m onepen.testing.messages_api`: the double from a shell.

    python -m onepen.testing.messages_api --rules FILE.json [--port N] [--record FILE.jsonl] [-- COMMAND …]

Prints one line of JSON, {"url", "pid"}, when it is ready, and ends by SIGTERM or Ctrl-C; SIGHUP makes it read the rules
again. With a command it runs that with ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY set, prints nothing of its own, and
ends with the command's exit code.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from .rules import RulesUnreadable, read_script
from .server import MessagesApi


def main(args: Sequence[str] | None = None) -> int:
    """The exit code: 0, that of the command, or 2 for rules that can't be read."""
    given = _parser().parse_args(args)
    try:
        server = MessagesApi.from_file(given.rules, port=given.port, record=given.record)
    except RulesUnreadable as e:
        sys.stderr.write(f"error: {e}\n")
        return 2
    with server:
        if given.command:
            command = given.command[1:] if given.command[0] == "--" else given.command
            return subprocess.run(command, env={**os.environ, **server.env}, check=False).returncode
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        signal.signal(signal.SIGHUP, lambda *_: _read_again(server, given.rules))
        sys.stdout.write(json.dumps({"url": server.url, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        if given.until_eof:
            threading.Thread(target=_end_with_input, args=(ended,), daemon=True).start()
        ended.wait()
    return 0


def _read_again(server: MessagesApi, path: Path) -> None:
    try:
        server.say(read_script(path).rules)
    except RulesUnreadable as e:
        sys.stderr.write(f"error: {e}; the rules before stay in force\n")


def _end_with_input(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m onepen.testing.messages_api", description="A double of the Messages API on this machine."
    )
    parser.add_argument("--rules", type=Path, required=True, help="file of rules (JSON)")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; by default any that is free")
    parser.add_argument("--record", type=Path, help="file to which a line is added for each request")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input ends")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a command to run against it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
