"""Templates: braces in, fields and text out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import BadTitle, CardId
from onepen.orchestrator.batch.template import BadTemplate, template

FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="{}\n\r"), min_size=1).map(str.strip).filter(bool)


def quoted(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def test_fields_are_filled_and_braces_that_stand_twice_stay() -> None:
    read = template('Write on { name } ({n}).\n{{"as": "{name}"}}\n', "the prompt")
    assert read.fields == ("name", "n")
    assert read.fill({"name": "{n}", "n": "7"}) == 'Write on {n} (7).\n{"as": "{n}"}\n'


def test_values_in_a_target_become_ids() -> None:
    read = template("research/{name}.md", "the target")
    assert read.fill_target({"name": "Müller & Söhne"}) == "research/muller-sohne.md"
    assert read.fill_target({"name": "../../etc/passwd"}) == "research/etc-passwd.md"
    with pytest.raises(BadTitle):
        read.fill_target({"name": " "})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a } b", "the prompt: '}' closes no field; a brace that is to stay is written twice"),
        ("a\nb {name\n}", "the prompt, line 2: '{' opens a field that nothing closes on its line; a brace"),
        ("{", "the prompt: '{' opens a field that nothing closes on its line"),
        ("{a{b}}", "the prompt: '{' opens a field that nothing closes on its line"),
        ("x {} y", "the prompt: '{}' names no field"),
        ("x { } y", "the prompt: '{ }' names no field"),
    ],
)
def test_what_is_wrong_with_braces(text: str, told: str) -> None:
    with pytest.raises(BadTemplate) as caught:
        template(text, "the prompt")
    assert caught.value.message.startswith(told)


@given(st.text())
def test_text_with_its_braces_doubled_is_itself(text: str) -> None:
    read = template(quoted(text), "the prompt")
    assert (read.fields, read.fill({})) == ((), text)


@given(st.lists(st.tuples(st.text(), FIELDS)), st.text(), st.data())
def test_each_field_is_filled_with_its_value_as_it_is(
    parts: list[tuple[str, str]], end: str, data: st.DataObject
) -> None:
    read = template("".join(f"{quoted(text)}{{{field}}}" for text, field in parts) + quoted(end), "the prompt")
    assert read.fields == tuple(dict.fromkeys(field for _, field in parts))
    values = {field: data.draw(st.text()) for field in read.fields}
    assert read.fill(values) == "".join(text + values[field] for text, field in parts) + end


@given(st.text())
def test_any_text_is_a_template_or_refused(text: str) -> None:
    try:
        template(text, "the prompt").fill({})
    except (BadTemplate, KeyError):
        pass


@given(st.text())
def test_whatever_a_row_says_it_stays_one_id_of_the_target(value: str) -> None:
    try:
        target = template("research/{x}.md", "the target").fill_target({"x": value})
    except BadTitle:
        return
    CardId(target.removeprefix("research/").removesuffix(".md"))
