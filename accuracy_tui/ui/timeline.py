"""One footage as a line for each model, with the hits of a query where they lie."""

from __future__ import annotations

from collections.abc import Iterator

from accuracy_tui.grid import GLYPHS, outcome_of
from accuracy_tui.judging import clock
from accuracy_tui.live import LiveSession
from accuracy_tui.ui.grid_lines import OUTCOME_STYLES, Part
from accuracy_tui.ui.safe_text import padded
from sentrysearch.types import Window


def timeline(
    session: LiveSession, model: str, query: str, chosen: Window, width: int, rows: int
) -> Iterator[list[Part]]:
    """Lines of at most ``width`` cells: a scale, then each model's hits in the chosen window's footage.

    Args:
        model: whose line comes first.
        chosen: the window that is pointed at.
        rows: how many lines there is room for; the last one says how many models were left out.
    """
    length = _duration(session, chosen.footage)
    name = min(14, max(len(other) for other in session.models) + 1)
    bar = width - name - 1
    if bar < 10 or length <= 0:
        return
    ends = f"{clock(0)[:-2]} … {clock(length)[:-2]}"
    yield [Part(padded(f"{chosen.footage}", max(0, width - len(ends))), "dim"), Part(ends, "dim")]
    models = [model, *(other for other in session.models if other != model)]
    shown = models if len(models) < rows else models[: max(1, rows - 2)]
    for other in shown:
        yield [Part(padded(other, name)), *_bar(session, other, query, chosen, length, bar)]
    if len(shown) < len(models):
        yield [Part(f"and {len(models) - len(shown)} more models", "dim")]


def _duration(session: LiveSession, footage: str) -> float:
    """In seconds, as the runs saw it."""
    for run in session.grid.runs.values():
        for seen in run.footage:
            if seen.name == footage:
                return seen.duration
    found = session.footages.get(footage)
    return found.duration if found is not None else 0.0


def _bar(
    session: LiveSession, model: str, query: str, chosen: Window, length: float, width: int
) -> Iterator[Part]:
    marks: dict[int, Part] = {}
    # Best hits last, so that they are seen where two fall on one place.
    for hit in reversed(session.grid.cell(model, query).hits):
        window = hit.window
        if window.footage == chosen.footage:
            middle = (window.start + window.end) / 2
            place = max(0, min(width - 1, int(middle / length * width)))
            glyph = GLYPHS[outcome_of(session.look(query, window))]
            style = OUTCOME_STYLES.get(glyph, "")
            marks[place] = Part(glyph, f"{style} chosen" if window == chosen else style)
    line = 0
    for place in sorted(marks):
        if place > line:
            yield Part("─" * (place - line), "dim")
        yield marks[place]
        line = place + 1
    if line < width:
        yield Part("─" * (width - line), "dim")
