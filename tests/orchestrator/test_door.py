"""Nothing that looks like a secret gets into memory, by whatever part of a change it comes."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from onepen.memory.change import Change, FileEntry, Put
from onepen.memory.ids import AgentId, CardId
from onepen.memory.index.entry import IndexEntry
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.orchestrator.door import SecretRefused, check, refuse
from onepen.orchestrator.results import TaskView
from onepen.orchestrator.service import DelegateRequest, Service
from onepen.orchestrator.settings.redact import Known
from onepen.subagents.pool import Assignment, Ending, Reported
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]

KILN = CardTarget("projects", CardId("kiln"))
SECRETS = [
    "sk-ant-api03-" + "FAKE" * 20 + "FA",
    "AKIAFAKEFAKEFAKE0000",
    "ghp_" + "F" * 36,
    "-----BEGIN PRIVATE KEY-----\nFAKEFAKE\n-----END PRIVATE KEY-----",
    "password: hunter2-fake",
    "https://u:p4ss@host",
]


def change(who: str = "user:ana", **parts: object) -> Change:
    return Change(client=None, what="x", who=who, **parts)  # type: ignore[arg-type]


def places(value: str) -> list[tuple[str, Change]]:
    """Every part of a change that ends in a file, with `value` in it."""
    line = " ".join(value.split())
    return [
        ("projects/kiln.md, the new text", change(edit=CardEdit(KILN, "create", text=f"# Kiln\n\n{value}\n"))),
        ("the title", change(edit=CardEdit(KILN, "create", title=line))),
        ("projects/kiln.md, the old text", change(edit=CardEdit(KILN, "replace", old_text=value, text="gone"))),
        ("USER.md", change(puts=(Put("USER.md", f"He said {value}\n".encode()),))),
        ("the file's name", change(puts=(Put(f"projects/kiln/{line}", b""),))),
        ("agent poet, its description", change(registry=((AgentId("poet"), line),))),
        ("the day log's line", change(log=(("note", line),))),
        ("the sources", change(sources=(line,))),
    ]


@pytest.mark.parametrize("value", SECRETS, ids=lambda value: value[:9])
def test_a_secret_is_refused_wherever_it_stands_and_never_repeated(value: str) -> None:
    for place, made in places(value):
        with pytest.raises(SecretRefused) as caught:
            check(made)
        assert caught.value.message.startswith(place), caught.value
        assert value not in str(caught.value) and " ".join(value.split()) not in str(caught.value)
        assert "keep its name, not its value" in caught.value.message


@pytest.mark.parametrize("field", ["summary", "keywords", "file"])
def test_an_index_entry_is_looked_through(field: str) -> None:
    key = "AKIAFAKEFAKEFAKE0000"
    entry = IndexEntry("firing", key if field == "summary" else "The kiln.", (key,) if field == "keywords" else ())
    made = change(index=(entry,))
    if field == "file":
        made = change(files=(FileEntry(CardId("kiln"), "a.csv", IndexEntry("a.csv", f"Key {key}")),))
    with pytest.raises(SecretRefused, match="an AWS access key id") as caught:
        check(made)
    assert key not in str(caught.value)


def test_a_credential_that_is_held_has_no_shape_and_is_refused_all_the_same() -> None:
    held = {"the key of profile work": "open sesame 7"}
    for place, made in places("open sesame 7"):
        check(made)
        with pytest.raises(SecretRefused, match="the key of profile work") as caught:
            check(made, held)
        assert caught.value.message.startswith(place) and "sesame" not in str(caught.value)


def test_the_line_of_a_text_is_named() -> None:
    with pytest.raises(SecretRefused, match="the card, line 3: this looks like a named password"):
        refuse("one\ntwo\npassword: hunter2-fake\n", "the card")


@pytest.mark.parametrize(
    ("who", "draft", "hinted"), [("user:ana", None, True), ("agent:main", None, False), ("user:ana", "abc-1", False)]
)
def test_only_a_person_who_writes_is_told_how_to_insist(who: str, draft: str | None, hinted: bool) -> None:
    with pytest.raises(SecretRefused) as caught:
        check(change(who, draft=draft, log=(("note", "AKIAFAKEFAKEFAKE0000"),)))
    assert (caught.value.hint is not None) == hinted


@pytest.mark.parametrize("text", ["password: required", "The token is kept in OPS.md.", "api_key = $KEY"])
def test_talk_of_secrets_passes(text: str) -> None:
    check(change(log=(("note", text),), edit=CardEdit(KILN, "create", text=text, title=text)))


def everything(root: Path) -> bytes:
    """All that lasts in a workspace: the pen's own folder is made by the first command that writes."""
    paths = (path for path in sorted(root.rglob("*")) if path.is_file() and ".onepen" not in path.parts)
    return b"".join(path.read_bytes() for path in paths)


@pytest.mark.parametrize("value", SECRETS, ids=lambda value: value[:9])
def test_nothing_is_written_until_a_person_insists(service: Service, root: Path, value: str) -> None:
    line = " ".join(value.split())
    definition = f"---\nname: poet\ndescription: Rhymes.\n---\n{value}\n"
    attempts: list[Callable[[], object]] = [
        lambda: service.log(f"new: {line}"),
        lambda: service.add_project("Kiln", text=f"# Kiln\n\n{value}\n"),
        lambda: service.add_research("Kiln", text=f"{value}\n"),
        lambda: service.add_agent("Poet", text=definition),
    ]
    for attempt in attempts:
        before = everything(root)
        with pytest.raises(SecretRefused):
            attempt()
        assert everything(root) == before
    service.log(f"new: {line}", allow_secret=True)
    service.add_project("Kiln", text=f"# Kiln\n\n{value}\n", allow_secret=True)
    assert everything(root).count(line.encode()) >= 2


# -- drafts ------------------------------------------------------------------------------------------------------------


def drafted(make_service: MakeService, text: str, known: Known | None = None) -> tuple[Service, TaskView]:
    """A task whose worker wrote a file into its drafts folder, past the tools."""

    def instead(assignment: Assignment) -> Ending:
        head = "---\ntarget: research/login.md\nedit: create\nprovenance: agent\n---\n"
        (assignment.drafts_folder / "login.md").write_text(f"{head}# Login\n\n{text}\n")
        return Reported("done", None, True, 0.0)

    service = make_service(pool=InProcessPool(instead=instead), known=known)
    (task,) = anyio.run(service.delegate, DelegateRequest(("Where is the login?",))).tasks
    return service, task


@pytest.mark.parametrize("value", SECRETS, ids=lambda value: value[:9])
def test_a_draft_that_was_written_past_the_tools_cannot_stand(
    make_service: MakeService, root: Path, value: str
) -> None:
    service, task = drafted(make_service, value)
    (draft,) = task.drafts
    assert draft.blocked and value not in str(draft.findings)
    (decision,) = service.approve([draft.id], sha256=draft.sha256).decisions
    assert decision.outcome == "blocked"
    holding = {path.name for path in root.rglob("*") if path.is_file() and value.encode() in path.read_bytes()}
    assert holding == {"login.md"}


def test_a_draft_with_a_credential_that_is_known_cannot_stand(make_service: MakeService, root: Path) -> None:
    known = Known({"the key of profile work": "open sesame 7"})
    service, task = drafted(make_service, "It is open sesame 7.", known)
    (draft,) = task.drafts
    assert draft.blocked and "the key of profile work" in draft.findings[0].message
    (decision,) = service.approve([draft.id], sha256=draft.sha256).decisions
    assert decision.outcome == "blocked" and not (root / "research/login.md").exists()
    service, task = drafted(make_service, "It is open sesame 8.", known)
    (draft,) = task.drafts
    (decision,) = service.approve([draft.id], sha256=draft.sha256).decisions
    assert decision.outcome == "committed"
