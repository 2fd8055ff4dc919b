"""The grid on the screen: a row a query, a column a model, on Textual's line API.

A verdict draws the few lines again that hold its window; nothing else moves. (A table of widgets draws itself
anew for every cell: 35 ms with 500 rows, against 2.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from accuracy_tui.benchmark import Query
from accuracy_tui.live import Change, LiveSession
from accuracy_tui.ui.grid_cursor import GridCursor
from accuracy_tui.ui.grid_layout import FIRST_ROWS, first_column
from accuracy_tui.ui.grid_lines import GridLines, Part
from accuracy_tui.ui.styled_lines import StyledLines

_PASS_LINE = 1


class GridView(StyledLines, can_focus=True):
    """Shows a session's grid and moves a cursor over it; which key does what is up to the screen."""

    DEFAULT_CSS = """
    GridView {
        overflow: hidden auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """

    class CellHighlighted(Message):
        """The cursor is on another cell or hit; both are None in an empty grid."""

        def __init__(self, model: str | None, query: str | None) -> None:
            super().__init__()
            self.model = model
            self.query = query

    class CellChosen(Message):
        """The cell under the cursor was asked for by a double click."""

        def __init__(self, model: str, query: str) -> None:
            super().__init__()
            self.model = model
            self.query = query

    def __init__(self, session: LiveSession, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.session = session
        self._cursor = GridCursor(session)
        self._lines = GridLines(session)
        self._lines.show(session.queries, grouped=True)
        self._rows: dict[int, Strip] = {}  # those that the cursor isn't on, as they were drawn
        self._numbers_due = False
        self._header_drawn: dict[int, list[Part]] = {}

    # What the cursor is on

    @property
    def cursor(self) -> tuple[str, str] | None:
        """Model and query under the cursor; None in an empty grid."""
        return self._cursor.cell

    @property
    def hit(self) -> int:
        """Which of the cell's hits is selected, from 0."""
        return self._cursor.hit

    @property
    def shown(self) -> Sequence[Query]:
        """The queries that are rows now, in their order."""
        return self._cursor.queries

    def move_to(self, model: str, query: str, hit: int = 0) -> None:
        """Puts the cursor on a cell, if it is shown."""
        before = self._place()
        self._cursor.find(model, query, hit)
        self._moved(before)

    def move(self, rows: int = 0, columns: int = 0) -> None:
        """Moves the cursor by so many rows and columns, onto the first hit there."""
        before = self._place()
        self._cursor.go(self._cursor.row + rows, self._cursor.column + columns, 0)
        self._moved(before)

    def move_hit(self, step: int) -> None:
        """Selects the next or previous hit of the cell."""
        before = self._place()
        self._cursor.go(self._cursor.row, self._cursor.column, self.hit + step)
        self._moved(before)

    def next_unjudged(self, step: int = 1) -> bool:
        """Moves on to the next hit without a verdict, row by row, from the top again at the end."""
        before = self._place()
        found = self._cursor.next_unjudged(step)
        self._moved(before)
        return found

    def page(self, step: int) -> None:
        """Moves the cursor by a screen of rows."""
        self.move(rows=step * max(1, self._body_height - 1))

    # What is drawn again

    def show_queries(self, queries: Iterable[Query], *, grouped: bool = True) -> None:
        """Shows these queries in this order; the cursor stays on its query where that is still shown."""
        before = self._place()
        self._cursor.show(queries)
        self._lines.show(self._cursor.queries, grouped=grouped)
        self._fit()
        self._moved(before)

    def session_changed(self, change: Change) -> None:
        """Draws again what changed: the lines of those queries, and the numbers above them."""
        if change.layout:
            before = self._place()
            self._cursor.go(self._cursor.row, self._cursor.column, self.hit)
            self._fit()
            self._moved(before)
        elif change.cells:
            queries = {query for _, query in change.cells}
            if len(queries) > self._body_height:
                self._draw_all()
                return
            for query in queries:
                self._refresh_query(query)
            # The cells first: the numbers take longer to compute than all the rest.
            if not self._numbers_due:
                self._numbers_due = True
                self.call_after_refresh(self._refresh_numbers)

    def passes_changed(self) -> None:
        """Draws the line of pass states again."""
        self._refresh_lines(_PASS_LINE, 1)

    def _refresh_numbers(self) -> None:
        self._numbers_due = False
        for line in range(FIRST_ROWS, self._lines.layout.header):
            if list(self._lines.header(line, self._cursor.model)) != self._header_drawn.get(line):
                self._refresh_lines(line, 1)

    # Drawing

    def on_resize(self) -> None:
        self._fit()
        self._scroll_to_cursor()

    def notify_style_update(self) -> None:
        self._rows.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        header, width = self._lines.layout.header, self.size.width
        if y < header:
            parts = self._header_drawn[y] = list(self._lines.header(y, self._cursor.model))
            return self.strip_of(parts, width)
        row = y - header + self.scroll_offset.y
        if row >= len(self._lines.rows):
            return self.strip_of((), width)
        if row == self._lines.row_of.get(self._cursor.query or ""):
            return self.strip_of(self._lines.row(row, self._cursor.model, self.hit), width, rest="row")
        strip = self._rows.get(row)
        if strip is None:
            strip = self._rows[row] = self.strip_of(self._lines.row(row, None, None), width)
        return strip

    def _fit(self) -> None:
        """Takes the size and the session's models anew."""
        self._lines.fit(self.size.width, self.size.height)
        self._lines.first = self._first_column()
        self.virtual_size = Size(self.size.width, self._lines.layout.header + len(self._lines.rows))
        self._draw_all()

    def _draw_all(self) -> None:
        self._rows.clear()
        self.refresh()

    @property
    def _body_height(self) -> int:
        return max(1, self.size.height - self._lines.layout.header)

    def _refresh_query(self, query: str | None) -> None:
        row = self._lines.row_of.get(query or "")
        if row is not None:
            self._rows.pop(row, None)
            y = row - self.scroll_offset.y
            if 0 <= y < self._body_height:
                self._refresh_lines(self._lines.layout.header + y, 1)

    def _refresh_lines(self, y: int, count: int) -> None:
        self.refresh(Region(0, y, self.size.width, count))

    # Cursor

    def _place(self) -> tuple[tuple[str, str] | None, int]:
        return self.cursor, self.hit

    def _moved(self, before: tuple[tuple[str, str] | None, int]) -> None:
        """Draws where the cursor was and is, and tells of it."""
        (cell, _), now = before, self.cursor
        self._scroll_to_cursor()
        if (now, self.hit) == before:
            return
        if cell is not None:
            self._refresh_query(cell[1])
        if now is not None:
            self._refresh_query(now[1])
        if (cell and cell[0]) != (now and now[0]):
            self._refresh_lines(0, 1)
        self.post_message(self.CellHighlighted(*(now or (None, None))))

    def _first_column(self) -> int:
        columns, models = self._lines.layout.columns, len(self.session.models)
        return first_column(self._lines.first, self._cursor.column, columns, models)

    def _scroll_to_cursor(self) -> None:
        first = self._first_column()
        if first != self._lines.first:
            self._lines.first = first
            self._draw_all()
        row = self._lines.row_of.get(self._cursor.query or "")
        if row is None or not self.size.height:
            return
        # The first query's group comes along into sight.
        top = 0 if row == 1 and self._cursor.row == 0 else row
        y, room = round(self.scroll_target_y), self._body_height
        wanted = top if top < y else row - room + 1 if row >= y + room else y
        if wanted != y:
            self.scroll_to(y=wanted, animate=False, immediate=True)

    # Mouse

    def on_click(self, event: events.Click) -> None:
        lines, header = self._lines, self._lines.layout.header
        row = event.y - header + self.scroll_offset.y
        if event.y < header or not 0 <= row < len(lines.rows):
            return
        query = lines.rows[row]
        across = event.x - lines.layout.query
        column, within = divmod(across, lines.layout.stride) if across >= 0 else (-1, 0)
        if not isinstance(query, Query) or column >= len(lines.models):
            return
        model = lines.models[column] if column >= 0 else self._cursor.model
        if model is not None:
            again = self.cursor == (model, query.text)
            on_glyph = column >= 0 and within < lines.layout.glyphs
            self.move_to(model, query.text, within if on_glyph else 0)
            if again and event.chain > 1:
                self.post_message(self.CellChosen(model, query.text))

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        event.stop()
        self._scroll_columns(1)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        event.stop()
        self._scroll_columns(-1)

    def _scroll_columns(self, step: int) -> None:
        last = len(self.session.models) - self._lines.layout.columns
        first = max(0, min(self._lines.first + step, last))
        if first != self._lines.first:
            self._lines.first = first
            self._draw_all()
