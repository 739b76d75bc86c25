"""What a person asks of a batch, as a frozen value; paths in it are absolute."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Via = Literal["messages", "message-batches"]
"""How the models of a batch are asked: call by call, or many calls at a time for half the price (Message Batches)."""

Review = Literal["person", "auto"]


@dataclass(frozen=True)
class BatchRequest:
    """What `batch run` was asked for.

    The rows stand in the file `path`, or in `data` where they came from stdin; `name` is what people call them.
    `prompt` and `target` are templates: `{field}` is a row's field. `agent`, `client` and `project` hold for rows that
    name none. `inputs` go to each task. `review_via` None: as `via`. `sample` runs so many tasks and stops. `expected`
    is the id of the batch that the person was shown: other rows than those are refused. What is None is as usual:
    `review` a person, `model` the person's own default, `budget_usd` the caps in force, `max_failures` no limit.
    """

    name: str
    path: Path | None = None
    data: str | None = None
    prompt: str | None = None
    agent: str | None = None
    client: str | None = None
    project: str | None = None
    target: str | None = None
    inputs: tuple[Path, ...] = ()
    review: Review | None = None
    answer: bool = False
    model: str | None = None
    max_turns: int | None = None
    time_limit: int | None = None
    concurrency: int | None = None
    budget_usd: float | None = None
    max_failures: int | None = None
    via: Via = "messages"
    review_via: Via | None = None
    sample: int | None = None
    allow_secret: bool = False
    expected: str | None = None


@dataclass(frozen=True)
class GoOn:
    """How a batch is to go on; what is None stays as it was.

    `review` and `budget_usd` count as the person's own word, which a batch's file alone is not. `retry` begins failed
    tasks again: those of one class of failure, or all with "all".
    """

    batch: str
    concurrency: int | None = None
    budget_usd: float | None = None
    max_failures: int | None = None
    review: Review | None = None
    sample: int | None = None
    retry: str | None = None
