"""Makes examples/workspace by running onepen over examples/texts, on some days of a fixed calendar.

    python examples/make_workspace.py          # from the root of the repository; replaces examples/workspace

What a person would type or write in an editor is in this file; everything else in the workspace was made by onepen: the
ids, the indexes, the logs, and each draft, found and quoted by the offline model.
"""

import shutil
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio

from onepen.memory.ids import TaskId
from onepen.memory.scaffold import init
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.service import DelegateRequest, Service
from onepen.orchestrator.settings.models import Resolver
from onepen.orchestrator.settings.setup import NOTHING
from onepen.orchestrator.tasks.workshop import Workshop
from onepen.subagents.pool import ProcessPool

EXAMPLES = Path(__file__).resolve().parent
PLACE = EXAMPLES / "workspace"
TEXTS = EXAMPLES / "texts"
ZONE = ZoneInfo("Europe/Berlin")

SETTINGS_NAME = "Kiln House"

SOUL = """# Soul

You keep the memory of Kiln House, a pottery studio of two people.
You write plainly, in short sentences.
You would rather say that you don't know than guess: a wrong temperature costs a whole load.
"""

USER = """# User

Rosa Weber throws and glazes, Tim Weber fires and does the books.
Rosa reads on the phone between two boards of cups: the answer first.
Tim wants numbers with their source.
"""

BRIEF = """# Brief

- English for the studio and for Café Lindgren, German for Ofenbau Müller.
- Temperatures in °C, always with the cone.
- No brand names of clay in anything that leaves the studio.
"""

KILN = """The small electric kiln, 100 litres, bought used in 2019.
<!-- Tim: the manual is in the blue folder, second shelf -->

## Firing
- fire glaze at 1222, cone 6, hold 15 minutes
- bisque at 1000

## Elements
The elements were changed on 14 March 2026. They are good for about 150 firings, so until the autumn of 2027.
"""

OPEN_STUDIO = """On the second Sunday of Advent the studio is open from ten to six.

## Plan
Rosa throws at two and at four. Tim sells. Mulled apple juice, no wine: the insurance asked.

## To do
- tables from the fire brigade, by 4 December
- change for 300 euros
"""

CUPS = """120 cups for the two cafés of Ana Lindgren, 180 ml, no handles.

## Order
Deposit of half came on 2 November. Delivery by 6 December.

## Glaze
L4 inside, the blue slip under clear glaze outside.
"""

NEWSLETTER = """Der Newsletter von Ofenbau Müller, einmal im Quartal, zwei Seiten.

## Freigabe
Jonas Müller gibt jeden Text schriftlich frei, spätestens nach drei Werktagen.

## Ausgabe Dezember
Thema: der neue Dichtungssatz der Baureihe B.
"""

MUELLER_BRIEF = """# Brief

- Deutsch, formelles Sie.
- Keine Preise.
- Kein Wort über Wettbewerber.
"""


class Calendar:
    """The days on which this workspace was made, a minute or two after another."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 3, 9, 0, tzinfo=ZONE)

    def now(self) -> datetime:
        return self._now

    def turn(self, day: str, time: str) -> None:
        self._now = datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=ZONE)


class Ids:
    """Ids as onepen would make them, but the same each time."""

    def __init__(self) -> None:
        self._left = ["k4m2x9tq", "r7c0w3ze", "h2v8n5ya", "p9d6g1sb", "m3f7t0qk"]

    def task(self) -> TaskId:
        return TaskId(self._left.pop(0))


class Story:
    """What the studio did, in order."""

    def __init__(self, service: Service, calendar: Calendar) -> None:
        self._service = service
        self._calendar = calendar

    def tell(self) -> None:
        self._third_of_november()
        self._ninth_of_november()
        self._twelfth_of_november()
        self._twenty_third_of_november()
        self._twenty_fourth_of_november()

    def _at(self, day: str, time: str) -> Service:
        self._calendar.turn(f"2026-11-{day}", time)
        return self._service

    def _third_of_november(self) -> None:
        for name, text in (("SOUL.md", SOUL), ("USER.md", USER), ("BRIEF.md", BRIEF)):
            (PLACE / name).write_text(text, encoding="utf-8")
        self._at("03", "09:04").add_project("Kiln", text=KILN)
        self._at("03", "09:10").add_client("Café Lindgren", id="lindgren")
        self._at("03", "09:12").add_project("Cups for the cafés", client="lindgren", id="cups", text=CUPS)
        self._at("03", "21:40").log("Glaze firing 41: 38 cups, two under-fired at the back wall")

    def _ninth_of_november(self) -> None:
        self._at("09", "10:02").log("Bisque 42: four plates cracked, all from the bottom shelf")
        task = self._ask(
            "10:15", "Why did the plates crack in the bisque, and what changes from now on?", "studio/firing-log.md"
        )
        self._approve("10:21", task)

    def _twelfth_of_november(self) -> None:
        self._at("12", "15:30").add_client("Ofenbau Müller", id="mueller")
        (PLACE / "clients" / "mueller" / "BRIEF.md").write_text(MUELLER_BRIEF, encoding="utf-8")
        self._at("12", "15:34").add_project("Newsletter", client="mueller", text=NEWSLETTER)
        self._at("12", "15:36").log("Gespräch in Apolda, Newsletter vereinbart", client="mueller")
        self._at("12", "16:00")
        task = self._ask("16:00", "Welche Themen gibt es für Dezember?", "mueller/gespraech.md", client="mueller")
        self._approve("16:05", task)

    def _twenty_third_of_november(self) -> None:
        # Tim edits the card by hand; the next command that writes brings the index in line.
        card = PLACE / "projects" / "kiln.md"
        text = card.read_text(encoding="utf-8").replace("hold 15 minutes", "hold 20 minutes")
        card.write_text(text + "\n## Electricity\n61 kWh for glaze firing 44, read at the meter.\n", encoding="utf-8")
        self._at("23", "08:50").log("Glaze firing 44: no pinholes; the hold stays at 20 minutes")
        self._at("23", "09:00").add_project("Open studio", text=OPEN_STUDIO)
        question = "What does copper do in acid food, and where may it be used?"
        self._approve("09:20", self._ask("09:12", question, "studio/glazes.md"))

    def _twenty_fourth_of_november(self) -> None:
        self._at("24", "11:00").log("Laboratory report 26-1187 is here", client="lindgren")
        # A verbatim draft needs no reader, where the person says so; the one after it waits.
        self._ask("11:05", "Which rim chips in a dishwasher?", "lindgren/mails.md", client="lindgren", auto=True)
        self._ask(
            "11:20", "Does glaze L4 keep the limits for lead and cadmium?", "lindgren/laboratory.md", client="lindgren"
        )

    def _ask(self, time: str, question: str, text: str, *, client: str | None = None, auto: bool = False) -> str:
        """Delegates to the researcher; the task's id."""
        self._calendar.turn(self._calendar.now().date().isoformat(), time)
        request = DelegateRequest(
            texts=(question,), client=client, inputs=(TEXTS / text,), review="auto" if auto else "person"
        )
        (task,) = anyio.run(lambda: self._service.delegate(request)).tasks
        assert task.status == ("committed" if auto else "in_review"), task
        return task.task

    def _approve(self, time: str, task: str) -> None:
        self._calendar.turn(self._calendar.now().date().isoformat(), time)
        for draft in self._service.show(task).drafts:
            result = self._service.approve([draft.id])
            assert result.exit_code == 0, result


def main() -> None:
    shutil.rmtree(PLACE, ignore_errors=True)
    init(PLACE, id="kilnhouse2026", name=SETTINGS_NAME, today=date(2026, 11, 3))
    settings = PLACE / "onepen.toml"
    text = settings.read_text(encoding="utf-8").replace("# timezone = ", "timezone = ")
    assert f'timezone = "{ZONE.key}"' in text
    settings.write_text(text, encoding="utf-8")
    calendar = Calendar()
    workshop = Workshop(ProcessPool(), Gateway())
    service = Service(
        open_workspace(PLACE),
        clock=calendar,
        ids=Ids(),
        workshop=lambda: workshop,
        models=Resolver,
        user="rosa",
        setup=lambda: NOTHING,
    )
    Story(service, calendar).tell()
    assert service.doctor().as_json()["ok"], service.doctor()
    shutil.rmtree(PLACE / ".onepen")  # this machine's own


if __name__ == "__main__":
    main()
