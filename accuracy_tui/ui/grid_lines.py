"""What the grid's lines say: words and glyphs with the name of their style, no colours and no widgets.

Every part has a fixed place, so that no number moves when another changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from accuracy_tui.benchmark import FINE, Query
from accuracy_tui.grid import Cell, State
from accuracy_tui.live import LiveSession
from accuracy_tui.metrics import Bounds
from accuracy_tui.report import interval
from accuracy_tui.summary import Measure, Summary, precision
from accuracy_tui.ui.grid_layout import FIRST_ROWS, GAP, NUMBER, Layout, lay_out
from accuracy_tui.ui.pass_text import pass_style, pass_text, share_done
from accuracy_tui.ui.safe_text import one_line, padded
from sentrysearch.text import printable

POINTER = "▸"
"""Points at the cursor's row."""
BEST = "★"
"""Stands before a number that is the best of its row, however the unjudged windows turn out."""


class Part(NamedTuple):
    """Some text in one style; ``style`` is names with spaces between, "" is the plain one."""

    text: str
    style: str = ""


class Rule(NamedTuple):
    """The line above a group of queries."""

    group: str
    queries: int


OUTCOME_STYLES = {"●": "true", "○": "false", "·": "unjudged", "◐": "true", "◌": "false", "!": "failed"}
"""The style of each glyph, which carries the meaning by itself."""


class GridLines:
    """The grid's lines for a session, a size and the rows that are shown; ``first`` is the leftmost model."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self.rows: list[Rule | Query] = []
        """What scrolls below the header."""
        self.row_of: dict[str, int] = {}
        """By query, its place in ``rows``."""
        self.layout = Layout(1, 1, 1, 1, 0)
        self.first = 0
        self._longest = 0
        self._labels: list[tuple[str, Measure | None]] = []

    def show(self, queries: Sequence[Query], *, grouped: bool) -> None:
        """Takes the queries to show, with a rule above each group if ``grouped``."""
        self.rows = []
        self.row_of = {}
        sizes = Counter(query.group for query in queries)
        group = None
        for query in queries:
            if grouped and query.group != group:
                group = query.group
                self.rows.append(Rule(group, sizes[group]))
            self.row_of[query.text] = len(self.rows)
            self.rows.append(query)
        self._longest = max((cell_len(printable(query.text)) for query in queries), default=0)

    def fit(self, width: int, height: int) -> None:
        """Takes another size in cells, or other models."""
        session = self._session
        labels: list[tuple[str, Measure | None]] = [(measure.key, measure) for measure in session.measures()]
        labels.append((f"Judged@{session.k}", None))
        self.layout = lay_out(
            width,
            height,
            longest=self._longest,
            models=len(session.models),
            k=session.k,
            numbers=len(labels),
        )
        self._labels = _most_telling(labels, self.layout.numbers)

    @property
    def models(self) -> Sequence[str]:
        """The models that stand side by side now."""
        return self._session.models[self.first : self.first + self.layout.columns]

    def header(self, line: int, model: str | None) -> Iterator[Part]:
        """A line that stays, with the column of ``model`` pointed at."""
        if line == 0:
            yield Part(padded(self._corner(), self.layout.query), "dim")
            for name in self.models:
                shown = middle_cut(name, self.layout.column)
                yield Part(shown, "model here" if name == model else "model")
                yield Part(" " * (self.layout.stride - cell_len(shown)))
        elif line < FIRST_ROWS:
            yield Part(padded(" pass", self.layout.query), "dim")
            for name in self.models:
                yield from self._pass(name)
        else:
            label, measure = self._labels[line - FIRST_ROWS]
            yield Part(padded(f" {label}", self.layout.query), "dim")
            yield from self._judged() if measure is None else self._numbers(measure)

    def row(self, row: int, model: str | None, hit: int | None) -> Iterator[Part]:
        """A line that scrolls; ``hit`` is the one under the cursor, in ``model``; None in other rows."""
        line = self.rows[row]
        if isinstance(line, Rule):
            label = f" ── {line.group} · {line.queries} "
            width = self.layout.query + len(self.models) * self.layout.stride - GAP
            yield Part(one_line(label + "─" * max(0, width - len(label)), width), "dim")
            return
        marker, at = (" ", "") if hit is None else (POINTER, "row")
        room = self.layout.query
        yield Part(padded(marker + one_line(line.text, room - 3), room), at)
        for name in self.models:
            here = "cell" if hit is not None and name == model else at
            width = 0
            cell = self._session.grid.cell(name, line.text)
            for text, style in cell_parts(cell, self.layout, hit if name == model else None):
                yield Part(text, f"{style} {here}")
                width += cell_len(text)
            yield Part(" " * (self.layout.column - width), here)
            yield Part(" " * GAP, at)

    def _corner(self) -> str:
        every, shown = len(self._session.models), len(self.models)
        if shown == every:
            return ""
        back = "‹" if self.first else " "
        on = " ›" if self.first + shown < every else ""
        which = f"{self.first + 1}–{self.first + shown}" if shown > 1 else f"{self.first + 1}"
        long, short = f"{back}models {which} of {every}{on}", f"{back}{which}/{every}{on}"
        return long if len(long) < self.layout.query else short

    def _pass(self, model: str) -> Iterator[Part]:
        state, width = self._session.passes[model], self.layout.column
        text, style, share = padded(pass_text(state, width), width), pass_style(state), share_done(state)
        if share is None:
            yield Part(text, style)
        else:  # the words stand on the bar; all of one cell each
            filled = round(share * width)
            yield Part(text[:filled], f"{style} filled")
            yield Part(text[filled:], f"{style} empty")
        yield Part(" " * GAP)

    def _numbers(self, measure: Measure) -> Iterator[Part]:
        best = self._session.best(measure)
        for model in self.models:
            yield from self._number(interval(self._session.bounds(model, measure)), model in best)

    def _judged(self) -> Iterator[Part]:
        judged = {summary.model: judged_text(summary) for summary in self._session.summaries()}
        for model in self.models:
            yield from self._number(judged[model], False)

    def _number(self, text: str, best: bool) -> Iterator[Part]:
        layout = self.layout
        style = "best" if best else "dim" if text == "–" else ""
        yield Part(" " * (layout.indent - 2) + (f"{BEST} " if best else "  "), style)
        yield Part(padded(text, layout.stride - layout.indent), style)


def cell_parts(cell: Cell, layout: Layout, chosen: int | None) -> Iterator[Part]:
    """A cell: its glyphs, then P@k; ``chosen`` is the hit under the cursor, from 0."""
    if cell.state is not State.RAN:
        style = "failed" if cell.state is State.FAILED else "dim"
        text = _WORDS[cell.state]
        if chosen is not None:
            yield Part(text[:1] or " ", f"{style} chosen")
            text = text[1:]
        if text:
            yield Part(text, style)
        return
    glyphs, room = cell.glyphs, layout.glyphs
    # Where not all ranks have room, those around the chosen one are shown.
    start = 0 if chosen is None else max(0, min(chosen - room // 2, len(glyphs) - room))
    for rank, glyph in enumerate(glyphs[start : start + room], start=start):
        style = OUTCOME_STYLES.get(glyph, "dim")
        yield Part(glyph, f"{style} chosen" if rank == chosen else style)
    beyond = chosen is not None and chosen >= len(glyphs)  # a hit below rank k
    yield Part("›", "dim chosen") if beyond else Part(" ")
    yield Part(" ")
    yield Part(padded(interval(cell.bounds(precision(cell.k, FINE).metric)), NUMBER))


_WORDS = {State.FAILED: "! failed", State.PENDING: "…", State.MISSING: "not searched", State.NO_RUN: ""}


def judged_text(summary: Summary) -> str:
    """Judged@k as a percentage, which can't be taken for a metric; 100 % only when nothing is left."""
    return "–" if summary.judged is None else f"{int(summary.judged * 100 + 1e-9)} %"


def middle_cut(text: str, width: int) -> str:
    """In at most ``width`` cells, cut in the middle: names of models differ at both ends."""
    text = printable(text)
    if cell_len(text) <= width:
        return text
    head = set_cell_size(text, (width - 1) // 2).rstrip()
    room = width - 1 - cell_len(head)
    tail = next(text[at:] for at in range(len(text) + 1) if cell_len(text[at:]) <= room)
    return f"{head}…{tail}"


def numbers_of(cell: Cell, measures: Iterable[Measure]) -> str:
    """A cell's own numbers on one line."""
    bounds: list[tuple[str, Bounds | None]] = [(item.label, cell.bounds(item.metric)) for item in measures]
    return "  ".join(f"{label} {interval(value)}" for label, value in bounds)


def _most_telling(labels: list[tuple[str, Measure | None]], room: int) -> list[tuple[str, Measure | None]]:
    """As many rows of numbers as there is room for, in their order: P@k and MRR stay longest."""
    places = list(range(len(labels)))
    judged, floor, mrr = places[-1], places[-2], places[-3]
    precisions = places[:-3]
    by_worth = [precisions[-1], mrr, precisions[0], floor, judged, *reversed(precisions[1:-1])]
    kept = set(list(dict.fromkeys(by_worth))[:room])
    return [label for place, label in enumerate(labels) if place in kept]
