"""Progress and cost of a batch over time, as an SVG: no script, nothing from outside, readable in light and in dark.

Time is that in which the batch ran: between two runs none passes, and a dotted line says that there was a pause. What
colours tell is also written at the ends of the lines, and in the text that stands for the picture.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from ..amounts import lasting, money

_WIDTH, _HEIGHT = 800, 418
_LEFT, _RIGHT = 64, 672  # what the lines end in is written to the right of them
_LETTERS = 17  # how far apart two lines of words have to be
_MOST = 400  # points of a line: more can't be told apart
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(60 * n for n in (1, 2, 5, 10, 15, 30)),
    *(3_600 * n for n in (1, 2, 3, 6, 12)),
    *(86_400 * n for n in (1, 2, 5, 10, 30)),
)
_STYLE = """
    .paper { fill: #ffffff } .ink { fill: #1f2328 } .faint { fill: #59636e }
    .grid { stroke: #d1d9e0 } .pause { stroke: #59636e; stroke-dasharray: 1 4; stroke-linecap: round }
    .done { stroke: #1a7f37 } .failed { stroke: #cf222e; stroke-dasharray: 7 4 } .cost { stroke: #0969da }
    .area { fill: #1a7f37; fill-opacity: 0.12 }
    .line { fill: none; stroke-width: 2; stroke-linejoin: round }
    text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }
    .title { font-weight: 600; font-size: 15px }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 }
      .grid { stroke: #3d444d } .pause { stroke: #9198a1 }
      .done { stroke: #3fb950 } .failed { stroke: #f85149 } .cost { stroke: #58a6ff }
      .area { fill: #3fb950; fill-opacity: 0.18 }
    }
"""


@dataclass(frozen=True)
class Point:
    """Where a batch stood after so many seconds in which it ran; `usd` None: a part has no known price."""

    seconds: float
    done: int
    failed: int
    usd: float | None


@dataclass(frozen=True)
class _Panel:
    """A part of the picture, from `top` down to `floor`, in which the values 0 to `most` have room."""

    top: int
    floor: int
    most: float
    span: float
    least: float = 0.0
    """What lies between two lines of its grid at the least."""

    def y(self, value: float) -> float:
        return self.floor - (self.floor - self.top) * value / self.most

    def x(self, seconds: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * seconds / self.span

    def places(self, points: Sequence[tuple[float, float]]) -> str:
        """Points of seconds and value as SVG wants them; each begins at nothing."""
        return " ".join(f"{self.x(seconds):.1f},{self.y(value):.1f}" for seconds, value in ((0.0, 0.0), *points))

    def grid(self, shown: Callable[[float], str]) -> Iterator[str]:
        """Lines across with their figures."""
        for value in _ticks(self.most, self.least):
            y = self.y(value)
            yield f'  <line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'  <text class="faint" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{shown(value)}</text>'


def picture(points: Sequence[Point], *, title: str = "", total: int = 0, pauses: Sequence[float] = ()) -> str:
    """The picture as SVG; `points` in the order of time, `pauses` after how many seconds the batch stood still."""
    last = points[-1] if points else Point(0.0, 0, 0, 0.0)
    span = max(last.seconds, 1.0)
    tasks = _Panel(52, 232, max(total, last.done + last.failed, 1), span, least=1.0)
    cost = _Panel(286, 364, last.usd or 1.0, span)
    drawn = _thinned(points)
    named = f"Progress and cost of {title}" if title else "Progress and cost"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
            f'height="{_HEIGHT}" role="img" aria-labelledby="title told">',
            f'  <title id="title">{escape(named)}</title>',
            f'  <desc id="told">{escape(told(points, total, pauses))}</desc>',
            f"  <style>{_STYLE}  </style>",
            f'  <rect class="paper" width="{_WIDTH}" height="{_HEIGHT}"/>',
            *_tasks(tasks, drawn, last),
            *_cost(cost, drawn, last),
            *_time(cost, last.seconds, pauses),
            *_pauses((tasks, cost), pauses),
            "</svg>",
            "",
        )
    )


def told(points: Sequence[Point], total: int = 0, pauses: Sequence[float] = ()) -> str:
    """The picture in words, for whoever can't see it."""
    if not points:
        return "No task has come to its end yet."
    last = points[-1]
    over = last.done + last.failed
    half = next(point.seconds for point in points if point.done + point.failed >= over / 2)
    cost = "what it cost is not known" if last.usd is None else f"it cost {money(last.usd)}"
    stood = f" It stood still {len(pauses):,} times in between." if len(pauses) > 1 else ""
    stood = " It stood still once in between." if len(pauses) == 1 else stood
    return (
        f"Of {max(total, over):,} tasks {last.done:,} were done and {last.failed:,} failed in {lasting(last.seconds)} "
        f"of work; half of these had ended after {lasting(half)}, and {cost}.{stood}"
    )


def _tasks(panel: _Panel, points: Sequence[Point], last: Point) -> Iterator[str]:
    yield _title(panel, "Tasks that are over")
    yield from panel.grid(lambda value: f"{value:,.0f}")
    ends = [(panel.y(last.done), f"{last.done:,} done")]
    if points:
        line = panel.places([(point.seconds, point.done) for point in points])
        yield f'  <polygon class="area" points="{line} {panel.x(last.seconds):.1f},{panel.floor}"/>'
        yield f'  <polyline class="line done" points="{line}"/>'
    if last.failed:
        line = panel.places([(point.seconds, point.failed) for point in points])
        yield f'  <polyline class="line failed" points="{line}"/>'
        ends.append((panel.y(last.failed), f"{last.failed:,} failed"))
    for y, words in _apart(ends):
        yield f'  <text class="ink" x="{_RIGHT + 10}" y="{y + 4:.1f}">{words}</text>'


def _cost(panel: _Panel, points: Sequence[Point], last: Point) -> Iterator[str]:
    yield _title(panel, "What they have cost")
    if not last.usd:
        words = "Nobody can say: a part has no known price." if last.usd is None else "Nothing."
        yield f'  <text class="faint" x="{_LEFT}" y="{panel.top + 26}">{words}</text>'
        return
    yield from panel.grid(money)
    line = panel.places([(point.seconds, point.usd or 0.0) for point in points])
    yield f'  <polyline class="line cost" points="{line}"/>'
    yield f'  <text class="ink" x="{_RIGHT + 10}" y="{panel.y(last.usd) + 4:.1f}">{money(last.usd)}</text>'


def _title(panel: _Panel, words: str) -> str:
    return f'  <text class="ink title" x="{_LEFT}" y="{panel.top - 16}">{words}</text>'


def _time(panel: _Panel, ran: float, pauses: Sequence[float]) -> Iterator[str]:
    """The axis of time, below all."""
    step: float = next((one for one in _STEPS if panel.span / one <= 6), _STEPS[-1])
    y = panel.floor
    yield f'  <line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>'
    for tick in range(int(panel.span // step) + 1):
        x = panel.x(tick * step)
        words = lasting(tick * step) if tick else "0"
        yield f'  <text class="faint" x="{x:.1f}" y="{y + 20}" text-anchor="middle">{words}</text>'
    words = f"time in which it ran: {lasting(ran)}" + ("; dotted: it stood still here" if pauses else "")
    yield f'  <text class="faint" x="{_LEFT}" y="{y + 40}">{words}</text>'


def _pauses(panels: Sequence[_Panel], pauses: Sequence[float]) -> Iterator[str]:
    for seconds in pauses:
        for panel in panels:
            x = panel.x(min(seconds, panel.span))
            yield f'  <line class="pause" x1="{x:.1f}" x2="{x:.1f}" y1="{panel.top}" y2="{panel.floor}"/>'


def _ticks(most: float, least: float) -> Iterator[float]:
    """Round values from 0 up to `most`, two to five of them."""
    power = 10.0 ** math.floor(math.log10(most / 4))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= most / 4)
    step = max(step, least)
    for n in range(int(most / step + 1e-9) + 1):
        yield n * step


def _apart(ends: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """Words at the ends of two lines, the lower ones moved down where they would stand on each other."""
    before = float(-_LETTERS)
    for y, words in sorted(ends):
        before = max(y, before + _LETTERS)
        yield before, words


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    """At most so many points as can be told apart, the last among them."""
    if len(points) <= _MOST:
        return points
    return [points[(k + 1) * len(points) // _MOST - 1] for k in range(_MOST)]
