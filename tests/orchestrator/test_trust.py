"""What a workspace wishes counts as long as the person allowed exactly that, and fills only what they left open."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import AgentId
from onepen.memory.settings import SettingsUnreadable, WorkspaceSettings, parse_settings
from onepen.orchestrator.gateway.account import Caps
from onepen.orchestrator.service import DelegateRequest, Service
from onepen.orchestrator.settings.grants import TrustUnreadable, allow, grants, revoke, trusted, unread
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.orchestrator.settings.trust import Wish, agent_wish, in_force, table_wish, together

MakeService = Callable[..., Service]

ID = 'id = "kilnhouse7"\n'
WISHES = """[wishes]
model = "opus"
profile = "work"
review = "auto"
task_usd = 4
"""
PERSON = Setup(
    profiles={"default": Profile("default", key=Secret("k")), "work": Profile("work", key=Secret("w"))},
    caps=Caps(day_usd=3.0),
)
AT = "2026-11-30T09:00:00+01:00"


def settings(wishes: str = WISHES, id_: str = ID) -> WorkspaceSettings:
    return parse_settings(id_ + wishes)


def wish_of(given: WorkspaceSettings) -> Wish:
    wish = table_wish(given)
    assert wish is not None
    return wish


def trusting(given: WorkspaceSettings, setup: Setup = PERSON) -> Setup:
    return replace(setup, trusted=frozenset({wish_of(given).sha256}))


def test_nothing_counts_until_it_is_allowed() -> None:
    force = in_force(settings(), PERSON)
    assert (force.setup, force.review, force.raised) == (PERSON, "person", Caps())
    assert force.notice is not None and "onepen trust" in force.notice


def test_what_is_allowed_fills_what_the_person_left_open() -> None:
    setup = trusting(settings())
    force = in_force(settings(), setup)
    assert (force.review, force.raised, force.notice) == ("auto", Caps(task_usd=4.0), None)
    assert force.setup.profile == "work"
    assert force.setup.profiles["work"].model == "opus"
    assert force.setup.profiles["default"].model is None
    assert force.setup.caps == PERSON.caps
    assert in_force(settings(), force.setup) == force


def test_the_persons_own_word_comes_first() -> None:
    own = replace(PERSON, model="offline", profile="mine", profiles={"mine": Profile("mine", model="haiku")})
    force = in_force(settings(), trusting(settings(), own))
    assert (force.setup.model, force.setup.profile) == ("offline", "mine")
    assert force.setup.profiles["mine"].model == "haiku"


@pytest.mark.parametrize(
    "other",
    [
        WISHES.replace("opus", "haiku"),
        WISHES.replace("task_usd = 4", "task_usd = 4.01"),
        WISHES + "day_usd = 1\n",
        WISHES.replace('review = "auto"\n', ""),
    ],
)
def test_any_change_is_asked_for_again(other: str) -> None:
    force = in_force(settings(other), trusting(settings()))
    assert force.notice is not None and force.review == "person" and force.setup.profile == "default"


def test_another_workspace_does_not_get_it_by_saying_the_same() -> None:
    assert in_force(settings(id_='id = "otherhouse"\n'), trusting(settings())).notice is not None


def test_how_it_is_written_down_makes_no_difference() -> None:
    other = 'wishes = { task_usd = 4.0, review = "auto", profile = "work", model = "opus" }\n'
    assert wish_of(settings(other)) == wish_of(settings())


def test_each_wish_is_told_in_words() -> None:
    lines = wish_of(settings()).lines
    assert len(lines) == 4
    assert "model opus" in lines[0] and "profile work" in lines[1] and "$4.00 on one task" in lines[3]


def test_a_workspace_without_wishes_is_not_asked_about() -> None:
    assert table_wish(settings("")) is None and in_force(settings(""), PERSON).notice is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('base_url = "https://evil.example"', "line 2: base_url is not for a workspace to say"),
        ('model = "opus"', "line 2: model is a wish, which counts once you allow it"),
        ('[wishes]\nmodel = "scripted:/etc/passwd"', "line 3: wishes.model names a script"),
        ('[wishes]\nbase_url = "https://evil.example"', "line 3: wishes.base_url is not for a workspace to say"),
        ('[profiles.x]\nkey_env = "K"', "line 2: profiles is not for a workspace to say"),
        ('[wishes]\nreview = "none"', "line 3: wishes.review"),
        ("[wishes]\ntask_usd = inf", "line 3: wishes.task_usd"),
        ('[wishes]\nmodel = "a\\u001b[2J"', "line 3: wishes.model"),
    ],
)
def test_what_a_workspace_may_not_even_wish_is_refused_by_line(line: str, reason: str) -> None:
    with pytest.raises(SettingsUnreadable) as caught:
        settings(line + "\n")
    assert reason in caught.value.message


def test_an_agents_wish_is_bound_to_its_file() -> None:
    asks = frozenset({"run_command"})
    poet = AgentId("poet")
    wish = agent_wish("kilnhouse7", poet, b"a", asks)
    assert wish is not None and "run_command" in wish.lines[0]
    others = (
        agent_wish("kilnhouse7", poet, b"b", asks),
        agent_wish("kilnhouse7", AgentId("bard"), b"a", asks),
        agent_wish("otherhouse", poet, b"a", asks),
    )
    assert all(other is not None and other.sha256 != wish.sha256 for other in others)
    assert agent_wish("kilnhouse7", poet, b"a", frozenset()) is None
    assert together((wish,)) != together((wish, wish))


# -- what is remembered ------------------------------------------------------------------------------------------------


def test_lines_that_cannot_be_read_allow_nothing_and_are_told(tmp_path: Path) -> None:
    file, wish = tmp_path / "trust.jsonl", wish_of(settings())
    allow(file, "kilnhouse7", tmp_path, (wish,), AT)
    assert unread(file) is None
    file.write_text(file.read_text() + '{"v": 1\n{}{}\n')
    assert trusted(file) == {wish.sha256}
    assert "2 lines, the first of them 2, can't be read" in str(unread(file))
    file.write_text("")
    assert trusted(file) == frozenset() and unread(file) is None


def test_it_is_remembered_in_a_file_for_nobody_else(tmp_path: Path) -> None:
    file, root = tmp_path / "data/onepen/trust.jsonl", tmp_path / "ws"
    wish = wish_of(settings())
    assert trusted(file) == frozenset()
    allow(file, "kilnhouse7", root, (wish,), AT)
    allow(file, "kilnhouse7", root, (wish,), AT)
    assert trusted(file) == {wish.sha256}
    (grant,) = grants(file)
    assert (grant.workspace, grant.path, grant.name, grant.lines) == (
        "kilnhouse7",
        str(root),
        "onepen.toml",
        wish.lines,
    )
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert revoke(file, "otherhouse", AT) == () and trusted(file)
    assert revoke(file, "kilnhouse7", AT) == (grant,) and trusted(file) == frozenset()
    allow(file, "kilnhouse7", root, (wish,), AT)
    assert trusted(file) == {wish.sha256}


@given(st.binary(max_size=200))
def test_a_line_that_is_none_allows_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("trust") / "trust.jsonl"
    file.write_bytes(data)
    file.chmod(0o600)
    assert trusted(file) == frozenset()
    allow(file, "kilnhouse7", Path("/ws"), (wish_of(settings()),), AT)
    assert trusted(file) == {wish_of(settings()).sha256}


@pytest.mark.parametrize("how", ["others may write", "a link", "a folder"])
def test_a_file_that_somebody_else_could_have_written_is_not_believed(tmp_path: Path, how: str) -> None:
    file, other = tmp_path / "trust.jsonl", tmp_path / "other.jsonl"
    allow(other, "kilnhouse7", tmp_path, (wish_of(settings()),), AT)
    if how == "a link":
        file.symlink_to(other)
    elif how == "a folder":
        file.mkdir()
    else:
        other.rename(file)
        file.chmod(0o666)
    for ask in (trusted, lambda path: allow(path, "kilnhouse7", tmp_path, (), AT)):
        with pytest.raises(TrustUnreadable, match="is not believed"):
            ask(file)


# -- what it comes to --------------------------------------------------------------------------------------------------

QUESTION = "When was cone 6 reached?"


def delegated(service: Service, root: Path, setup: Setup) -> tuple[str, bool]:
    """What became of a task, and whether the wish was said to be unheard."""
    (root.parent / "cones.md").write_text("Cone 6 was reached on 3 November at 1222 degrees.\n")
    request = DelegateRequest((QUESTION,), inputs=(root.parent / "cones.md",))
    result = anyio.run(partial(service.delegate, request, setup=setup))
    return result.tasks[0].status, any("[wishes]" in notice for notice in result.notices)


def test_review_auto_counts_when_it_was_allowed(make_service: MakeService, root: Path) -> None:
    with (root / "onepen.toml").open("a") as f:
        f.write('\n[wishes]\nreview = "auto"\n')
    given = parse_settings((root / "onepen.toml").read_text())
    assert delegated(make_service(), root, Setup()) == ("in_review", True)
    assert delegated(make_service(), root, trusting(given, Setup())) == ("committed", False)
