"""Programs without onepen work as sub-agents: the two of examples/, from the config to a reviewed card."""

import json
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.story import Line, Story

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/workers"
CONFIG = f"""
[workers.counts]
command = ["{EXAMPLES}/counts.sh"]
[workers.asks]
command = ["python3", "{EXAMPLES}/asks.py"]
[workers.gone]
command = ["{EXAMPLES}/gone"]
"""
RULES: list[dict[str, Any]] = [
    {"turn": 1, "reply": [{"tool": "search", "input": {"query": "cone 6"}}]},
    {"turn": 2, "reply": [{"text": "Cone 6 was reached at 1222 degrees."}]},
]


@pytest.fixture
def story(tmp_path: Path) -> Story:
    (tmp_path / ".config/onepen").mkdir(parents=True)
    (tmp_path / ".config/onepen/config.toml").write_text(CONFIG)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/cones.md").write_text("cone 6 was reached at 1222 degrees\n")
    (tmp_path / "notes/two words.md").write_text("two words\nand more\n")
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    return Story(tmp_path)


def test_in_sh_without_a_model(story: Story) -> None:
    with story:
        *_, ran = story.tell(
            "onepen init ws",
            "onepen -C ws add agent Counts",
            Line("onepen -C ws config show", says="counts.sh"),
            "onepen -C ws delegate 'How long are they?' --agent counts --input notes --json",
            kill=range(4),
        )
        [task] = ran.json["tasks"]
        [draft] = task["drafts"]
        assert (task["status"], task["model"], draft["target"]) == (
            "in_review",
            "offline",
            f"research/counts-{task['task']}.md",
        )
        story.tell(
            Line(f"onepen -C ws show {draft['id']}", says="+- notes/two words.md: 2 lines, 4 words"),
            f"onepen -C ws approve {draft['id']} --sha256 {draft['sha256']}",
            f"grep -q 'cones.md: 1 lines, 7 words' ws/{draft['target']}",
            "onepen -C ws doctor",
            kill=range(4),
        )


def test_in_python_with_a_model_that_wants_tools(story: Story) -> None:
    """The agent names its worker; a workspace that names one which the config doesn't have is told so."""
    with story:
        story.tell(
            "onepen init ws",
            "printf -- '---\\nname: sage\\nonepen: {worker: asks}\\n---\\nYou answer.\\n' | "
            "onepen -C ws add agent Sage --from -",
            "printf -- '---\\nname: evil\\nonepen: {worker: evil}\\n---\\nYou answer.\\n' | "
            "onepen -C ws add agent Evil --from -",
            Line("onepen -C ws delegate x --agent evil", code=2, says="[workers.evil]"),
            'test ! -d ws/staging || test -z "$(ls ws/staging)"',
        )
        ran = story.run(
            "onepen -C ws delegate 'How hot?' --agent sage --input notes --model scripted:rules.json --json"
        )
        [task] = ran.json["tasks"]
        assert (task["status"], task["answer"]) == ("in_review", "Cone 6 was reached at 1222 degrees."), ran
        transcript = (story.workspace / f"staging/{task['task']}/1/transcript.jsonl").read_text()
        assert "not here: answer in words" in transcript and "cone 6 was reached at 1222 degrees" in transcript
        story.tell(
            f"onepen -C ws approve {task['drafts'][0]['id']} --sha256 {task['drafts'][0]['sha256']}",
            f"grep -q 1222 ws/{task['drafts'][0]['target']}",
            "onepen -C ws doctor",
        )


def test_one_that_can_t_be_started_is_named(story: Story) -> None:
    with story:
        story.tell(
            "onepen init ws",
            "onepen -C ws add agent Gone",
            Line("onepen -C ws delegate x --agent gone", code=2, says="[workers.gone]"),
            'test ! -d ws/staging || test -z "$(ls ws/staging)"',
            Line("cd notes && onepen worker check -- sh cones.md", code=1, says="it exited with 127"),
            Line("onepen worker check -- ./gone", code=2, says="gone: can't be started: No such file"),
        )


def test_what_it_writes_counts_as_read_outside(story: Story) -> None:
    """T4: a program opens files without saying which, so its draft is external, whatever it claims and was given."""
    boasts = story.home / "boasts.sh"
    boasts.write_text((EXAMPLES / "counts.sh").read_text().replace("provenance: external", "provenance: agent"))
    boasts.chmod(0o755)
    config = story.home / ".config/onepen/config.toml"
    config.write_text(f'[workers.boasts]\ncommand = ["{boasts}"]\n')
    with story:
        story.tell("onepen init ws", "onepen -C ws add agent Boasts")
        ran = story.run("onepen -C ws delegate 'How long are they?' --agent boasts --json")
        [draft] = ran.json["tasks"][0]["drafts"]
        assert (
            "provenance: agent"
            in (story.workspace / f"staging/{ran.json['tasks'][0]['task']}/1/drafts/counts.md").read_text()
        )
        assert story.run(f"onepen -C ws show {draft['id']} --json").json["drafts"][0]["provenance"] == "external"
