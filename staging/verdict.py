"""What a reviewer decided about a draft, bound to exactly what they saw."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ..memory.target import FileTarget
from ..memory.wording import in_words, key_of
from .errors import StagingFault

if TYPE_CHECKING:
    from .draft import Draft

Sha = Annotated[str, StringConstraints(pattern=r"^(?:[0-9a-f]{64})?$")]


class VerdictUnreadable(StagingFault):
    """Raised when a stored verdict is not one; nothing is guessed from it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"stored verdict: {reason}")


@dataclass(frozen=True)
class Bound:
    """What was judged: the draft's sha256 (its text, its front matter, its file), and the sha256 of what it changes.

    `section` is that of the section as it was shown (of the whole file, for a file of a project); "" when the target
    was absent. `index` is that of the index lines that its entries replace, "" when they replace none that a person
    may have written.
    """

    sha256: str
    section: str
    index: str = ""


@dataclass(frozen=True)
class Accepted:
    """The draft may become memory, as it was shown."""

    word: ClassVar[Literal["accepted"]] = "accepted"
    reviewer: str
    bound: Bound
    reason: str = ""


@dataclass(frozen=True)
class SentBack:
    """The worker gets `reason` as feedback, and its draft, for another attempt."""

    word: ClassVar[Literal["sent_back"]] = "sent_back"
    reviewer: str
    bound: Bound
    reason: str


@dataclass(frozen=True)
class Refused:
    """The draft never becomes memory."""

    word: ClassVar[Literal["refused"]] = "refused"
    reviewer: str
    bound: Bound
    reason: str


@dataclass(frozen=True)
class Escalated:
    """The next stage, a person at last, has to decide."""

    word: ClassVar[Literal["escalated"]] = "escalated"
    reviewer: str
    bound: Bound
    reason: str


Verdict = Accepted | SentBack | Refused | Escalated
_KINDS: dict[str, type[Accepted] | type[SentBack] | type[Refused] | type[Escalated]] = {
    kind.word: kind for kind in (Accepted, SentBack, Refused, Escalated)
}


def bind(draft: "Draft", before: bytes | str | None) -> Bound:
    """What a verdict on `draft` is bound to, with its target as it stands now (None: absent)."""
    if before is None:
        return Bound(draft.sha256, "")
    if isinstance(draft.target, FileTarget):
        data = before if isinstance(before, bytes) else before.encode()
        return Bound(draft.sha256, hashlib.sha256(data).hexdigest())

    from ..memory.text.card import section_sha  # parses Markdown and YAML; who only reads verdicts needs neither

    text = before if isinstance(before, str) else before.decode()
    return Bound(draft.sha256, section_sha(text, draft.section))


def moved_on(then: Bound, now: Bound) -> str | None:
    """What changed since a verdict was given, in a few words; None when it still holds."""
    if then.sha256 != now.sha256:
        return "the draft was changed after it was shown"
    if then.section != now.section:
        return "what the draft changes was itself changed after it was shown"
    if then.index != now.index:
        return "the index line that the draft replaces was changed after it was shown"
    return None


class _StoredBound(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    sha256: Sha
    """Hash of the draft that was judged."""
    section: Sha
    """Hash of what it changes, as it was shown."""
    index: Sha = ""
    """Hash of the index lines that it replaces, as they were shown."""


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    verdict: Literal["accepted", "sent_back", "refused", "escalated"]
    """What was decided."""
    reviewer: str = Field(min_length=1, max_length=200)
    """Who decided: `checks`, `model:<name>` or `user:<login>`."""
    bound: _StoredBound
    """What was judged."""
    reason: str = ""
    """Why; the feedback, for a draft that was sent back."""


def verdict_json(verdict: Verdict) -> dict[str, object]:
    """The verdict as plain JSON values; `parse_verdict` gives it back."""
    return {
        "verdict": verdict.word,
        "reviewer": verdict.reviewer,
        "bound": asdict(verdict.bound),
        "reason": verdict.reason,
    }


def parse_verdict(value: Mapping[str, object]) -> Verdict:
    """The verdict in a stored mapping; raises VerdictUnreadable."""
    try:
        stored = _Stored.model_validate(dict(value))
    except ValidationError as e:
        first = e.errors()[0]
        raise VerdictUnreadable(f"{key_of(first['loc'])}: {in_words(dict(first))}") from e
    bound = Bound(stored.bound.sha256, stored.bound.section, stored.bound.index)
    return _KINDS[stored.verdict](reviewer=stored.reviewer, bound=bound, reason=stored.reason)
