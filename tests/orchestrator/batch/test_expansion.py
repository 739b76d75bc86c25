"""Rows of an input in, tasks or all that is wrong with them out."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.batch import expansion
from onepen.orchestrator.batch.expansion import MOST_TEXT, items
from onepen.orchestrator.batch.item import Item
from onepen.orchestrator.batch.reading import RowsRefused, rows_of
from onepen.orchestrator.batch.request import BatchRequest
from onepen.orchestrator.batch.row import Row
from onepen.orchestrator.batch.template import BadTemplate
from onepen.orchestrator.commands.shell import MOST_TASK
from tests.orchestrator.batch.toy import Toy


def made(text: str, ground: Toy | None = None, **asked: Any) -> tuple[Item, ...]:
    rows = rows_of(text.encode(), "500.csv")
    return items(rows, BatchRequest("500.csv", **asked), ground or Toy(), {})


def told(text: str, ground: Toy | None = None, **asked: Any) -> list[str]:
    with pytest.raises(RowsRefused) as caught:
        made(text, ground, **asked)
    return caught.value.message.removeprefix("500.csv").split("\n500.csv")


# -- what becomes of rows ----------------------------------------------------------------------------------------------


def test_without_a_prompt_a_rows_text_is_the_task() -> None:
    text = "id,text,client,project,agent,target\n7,Why?,acme,kiln,writer,projects/kiln.md\n,How?,,,,\n"
    first, second = made(text, client="beta")
    assert (first.id, first.text, first.client, first.project) == ("7", "Why?", "acme", "kiln")
    assert (first.agent, first.model, first.line) == ("writer", "claude-sonnet-5-5", 2)
    assert (first.target, second.target) == ("projects/kiln.md", "research/how.md")
    assert (second.text, second.client, second.agent, second.line) == ("How?", "beta", "researcher", 3)


def test_with_a_prompt_every_field_may_be_used_and_some_keep_their_meaning() -> None:
    text = "id,name,client,target\nk1,Ana & Co,,\nk2,Bo,acme,research/own.md\n"
    first, second = made(text, prompt="On {name} ({id})", target="research/{name}.md", agent="writer")
    assert (first.text, first.target, first.id, first.client) == ("On Ana & Co (k1)", "research/ana-co.md", "k1", None)
    assert (second.text, second.target, second.client) == ("On Bo (k2)", "research/own.md", "acme")


def test_rows_that_say_the_same_are_one_task() -> None:
    text = "id,text,client\na,Why?,\nb,How?,\nc,Why? ,\nd,Why?,acme\ne,why?,\nf,Why?,\n"
    found = made(text, agent="writer")
    assert [(one.line, one.twins) for one in found] == [(2, (4, 7)), (3, ()), (5, ()), (6, ())]
    assert len({one.key for one in found}) == 4


def test_a_key_knows_what_a_task_is_and_not_where_it_stands() -> None:
    one = made("text,target\nWhy?,research/a.md\nHow?,\n", agent="writer")
    other = made("target,text,id\n,How?,9\nresearch/a.md,Why?,\n", agent="writer")
    assert [item.key for item in one] == [item.key for item in reversed(other)]


def test_what_offline_finds_gets_a_place_of_its_own() -> None:
    ground = Toy(there=frozenset({"house/research/why.md", "house/projects/how.md", "acme/research/how.md"}))
    text = "text,client,target\nWhy?,,\nHow?,,\nhow?,,\nhow?,acme,\nx,,research/how-2.md\nHow!,,\n"
    found = made(text, ground)
    assert [one.target for one in found] == [
        "research/why-2.md",
        "research/how-3.md",
        "research/how-4.md",
        "research/how-2.md",
        "research/how-2.md",
        "research/how-5.md",
    ]
    assert [one.target for one in made("text\nWhy?\n", agent="writer")] == [None]
    assert [one.target for one in made("text\nWhy?\n", answer=True)] == [None]
    later = made(text, Toy(there=ground.there | {"house/research/why-2.md"}))
    assert [one.key for one in later] == [one.key for one in found]  # what was made already is known again
    assert later[0].target == "research/why-3.md"


def test_thousands_with_one_beginning_take_no_longer_than_others() -> None:
    text = "text\n" + "".join(f"{'the same words ' * 8}{k}\n" for k in range(3_000))
    assert len({one.target for one in made(text)}) == 3_000


def test_the_ground_is_asked_once_for_each_thing() -> None:
    ground = Toy()
    made("text,client,agent\n" + "".join(f"t{k},acme,writer\n" for k in range(100)), ground)
    assert ground.asked == ["agent writer", "client acme"]


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_field_that_a_prompt_asks_for_and_no_row_has_is_one_error() -> None:
    text = "id,name,text\n" + "1,Ana,x\n2,Bo,y\n"
    assert told(text, prompt="On {nmae} {id}", target="research/{nam}.md") == [
        ": no field 'nmae', which the prompt asks for; did you mean 'name'? The rows have id, name, text",
        ": no field 'nam', which the target asks for; did you mean 'name'? The rows have id, name, text",
    ]


def test_a_field_that_some_rows_lack_is_told_for_each() -> None:
    rows = rows_of(b'{"name": "Ana", "n": 1}\n{"nmae": "Bo", "n": 1}\n{"n": 2, "client": "gone"}\n', "x.jsonl")
    with pytest.raises(RowsRefused) as caught:
        items(rows, BatchRequest("x.jsonl", prompt="{name}", agent="writer"), Toy(), {})
    assert caught.value.message.split("\n") == [
        "x.jsonl:2: no field 'name', which the prompt asks for; did you mean 'nmae'? The row has nmae, n",
        "x.jsonl:3: no field 'name', which the prompt asks for. The row has n, client",
        "x.jsonl:3: no client 'gone'",
    ]


def test_fields_that_nobody_knows_are_told_with_what_may_be_meant() -> None:
    may = "Without --prompt a row has text, and may have id, agent, client, project and target"
    assert told("txet,clinet\na,b\nc,d\n") == [
        ": no field 'text'; did you mean 'txet'? The rows have txet, clinet",
        f": unknown field 'txet'; did you mean 'text'? {may}",
        f": unknown field 'clinet'; did you mean 'client'? {may}",
    ]
    assert [one.target for one in made("text,name\na,b\n", target="research/{name}.md")] == ["research/b.md"]
    assert told("what\na\n") == [":2: no field 'text'. The row has what", f":2: unknown field 'what'. {may}"]


def test_all_that_is_wrong_with_rows_is_told_at_once_by_line() -> None:
    text = (
        "id,text,client,project,agent,target\n"
        "1,,,,,\n"
        "2,a,gone,kiln,,\n"
        "3,b,acme,klin,riter,\n"
        "4,c,,,,notes/x.md\n"
        "5,d,,,,USER.md\n"
        "6,e sk-ant-FAKE,,,,\n"
        "7,f,beta,,writer,\n"
        f"{'8' * 201},{'x' * (MOST_TEXT + 1)},,,,research/Ä.md\n"
    )
    lines = told(text)
    assert lines[:9] == [
        ":2: the text is empty",
        ":3: no client 'gone'",
        ":4: no agent 'riter'",
        ":4: no project 'klin'",
        ":5: target 'notes/x.md': no such place; a target is projects/<id>.md, projects/<id>/<path>, research/<id>.md, "
        "MEMORY.md or USER.md",
        ":6: USER.md is for a person",
        ":7: this looks like a key",
        ":8: client beta has no server for a writer",
        ":9: id '" + "8" * 60 + "…': an id is one line of at most 200 characters",
    ]
    assert lines[9] == ":9: the text has 65,537 bytes, and a task's has at most 65,536; give what is long as --input"
    assert lines[10].startswith(":9: card id 'Ä': an id is 1 to 64 of a-z, 0-9 and '-'")


def test_what_a_row_names_it_names_by_its_id() -> None:
    ground = Toy(clients={"acme": ("The Kiln",), "B": ()}, agents={"researcher": "offline", "R": "offline"})
    lines = told("text,client,project,agent\na,acme,The Kiln,\nb,B,,\nc,,,R\n", ground)
    rule = "an id is 1 to 64 of a-z, 0-9 and '-', and begins with a letter or digit"
    assert lines == [f":2: card id 'The Kiln': {rule}", f":3: client id 'B': {rule}", f":4: agent id 'R': {rule}"]


def test_what_holds_for_all_rows_is_told_once() -> None:
    text = "text,client\na,\nb,\nc,acme\n"
    assert told(text, client="gone", agent="riter") == [": no agent 'riter'", ": no client 'gone'"]
    assert told("text\na\nb\n", client="acme", project="klin") == [": no project 'klin'"]
    assert told("text\na\nb\n", client="beta", agent="writer") == [": client beta has no server for a writer"]
    assert told("text\na\n", client="beta", agent="writer") == [":2: client beta has no server for a writer"]


def test_two_rows_that_would_create_the_same_card() -> None:
    text = "name,x\nAna,1\nBo,2\nana!,3\nAna,1\n"
    asked: dict[str, Any] = {"prompt": "{name} {x}", "target": "research/{name}.md"}
    line = ":4: target research/ana.md: line 2 creates it, too, and asks for something else"
    assert told(text, **asked) == [line]
    assert len(made(text, Toy(there=frozenset({"house/research/ana.md"})), **asked)) == 3
    other = "name,x,client\nAna,1,acme\nAna,2,beta\n"
    assert len(made(other, **asked)) == 2


def test_files_that_differ_only_in_case_are_one() -> None:
    text = "text,target\na,projects/kiln/A.csv\nb,projects/kiln/a.csv\n"
    assert told(text) == [":3: target projects/kiln/a.csv: line 2 creates it, too, and asks for something else"]


def test_a_title_that_makes_no_id_is_told_with_its_line() -> None:
    text = f"name\nAna\n{'x' * 300}\n"
    assert told(text, prompt="{name}", target="research/{name}.md")[0].startswith(":3: title 'xxx")


def test_a_prompt_that_uses_no_field_asks_the_same_of_all() -> None:
    text = "name\nAna\nBo\n"
    assert told(text, prompt="Write on name") == [
        ": the prompt uses no field, so all 2 rows ask the same; write {field} where one goes"
    ]
    assert len(made(text, prompt="Write on it", target="research/{name}.md")) == 2
    assert len(made("name\nAna\n", prompt="Write on it")) == 1


def test_a_secret_in_a_field_that_no_prompt_uses_is_refused_unless_the_person_insists() -> None:
    text = "name,key\nAna,sk-ant-FAKE\n"
    assert told(text, prompt="{name}") == [":2: this looks like a key"]
    assert len(made(text, prompt="{name}", allow_secret=True)) == 1


def test_a_prompt_whose_fields_are_empty() -> None:
    assert told("name,x\n,1\nBo,2\n", prompt=" {name} ") == [":2: the prompt gives an empty text"]


def test_all_texts_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "MOST_TEXTS", 1 << 20)
    text = "n\n" + "".join(f"{k}\n" for k in range(60))
    lines = told(text, prompt="x" * 60_000 + "{n}")
    assert lines == [": the texts come to 3 MiB, at most 1 MiB; give what all tasks share as --input"]


def test_braces_that_are_wrong() -> None:
    with pytest.raises(BadTemplate, match=r"the target: '\{' opens a field"):
        made("text\na\n", target="research/{.md")


def test_a_task_may_be_as_long_as_one_that_is_delegated() -> None:
    assert MOST_TEXT == MOST_TASK


WORDS = st.sampled_from(["", "a", "b", "Why?", " ", "acme", "writer", "research/x.md", "USER.md", "gone", "sk-ant-1"])
FIELDS = st.dictionaries(st.sampled_from(["text", "id", "agent", "client", "project", "target", "x"]), WORDS)


@given(st.lists(FIELDS, max_size=6), st.sampled_from([None, "{text}", "{x} {text}", "plain"]), st.booleans())
def test_whatever_rows_say_they_are_all_tasks_or_twins_or_refused(
    fields: list[dict[str, str]], prompt: str | None, answer: bool
) -> None:
    rows = [Row(k, one) for k, one in enumerate(fields, 1)]
    try:
        found = items(rows, BatchRequest("-", prompt=prompt, answer=answer), Toy(), {})
    except RowsRefused as e:
        assert all(0 <= one.line <= len(rows) for one in e.wrong)
        return
    assert sorted(line for one in found for line in (one.line, *one.twins)) == [row.line for row in rows]
    assert len({one.key for one in found}) == len(found)
    made_at = [(one.client, one.target) for one in found if one.target is not None]
    assert len(set(made_at)) == len(made_at)
    assert items(rows, BatchRequest("-", prompt=prompt, answer=answer), Toy(), {}) == found
    moved = [replace(row, line=row.line + 100) for row in reversed(rows)]
    again = items(moved, BatchRequest("-", prompt=prompt, answer=answer), Toy(), {})
    assert {one.key for one in again} == {one.key for one in found}
