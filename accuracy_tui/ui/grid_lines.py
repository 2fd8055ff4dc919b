"""What the grid's lines say: words and glyphs with the name of their style, no colours and no widgets.

Every part has a fixed place, so that no number moves when another changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from accuracy_tui.benchmark import FINE
from accuracy_tui.grid import Cell, State
from accuracy_tui.live import LiveSession
from accuracy_tui.metrics import Bounds
from accuracy_tui.report import interval
from accuracy_tui.summary import Measure, Summary, precision
from accuracy_tui.ui.safe_text import one_line, padded
from accuracy_tui.worker_events import (
    CancelledPass,
    Done,
    EmbeddingWindows,
    Failed,
    Loading,
    NotRun,
    PassState,
    SavedRun,
    Searching,
    Waiting,
)

GAP = 2
"""Cells between columns."""
NUMBER = 9
"""Cells of a number with its bounds: ``0.20–0.60``."""
MOST_GLYPHS = 12
"""Ranks that are drawn in a cell; P@k counts all of them."""
_BAR = 6


class Part(NamedTuple):
    """Some text in one style; ``style`` names it, "" is the plain one."""

    text: str
    style: str = ""


OUTCOME_STYLES = {"●": "true", "○": "false", "·": "unjudged", "◐": "true", "◌": "false", "!": "failed"}
"""The style of each glyph, which carries the meaning by itself."""


def glyph_cells(k: int) -> int:
    """How many cells the glyphs of one cell take."""
    return max(1, min(k, MOST_GLYPHS))


def column_width(k: int) -> int:
    """Cells of a model's column, without the gap after it."""
    return glyph_cells(k) + 2 + NUMBER


def duration(seconds: float) -> str:
    """``31s``, ``4m12s``, ``1h05m``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def pass_text(state: PassState, width: int) -> Part:
    """A pass's state in at most ``width`` cells."""
    if isinstance(state, NotRun):
        return Part("no run", "dim")
    if isinstance(state, SavedRun):
        return Part(one_line(f"run of {state.created[:10]}", width), "dim")
    if isinstance(state, Waiting):
        return Part("waiting")
    if isinstance(state, Loading):
        return Part(f"loading {duration(time.monotonic() - state.since)}", "running")
    if isinstance(state, EmbeddingWindows):
        filled = round(_BAR * state.done / max(1, state.total))
        left = "" if state.eta_seconds is None else f" {duration(state.eta_seconds)}"
        share = f"{state.done * 100 // max(1, state.total)}%"
        return Part(one_line("▰" * filled + "▱" * (_BAR - filled) + f" {share}{left}", width), "running")
    if isinstance(state, Searching):
        return Part(one_line(f"searching {state.done}/{state.total}", width), "running")
    if isinstance(state, Done):
        return Part(f"done in {duration(state.seconds)}", "true")
    if isinstance(state, CancelledPass):
        return Part("cancelled", "dim")
    return Part(one_line(f"! {state.reason}", width), "failed")


def pass_sentence(state: PassState) -> str:
    """A pass's state with everything that is known, for a place with room."""
    if isinstance(state, Failed):
        return f"failed: {state.reason}"
    if isinstance(state, EmbeddingWindows):
        left = "" if state.eta_seconds is None else f", {duration(state.eta_seconds)} left"
        rate = f"{state.windows_per_second:.1f} windows/s"
        return f"embedding {state.done} of {state.total} windows, {rate}{left}"
    return pass_text(state, 80).text


def cell_parts(cell: Cell, *, chosen: int | None = None) -> Iterator[Part]:
    """A cell in ``column_width`` cells: its glyphs, then P@k.

    Args:
        chosen: the hit under the cursor, from 0.
    """
    glyphs, room = cell.glyphs, glyph_cells(cell.k)
    width = column_width(cell.k)
    if cell.state is State.FAILED:
        yield Part("!", "failed")
        yield Part(padded(" failed", width - 1), "failed")
        return
    if cell.state is not State.RAN:
        word = {State.PENDING: "…", State.MISSING: "not searched", State.NO_RUN: ""}[cell.state]
        yield Part(padded(word, width), "dim")
        return
    for rank, glyph in enumerate(glyphs[:room]):
        style = OUTCOME_STYLES.get(glyph, "dim")
        yield Part(glyph, f"{style} chosen" if rank == chosen else style)
    yield Part("  ")
    measure = precision(cell.k, FINE)
    yield Part(padded(interval(cell.bounds(measure.metric)), NUMBER))


def measure_text(bounds: Bounds | None, *, best: bool) -> Part:
    """A number of the header, ``NUMBER`` cells wide, with a star where it is the best whatever is to come."""
    text = interval(bounds)
    if best:
        return Part(padded(f"{text} *", NUMBER), "best")
    return Part(padded(text, NUMBER), "dim" if bounds is None else "")


def judged_text(summary: Summary) -> Part:
    """Judged@k as a percentage, which can't be taken for a metric."""
    if summary.judged is None:
        return Part(padded("–", NUMBER), "dim")
    share = int(summary.judged * 100 + 1e-9)
    return Part(padded(f"{share} %", NUMBER), "")


def header_labels(session: LiveSession) -> list[tuple[str, Measure | None]]:
    """The names of the header's rows of numbers; None is Judged@k."""
    rows: list[tuple[str, Measure | None]] = [(measure.key, measure) for measure in session.measures()]
    return [*rows, (f"Judged@{session.k}", None)]
