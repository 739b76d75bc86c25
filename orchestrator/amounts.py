"""Amounts as people read them: numbers of things, money, stretches of time, shares."""


def count(n: int, one: str, many: str | None = None) -> str:
    """ "1 draft", "3 drafts"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def money(usd: float | None) -> str:
    """An amount for people: cents, and more digits where there would be none to see."""
    if usd is None:
        return "unknown"
    return f"${usd:,.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.4f}"


def lasting(seconds: float) -> str:
    """A stretch of time in its two largest units, such as 0.4 s, 42 s, 3 min 5 s, 2 h 10 min, 3 d 4 h."""
    if 0.05 <= seconds < 0.95:
        return f"{seconds:.1f} s"
    whole = max(0, round(seconds))
    for size, name, below, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            count, rest = whole // size, whole % size // below
            return f"{count:,} {name} {rest} {small}" if rest else f"{count:,} {name}"
    return f"{whole} s"


def percent(share: float) -> str:
    """A share as whole percents; 100 % only where nothing is missing, 0 % only where there is nothing."""
    whole = round(share * 100)
    if share < 1 and whole == 100:
        whole = 99
    return f"{1 if share > 0 and whole == 0 else whole} %"
