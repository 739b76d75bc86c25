"""review.md in a task's folder: what waits there, as a person can read it without onepen."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

from ...memory.ids import DraftId
from ...memory.links import LinkLeadsOut
from ...staging.secret import mask
from ..premises import write
from ..settings.models import follows_remarks
from ..tasks.dossier import Dossier
from ..tasks.plan import DraftState
from .reviewer import Examined, Reviewer


def write_review(
    dossier: Dossier, reviewer: Reviewer, now: datetime, judged: Mapping[DraftId, Examined] = MappingProxyType({})
) -> tuple[str, ...]:
    """Writes review.md anew: each draft with its findings, who decided, and the change that it makes.

    `judged` are drafts as they were judged a moment ago, and told as such; the others are examined, unless they are in
    memory. It only retells what the journal says, so a failure to write it is a notice and nothing worse. A secret in a
    draft is told by its kind.
    """
    examined = [
        (draft, None if draft.commit is not None else judged.get(draft.id) or reviewer.examine(dossier, draft))
        for draft in dossier.state.drafts
    ]
    lines = [
        f"# Review of {dossier.task}",
        "",
        f"As of {now.isoformat(timespec='minutes')}: {dossier.state.status}.",
        "",
    ]
    for draft, found in examined:
        lines += [*_draft(dossier, draft, found), ""]
    try:
        text = mask("\n".join(lines), reviewer.held)
        write(dossier.folder.review_file, text.encode(errors="replace"))
    except OSError as e:
        return (f"{dossier.path('review.md')}: could not be written: {e.strerror or e}",)
    except LinkLeadsOut as e:
        return (e.message,)
    return ()


def _draft(dossier: Dossier, draft: DraftState, found: Examined | None) -> Iterator[str]:
    target = draft.facts.target or "no target"
    yield f"## {draft.id}: {target}"
    yield ""
    yield f"- File: {draft.attempt}/drafts/{draft.facts.name}"
    yield f"- Status: {draft.status}" + (f" ({draft.reason})" if draft.reason else "")
    if draft.verdict is not None:
        yield f"- {'Looked at' if draft.status == 'waiting' else 'Decided'} by: {draft.verdict.reviewer}"
    if found is None:
        yield f"- Commit: {draft.commit}"
        return
    yield f"- Provenance: {found.provenance}; stages: {', '.join(found.stages)}"
    for finding in found.findings:
        yield f"- {finding.level}: {finding}"
    if draft.status == "waiting":
        back = "|send-back" if follows_remarks(dossier.sheet.model) else ""
        verb = "edit" if found.blocked else "approve"
        yield f"- Next: onepen show {draft.id}, then onepen {verb}|reject{back} {draft.id}"
        yield ""
        diff = found.diff.rstrip("\n")
        fence = "`" * max(4, _longest_run(diff) + 1)
        yield f"{fence}diff"
        yield diff
        yield fence


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
