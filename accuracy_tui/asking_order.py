"""What decides most first, on a plain terminal: the order of ``accuracy-tui judge --decisive``."""

from __future__ import annotations

from collections.abc import Sequence

from accuracy_tui.grid import Grid, Look
from accuracy_tui.judging_order import JudgingOrder, Suggestion
from accuracy_tui.pool import PoolItem


class DecisiveOrder:
    """Asks about what the file contradicts, then about what decides most, floor queries after it, and last
    about what follows from other verdicts by now.

    Args:
        grid: of the runs that are judged; kept up to date here.
        look: looks a verdict up, as the grid does.
    """

    def __init__(self, grid: Grid, look: Look) -> None:
        self._grid = grid
        self._look = look
        self._order = JudgingOrder(grid)
        self._suggestions: dict[PoolItem, Suggestion] = {}

    def changed(self, query: str) -> None:
        """A verdict on this query was given or taken back."""
        self._grid.refresh(query)
        self._order.refresh(query)

    def arrange(self, items: Sequence[PoolItem], after: str | None) -> list[PoolItem]:
        """The same items, in the order to ask; while the query ``after`` has something that decides, it goes
        on."""
        suggestions = self._order.suggestions(after=after)
        self._suggestions = {suggestion.item: suggestion for suggestion in suggestions}
        places = {item: place for place, item in enumerate(self._suggestions)}

        def key(item: PoolItem) -> tuple[int, int]:
            verdict = self._look(*item)
            if verdict.value is not None:
                return (3 if verdict.implied else 0), 0
            return (1, places[item]) if item in places else (2, 0)

        return sorted(items, key=key)

    def why(self, item: PoolItem) -> str:
        """Why it is asked now, and which pairs of models are settled."""
        return " · ".join(part for part in (self._why(item), self._order.standing().line()) if part)

    def _why(self, item: PoolItem) -> str:
        verdict = self._look(*item)
        if verdict.value is not None:
            return "follows from another verdict" if verdict.implied else "the file contradicts its verdict"
        if item in self._suggestions:
            return self._suggestions[item].why
        return "a floor query: it decides nothing between models"
