"""The grid on the screen: a row a query, a column a model, on Textual's line API.

A verdict draws the few lines again that hold its window; nothing else moves. (A table of widgets draws itself
anew for every cell: 35 ms with 500 rows, against 2.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from accuracy_tui.benchmark import Query
from accuracy_tui.grid import State
from accuracy_tui.live import Change, LiveSession
from accuracy_tui.ui.grid_lines import (
    GAP,
    Part,
    cell_parts,
    column_width,
    glyph_cells,
    header_labels,
    judged_text,
    measure_text,
    pass_text,
)
from accuracy_tui.ui.safe_text import one_line, padded

SMALLEST_QUERY, LARGEST_QUERY = 18, 48
"""Cells of the column of queries."""


class Rule(NamedTuple):
    """The line above a group of queries."""

    group: str


class GridView(ScrollView, can_focus=True):
    """Shows a session's grid and moves a cursor over it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "grid--plain",
        "grid--dim",
        "grid--model",
        "grid--running",
        "grid--true",
        "grid--false",
        "grid--unjudged",
        "grid--failed",
        "grid--best",
        "grid--rule",
        "grid--cursor",
        "grid--chosen",
    }
    DEFAULT_CSS = """
    GridView {
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 1;
        & .grid--dim { color: $text-muted; }
        & .grid--model { text-style: bold; }
        & .grid--running { color: $text-accent; }
        & .grid--true { color: $text-success; }
        & .grid--false { color: $text-error; }
        & .grid--unjudged { color: $text-warning; text-style: bold; }
        & .grid--failed { color: $text-error; text-style: bold; }
        & .grid--best { color: $text-success; text-style: bold; }
        & .grid--rule { color: $text-muted; }
        & .grid--cursor { background: $panel; text-style: bold; }
        & .grid--chosen { text-style: reverse bold; }
    }
    """

    class CellHighlighted(Message):
        """The cursor is on another cell or hit."""

    class CellChosen(Message):
        """The cell under the cursor was asked for: Enter, or a click on it."""

    def __init__(self, session: LiveSession, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.session = session
        self._shown: list[Query] = list(session.queries)
        self._lines: list[Rule | Query] = []
        self._line_of: dict[str, int] = {}
        self._row = 0
        self._column = 0
        self._hit = 0
        self._labels = header_labels(session)
        self._styles: dict[tuple[str, bool], Style] = {}
        self._lay_out()

    # What the cursor is on

    @property
    def cursor(self) -> tuple[str, str] | None:
        """Model and query under the cursor; None in an empty grid."""
        if not self._shown or not self.session.models:
            return None
        return self.session.models[self._column], self._shown[self._row].text

    @property
    def hit(self) -> int:
        """Which of the cell's hits is selected, from 0."""
        return self._hit

    @property
    def shown(self) -> Sequence[Query]:
        """The queries that are rows now, in their order."""
        return tuple(self._shown)

    def move_to(self, model: str, query: str, hit: int = 0) -> None:
        """Puts the cursor on a cell, if it is shown."""
        rows = {shown.text: row for row, shown in enumerate(self._shown)}
        if query in rows and model in self.session.models:
            self._go(rows[query], self.session.models.index(model), hit)

    def move(self, rows: int = 0, columns: int = 0) -> None:
        """Moves the cursor by so many rows and columns."""
        self._go(self._row + rows, self._column + columns, self._hit if not rows and not columns else 0)

    def move_hit(self, step: int) -> None:
        """Selects the next or previous hit of the cell."""
        self._go(self._row, self._column, self._hit + step)

    def next_unjudged(self, step: int = 1) -> bool:
        """Moves on to the next hit without a verdict, cell by cell, from the top again at the end."""
        cursor = self.cursor
        if cursor is None:
            return False
        models, rows = self.session.models, len(self._shown)
        here = self._row * len(models) + self._column
        inside = self._unjudged_in(self._row, self._column)
        later = [hit for hit in inside if (hit - self._hit) * step > 0]
        if later:
            self._go(self._row, self._column, later[0] if step > 0 else later[-1])
            return True
        for distance in range(1, rows * len(models) + 1):
            row, column = divmod((here + step * distance) % (rows * len(models)), len(models))
            found = self._unjudged_in(row, column)
            if found:
                self._go(row, column, found[0] if step > 0 else found[-1])
                return True
        return False

    def page(self, step: int) -> None:
        """Moves the cursor by a screen of rows."""
        self.move(rows=step * max(1, self.size.height - self._header_height - 1))

    # What is drawn again

    def show_queries(self, queries: Iterable[Query], *, grouped: bool = True) -> None:
        """Shows these queries in this order; the cursor stays on its query where that is still shown."""
        cursor = self.cursor
        self._shown = list(queries)
        self._grouped = grouped
        self._lay_out()
        if cursor is not None:
            self._row = next((row for row, shown in enumerate(self._shown) if shown.text == cursor[1]), 0)
        self._go(self._row, self._column, self._hit)
        self.refresh()

    def session_changed(self, change: Change) -> None:
        """Draws again what changed: the lines of those queries, and the numbers above them."""
        if change.layout:
            self._lay_out()
            self._go(self._row, self._column, self._hit)
            self.refresh(layout=True)
            return
        if not change.cells:
            return
        for query in {query for _, query in change.cells}:
            self._refresh_query(query)
        self._refresh_rows(2, self._header_height - 2)

    def passes_changed(self) -> None:
        """Draws the line of pass states again."""
        self._refresh_rows(1, 1)

    # Layout

    _grouped = True

    def _lay_out(self) -> None:
        self._labels = header_labels(self.session)
        self._lines = []
        self._line_of = {}
        group = None
        for query in self._shown:
            if self._grouped and query.group != group:
                group = query.group
                self._lines.append(Rule(group))
            self._line_of[query.text] = len(self._lines)
            self._lines.append(query)
        self._set_size()

    def _set_size(self) -> None:
        width = self._query_width + len(self.session.models) * self._stride
        self.virtual_size = Size(width, self._header_height + len(self._lines))

    @property
    def _header_height(self) -> int:
        return 2 + len(self._labels)

    @property
    def _stride(self) -> int:
        return column_width(self.session.k) + GAP

    @property
    def _query_width(self) -> int:
        longest = max((len(query.text) for query in self._shown), default=0) + 3
        room = self.size.width - len(self.session.models) * self._stride - 1
        return max(SMALLEST_QUERY, min(longest, LARGEST_QUERY, room))

    def on_resize(self) -> None:
        self._set_size()
        self._scroll_to_cursor()

    def notify_style_update(self) -> None:
        self._styles.clear()
        super().notify_style_update()

    # Drawing

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        segments = list(self._first_column(y))
        left = self.scroll_offset.x
        strip = Strip(segments)
        models = self._model_columns(y)
        shown = models.crop(left, left + max(0, width - strip.cell_length))
        line = Strip.join([strip, shown]).adjust_cell_length(width, self._style("plain"))
        return line.apply_style(self.rich_style)

    def _first_column(self, y: int) -> Iterable[Segment]:
        width = self._query_width
        if y < self._header_height:
            label = ("", "pass", *(label for label, _ in self._labels))[y]
            yield Segment(padded(f" {label}", width), self._style("dim"))
            return
        line = self._line(y)
        if isinstance(line, Rule):
            yield Segment(padded(f" ─ {line.group} ", width).replace("  ", "──"), self._style("rule"))
        elif isinstance(line, Query):
            at = self._is_cursor_row(line)
            text = padded(f"{'▸' if at else ' '}{one_line(line.text, width - 2)}", width)
            yield Segment(text, self._style("plain", at))

    def _model_columns(self, y: int) -> Strip:
        if y == 0:
            return self._strip(self._model_name(model) for model in self.session.models)
        if y == 1:
            width = column_width(self.session.k)
            return self._strip(
                self._padded(pass_text(self.session.passes[m], width)) for m in self.session.models
            )
        if y < self._header_height:
            return self._measures(y - 2)
        line = self._line(y)
        if isinstance(line, Rule):
            return Strip([Segment("─" * (len(self.session.models) * self._stride), self._style("rule"))])
        if not isinstance(line, Query):
            return Strip.blank(0)
        at = self._is_cursor_row(line)
        segments: list[Segment] = []
        for column, model in enumerate(self.session.models):
            here = at and column == self._column
            cell = self.session.grid.cell(model, line.text)
            for text, style in cell_parts(cell, chosen=self._hit if here else None):
                segments.append(Segment(text, self._style(style, here)))
            segments.append(Segment(" " * GAP, self._style("plain")))
        return Strip(segments)

    def _measures(self, row: int) -> Strip:
        _, measure = self._labels[row]
        indent = " " * (glyph_cells(self.session.k) + 2)
        if measure is None:
            return self._strip((Part(indent), judged_text(summary)) for summary in self.session.summaries())
        best = self.session.best(measure)
        return self._strip(
            (Part(indent), measure_text(self.session.bounds(model, measure), best=model in best))
            for model in self.session.models
        )

    def _strip(self, columns: Iterable[Iterable[Part]]) -> Strip:
        segments: list[Segment] = []
        for parts in columns:
            segments += [Segment(text, self._style(style)) for text, style in parts]
            segments.append(Segment(" " * GAP, self._style("plain")))
        return Strip(segments)

    def _model_name(self, model: str) -> tuple[Part]:
        return (Part(padded(model, column_width(self.session.k)), "model"),)

    def _padded(self, part: Part) -> tuple[Part]:
        return (Part(padded(part.text, column_width(self.session.k)), part.style),)

    def _style(self, name: str, cursor: bool = False) -> Style:
        style = self._styles.get((name, cursor))
        if style is None:
            style = Style()
            for part in name.split() or ["plain"]:
                style += self.get_component_rich_style(f"grid--{part}", partial=True)
            if cursor:
                style += self.get_component_rich_style("grid--cursor", partial=True)
            self._styles[name, cursor] = style
        return style

    def _line(self, y: int) -> Rule | Query | None:
        index = y - self._header_height + self.scroll_offset.y
        return self._lines[index] if 0 <= index < len(self._lines) else None

    def _is_cursor_row(self, query: Query) -> bool:
        return bool(self._shown) and self._shown[self._row].text == query.text

    # Cursor

    def _go(self, row: int, column: int, hit: int) -> None:
        before = (self._row, self._column, self._hit)
        self._row = max(0, min(row, len(self._shown) - 1))
        self._column = max(0, min(column, len(self.session.models) - 1))
        self._hit = max(0, min(hit, self._hit_count() - 1))
        if (self._row, self._column, self._hit) != before:
            if before[0] < len(self._shown):
                self._refresh_query(self._shown[before[0]].text)
            if self._shown:
                self._refresh_query(self._shown[self._row].text)
        self._scroll_to_cursor()
        self.post_message(self.CellHighlighted())

    def _hit_count(self) -> int:
        cursor = self.cursor
        return len(self.session.grid.cell(*cursor).hits) if cursor else 0

    def _unjudged_in(self, row: int, column: int) -> list[int]:
        cell = self.session.grid.cell(self.session.models[column], self._shown[row].text)
        if cell.state is not State.RAN:
            return []
        look = self.session.look
        return [
            index for index, hit in enumerate(cell.hits) if look(cell.query.text, hit.window).value is None
        ]

    def _scroll_to_cursor(self) -> None:
        if not self._shown or not self.size.height:
            return
        line = self._line_of[self._shown[self._row].text]
        top = line - 1 if line == 1 else line  # the first query brings its group's name along
        rows = max(1, self.size.height - self._header_height)
        y = self.scroll_offset.y
        y = top if top < y else line - rows + 1 if line >= y + rows else y
        left = self._column * self._stride
        room = max(1, self.size.width - self._query_width)
        x = self.scroll_offset.x
        x = left if left < x else left + self._stride - room if left + self._stride > x + room else x
        if (x, y) != tuple(self.scroll_offset):
            self.scroll_to(max(0, x), max(0, y), animate=False, immediate=True)

    def _refresh_query(self, query: str) -> None:
        line = self._line_of.get(query)
        if line is not None:
            y = line - self.scroll_offset.y
            if y >= 0:
                self._refresh_rows(self._header_height + y, 1)

    def _refresh_rows(self, y: int, count: int) -> None:
        self.refresh(Region(0, y, self.size.width, count))

    # Mouse

    def on_click(self, event: events.Click) -> None:
        line = self._line(event.y)
        across = event.x - self._query_width
        if event.y < self._header_height or not isinstance(line, Query):
            return
        column = (across + self.scroll_offset.x) // self._stride if across >= 0 else self._column
        if column >= len(self.session.models):
            return
        row = next(row for row, shown in enumerate(self._shown) if shown.text == line.text)
        again = (row, column) == (self._row, self._column)
        within = (across + self.scroll_offset.x) % self._stride if across >= 0 else self._hit
        self._go(row, column, within if within < glyph_cells(self.session.k) else 0)
        if again and event.chain > 1:
            self.post_message(self.CellChosen())
