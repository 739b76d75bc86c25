"""What answers in the long chat: rules for the Messages API double, and a server's counters with a cache or without.

The counters are told by these rules, so that what onepen books can be held against what the server said.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onepen.testing.messages_api import Asked
from onepen.testing.messages_api.caching import Cache

Call = tuple[str, Mapping[str, object]]
COUNTERS = ("input", "cache_write", "cache_read", "output")

_BANK = (
    "The room has to be ready before the carrier comes, so the floor goes first and the wall behind it.",
    "What we know stands in the card; what we only think I leave out of it until somebody has looked.",
    "If it takes a day longer the first bisque moves to the weekend, and nothing else moves with it.",
    "I would write that down with its reason, since in spring nobody will remember why we chose it.",
    "Two people can do that in a morning, and the third is free for the glazes and the test tiles.",
    "The café hears of it before Friday, with one date and without a promise that depends on the kiln.",
    "We fire slowly up to six hundred, then at the usual pace, and look at the cones before we open.",
    "There is no hurry about the rest: it waits for the first good firing, and that decides about it.",
)


def _card(heading: str, lines: str, summary: str) -> Call:
    entry = {"section_id": heading.lower(), "keywords": [heading.lower(), "kiln"], "summary": summary}
    text = f"## {heading}\n\n{lines}\n"
    return "write_memory_card", {"project": "kiln", "old_text": "", "new_text": text, "index_entry": entry}


def _log(text: str) -> Call:
    return "log_event", {"text": text}


CALLS: Mapping[str, Sequence[Call]] = {
    "the old kiln's last firings": [("read_card", {"card": "old-kiln"})],
    "note that as decided": [_log("Decided: the kiln fires overnight, 32 A at most, when the tariff is low.")],
    "Order five new shelves": [
        _card("Shelves", "- five new ones, cordierite, 480 by 480", "Five new ones, 480 by 480.")
    ],
    "Bert and Ines": [_log("Bert and Ines help to carry the kiln on 4 December.")],
    "Write the schedule to the card": [_card("Schedule", "- cone 6 is 1222 degrees", "Cone 6 is 1222 degrees.")],
    "The celadon crawled": [("search_history", {"query": "celadon crawled"})],
    "Ask the researcher": [("delegate", {"agent": "researcher", "task": "When was cone 6 reached?", "answer": True})],
    "list of test tiles": [_card("Tiles", "- three for each shelf", "Three test tiles for each shelf.")],
    "Then the market": [_log("The market on 12 December is cancelled.")],
    "say of the fan": [("read_card", {"card": "kiln", "section": "fan"})],
    "I have just changed the card": [("read_card", {"card": "kiln", "section": "fan"})],
    "anything about insurance": [("search_history", {"query": "insurance"})],
    "a photograph of the fuse box": [_log("The insurance wants a photograph of the fuse box.")],
    "the fan is 125 mm": [_card("Pipe", "- the fan is 125 mm, runs 30 minutes longer", "The fan runs longer.")],
    "Have the writer draft": [
        ("delegate", {"agent": "writer", "task": "An invitation for the relaunch, without prices."})
    ],
    "What did the draft say": [("list_drafts", {})],
    "the course days on the card": [
        _card("Courses", "- Tuesdays and Thursdays, six people", "Tuesdays and Thursdays.")
    ],
    "Then we take the other one": [_log("Clay comes from the other supplier from now on.")],
    "What did we decide": [("read_card", {"card": "kiln"})],
    "the café pays half": [_log("The café pays half of the 40 cups in advance.")],
}
"""What the main agent does about a message, by words of it: five of them change the card and its index."""


def said_in(asked: Asked) -> str:
    """The person's words that are being answered; "" while results of tools come back."""
    content = asked.body["messages"][-1]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if any(block["type"] == "tool_result" for block in blocks):
        return ""
    return str(blocks[-1]["text"])


def agent_of(asked: Asked) -> str:
    """Whose request it is."""
    found = re.search(r'<agent id="([a-z-]+)"', asked.system)
    return found[1] if found else "main"


@dataclass
class Studio:
    """The model: a rule for the double; `told` are the counters of each reply, `caches` whether the server has a cache.

    `now` are the seconds by which the cache's entries live.
    """

    now: Callable[[], float]
    caches: bool = True
    cache: Cache = field(default_factory=Cache)
    told: list[tuple[str, Mapping[str, int]]] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Mapping[str, object] | None:
        if asked.to != "messages":
            return None
        agent = agent_of(asked) if asked.forced != "verdict" else "reviewer"
        reply = self._reply(agent, asked)
        words = sum(len(str(block.get("text", block.get("input")))) for block in reply)
        return {"reply": reply, "usage": self._counted(agent, asked.body, words // 4 + 4)}

    def _counted(self, agent: str, body: Mapping[str, Any], output: int) -> Mapping[str, object]:
        taken = self.cache.ask(body, self.now())
        if not self.caches:
            whole = {"input": taken.plain + taken.written + taken.read, "output": output}
            self.told.append((agent, {**dict.fromkeys(COUNTERS, 0), **whole}))
            return {**whole, "cache_write": None, "cache_read": None}
        self.cache.begin(taken, self.now())
        used = {"input": taken.plain, "cache_write": taken.written, "cache_read": taken.read, "output": output}
        self.told.append((agent, used))
        return {**used, "cache_write_1h": taken.written_1h}

    def _reply(self, agent: str, asked: Asked) -> list[dict[str, Any]]:
        match agent:
            case "reviewer":
                return _calls(("verdict", {"verdict": "accept", "reason": "It says what was asked for."}))
            case "synthesizer":
                return _synthesizer(asked)
            case "researcher":
                return _researcher(asked)
            case "writer":
                return _writer(asked)
        said = said_in(asked)
        if wanted := [call for words, calls in CALLS.items() if words in said for call in calls]:
            return _calls(*wanted)
        return [{"text": " ".join(_BANK[(asked.turn * 3 + k) % len(_BANK)] for k in range(3))}]


def _calls(*calls: Call) -> list[dict[str, Any]]:
    return [{"tool": tool, "input": given} for tool, given in calls]


def _researcher(asked: Asked) -> list[dict[str, Any]]:
    if asked.turn == 1:
        return _calls(("search", {"query": "cone 6 four o'clock"}))
    answer = "At four o'clock, as the card of the old kiln says (projects/old-kiln.md)."
    return _calls(("report", {"summary": "Found in one card.", "answer": answer}))


def _writer(asked: Asked) -> list[dict[str, Any]]:
    text = "# Invitation\n\n## Relaunch\n\nCome and see the new kiln on Saturday, the 20th. There is tea.\n"
    entry = {"section_id": "relaunch", "summary": "Invitation for the 20th.", "keywords": ["invitation"]}
    match asked.turn:
        case 1:
            return _calls(("read_card", {"card": "kiln"}))
        case 2:
            return _calls(
                ("write_draft", {"title": "Invitation", "text": text, "index": [entry], "name": "invitation.md"})
            )
    return _calls(("report", {"summary": "The invitation is drafted."}))


def _synthesizer(asked: Asked) -> list[dict[str, Any]]:
    """The page of what was said since, told again in short: whatever was noted, ordered, decided or written."""
    if asked.turn == 1:
        return _calls(("read_input", {"name": "synthesis.md"}), ("read_input", {"name": "said.md"}))
    kept = re.findall(r"(?:Decided|Order|Put|Write|Tell|Then|Only|Two courses)[^.\n]*\.", asked.words)
    rows = "\n".join(f"- {row}" for row in dict.fromkeys(kept))
    head = "# Where things stand\n\nThe new kiln comes on 4 December; the studio prepares its relaunch.\n\n"
    answer = f"{head}{rows[:2400]}\n"
    log = "\n## Log\n- The week of the relaunch was planned in the chat.\n"
    return _calls(("report", {"summary": "Renewed.", "answer": answer + log, "complete": True}))
