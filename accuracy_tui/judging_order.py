"""What to judge next so that the fewest verdicts decide which model is better.

For one query, model A's P@k is the sum of ``w_A(window) = 1/k`` over the true windows of its first k ranks.
So the difference of two models is a sum over windows, each counting ``w_A − w_B``, and a window that both
returned counts nothing whatever its verdict. Judged windows are known, each unjudged one may turn out either
way: that gives exact bounds of the difference, which two intervals subtracted from each other would not. What
one verdict may imply about another window only narrows them.

Other measures: every one that is a sum of rank weights over true windows works the same way and as exactly
(P@1, DCG: give ``JudgingOrder`` the weight of a rank). RR is none, since a true window counts only where none
stands above it; it has no order of its own here, and what settles P@k narrows it too.

An unjudged window can move the pairs of models whose order is open by the sum of ``|w_A − w_B|``: that is its
weight. Queries come by the mean weight of their windows, and a query once begun is finished, since a judge
who has a query in mind is quicker and more consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from accuracy_tui.benchmark import FINE
from accuracy_tui.grid import Grid, State
from accuracy_tui.metrics import IMPLIED_TRUE, NO_HIT, TRUE, UNJUDGED, Bounds
from accuracy_tui.pool import PoolItem
from accuracy_tui.standing import EXACT, Pair, Standing
from sentrysearch.types import Window

RankWeight = Callable[[int], float]
"""What a true window at a rank (from 1) adds to a query's value."""

_Weights = tuple[float, ...]
"""What a window's being true adds to each model's value of its query."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An unjudged pool item."""

    item: PoolItem
    weight: float
    """How far its verdict can move the open pairs, all together; 0 decides nothing."""
    pairs: tuple[tuple[str, str], ...]
    """The open pairs that it moves, the most moved first."""

    @property
    def why(self) -> str:
        """In words."""
        if not self.pairs:
            return "decides nothing between models that is still open"
        first, second = self.pairs[0]
        more = f" and {len(self.pairs) - 1} more" if len(self.pairs) > 1 else ""
        return f"decides {first} against {second}{more}"


@dataclass(frozen=True, slots=True)
class _Steps:
    """How far a window's being true moves the difference of each pair."""

    falls: list[float]
    rises: list[float]


@dataclass(frozen=True, slots=True)
class _QueryPart:
    """What one query adds to every model, and to the difference of every pair."""

    known: list[float]
    """By model, from the windows that are true."""
    open: list[tuple[PoolItem, _Weights]]
    """The unjudged windows."""
    worth: list[float]
    """By model, all of ``open`` together."""
    falls: list[float]
    """By pair: how far its difference falls if each of ``open`` turns out against it."""
    rises: list[float]
    """By pair: how far it rises if each turns out for it."""
    low: list[float]
    """By pair: the least that its difference can be, hits still to come included."""
    high: list[float]
    pending: bool
    """Whether hits of some model are still to come."""
    judged: int
    true: int


@dataclass(frozen=True, slots=True)
class _QuerySuggestions:
    """One query's unjudged windows, those that decide something first."""

    deciding: list[Suggestion]
    rest: list[Suggestion]
    mean: float
    """The mean weight of those that decide."""


class JudgingOrder:
    """The order for one grid, kept up to date query by query; made anew for other models or queries.

    Reading one query again takes a fraction of a millisecond; what a verdict changes of the standing and the
    order, a few, with 500 queries of six models (``benchmarks/judging_order.py``).

    Args:
        grid: whose fine queries count.
        weight: what a rank is worth; None for P@k with the grid's k.
    """

    def __init__(self, grid: Grid, weight: RankWeight | None = None) -> None:
        self._grid = grid
        self._weight = weight or (lambda rank: 1 / grid.k if rank <= grid.k else 0.0)
        self._models = [model for model in grid.models if grid.has_results(model)]
        self._pairs = list(combinations(range(len(self._models)), 2))
        self._queries = [query.text for query in grid.queries if query.group == FINE]
        self._steps: dict[_Weights, _Steps] = {}  # few windows have weights of their own
        self._parts = {query: self._part(query) for query in self._queries}
        self._standing: Standing | None = None
        # What depends on which pairs are open:
        self._undecided: tuple[int, ...] = ()
        self._moved: dict[_Weights, tuple[float, tuple[tuple[str, str], ...]]] = {}
        self._suggested: dict[str, _QuerySuggestions] = {}

    def refresh(self, query: str) -> None:
        """Reads one query again after a verdict on it, or after its hits came; others are passed over."""
        if query in self._parts:
            self._parts[query] = self._part(query)
            self._suggested.pop(query, None)
            self._standing = None

    def standing(self) -> Standing:
        """Who is ahead of whom."""
        if self._standing is None:
            pairs = self._differences()
            leaders = self._leaders(pairs)
            expected, left = (leaders[0], 0) if leaders else self._expectation(pairs)
            self._standing = Standing(self._grid.k, tuple(pairs), leaders, expected, left)
        return self._standing

    def suggestions(self, *, after: str | None = None) -> list[Suggestion]:
        """Every unjudged item of the fine queries that a finished cell holds, the most decisive first.

        Args:
            after: the query that was judged last; while it has something that decides, it goes on.
        """
        ranked = self._ranked(self.standing().pairs)
        begun = self._suggested.get(after) if after is not None else None
        if begun is not None and begun.deciding:
            ranked = [begun, *(found for found in ranked if found is not begun)]
        ordered: list[Suggestion] = []
        for found in ranked:
            ordered += found.deciding
        for found in ranked:
            ordered += found.rest
        return ordered

    def _part(self, query: str) -> _QueryPart:
        known = [0.0] * len(self._models)
        weights: dict[Window, list[float]] = {}
        pending = []
        judged = true = 0
        for place, model in enumerate(self._models):
            cell = self._grid.cell(model, query)
            if cell.state is State.PENDING:
                pending.append(place)
            for hit, outcome in zip(cell.hits, cell.outcomes, strict=False):
                if outcome == UNJUDGED:
                    row = weights.setdefault(hit.window, [0.0] * len(self._models))
                    row[place] = self._weight(hit.rank)
                elif outcome != NO_HIT:
                    judged += 1
                    if outcome in (TRUE, IMPLIED_TRUE):
                        true += 1
                        known[place] += self._weight(hit.rank)
        opened = [(PoolItem(query, window), tuple(row)) for window, row in weights.items()]
        steps = [self._steps_of(row) for _, row in opened]
        falls = _totals((step.falls for step in steps), len(self._pairs))
        rises = _totals((step.rises for step in steps), len(self._pairs))
        most = sum(map(self._weight, range(1, self._grid.depth + 1))) if pending else 0.0
        low, high = [], []
        for (first, second), fall, rise in zip(self._pairs, falls, rises, strict=True):
            difference = known[first] - known[second]
            low.append(difference + fall - (most if second in pending else 0.0))
            high.append(difference + rise + (most if first in pending else 0.0))
        worth = _totals(weights.values(), len(self._models))
        return _QueryPart(known, opened, worth, falls, rises, low, high, bool(pending), judged, true)

    def _steps_of(self, weights: _Weights) -> _Steps:
        steps = self._steps.get(weights)
        if steps is None:
            moves = [weights[first] - weights[second] for first, second in self._pairs]
            steps = _Steps([min(0.0, move) for move in moves], [max(0.0, move) for move in moves])
            self._steps[weights] = steps
        return steps

    def _differences(self) -> list[Pair]:
        count = max(1, len(self._queries))
        lows = _totals((part.low for part in self._parts.values()), len(self._pairs))
        highs = _totals((part.high for part in self._parts.values()), len(self._pairs))
        return [
            Pair(self._models[first], self._models[second], Bounds(low / count, high / count))
            for (first, second), low, high in zip(self._pairs, lows, highs, strict=True)
        ]

    def _leaders(self, pairs: Sequence[Pair]) -> tuple[str, ...]:
        passed = {pair.first for pair in pairs if pair.difference.low < -EXACT}
        passed |= {pair.second for pair in pairs if pair.difference.high > EXACT}
        return tuple(model for model in self._models if model not in passed) if pairs else ()

    def _ranked(self, pairs: Sequence[Pair]) -> list[_QuerySuggestions]:
        """Every query that has something unjudged, the most decisive first."""
        undecided = tuple(place for place, pair in enumerate(pairs) if not pair.settled)
        if undecided != self._undecided:
            self._undecided = undecided
            self._moved.clear()
            self._suggested.clear()
        for query in self._queries:
            if query not in self._suggested:
                self._suggested[query] = self._suggest(query)
        every = [self._suggested[query] for query in self._queries if self._parts[query].open]
        return sorted(every, key=lambda found: -found.mean)

    def _suggest(self, query: str) -> _QuerySuggestions:
        found = [Suggestion(item, *self._moves(weights)) for item, weights in self._parts[query].open]
        found.sort(key=lambda suggestion: -suggestion.weight)
        deciding = [suggestion for suggestion in found if suggestion.weight > 0]
        mean = sum(suggestion.weight for suggestion in deciding) / len(deciding) if deciding else 0.0
        return _QuerySuggestions(deciding, found[len(deciding) :], mean)

    def _moves(self, weights: _Weights) -> tuple[float, tuple[tuple[str, str], ...]]:
        """How far a window moves the open pairs, and which, the most moved first."""
        moves = self._moved.get(weights)
        if moves is None:
            steps = self._steps_of(weights)
            sizes = [rise - fall for fall, rise in zip(steps.falls, steps.rises, strict=True)]
            moved = [place for place in self._undecided if sizes[place]]
            moved.sort(key=lambda place: -sizes[place])
            names = [(self._models[first], self._models[second]) for first, second in self._pairs]
            moves = sum(sizes[place] for place in moved), tuple(names[place] for place in moved)
            self._moved[weights] = moves
        return moves

    def _expectation(self, pairs: Sequence[Pair]) -> tuple[str | None, int | None]:
        """The likely leader, and how many verdicts in the order of suggestion make it sure.

        Every unjudged window is taken to be as likely true as the judged ones were.
        """
        if not pairs:
            return None, None
        parts = list(self._parts.values())
        # As if one true and one false had been seen, so that it is never 0 or 1.
        share = (1 + sum(part.true for part in parts)) / (2 + sum(part.judged for part in parts))
        known = _totals((part.known for part in parts), len(self._models))
        worth = _totals((part.worth for part in parts), len(self._models))
        values = [sure + share * possible for sure, possible in zip(known, worth, strict=True)]
        leader = max(range(len(values)), key=values.__getitem__)
        if any(part.pending for part in parts):
            return self._models[leader], None
        return self._models[leader], self._verdicts_until_sure(leader, share, pairs)

    def _verdicts_until_sure(self, leader: int, share: float, pairs: Sequence[Pair]) -> int:
        # What is left of its lead over each other model, should all that is open turn out against it. A
        # verdict takes that fear back, so the lead only grows, by an expected step a window.
        others = [place for place, pair in enumerate(self._pairs) if leader in pair]
        ahead = [1 if self._pairs[place][0] == leader else -1 for place in others]
        count = len(self._queries)
        leads = [
            (pairs[place].difference.low if sign > 0 else -pairs[place].difference.high) * count
            for place, sign in zip(others, ahead, strict=True)
        ]
        verdicts = 0
        for found in self._ranked(pairs):
            if all(lead > -EXACT for lead in leads):
                break
            if not found.deciding:
                continue
            part = self._parts[found.deciding[0].item.query]
            after = [
                lead + _gain(part.falls[place], part.rises[place], sign, share)
                for lead, place, sign in zip(leads, others, ahead, strict=True)
            ]
            if any(lead <= -EXACT for lead in after):  # the whole query isn't enough
                leads, verdicts = after, verdicts + len(found.deciding)
                continue
            weights = dict(part.open)
            for suggestion in found.deciding:
                if all(lead > -EXACT for lead in leads):
                    break
                steps = self._steps_of(weights[suggestion.item])
                for index, (place, sign) in enumerate(zip(others, ahead, strict=True)):
                    leads[index] += _gain(steps.falls[place], steps.rises[place], sign, share)
                verdicts += 1
        return max(1, verdicts)


def _gain(fall: float, rise: float, sign: int, share: float) -> float:
    """By how much verdicts are expected to raise a lead's lower bound, given how far they can move it."""
    against = fall if sign > 0 else -rise
    return share * sign * (fall + rise) - against


def _totals(rows: Iterable[Sequence[float]], length: int) -> list[float]:
    """The sums of the columns."""
    return [sum(column) for column in zip(*rows, strict=True)] or [0.0] * length
