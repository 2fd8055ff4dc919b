"""Means of metrics over many rankings: a few one by one, many all at once in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accuracy_tui.metrics import Bounds, Metric, possibly_relevant, surely_relevant

MANY = 2000
"""From so many rankings on, numpy saves more time than importing it takes."""


class Rankings:
    """Every model's rankings for one group of queries, at least one, ready for any number of metrics.

    Args:
        rows: for each model its rankings' outcomes, one a query, all of one length.
    """

    def __init__(self, rows: Sequence[Sequence[bytes]], *, many: int = MANY) -> None:
        self._rows = len(rows)
        self._columns = len(rows[0]) if rows else 0
        flat = [ranking for row in rows for ranking in row]
        self._vectorised = len(flat) >= many
        self._low: Any
        self._high: Any
        if self._vectorised:
            every, depth = b"".join(flat), len(flat[0])
            self._low = self._by_rank(surely_relevant(every), depth)
            self._high = self._by_rank(possibly_relevant(every), depth)
        else:
            self._low = [surely_relevant(ranking) for ranking in flat]
            self._high = [possibly_relevant(ranking) for ranking in flat]

    def means(self, metric: Metric) -> list[Bounds]:
        """For each model the mean of a metric over its rankings, with its bounds."""
        lows, highs = self._means(metric, self._low), self._means(metric, self._high)
        return [Bounds(low, high) for low, high in zip(lows, highs, strict=True)]

    def _by_rank(self, relevant: bytes, depth: int) -> Any:
        """An array of shape (depth, models, queries), each rank contiguous; floats spare casts."""
        import numpy as np

        shape = (self._rows, self._columns, depth)
        by_ranking = np.frombuffer(relevant, np.uint8).reshape(shape)
        return np.ascontiguousarray(np.moveaxis(by_ranking, 2, 0), dtype=np.float64)

    def _means(self, metric: Metric, relevant: Any) -> list[float]:
        if self._vectorised:
            means: list[float] = metric(relevant).mean(axis=1).tolist()
            return means
        values = [metric(ranking) for ranking in relevant]
        starts = range(0, len(values), self._columns)
        return [sum(values[start : start + self._columns]) / self._columns for start in starts]
