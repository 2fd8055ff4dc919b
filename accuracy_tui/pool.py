"""The pool: every (query, window) that some run returned, judged once and shared by every model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from accuracy_tui.benchmark import Query
from accuracy_tui.runs import Run
from sentrysearch.types import Window


class PoolItem(NamedTuple):
    """What gets one verdict."""

    query: str
    window: Window


Found: TypeAlias = tuple[tuple[str, int], ...]
"""(model, rank) for every run that returned the item, in the runs' order."""


def pool(runs: Sequence[Run], k: int | None, queries: Sequence[Query]) -> dict[PoolItem, Found]:
    """The union of the runs' first ``k`` hits for the benchmark's queries; ``k`` None takes all their hits.

    Ordered for judging: query by query, in each the best ranks first, and at one rank the windows that most
    models returned, then those of the first model.
    """
    found: dict[str, dict[Window, list[tuple[str, int]]]] = {query.text: {} for query in queries}
    for run in runs:
        for searched in run.queries:
            windows = found.get(searched.query)
            if windows is not None:
                for hit in searched.hits[:k]:
                    windows.setdefault(hit.window, []).append((run.model, hit.rank))
    items: dict[PoolItem, Found] = {}
    for text, windows in found.items():
        for window, where in sorted(windows.items(), key=lambda item: _urgency(item[1])):
            items[PoolItem(text, window)] = tuple(where)
    return items


def _urgency(where: list[tuple[str, int]]) -> tuple[int, int]:
    return min(rank for _, rank in where), -len(where)
