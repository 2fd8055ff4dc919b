"""The cell under the cursor: its hits with times, scores and verdicts, who else found them and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from textual.geometry import Region
from textual.strip import Strip

from accuracy_tui.grid import GLYPHS, Cell, State, outcome_of
from accuracy_tui.judging import clock
from accuracy_tui.live import LiveSession
from accuracy_tui.metrics import IMPLIED_FALSE, IMPLIED_TRUE, NO_HIT
from accuracy_tui.summary import query_measures
from accuracy_tui.ui.grid_lines import OUTCOME_STYLES, POINTER, Part, middle_cut, numbers_of
from accuracy_tui.ui.pass_text import pass_sentence
from accuracy_tui.ui.safe_text import one_line, padded, right
from accuracy_tui.ui.styled_lines import StyledLines
from accuracy_tui.ui.timeline import merged_timeline, timeline
from accuracy_tui.worker_events import NotRun
from sentrysearch.text import printable
from sentrysearch.types import Hit

_VERDICTS = ("", "unjudged", "false", "true", "implied false", "implied true")
"""By outcome."""
_SIDE_BY_SIDE = 110
"""From so many cells on a timeline of every model stands beside the hits; below, one line for all."""
_LONGEST_NAME, _LONGEST_MODEL = 24, 18


class DetailPane(StyledLines, can_focus=False):
    """Shows one cell."""

    DEFAULT_CSS = """
    DetailPane { height: 7; padding: 0 1; }
    """

    def __init__(self, session: LiveSession, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.session = session
        self._shown: tuple[str, str] | None = None
        self._hit = 0
        self._drawn: list[Sequence[Part]] = []

    def show(self, cell: tuple[str, str] | None, hit: int) -> None:
        """Shows this model and query, with one hit (from 0) selected, as they are now."""
        self._shown, self._hit = cell, hit
        self.renew()

    def renew(self) -> None:
        """Draws again what has changed of the cell."""
        lines = self._lines()
        before = self._drawn
        self._drawn = lines
        for y in range(max(len(lines), len(before))):
            if lines[y : y + 1] != before[y : y + 1]:
                self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self) -> None:
        self._drawn = self._lines()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        parts = self._drawn[y] if y < len(self._drawn) else ()
        return self.strip_of(_fitted(parts, self.size.width), self.size.width)

    def _lines(self) -> list[Sequence[Part]]:
        width, height = self.size
        if self._shown is None or not width or not height:
            return []
        cell = self.session.grid.cell(*self._shown)
        chosen = cell.hits[min(self._hit, len(cell.hits) - 1)].window if cell.hits else None
        hits = self._hits(cell, height - 1)
        if chosen is None:
            return [self._title(cell, width), *hits]
        if width < _SIDE_BY_SIDE:
            title = self._title(cell, width * 6 // 10)
            bar = merged_timeline(self.session, cell, chosen, width - _width(title) - 2)
            return [[*title, Part("  "), *bar], *hits]
        half = width // 2
        left = [self._title(cell, half - 2), *hits]
        other = list(timeline(self.session, cell, chosen, width - half, height))
        rows = max(len(left), len(other))
        left += [[]] * (rows - len(left))
        other += [[]] * (rows - len(other))
        joined = [[*_fitted(one, half), *beside] for one, beside in zip(left, other, strict=True)]
        return [*joined[:height]]

    def _title(self, cell: Cell, width: int) -> list[Part]:
        """Query and model, and the cell's numbers where they have room."""
        model = middle_cut(cell.model, max(8, width // 3))
        query = one_line(cell.query.text, max(8, width - cell_len(model) - 3))
        title = [Part(query, "title"), Part(f" · {model}", "dim")]
        if cell.state is State.RAN:
            numbers = f"   {numbers_of(cell, query_measures(cell.k))}"
            if _width(title) + len(numbers) <= width:
                title.append(Part(numbers, "dim"))
        return title

    def _hits(self, cell: Cell, room: int) -> list[list[Part]]:
        if not cell.hits:
            return [self._nothing(cell)]
        first = max(0, min(self._hit - room // 2, len(cell.hits) - room))
        shown = cell.hits[first : first + room]
        several = len({seen.name for run in self.session.grid.runs.values() for seen in run.footage}) > 1
        names = max(cell_len(printable(hit.window.footage)) for hit in shown) if several else 0
        times = max(len(_times(hit)) for hit in shown)
        outcomes = [outcome_of(self.session.look(cell.query.text, hit.window)) for hit in shown]
        verdicts = max(len(_VERDICTS[outcome]) for outcome in outcomes)
        return [
            [
                *self._beginning(cell, hit, outcome, min(names, _LONGEST_NAME), times),
                Part(f"  {hit.score:.3f}", "dim"),
                Part("  " + padded(_VERDICTS[outcome], verdicts), _verdict_style(outcome)),
                *self._others(cell, hit),
            ]
            for hit, outcome in zip(shown, outcomes, strict=True)
        ]

    def _nothing(self, cell: Cell) -> list[Part]:
        state = self.session.passes[cell.model]
        if cell.state is State.FAILED:
            return [Part(printable(f"failed: {cell.error}"), "failed")]
        if cell.state is State.RAN:
            return [Part("nothing came back", "dim")]
        if cell.state is State.MISSING:
            return [Part("not searched by this run; p runs the model again", "dim")]
        if isinstance(state, NotRun):
            return [Part("no run; p starts its pass", "dim")]
        return [Part(printable(pass_sentence(state)), "running")]

    def _beginning(self, cell: Cell, hit: Hit, outcome: int, names: int, times: int) -> list[Part]:
        chosen = hit.rank - 1 == self._hit
        window, glyph = hit.window, GLYPHS[outcome]
        return [
            Part(f"{POINTER if chosen else ' '}{hit.rank:2}  ", "title" if chosen else ""),
            Part(glyph, OUTCOME_STYLES.get(glyph, "")),
            Part(f"  {padded(window.footage, names)}" if names else ""),
            Part(f"  {right(_times(hit), times)}", "title" if chosen else ""),
        ]

    def _others(self, cell: Cell, hit: Hit) -> list[Part]:
        found = self.session.found(cell.query.text, hit.window)
        others = [
            f"{middle_cut(model, _LONGEST_MODEL)} #{rank}" for model, rank in found if model != cell.model
        ]
        return [Part(f"  also {', '.join(others)}", "dim")] if others else []


def _times(hit: Hit) -> str:
    return f"{clock(hit.window.start)}–{clock(hit.window.end)}"


def _verdict_style(outcome: int) -> str:
    if outcome in (IMPLIED_FALSE, IMPLIED_TRUE, NO_HIT):
        return "dim"
    return OUTCOME_STYLES[GLYPHS[outcome]]


def _fitted(parts: Sequence[Part], width: int) -> list[Part]:
    """The parts cut or filled up to exactly ``width`` cells."""
    fitted: list[Part] = []
    left = width
    for text, style in parts:
        if cell_len(text) > left:
            fitted.append(Part(one_line(text, left), style))
            left -= cell_len(fitted[-1].text)
            break
        fitted.append(Part(text, style))
        left -= cell_len(text)
    return [*fitted, Part(" " * left)]


def _width(parts: Iterable[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)
