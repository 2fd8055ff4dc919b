"""The cell under the cursor: its hits with times, scores and verdicts, who else found them and where."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget

from accuracy_tui.grid import GLYPHS, Cell, State, outcome_of
from accuracy_tui.judging import clock
from accuracy_tui.live import LiveSession
from accuracy_tui.metrics import UNJUDGED
from accuracy_tui.ui.grid_lines import OUTCOME_STYLES, Part, pass_sentence
from accuracy_tui.ui.safe_text import one_line
from accuracy_tui.ui.timeline import timeline
from accuracy_tui.worker_events import NotRun
from sentrysearch.types import Hit

STYLES = {
    "dim": "$text-muted",
    "true": "$text-success",
    "false": "$text-error",
    "unjudged": "bold $text-warning",
    "failed": "bold $text-error",
    "running": "$text-accent",
    "best": "bold $text-success",
    "title": "bold",
    "chosen": "reverse bold",
}
_SIDE_BY_SIDE = 96
"""From so many cells on the timeline stands beside the hits."""


class DetailPane(Widget):
    """Shows one cell."""

    DEFAULT_CSS = """
    DetailPane { height: 7; padding: 0 1; }
    """

    def __init__(self, session: LiveSession, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.session = session
        self._shown: tuple[str, str] | None = None
        self._hit = 0

    def show(self, cell: tuple[str, str] | None, hit: int) -> None:
        """Shows this model and query, with one hit selected."""
        self._shown, self._hit = cell, hit
        self.refresh()

    def render(self) -> Content:
        width, height = self.size
        if self._shown is None or not width:
            return Content("")
        cell = self.session.grid.cell(*self._shown)
        title = [Part(one_line(cell.query.text, width // 2), "title"), Part(f" · {cell.model}", "dim")]
        left = [title, *self._hits(cell, height - 1)]
        chosen = cell.hits[min(self._hit, len(cell.hits) - 1)].window if cell.hits else None
        if chosen is None or width < _SIDE_BY_SIDE:
            return _content(left[:height], width)
        half = width // 2
        right = list(timeline(self.session, cell.model, cell.query.text, chosen, width - half - 2, height))
        rows = max(len(left), len(right))
        left += [[]] * (rows - len(left))
        right += [[]] * (rows - len(right))
        joined = [[*_fitted(one, half), Part("  "), *other] for one, other in zip(left, right, strict=True)]
        return _content(joined[:height], width)

    def _hits(self, cell: Cell, room: int) -> list[list[Part]]:
        if not cell.hits:
            return [self._nothing(cell)]
        first = max(0, min(self._hit - room // 2, len(cell.hits) - room))
        return [self._line(cell, hit) for hit in cell.hits[first : first + room]]

    def _nothing(self, cell: Cell) -> list[Part]:
        if cell.state is State.FAILED:
            return [Part(f"failed: {cell.error}", "failed")]
        if cell.state is State.RAN:
            return [Part("nothing came back", "dim")]
        state = self.session.passes[cell.model]
        if cell.state is State.MISSING:
            return [Part("not searched by this run; p runs the model again", "dim")]
        if isinstance(state, NotRun):
            return [Part("no run; p starts its pass", "dim")]
        return [Part(pass_sentence(state), "running")]

    def _line(self, cell: Cell, hit: Hit) -> list[Part]:
        outcome = outcome_of(self.session.look(cell.query.text, hit.window))
        glyph = GLYPHS[outcome]
        chosen = hit.rank - 1 == self._hit
        others = [
            f"{model} #{rank}"
            for model, rank in self.session.found(cell.query.text, hit.window)
            if model != cell.model
        ]
        window = hit.window
        several = len({seen.name for run in self.session.grid.runs.values() for seen in run.footage}) > 1
        name = f"{one_line(window.footage, 24)}  " if several else ""
        line = [
            Part(f"{'▸' if chosen else ' '}{hit.rank:2}  ", "title" if chosen else ""),
            Part(glyph, OUTCOME_STYLES.get(glyph, "")),
            Part(f"  {name}{clock(window.start)}–{clock(window.end)}  ", "title" if chosen else ""),
            Part(f"{hit.score:.3f}", "dim"),
        ]
        if outcome == UNJUDGED:
            line.append(Part("  unjudged", "unjudged"))
        elif glyph in "◐◌":
            line.append(Part("  implied", "dim"))
        if others:
            line.append(Part(f"  also {', '.join(others)}", "dim"))
        return line


def _fitted(parts: Iterable[Part], width: int) -> list[Part]:
    """The parts cut or filled up to exactly ``width`` cells."""
    content = _joined(parts)
    missing = width - content.cell_length
    if missing >= 0:
        return [*parts, Part(" " * missing)]
    fitted: list[Part] = []
    left = width
    for text, style in parts:
        cut = one_line(text, left)
        fitted.append(Part(cut, style))
        left -= Content(cut).cell_length
        if left <= 0:
            break
    return [*fitted, Part(" " * max(0, left))]


def _content(lines: Iterable[list[Part]], width: int) -> Content:
    return Content("\n").join(_joined(_fitted(line, width)) for line in lines)


def _joined(parts: Iterable[Part]) -> Content:
    return Content.assemble(*((text, style_of(style)) for text, style in parts))


def style_of(name: str) -> str:
    """The style of a part, for ``Content``."""
    return " ".join(STYLES[part] for part in name.split())
