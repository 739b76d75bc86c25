"""The outcomes of attacks as a table, and what of them remains."""

from collections.abc import Sequence

from tests.attacks.stage import MODES, Outcome

_PLACES = {
    "free": "work without a sandbox",
    "worker": "in that of a worker",
    "commands": "in that of one that may run commands",
}


def rendered(user: str, outcomes: Sequence[Outcome]) -> str:
    """One line for each attack, and the sums."""
    names = list(dict.fromkeys((one.group, one.attack) for one in outcomes))
    found = {(one.attack, one.mode): one for one in outcomes}
    lines = [f"As {'root' if user == 'root' else 'an ordinary user'}:", ""]
    modes = [mode for mode in MODES if any(one.mode == mode for one in outcomes)]
    width = max(len(name) for _, name in names)
    for group, name in names:
        free, *inside = (found[name, mode] for mode in modes)
        if not free.works:
            lines.append(f"{group:13} {name:{width}}  does not work here: {free.seen}")
            continue
        told = "  ".join(f"{one.mode}: {'WORKS' if one.works else 'denied':6}" for one in inside)
        lines.append(f"{group:13} {name:{width}}  {told}  {inside[0].seen}")
    counted = [f"{len(remaining(outcomes, mode))} {_PLACES[mode]}" for mode in modes]
    lines += ["", f"{len(names)} attacks; " + ", ".join(counted)]
    return "\n".join(lines)


def remaining(outcomes: Sequence[Outcome], mode: str) -> list[str]:
    """The names of attacks that work in this mode, of those that work without a sandbox."""
    names = dict.fromkeys(one.attack for one in outcomes)
    return [name for name in names if works(outcomes, mode, name)]


def works(outcomes: Sequence[Outcome], mode: str, name: str) -> bool:
    """Whether an attack works; one that doesn't work without a sandbox proves nothing and doesn't count."""
    found = {one.mode: one.works for one in outcomes if one.attack == name}
    return found["free"] and found[mode]
