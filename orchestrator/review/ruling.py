"""What checks, reviewing model and policy together say of a draft: a pure function of what each of them found."""

from dataclasses import dataclass
from typing import Literal

from ...staging.finding import blocked
from ...staging.verdict import Accepted, Escalated, Refused, SentBack, Verdict
from .reviewer import CHECKS, Examined


@dataclass(frozen=True)
class Opinion:
    """What a reviewing model says of a draft; `word` "none": it gave no verdict, and `reason` says why.

    `doubt` says why its consent is advice and no more, whatever the policy asks for; "" where it counts.
    """

    reviewer: str
    word: Literal["accept", "send_back", "refuse", "escalate", "none"]
    reason: str
    doubt: str = ""


def ruling(examined: Examined, opinion: Opinion | None = None) -> Verdict | None:
    """The verdict; None as long as a model has to be asked for its opinion.

    A model's consent stands for a person's only where the policy asks for no person. Whatever is no verdict of it
    leaves the draft to a person.
    """
    bound = examined.bound
    if blocked(examined.findings):
        reasons = "; ".join(str(f) for f in examined.findings if f.level == "block")
        return Escalated(CHECKS, bound, reasons)
    person = "person" in examined.stages
    if "model" in examined.stages:
        return None if opinion is None else _of_model(examined, opinion, person)
    if person:
        return Escalated(CHECKS, bound, "a person decides")
    return Accepted(CHECKS, bound, "verbatim quotes, found at their places")


def _of_model(examined: Examined, opinion: Opinion, person: bool) -> Verdict:
    who, why, bound = opinion.reviewer, opinion.reason, examined.bound
    match opinion.word:
        case "accept" if person:
            return Escalated(who, bound, f"a person decides; {who} would accept it: {why}")
        case "accept" if opinion.doubt:
            return Escalated(who, bound, f"a person decides, since {opinion.doubt}; {who} would accept it: {why}")
        case "accept":
            return Accepted(who, bound, why)
        case "send_back":
            return SentBack(who, bound, why)
        case "refuse":
            return Refused(who, bound, why)
        case "escalate":
            return Escalated(who, bound, f"{who} leaves it to a person: {why}")
        case "none":
            return Escalated(who, bound, f"a person decides; no model judged it: {why}")
