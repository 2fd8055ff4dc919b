"""What the verdicts on a query's windows say about its other windows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

TOLERANCE = 1
"""Tenths of a second by which a window may fail to contain another and still count as containing it."""


class Implications:
    """Answers for any window of one footage and query in O(log n) after O(n log n).

    A verdict says whether the window shows the query, so a window that contains a true one is true and a
    window inside a false one is false. A window that does both (a true one inside a false one, the window
    between them) has contradictory evidence and stays unjudged: a person must look.

    Args:
        verdicts: start and end in tenths of a second, verdict.
    """

    def __init__(self, verdicts: Iterable[tuple[int, int, bool]]) -> None:
        every = sorted(verdicts)
        true = [(start, end) for start, end, value in every if value]
        false = [(start, end) for start, end, value in every if not value]
        self._true_starts = [start for start, _ in true]
        # Of the true windows from here on, the earliest end; of the false ones up to here, the latest.
        self._true_ends = list(accumulate((end for _, end in reversed(true)), min))[::-1]
        self._false_starts = [start for start, _ in false]
        self._false_ends = list(accumulate((end for _, end in false), max))

    def look(self, start: int, end: int) -> bool | None:
        """What is implied for a window (tenths of a second); None when nothing or both."""
        place = bisect_left(self._true_starts, start - TOLERANCE)
        true = place < len(self._true_ends) and self._true_ends[place] <= end + TOLERANCE
        place = bisect_right(self._false_starts, start + TOLERANCE)
        false = place > 0 and self._false_ends[place - 1] >= end - TOLERANCE
        return None if true == false else true
