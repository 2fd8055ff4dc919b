"""Means of metrics over many rankings: each distinct one is measured once, very many all at once in numpy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from accuracy_tui.metrics import Bounds, Metric, possibly_relevant, surely_relevant

MANY = 2000
"""From so many distinct rankings on, numpy saves more time than importing it takes."""


class Rankings:
    """Every model's rankings for one group of queries, at least one, ready for any number of metrics.

    Args:
        rows: for each model its rankings' outcomes, one a query, all of one length.
    """

    def __init__(self, rows: Sequence[Sequence[bytes]], *, many: int = MANY) -> None:
        self._rows = len(rows)
        self._columns = len(rows[0]) if rows else 0
        # Few of the queries of a large benchmark have outcomes of their own: 5 ranks have 1,000 at the most.
        self._counts = [Counter(row) for row in rows]
        distinct = list(set().union(*self._counts))
        self._vectorised = len(distinct) >= many
        self._low: Any
        self._high: Any
        if self._vectorised:
            every, depth = b"".join(ranking for row in rows for ranking in row), len(distinct[0])
            self._low = self._by_rank(surely_relevant(every), depth)
            self._high = self._by_rank(possibly_relevant(every), depth)
        else:
            self._low = self._counted({ranking: surely_relevant(ranking) for ranking in distinct})
            self._high = self._counted({ranking: possibly_relevant(ranking) for ranking in distinct})

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
        values = {found: metric(found) for found in set().union(*relevant)}
        return [
            sum([count * values[found] for found, count in counts.items()]) / self._columns
            for counts in relevant
        ]

    def _counted(self, relevant: dict[bytes, bytes]) -> list[dict[bytes, int]]:
        """For each model how many rankings have which ranks relevant: with 5 ranks, 32 kinds at the most."""
        every = []
        for counts in self._counts:
            kinds: dict[bytes, int] = {}
            for ranking, count in counts.items():
                found = relevant[ranking]
                kinds[found] = kinds.get(found, 0) + count
            every.append(kinds)
        return every
