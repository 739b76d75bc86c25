"""From the rows of a batch's input to its tasks, each checked; what is wrong with them is told all at once. Pure.

What only the workspace knows (which clients there are, whether a card exists) is asked of a `Ground`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Protocol

from ...memory.errors import OnepenError
from ...memory.ids import AgentId, BadId, CardId, ClientId, Id, shown
from ...memory.target import parse_target
from ...memory.workspace import SHELVES
from ..settings.choice import OFFLINE
from ..tasks.naming import slug_of
from .item import Item
from .key import task_key
from .reading import RowsRefused, Wrong
from .request import BatchRequest
from .row import Row
from .template import Template, template

RESEARCHER = "researcher"
MOST_TEXT = 64 << 10
"""Bytes of one task's text, as of a task that is delegated."""
MOST_TEXTS = 128 << 20
"""Bytes of the texts of all tasks together, which are kept in memory while the batch runs."""
_MEANT = ("id", "agent", "client", "project", "target")
_PLAIN = ("text", *_MEANT)
_MOST_ID = 200


class Ground(Protocol):
    """What is asked of the workspace. An answer in words says what is wrong, as a whole sentence; None: nothing."""

    def agent(self, name: str) -> str | None: ...

    def client(self, name: str) -> str | None: ...

    def project(self, client: str | None, name: str) -> str | None: ...

    def target(self, client: str | None, target: str) -> str | None:
        """Whether a draft may go to this target at all; it need not exist."""
        ...

    def exists(self, client: str | None, target: str) -> bool:
        """Whether something stands there already."""
        ...

    def model(self, agent: str, client: str | None) -> str:
        """The name by which a task of this agent keeps its model; raises an OnepenError where none can work."""
        ...

    def refused(self, text: str) -> str | None:
        """Whether a secret stands in a text."""
        ...


def items(rows: Sequence[Row], request: BatchRequest, ground: Ground, inputs: Mapping[str, str]) -> tuple[Item, ...]:
    """The tasks of a batch in the order of their rows; rows that say the same are one.

    `inputs` are the hashes of the inputs by name. Raises RowsRefused with all that is wrong, or BadTemplate.
    """
    prompt = None if request.prompt is None else template(request.prompt, "the prompt")
    target = None if request.target is None else template(request.target, "the target")
    asked = _Asked(request, prompt, target, _Remembered(ground), inputs)
    wrong = [*asked.usual(), *_lacking(rows, asked)]
    found = list[Item]()
    for row in rows:
        item, flaws = asked.item(row)
        wrong += [Wrong(row.line, text) for text in flaws]
        found += [] if item is None else [item]
    made = _merged(found)
    wrong += _beside(made, len(rows), asked)
    wrong += [] if wrong else _unnamed(made, request)
    if wrong:
        raise RowsRefused(request.name, tuple(_gathered(wrong, len(rows))))
    return tuple(_placed(made, request, ground))


class _Remembered:
    """A ground of which each thing is asked once, and by its id."""

    def __init__(self, ground: Ground) -> None:
        self.agent = cache(lambda name: _no_id(AgentId, name) or ground.agent(name))
        self.client = cache(lambda name: _no_id(ClientId, name) or ground.client(name))
        self.project = cache(lambda client, name: ground.project(client, name) or _no_id(CardId, name))
        self.target = cache(ground.target)
        self.exists = cache(ground.exists)
        self.model: Callable[[str, str | None], str | OnepenError] = cache(_told(ground.model))
        self.refused = ground.refused


def _no_id(kind: type[Id], name: str) -> str | None:
    """Why a name can't be kept as an id: a project has a title, too, but rows don't name it by that."""
    try:
        kind(name)
    except BadId as e:
        return e.message
    return None


def _told(model: Callable[[str, str | None], str]) -> Callable[[str, str | None], str | OnepenError]:
    """The same with the refusal as a value, so that it is remembered, too."""

    def asked(agent: str, client: str | None) -> str | OnepenError:
        try:
            return model(agent, client)
        except OnepenError as e:
            return e

    return asked


# -- one row -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """What the person asked for, with its templates read."""

    request: BatchRequest
    prompt: Template | None
    target: Template | None
    ground: _Remembered
    inputs: Mapping[str, str]

    def usual(self) -> Iterator[Wrong]:
        """What is wrong with what holds for all rows, whether or not one is left for which it does."""
        asked, ground = self.request, self.ground
        flaws = [None if asked.agent is None else ground.agent(asked.agent)]
        if asked.client is not None:
            flaws.append(ground.client(asked.client))
        if asked.project is not None and flaws[-1] is None:
            flaws.append(ground.project(asked.client, asked.project))
        yield from (Wrong(0, flaw) for flaw in flaws if flaw is not None)

    def item(self, row: Row) -> tuple[Item | None, Sequence[str]]:
        """The task of a row and all that is wrong with it; None where it is none, or lacks what it needs."""
        id_ = row.fields.get("id", "").strip()
        flaws: list[str | None] = []
        if len(id_) > _MOST_ID or not id_.isprintable():
            flaws.append(f"id {shown(id_)}: an id is one line of at most {_MOST_ID} characters")
        text = self._text(row)
        if text is not None:
            flaws += self._of_text(text, row)
        client = _given(row, "client", self.request.client)
        agent = _given(row, "agent", self.request.agent) or RESEARCHER
        project = _given(row, "project", self.request.project)
        about = [self.ground.agent(agent), None if client is None else self.ground.client(client)]
        flaws += about
        known = about[1] is None
        if project is not None and known:
            flaws.append(self.ground.project(client, project))
        target, flaw = self._target(row, client, known=known)
        flaws.append(flaw)
        model = self.ground.model(agent, client) if about == [None, None] else ""
        if isinstance(model, OnepenError):
            flaws.append(model.message)
        told = [one for one in flaws if one is not None]
        if told or text is None or isinstance(model, OnepenError):
            return None, told
        key = task_key(
            client=client,
            project=project,
            agent=agent,
            model=model,
            text=text,
            target=target,
            inputs=self.inputs,
            template="" if self.prompt is None else self.prompt.text,
            answer=self.request.answer,
        )
        return Item(key, row.line, text, agent, model, client, project, target, id_), ()

    def _text(self, row: Row) -> str | None:
        """What the task is told; None where a field is lacking, which is told for all rows together."""
        if self.prompt is None:
            return row.fields.get("text")
        return None if any(field not in row.fields for field in self.prompt.fields) else self.prompt.fill(row.fields)

    def _of_text(self, text: str, row: Row) -> Iterator[str]:
        if not text.strip():
            yield "the text is empty" if self.prompt is None else "the prompt gives an empty text"
        size = len(text.encode())
        if size > MOST_TEXT:
            yield f"the text has {size:,} bytes, and a task's has at most {MOST_TEXT:,}; give what is long as --input"
        if not self.request.allow_secret:
            # Also what no template uses: the input is copied into the workspace as it is.
            flaw = self.ground.refused(text) or self.ground.refused("\n".join(row.fields.values()))
            if flaw is not None:
                yield flaw

    def _target(self, row: Row, client: str | None, *, known: bool) -> tuple[str | None, str | None]:
        """The target of a row's task in its one spelling, and what is wrong with it."""
        text = row.fields.get("target", "").strip()
        try:
            if not text and self.target is not None and all(field in row.fields for field in self.target.fields):
                text = self.target.fill_target(row.fields)
            if not text:
                return None, None
            target = str(parse_target(text))
        except OnepenError as e:
            return None, e.message
        return target, self.ground.target(client, target) if known else None


def _given(row: Row, field: str, usual: str | None) -> str | None:
    """What a row says, or else what holds for all; an empty cell says nothing."""
    return row.fields.get(field, "").strip() or usual or None


# -- fields ------------------------------------------------------------------------------------------------------------


def _lacking(rows: Sequence[Row], asked: _Asked) -> Iterator[Wrong]:
    """Fields that are wanted and aren't there, and those that nobody knows."""
    if asked.prompt is None:
        yield from _wanting(rows, ("text",), "")
        yield from _unknown(rows, () if asked.target is None else asked.target.fields)
    else:
        yield from _wanting(rows, asked.prompt.fields, ", which the prompt asks for")
    if asked.target is not None:
        without = [row for row in rows if not row.fields.get("target", "").strip()]
        yield from _wanting(without, asked.target.fields, ", which the target asks for")


def _wanting(rows: Sequence[Row], fields: Sequence[str], why: str) -> Iterator[Wrong]:
    """What rows lack: one thing for all of them where none has it."""
    for field in fields:
        without = [row for row in rows if field not in row.fields]
        if not without:
            continue
        if len(without) == len(rows):
            there = tuple(dict.fromkeys(name for row in rows for name in row.fields))
            line, whose = (0, "The rows have") if len(rows) > 1 else (rows[0].line, "The row has")
            yield Wrong(line, f"no field {shown(field)}{why}{_meant(field, there)} {whose} {_listed(there)}")
            continue
        for row in without:
            there = tuple(row.fields)
            yield Wrong(row.line, f"no field {shown(field)}{why}{_meant(field, there)} The row has {_listed(there)}")


def _unknown(rows: Sequence[Row], used: Sequence[str]) -> Iterator[Wrong]:
    """Fields that mean nothing where no template uses them."""
    known = {*_PLAIN, *used}
    for row in rows:
        for field in row.fields:
            if field not in known:
                may = "Without --prompt a row has text, and may have id, agent, client, project and target"
                yield Wrong(row.line, f"unknown field {shown(field)}{_meant(field, _PLAIN)} {may}")


def _meant(field: str, there: Sequence[str]) -> str:
    names = {name.casefold(): name for name in reversed(there)}
    near = get_close_matches(field.casefold(), names, 1)
    return f"; did you mean {shown(names[near[0]])}?" if near else "."


def _listed(names: Sequence[str], most: int = 20) -> str:
    told = ", ".join(name if name.isprintable() else shown(name) for name in names[:most])
    return told + (f" and {len(names) - most} more" if len(names) > most else "")


# -- all rows ----------------------------------------------------------------------------------------------------------


def _merged(found: Iterable[Item]) -> list[Item]:
    """Each task once, with the lines of those rows that say the same."""
    made: dict[str, Item] = {}
    twins: dict[str, list[int]] = {}
    for item in found:
        if item.key in made:
            twins.setdefault(item.key, []).append(item.line)
        else:
            made[item.key] = item
    return [replace(item, twins=tuple(twins[key])) if key in twins else item for key, item in made.items()]


def _beside(made: Sequence[Item], rows: int, asked: _Asked) -> Iterator[Wrong]:
    """What is wrong with tasks that are right by themselves."""
    if rows > 1 and len(made) == 1 and asked.prompt is not None and not asked.prompt.fields:
        yield Wrong(0, f"the prompt uses no field, so all {rows:,} rows ask the same; write {{field}} where one goes")
    size = sum(len(item.text.encode()) for item in made)
    if size > MOST_TEXTS:
        most = f"at most {MOST_TEXTS >> 20} MiB"
        yield Wrong(0, f"the texts come to {size >> 20:,} MiB, {most}; give what all tasks share as --input")
    first: dict[tuple[str | None, str], Item] = {}
    for item in made:
        if item.target is None or asked.ground.exists(item.client, item.target):
            continue
        other = first.setdefault((item.client, item.target.casefold()), item)
        if other is not item:
            yield Wrong(
                item.line, f"target {item.target}: line {other.line} creates it, too, and asks for something else"
            )


def _gathered(wrong: Sequence[Wrong], rows: int) -> Iterator[Wrong]:
    """The same with what is wrong in every row said once."""
    counts = Counter(one.text for one in wrong if one.line)
    every = {one.text: None for one in wrong if not one.line or counts[one.text] == rows > 1}
    yield from (Wrong(0, text) for text in every)
    yield from (one for one in wrong if one.text not in every)


def _unnamed(made: Sequence[Item], request: BatchRequest) -> Iterator[Wrong]:
    """Rows whose finding can't be named by their words."""
    for item in made:
        if item.target is None and item.model == OFFLINE and not request.answer:
            try:
                slug_of(item.text)
            except OnepenError as e:
                yield Wrong(item.line, f"its text gives no name for a card: {e.message}; give it a target")


def _placed(made: Sequence[Item], request: BatchRequest, ground: Ground) -> Iterator[Item]:
    """The same with targets for what the offline model finds: it chooses none itself."""
    taken = {(item.client, _card(item.target)) for item in made if item.target is not None}
    numbers: dict[tuple[str | None, str], int] = {}
    for item in made:
        if item.target is not None or item.model != OFFLINE or request.answer:
            yield item
            continue
        slug = slug_of(item.text)
        number = numbers.get((item.client, slug), 0)
        while True:
            number += 1
            card = slug if number == 1 else f"{slug}-{number}"
            if (item.client, card) not in taken and not _there(ground, item.client, card):
                break
        numbers[item.client, slug] = number
        taken.add((item.client, card))
        yield replace(item, target=f"research/{card}.md")


def _card(target: str) -> str:
    """The id of a target's card, for which no other card of the space may have it."""
    return target.rpartition("/")[2].removesuffix(".md")


def _there(ground: Ground, client: str | None, card: str) -> bool:
    return any(ground.exists(client, f"{shelf}/{card}.md") for shelf in SHELVES)
