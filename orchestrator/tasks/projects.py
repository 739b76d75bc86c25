"""The project that a person means, by its id or by its title."""

import shlex
from difflib import get_close_matches

from ...memory.ids import BadId, CardId, shown
from ...memory.view import View
from ...memory.workspace import Space
from ..errors import BadRequest

_NAMED = 10


def project_of(view: View, space: Space, text: str) -> CardId:
    """The project that has this id, or as the only one this title; raises BadRequest."""
    try:
        card = CardId(text)
    except BadId:
        card = None
    if card is not None and view.bytes(space.card_path("projects", card)) is not None:
        return card
    titles = {one.id: one.title for one in view.index(space, "projects").cards}
    found = [id_ for id_, title in titles.items() if _same(title, text)]
    if len(found) == 1:
        return CardId(found[0])
    if found:
        raise BadRequest(f"project {shown(text)}: {', '.join(found)} have this title; say which by its id")
    raise BadRequest(
        f"project {shown(text)}: no project here has this id or title; {_instead(text, titles)}",
        hint=f"onepen add project {shlex.quote(text)}",
    )


def _same(title: str, text: str) -> bool:
    return title.strip().casefold() == text.strip().casefold()


def _instead(text: str, titles: dict[str, str]) -> str:
    """The project whose id or title comes closest, else the first ones there are."""
    names = {**{title.casefold(): id_ for id_, title in titles.items()}, **{id_: id_ for id_ in titles}}
    if near := get_close_matches(text.casefold(), names, 1):
        return f"did you mean {names[near[0]]}?"
    known = [f"{id_} ({title})" for id_, title in titles.items()]
    return (
        f"there are {', '.join(known[:_NAMED])}{' …' if len(known) > _NAMED else ''}" if known else "there is none yet"
    )
