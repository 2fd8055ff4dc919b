"""Where the parts of the grid stand for a given size: arithmetic only.

Only whole columns of models are shown. A number that is cut off could be read as another.
"""

from __future__ import annotations

from typing import NamedTuple

GAP = 2
"""Cells between columns."""
NUMBER = 9
"""Cells of a number with its bounds: ``0.20–0.60``."""
MOST_GLYPHS = 12
"""Ranks that are drawn in a cell; P@k counts all of them."""
NARROWEST_COLUMN, WIDENED = 16, 8
"""A model's column has at least so many cells, and up to so many more than it needs where there is room."""
SMALLEST_QUERY, LARGEST_QUERY = 22, 60
"""Cells of the column of queries."""
FIRST_ROWS = 2
"""Models' names and the state of their passes, above the rows of numbers."""
FEWEST_QUERIES = 4
"""Lines that are left for queries on a low screen, where rows of numbers give way."""


class Layout(NamedTuple):
    """Sizes in cells."""

    query: int
    """The first column."""
    column: int
    """A model's column, without the gap after it."""
    columns: int
    """How many models stand side by side."""
    glyphs: int
    """The glyphs of one cell."""
    numbers: int
    """How many rows of numbers there is room for."""

    @property
    def stride(self) -> int:
        """From one model's column to the next."""
        return self.column + GAP

    @property
    def header(self) -> int:
        """Lines that stay where they are while the queries scroll."""
        return FIRST_ROWS + self.numbers

    @property
    def indent(self) -> int:
        """Where a column's numbers begin."""
        return self.glyphs + 2


def lay_out(width: int, height: int, *, longest: int, models: int, k: int, numbers: int) -> Layout:
    """Fits the grid into ``width`` by ``height`` cells.

    Args:
        longest: cells of the longest query.
        models: how many there are.
        k: ranks of a cell.
        numbers: how many rows of numbers there are.
    """
    glyphs = max(1, min(k, MOST_GLYPHS))
    column = max(NARROWEST_COLUMN, glyphs + 2 + NUMBER)
    stride = column + GAP
    columns = max(1, min(models, (width - SMALLEST_QUERY) // stride))
    room = width - columns * stride
    query = max(1, min(max(longest + 3, SMALLEST_QUERY), LARGEST_QUERY, room))
    spare = max(0, room - query)
    numbers = max(0, min(numbers, height - FIRST_ROWS - FEWEST_QUERIES))
    return Layout(query, column + min(WIDENED, spare // columns), columns, glyphs, numbers)


def first_column(first: int, column: int, columns: int, models: int) -> int:
    """The leftmost model shown, moved as little as possible so that ``column`` is among ``columns``."""
    first = min(first, column)
    first = max(first, column - columns + 1)
    return max(0, min(first, models - columns))
