"""Ranks windows for queries by exact cosine.

Exact on purpose: at this size a matrix product answers in milliseconds, and an approximate index would put
its own error into what is being measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sentrysearch.types import Hit, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCORE_DECIMALS = 6
"""Scores are rounded here before ranking, so that windows with the same pictures tie and the order of a
run doesn't hang on the last bits of a float32 sum."""

_BLOCK = 65_536
"""Windows scored at once: bounds memory at 256 KB a query."""


def rank(
    windows: Sequence[Window],
    vectors: NDArray[np.float32],
    query_vectors: NDArray[np.float32],
    k: int,
) -> list[list[Hit]]:
    """The k nearest windows of each query, best first; ties by footage name, then start.

    Args:
        windows: n windows, one for each row of ``vectors``.
        vectors: shape (n, d), rows of length 1.
        query_vectors: shape (q, d), rows of length 1.
        k: how many hits at most; fewer come back when there are fewer windows.

    Returns:
        One list of hits for each query, ranks from 1.
    """
    return [
        _best(windows, candidates, scores, k) for candidates, scores in _candidates(vectors, query_vectors, k)
    ]


def _candidates(
    vectors: NDArray[np.float32], query_vectors: NDArray[np.float32], k: int
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each query the rows that may be among the k best, ties at the k-th place included."""
    found: list[list[tuple[NDArray[np.int64], NDArray[np.float64]]]] = [[] for _ in query_vectors]
    for begin in range(0, len(vectors), _BLOCK):
        block = np.asarray(vectors[begin : begin + _BLOCK])
        for query, products in enumerate(query_vectors @ block.T):
            scores = np.round(products.astype(np.float64), SCORE_DECIMALS)
            if len(scores) > k:
                kept = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
            else:
                kept = np.arange(len(scores))
            found[query].append((kept + begin, scores[kept]))
    empty = (np.empty(0, np.int64), np.empty(0, np.float64))
    return [
        (np.concatenate([rows for rows, _ in parts]), np.concatenate([scores for _, scores in parts]))
        if parts
        else empty
        for parts in found
    ]


def _best(
    windows: Sequence[Window], rows: NDArray[np.int64], scores: NDArray[np.float64], k: int
) -> list[Hit]:
    order = sorted(
        zip(scores.tolist(), rows.tolist(), strict=True), key=lambda pair: (-pair[0], windows[pair[1]])
    )
    return [Hit(position, windows[row], score) for position, (score, row) in enumerate(order[:k], 1)]
