"""`python -m examples.long_chat`: a day of talking, played against the Messages API double, and what it cost.

With `--no-counters` the server counts no cached tokens, as many servers of one's own do. With `--all` each exchange is
shown, else those in which something happened. `--record PAGE` plays both days and puts them into the page that shows
them. A day takes about a minute.
"""

import sys
import tempfile
from pathlib import Path

from examples.long_chat.day import Day, Exchange, tell
from examples.long_chat.shown import evening, exchange

_END = "```\n"


def main(args: list[str]) -> None:
    if "--record" in args:
        page = Path(args[args.index("--record") + 1])
        page.write_text(recorded(page.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        play(caches="--no-counters" not in args, whole="--all" in args)


def play(*, caches: bool, whole: bool = False) -> tuple[str, str]:
    """Shows a day as it goes, and gives it: what was said, and the evening."""
    said = ""
    with tempfile.TemporaryDirectory(prefix="onepen-") as home:
        for told in tell(Path(home), caches=caches):
            text = exchange(told, whole=whole) if isinstance(told, Exchange) else evening(told)
            sys.stdout.write(text)
            sys.stdout.flush()
            if isinstance(told, Day):
                return said, text
            said += text
    raise RuntimeError("the day had no evening")


def recorded(page: str) -> str:
    """A page with what the two days say now: the first as a whole, of the other its evening."""
    said, first = play(caches=True)
    _, other = play(caches=False)
    texts = {"the day": said + first, "the day, no counters": other.lstrip("\n")}
    for name, text in texts.items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n```text\n")
        if not mark:
            raise RuntimeError(f"the page has no place for {name!r}")
        page = f"{before}{mark}{text}{_END}{rest.partition(_END)[2]}"
    return page


if __name__ == "__main__":
    main(sys.argv[1:])
