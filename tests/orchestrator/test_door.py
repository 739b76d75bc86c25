"""Nothing that looks like a secret gets into memory, by whatever part of a change it comes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.memory.change import Change, FileEntry, Put
from onepen.memory.ids import AgentId, CardId
from onepen.memory.index.entry import IndexEntry
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.orchestrator.door import SecretRefused, check, refuse
from onepen.orchestrator.service import Service

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
