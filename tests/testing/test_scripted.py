"""The scripted model: the first rule that fits speaks."""

from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.subagents.messages import Message, Text, ToolUse, assistant, user
from onepen.subagents.model import ModelReply, ModelRequest, Usage
from onepen.testing.scripted import ScriptedModel, ScriptExhausted, ScriptUnreadable


def ask(model: ScriptedModel, *messages: Message, agent: str = "writer") -> ModelReply:
    request = ModelRequest("scripted", (), (), messages or (user(Text("Newsletter, please")),), 100, agent)
    return anyio.run(partial(model.reply, request))


def test_rules_are_chosen_by_agent_words_and_turn() -> None:
    model = ScriptedModel(
        [
            {"agent": "researcher", "reply": [{"text": "research"}]},
            {"contains": "invoice", "reply": [{"text": "invoice"}]},
            {"turn": 2, "reply": [{"text": "second"}]},
            {"reply": [{"text": "else"}]},
        ]
    )
    assert ask(model).message.text == "else"
    assert ask(model, agent="researcher").message.text == "research"
    assert ask(model, user(Text("an invoice"))).message.text == "invoice"
    assert ask(model, user(Text("a")), assistant(Text("b")), user(Text("c"))).message.text == "second"
    assert len(model.requests) == 4


def test_a_rule_may_be_used_up() -> None:
    model = ScriptedModel([{"times": 1, "reply": [{"text": "once"}]}])
    assert ask(model).message.text == "once"
    with pytest.raises(ScriptExhausted, match="call 1 of agent writer"):
        ask(model)


def test_tools_get_ids_of_their_own_and_stop_the_model() -> None:
    said = [{"tool": "search", "input": {"query": "a"}}, {"tool": "search", "input": {"query": "b"}}]
    reply = ask(ScriptedModel([{"reply": said, "usage": {"input": 5, "output": 2}}]))
    assert reply.content == (
        ToolUse("call_1_1", "search", {"query": "a"}),
        ToolUse("call_1_2", "search", {"query": "b"}),
    )
    assert (reply.stop_reason, reply.usage) == ("tool_use", Usage(input=5, output=2))
    assert ask(ScriptedModel([{"reply": [{"text": "x"}]}])).stop_reason == "end_turn"
    assert ask(ScriptedModel([{"reply": [], "stop_reason": "refusal"}])).stop_reason == "refusal"


def test_a_script_comes_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"rules": [{"reply": [{"text": "hello"}]}]}')
    model = ScriptedModel.from_file(path)
    assert ask(model).message.text == "hello"
    assert model.name == f"scripted:{path}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ('{"rule": []}', "the script"),
        ('[{"reply": [{"words": "x"}]}]', "0.reply.0.words"),
        ('[{"reply": "x"}]', "0.reply"),
    ],
)
def test_a_script_that_is_none_is_refused_with_its_place(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(text)
    with pytest.raises(ScriptUnreadable, match=reason) as caught:
        ScriptedModel.from_file(path)
    assert caught.value.exit_code == 2
    with pytest.raises(ScriptUnreadable, match="can't be read"):
        ScriptedModel.from_file(tmp_path / "none.json")
