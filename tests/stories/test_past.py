"""The history, where a sentence comes from, and commits taken back: typed line by line, and killed between lines."""

import json
from pathlib import Path

from onepen.testing.story import Line, Story

BEGIN = (
    "onepen init ws",
    "mkdir notes; printf 'Cone 6 was reached at 1222 degrees.\\n' > notes/cones.md",
    "printf '# Kiln\\n\\nOurs.\\n\\n## Firing\\n\\n- cold\\n' | onepen -C ws add project Kiln --id kiln --from -",
    "STORY_D=$(onepen -C ws delegate 'At what was cone 6 reached?' --input notes --target projects/kiln.md --json "
    "| field tasks.0.drafts.0.id)",
)
APPROVED = (
    "onepen -C ws show $STORY_D",
    "STORY_C=$(onepen -C ws approve $STORY_D --json | field commit)",
)
SAID = "Cone 6 was reached at 1222 degrees"


def test_why_names_the_other_machines_draft_agent_source_and_reviewer(tmp_path: Path) -> None:
    git = "git -c user.name=Ana -c user.email=ana@example.org"
    with Story(tmp_path) as story, Story(tmp_path, workspace="ws2") as second:
        story.tell(*BEGIN, *APPROVED, f"{git} -C ws init -q; {git} -C ws add -A; {git} -C ws commit -qm all")
        second.tell(
            "git clone -q ws ws2",
            "rm -rf ws2/.onepen",
            "printf '\\n## Glaze\\nCeladon since May,\\nand nothing else.\\n' >> ws2/projects/kiln.md",
            Line(f"onepen -C ws2 why '{SAID}'", says="agent: researcher"),
            Line(f"onepen -C ws2 why '{SAID}'", says="reviewer: user:"),
            Line("onepen -C ws2 why 'cone 6 was REACHED'", says="sources: inputs/notes/cones.md:1"),
            Line(f"onepen -C ws2 why '{SAID}' --json | field commits.0.draft | grep -x $STORY_D"),
            Line(f"onepen -C ws2 why '{SAID}' --json | field commits.0.id | grep -x $STORY_C"),
            Line("onepen -C ws2 why 'since may and nothing else'", says="No commit brought it: it was written by hand"),
            Line("onepen -C ws2 why 'we never said so'", says="It stands nowhere in this space"),
            Line("onepen -C ws2 why '...'", code=2, says="give some words"),
            "test ! -e ws2/.onepen/redo",
            kill=(),
        )


def test_the_history_of_a_file_of_a_day_and_of_one_commit(tmp_path: Path) -> None:
    with Story(tmp_path) as story:
        story.tell(*BEGIN, *APPROVED, "onepen -C ws log 'called Ana'")
        all_ = json.loads(story.run("onepen -C ws history --json").out)["commits"]
        assert [commit["what"] for commit in all_] == [
            "[note] called Ana", "projects/kiln.md: appended", "projects/kiln.md: created"
        ]  # fmt: skip
        of_card = json.loads(story.run("cd ws/projects; onepen history kiln.md --json").out)["commits"]
        assert of_card == all_[1:] == json.loads(story.run("onepen -C ws history kiln --json").out)["commits"]
        story.tell(
            Line("onepen -C ws history $STORY_C", says="sources: inputs/notes/cones.md:1"),
            Line("onepen -C ws history $STORY_C --json | field commits.0.diff", says=f"{SAID}."),
            Line("onepen -C ws history ${STORY_C%-*}", says="reviewer: user:"),
            Line("onepen -C ws history --limit 1", says="2 earlier commits"),
            Line("onepen -C ws history --until 2020-01-01", says="Nothing was committed."),
            Line("onepen -C ws history --since 2020-01-01 SOUL.md", says="No commit touched SOUL.md."),
            Line("onepen -C ws history nowhere.md", code=2, says="neither a file here nor one"),
            Line("onepen -C ws history c999", code=2, says="not in this space's history"),
            Line("onepen -C ws history --since tomorrow", code=2, says="not a day"),
        )
