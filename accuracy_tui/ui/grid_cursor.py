"""Which cell and which of its hits is pointed at, and how the keys move that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from accuracy_tui.benchmark import Query
from accuracy_tui.grid import State
from accuracy_tui.live import LiveSession
from accuracy_tui.metrics import UNJUDGED


class GridCursor:
    """A place among the rows that are shown; ``row``, ``column`` and ``hit`` count from 0."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self.queries: Sequence[Query] = session.queries
        """The rows, in their order."""
        self.row = self.column = self.hit = 0

    @property
    def model(self) -> str | None:
        """The model pointed at; None without any."""
        models = self._session.models
        return models[self.column] if self.column < len(models) else None

    @property
    def query(self) -> str | None:
        """The query pointed at; None where no row is shown."""
        return self.queries[self.row].text if self.row < len(self.queries) else None

    @property
    def cell(self) -> tuple[str, str] | None:
        """Model and query; None in an empty grid."""
        model, query = self.model, self.query
        return None if model is None or query is None else (model, query)

    def show(self, queries: Iterable[Query]) -> None:
        """Takes other rows; stays on its query where that is still one of them."""
        query = self.query
        self.queries = tuple(queries)
        self.go(self._row_of(query) or 0, self.column, self.hit)

    def find(self, model: str, query: str, hit: int) -> bool:
        """Goes to a cell; False where it isn't shown."""
        row = self._row_of(query)
        if row is None or model not in self._session.models:
            return False
        self.go(row, self._session.models.index(model), hit)
        return True

    def go(self, row: int, column: int, hit: int) -> None:
        """Goes as near to this place as the grid allows."""
        self.row = max(0, min(row, len(self.queries) - 1))
        self.column = max(0, min(column, len(self._session.models) - 1))
        cell = self.cell
        hits = len(self._session.grid.cell(*cell).hits) if cell else 0
        self.hit = max(0, min(hit, hits - 1))

    def next_unjudged(self, step: int) -> bool:
        """Goes on (-1: back) to a hit without a verdict, row by row, round the end; False without any."""
        if self.cell is None:
            return False
        later = [hit for hit in self._unjudged(self.row, self.column) if (hit - self.hit) * step > 0]
        if later:
            self.hit = later[0] if step > 0 else later[-1]
            return True
        models, rows = len(self._session.models), len(self.queries)
        here = self.row * models + self.column
        for distance in range(1, rows * models + 1):
            row, column = divmod((here + step * distance) % (rows * models), models)
            found = self._unjudged(row, column)
            if found:
                self.row, self.column, self.hit = row, column, found[0] if step > 0 else found[-1]
                return True
        return False

    def _unjudged(self, row: int, column: int) -> list[int]:
        cell = self._session.grid.cell(self._session.models[column], self.queries[row].text)
        if cell.state is not State.RAN or UNJUDGED not in cell.outcomes:
            return []
        return [hit for hit, outcome in enumerate(cell.outcomes) if outcome == UNJUDGED]

    def _row_of(self, query: str | None) -> int | None:
        return next((row for row, shown in enumerate(self.queries) if shown.text == query), None)
