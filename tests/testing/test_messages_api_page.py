"""The double's page names every field, and its examples are rules."""

import json
import re
import typing
from pathlib import Path

import pytest
from pydantic import BaseModel

from onepen.testing.messages_api.rules import Batching, Counted, Fault, Rule, Said, Script, read_script

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/messages-api-double.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("told", [Script, Rule, Said, Counted, Fault, Batching])
def test_every_field_is_on_the_page(told: type[BaseModel]) -> None:
    assert [name for name in told.model_fields if f"`{name}`" not in PAGE] == []


def test_every_kind_of_fault_is_on_the_page() -> None:
    kinds = typing.get_args(Fault.model_fields["kind"].annotation)
    assert [kind for kind in kinds if f"`{kind}`" not in PAGE.partition("## Faults")[2]] == []


def test_the_examples_are_rules(tmp_path: Path) -> None:
    examples = re.findall(r"^```json\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        path = tmp_path / "rules.json"
        path.write_text(example)
        assert len(read_script(path).rules) == len(json.loads(example)["rules"])
