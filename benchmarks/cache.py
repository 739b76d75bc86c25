"""What the input of a long chat costs, and what it could: `python -m benchmarks.cache [--json] [--turns N]`.

The chat of `longchat`, at different paces, with one client and with five that talk in turn. What its requests cost is
set against their own lower bound: each distinct token written to the cache once (1.25), and read (0.1) wherever else it
stands, be it at another place: no cache could do that, since what is kept ends at the first byte that differs.

Beside it the same conversation as others would send it: one block without marks, one block with the automatic mark of
the API, and layers whose index is rewritten at each edit; and the same requests with their marks elsewhere, and with
other lives. All costs are in base tokens, those of one uncached token of input. It asserts nothing.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onepen.orchestrator.chat.prompt import FROZEN
from onepen.subagents.model import Usage
from onepen.testing.messages_api.bound import READ, WRITE, paid
from onepen.testing.messages_api.caching import Cache

from .longchat import TURNS, Played, Sent, play
from .startup import machine

MARK = "cache_control"
FIVE = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
PLANS: Mapping[str, tuple[str, ...]] = {
    "{A+B, I, S, C}": ("A", "I", "S"),
    "{B, A+I, S, C}": ("B", "I", "S"),
    "{B, A, I+S, C}": ("B", "A", "S"),
}
LIVES = {"5m": (FIVE, FIVE), "1h": (HOUR, HOUR), "1h + 5m": (HOUR, FIVE)}


@dataclass(frozen=True)
class Chat:
    """What is played; `gaps` are the seconds between two turns, over and over, `target` at most so much × the bound."""

    name: str
    gaps: tuple[float, ...]
    clients: int = 1
    renewed_after: int = 30
    target: float | None = None


CHATS = (
    Chat("60 s between turns", (60.0,), target=1.10),
    Chat("400 s between turns", (400.0,), target=1.30),
    Chat("60 s between turns, each tenth time 20 minutes", (*[60.0] * 9, 1_200.0)),
    Chat("60 s between turns, a synthesis after each 20", (60.0,), renewed_after=20),
    Chat("400 s between turns, a synthesis after each 20", (400.0,), renewed_after=20),
    Chat("60 s between turns, five clients in turn", (60.0,), clients=5),
    Chat("400 s between turns, five clients in turn", (400.0,), clients=5),
)
ORDER = ("B", "A", "I", "S")

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Cost:
    """The input of some requests, in base tokens."""

    paid: float
    bound: float
    read: int
    prompt: int

    @property
    def ratio(self) -> float:
        return self.paid / self.bound

    def as_json(self, turns: int) -> dict[str, object]:
        return {
            "a_turn": round(self.paid / turns),
            "bound_a_turn": round(self.bound / turns),
            "times_bound": round(self.ratio, 3),
            "read_share": round(self.read / max(1, self.prompt), 3),
        }


def cost(used: Sequence[Usage], bodies: Sequence[Body]) -> Cost:
    """What requests cost by the server's counters, and the least that they could have."""
    return Cost(
        sum(paid(one.input, one.cache_write, one.cache_read, one.cache_write_1h) for one in used),
        least(bodies, sum(one.prompt_total for one in used)),
        sum(one.cache_read for one in used),
        sum(one.prompt_total for one in used),
    )


def least(bodies: Sequence[Body], total: int) -> float:
    """The lower bound of prompts of so many tokens in all.

    A line is one token, so to speak, that may move about: it is distinct as often as it stands in any one request.
    """
    most: Counter[str] = Counter()
    size = 0
    for body in bodies:
        lines = Counter(_lines((body.get("tools"), body.get("system"), body["messages"])))
        most |= lines
        size += _size(lines)
    distinct = _size(most) * total / max(1, size)
    return WRITE * distinct + READ * (total - distinct)


def _size(lines: Mapping[str, int]) -> int:
    """Bytes, as they are sent."""
    return sum(len(json.dumps(line, ensure_ascii=False).encode(errors="replace")) * n for line, n in lines.items())


def _lines(value: object) -> Iterator[str]:
    """All that stands in a part of a prompt, line by line, without its marks."""
    if isinstance(value, str):
        yield from value.splitlines(keepends=True)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name != MARK:
                yield f"{name}:"
                yield from _lines(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _lines(inner)
    else:
        yield str(value)


def replayed(sent: Sequence[tuple[float, Body]]) -> Cost:
    """What these requests would cost at those moments, by the double's cache."""
    cache, used = Cache(), []
    for at, body in sent:
        taken = cache.ask(body, at)
        cache.begin(taken, at)
        used.append(Usage(taken.plain, taken.written, taken.read, 0, taken.written_1h))
    return cost(used, [body for _, body in sent])


# -- the same conversation, sent otherwise -----------------------------------------------------------------------------


def marked(sent: Sent, wanted: Sequence[str], lives: tuple[Body, Body]) -> Body:
    """With the marks before the conversation at the ends of these layers, and with these lives.

    Where the conversation has two marks, the first of these is dropped.
    """
    prefix, tail = lives
    messages = [_messages(message, tail) for message in sent.body["messages"]]
    left = 4 - sum(MARK in block for message in messages for block in message["content"])
    parts = [_part(k, block["text"]) for k, block in enumerate(sent.body["system"])]
    ends = sorted({max(k for k, part in enumerate(parts) if part <= ORDER.index(one)) for one in wanted})[-left:]
    system = [{**_bare(block), **({MARK: prefix} if k in ends else {})} for k, block in enumerate(sent.body["system"])]
    return {**sent.body, "system": system, "messages": messages}


def rewritten(sent: Sent) -> Body:
    """Layers as they are, with an index that is always that of the files."""
    system = [{**block, "text": _current(sent, block["text"])} for block in sent.body["system"]]
    return {**sent.body, "system": system}


def one_block(sent: Sent, mark: Body | None) -> Body:
    """All before the conversation as one block with the index of the files; `mark` is the API's automatic one."""
    text = "".join(_current(sent, block["text"]) for block in sent.body["system"])
    messages = [
        {**message, "content": [_bare(block) for block in message["content"]]} for message in sent.body["messages"]
    ]
    body = {**sent.body, "system": [{"type": "text", "text": text}], "messages": messages}
    return body if mark is None else {**body, MARK: mark}


def _current(sent: Sent, text: str) -> str:
    return sent.index if text.startswith(FROZEN["I"]) else text


def _part(number: int, text: str) -> int:
    """The place of a block's layer in the order of layers."""
    frozen = next((ORDER.index(name) for name, words in FROZEN.items() if text.startswith(words)), None)
    return min(number, 1) if frozen is None else frozen


def _messages(message: Body, mark: Body) -> Body:
    return {**message, "content": [{**b, MARK: mark} if MARK in b else b for b in message["content"]]}


def _bare(block: Body) -> Body:
    return {name: value for name, value in block.items() if name != MARK}


OTHERS: Mapping[str, Callable[[Sent], Body]] = {
    "index rewritten at each edit": rewritten,
    "one block, automatic mark": lambda sent: one_block(sent, FIVE),
    "one block, automatic mark of 1h": lambda sent: one_block(sent, HOUR),
    "one block without marks": lambda sent: one_block(sent, None),
}


# -- figures -----------------------------------------------------------------------------------------------------------


def measured(chat: Chat, played: Played) -> dict[str, object]:
    """A played chat as `--json` prints it."""
    turns, own = played.turns, cost(played.used, [one.body for one in played.sent])
    others = {name: replayed([(one.at, how(one)) for one in played.sent]) for name, how in OTHERS.items()}
    plans = {
        f"{plan} {life}": replayed([(one.at, marked(one, ends, pair)) for one in played.sent])
        for plan, ends in PLANS.items()
        for life, pair in LIVES.items()
    }
    return {
        "name": chat.name,
        "clients": chat.clients,
        "turns": turns,
        "calls": len(played.sent),
        "renewals": played.renewals,
        "synthesizer_a_turn": round(replayed(played.synthesizer).paid / turns),
        "edits_unseen": played.unseen,
        "target": chat.target,
        "onepen": own.as_json(turns),
        "others": {name: one.as_json(turns) for name, one in others.items()},
        "plans": {name: one.as_json(turns) for name, one in plans.items()},
    }


def measure(turns: int, chats: Sequence[Chat] = CHATS) -> dict[str, object]:
    """All figures of one run."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="onepen-cache-") as scratch:
        for number, chat in enumerate(chats):
            played = play(Path(scratch, f"{number}"), chat.gaps, chat.clients, turns, chat.renewed_after)
            rows.append(measured(chat, played))
    return {"machine": machine(), "chats": rows}


def table(result: Mapping[str, Any]) -> str:
    """The same for people."""
    where = result["machine"]
    lines = ["onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**where)]
    for chat in result["chats"]:
        lines += ["", f"{chat['name']}: {chat['turns']} turns, {chat['calls']} calls, {chat['renewals']} renewals"]
        lines[-1] += f" (their synthesizer took {chat['synthesizer_a_turn']:,} a turn beside what follows)"
        lines.append(f"{'':36}{'a turn':>9}{'bound':>9}{'×':>8}{'read':>8}")
        lines.append(
            _row("onepen", chat["onepen"]) + ("" if chat["target"] is None else f"   target: {chat['target']}")
        )
        lines += [_row(name, one) for name, one in chat["others"].items()]
        lines.append("  the same with its marks placed by hand:")
        best = min(one["a_turn"] for one in chat["plans"].values())
        for name, one in chat["plans"].items():
            lines.append(_row(f"  {name}", one) + ("   cheapest" if one["a_turn"] == best else ""))
    return "\n".join([*lines, "", "a turn: input in base tokens; bound: the least that the same requests could cost"])


def _row(name: str, one: Mapping[str, Any]) -> str:
    return f"{name:36}{one['a_turn']:>9,}{one['bound_a_turn']:>9,}{one['times_bound']:>8.3f}{one['read_share']:>8.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cache", description="What a long chat's input costs.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"turns of each chat (default: {TURNS})")
    numbers = ",".join(str(number) for number in range(1, len(CHATS) + 1))
    parser.add_argument("--only", default=numbers, help=f"which of the chats to play, by number (default: {numbers})")
    arguments = parser.parse_args()
    chosen = [CHATS[int(number) - 1] for number in arguments.only.split(",")]
    result = measure(max(2, arguments.turns), chosen)
    print(json.dumps(result, indent=2, ensure_ascii=False) if arguments.json else table(result))


if __name__ == "__main__":
    main()
