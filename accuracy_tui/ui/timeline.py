"""One footage from its beginning to its end, with the hits of a query where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from accuracy_tui.grid import GLYPHS, Cell, outcome_of
from accuracy_tui.judging import clock
from accuracy_tui.live import LiveSession
from accuracy_tui.ui.grid_lines import OUTCOME_STYLES, POINTER, Part, middle_cut
from accuracy_tui.ui.safe_text import one_line, padded
from sentrysearch.text import printable
from sentrysearch.types import Window

_LONGEST_NAME = 16
_SHORTEST_BAR = 12


def timeline(session: LiveSession, cell: Cell, chosen: Window, width: int, rows: int) -> Iterator[list[Part]]:
    """Lines of ``width`` cells: a scale, then a line for each model that has results.

    Args:
        cell: whose query's hits are shown; its model is pointed at.
        chosen: the window that is pointed at; its footage is the one shown.
        rows: how many lines there is room for; the last one says how many models were left out.
    """
    models = [model for model in session.models if session.grid.has_results(model)]
    name = min(_LONGEST_NAME, max(cell_len(printable(model)) for model in models)) + 2
    bar = width - name - 1
    length = _duration(session, chosen.footage)
    if bar < _SHORTEST_BAR or length <= 0 or rows < 2:
        return
    end = _whole(length)
    room = bar - len(end) - 6
    label = one_line(chosen.footage, room) if room > 0 else ""
    scale = f"0:00  {label}"
    yield [Part(" " * (name + 1) + scale + " " * (bar - cell_len(scale) - len(end)) + end, "dim")]
    room = rows - 1
    shown = models
    if len(models) > room:  # the cell's own is always among them
        first = max(0, min(models.index(cell.model), len(models) - room + 1))
        shown = models[first : first + room - 1]
    for model in shown:
        here = model == cell.model
        yield [
            Part(POINTER if here else " ", "title"),
            Part(padded(middle_cut(model, name - 1), name), "title" if here else ""),
            *_bar(session, cell.query.text, [model], model, chosen, length, bar),
        ]
    if len(shown) < len(models):
        yield [Part(f" and {len(models) - len(shown)} more models", "dim")]


def merged_timeline(session: LiveSession, cell: Cell, chosen: Window, width: int) -> list[Part]:
    """One line of ``width`` cells with every model's hits, others than the cell's own model's dim."""
    length = _duration(session, chosen.footage)
    end = _whole(length)
    bar = width - len("0:00 ") - len(end) - 1
    if bar < _SHORTEST_BAR or length <= 0:
        return []
    marks = _bar(session, cell.query.text, session.models, cell.model, chosen, length, bar)
    return [Part("0:00 ", "dim"), *marks, Part(f" {end}", "dim")]


def _bar(
    session: LiveSession,
    query: str,
    models: Sequence[str],
    own: str,
    chosen: Window,
    length: float,
    width: int,
) -> Iterator[Part]:
    """A line of ``width`` cells; where hits fall on one place, the own model's are seen, its best one."""
    places: dict[int, Part] = {}
    for model in (*(model for model in models if model != own), own):
        for hit in reversed(session.grid.cell(model, query).hits):
            window = hit.window
            if window.footage == chosen.footage:
                mark = _mark(session, query, window)
                places[_place(window, length, width)] = mark if model == own else Part(mark.text, "dim")
    if any(hit.window == chosen for model in models for hit in session.grid.cell(model, query).hits):
        glyph, style = _mark(session, query, chosen)
        places[_place(chosen, length, width)] = Part(glyph, f"{style} chosen")
    line = 0
    for place in sorted(places):
        if place > line:
            yield Part("─" * (place - line), "dim")
        yield places[place]
        line = place + 1
    if line < width:
        yield Part("─" * (width - line), "dim")


def _mark(session: LiveSession, query: str, window: Window) -> Part:
    glyph = GLYPHS[outcome_of(session.look(query, window))]
    return Part(glyph, OUTCOME_STYLES.get(glyph, ""))


def _place(window: Window, length: float, width: int) -> int:
    """The cell that a window's middle falls on."""
    return max(0, min(width - 1, int((window.start + window.end) / 2 / length * width)))


def _duration(session: LiveSession, footage: str) -> float:
    """In seconds, as the runs saw it; 0 where nothing is known of it."""
    for run in session.grid.runs.values():
        for seen in run.footage:
            if seen.name == footage:
                return seen.duration
    found = session.footages.get(footage)
    return found.duration if found is not None else 0.0


def _whole(seconds: float) -> str:
    """Without the tenths."""
    return clock(seconds).rpartition(".")[0]
