"""Day logs of two machines, merged both ways; and which zone they are dated by."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from onepen.testing.story import Line, Story

GIT = {
    "GIT_AUTHOR_NAME": "Ana", "GIT_AUTHOR_EMAIL": "ana@example.org", "GIT_COMMITTER_NAME": "Ana",
    "GIT_COMMITTER_EMAIL": "ana@example.org", "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip
PAST = "memory/2026-01-02.md"


@pytest.mark.parametrize("killed", [False, True], ids=["in peace", "killed before each line"])
def test_two_clones_keep_all_lines_and_late_ones_are_information(tmp_path: Path, killed: bool) -> None:
    with Story(tmp_path, GIT) as story:
        story.tell(
            "onepen init ws && onepen -C ws add client Acme --id acme",
            f"mkdir -p ws/memory; printf -- '- 10:00+01:00 [note] long ago\\n' > ws/{PAST}",
            "onepen -C ws log 'from the first'",  # which seals the past day
            "cd ws && git init -q -b main && git add -A && git commit -qm begin",
            "git clone -q ws ws2",
            # The second machine was away: it comes with lines of its own, of a past day and of today.
            f"printf -- '- 11:00+01:00 [note] on the train\\n' >> ws2/{PAST}",
            *(f"onepen -C ws2 log 'second {k}'; onepen -C ws2 log --client acme 'second {k}'" for k in range(3)),
            *(f"onepen -C ws log 'first {k}'; onepen -C ws log --client acme 'first {k}'" for k in range(3)),
            "for w in ws ws2; do (cd $w && git add -A && git commit -qm lines); done",
            "cd ws2 && git pull -q --no-rebase --no-edit",
            "cd ws && git pull -q --no-rebase --no-edit ../ws2",
            Line("onepen -C ws doctor", says=f"{PAST}:2: info: came after the day was sealed"),
            Line("onepen -C ws2 doctor", says="Everything is in order"),
            Line("onepen -C ws2 doctor --fix --yes", says="Nothing can be put right without you"),
            kill=range(100) if killed else (),
        )
        texts = {
            name: "".join(path.read_text() for path in sorted((story.home / name).glob("**/memory/2*.md")))
            for name in ("ws", "ws2")
        }
        assert texts["ws"] == texts["ws2"]
        for said in ("long ago", "on the train", "from the first"):
            assert texts["ws"].count(said) == 1
        for k in range(3):
            assert texts["ws"].count(f"first {k}") == texts["ws"].count(f"second {k}") == 2
        logs = [path.read_text().splitlines() for path in story.home.glob("ws/**/logs/commits-*.jsonl")]
        assert all(len(lines) == len(set(lines)) for lines in logs)
        # A line that is gone is an error on both.
        path = story.workspace / PAST
        path.write_text(path.read_text().replace("long ago", "never"))
        story.tell(Line("onepen -C ws doctor", code=1, says="a sealed line is gone or changed"))


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_zone_of_the_workspace_dates_the_day_and_status_says_which(tmp_path: Path, zone: str) -> None:
    """Field case 21: these two zones never have the same day, so one of them is not the machine's."""
    with Story(tmp_path, {"TZ": "UTC"}) as story:
        before = datetime.now(ZoneInfo(zone)).date()
        story.tell(
            "onepen init ws",
            Line("onepen -C ws status", says="UTC (from system)"),
            f"printf 'timezone = \"{zone}\"\\n' >> ws/onepen.toml",
            Line("onepen -C ws status", says=f"{zone} (from onepen.toml)"),
            "onepen -C ws log here",
            "onepen -C ws up",
            "onepen -C ws log 'and by the orchestrator'",
        )
        after = datetime.now(ZoneInfo(zone)).date()
        days = [path.stem for path in (story.workspace / "memory").glob("2*.md")]
        assert days and set(days) <= {before.isoformat(), after.isoformat()}
