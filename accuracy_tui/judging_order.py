"""What to judge next so that the fewest verdicts decide which model is better.

For one query, model A's P@k is the sum of ``w_A(window) = 1/k`` over the true windows of its first k ranks.
So the difference of two models is a sum over windows, each counting ``w_A − w_B``, and a window that both
returned counts nothing whatever its verdict. Judged windows are known, each unjudged one may turn out either
way: that gives exact bounds of the difference, which two intervals subtracted from each other would not. What
one verdict may imply about another window only narrows them.

An unjudged window can move the pairs of models whose order is open by the sum of ``|w_A − w_B|``: that is its
weight. Queries come by the mean weight of their windows, and a query once begun is finished, since a judge
who has a query in mind is quicker and more consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from accuracy_tui.benchmark import FINE
from accuracy_tui.grid import Grid, State
from accuracy_tui.metrics import IMPLIED_TRUE, TRUE, UNJUDGED, Bounds
from accuracy_tui.pool import PoolItem
from sentrysearch.types import Window

_EXACT = 1e-9
"""Differences smaller than this are rounding."""

_PAIRS_SAID = 3

RankWeight = Callable[[int], float]
"""What a true window at a rank (from 1) adds to a query's value."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models, and by how much the mean of the first one is above that of the second."""

    first: str
    second: str
    difference: Bounds

    @property
    def better(self) -> str | None:
        """The model that is ahead whatever the unjudged windows turn out to be; None while that is open."""
        if self.difference.low > _EXACT:
            return self.first
        return self.second if self.difference.high < -_EXACT else None

    @property
    def settled(self) -> bool:
        """Whether no verdict can change who is ahead, or that neither is."""
        return self.better is not None or self.difference.high - self.difference.low < _EXACT


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
class Standing:
    """Who is ahead of whom, as far as the verdicts say."""

    k: int
    pairs: tuple[Pair, ...]
    leader: str | None
    """The model that no other can pass; None while that is open."""
    expected: str | None
    """The model that is likely to be it."""
    left: int
    """About how many verdicts until there is a leader."""

    @property
    def undecided(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if not pair.settled)

    def line(self) -> str:
        """One line for the screen."""
        if not self.pairs:
            return ""
        parts = [self._settled_line()]
        if self.undecided:
            parts.append(f"{len(self.undecided)} of {len(self.pairs)} pairs open")
        if self.leader is None:
            verdicts = "verdict" if self.left == 1 else "verdicts"
            parts.append(f"about {self.left} more {verdicts} until the leader is settled")
        elif self.undecided:
            parts.append(f"{self.leader} leads whatever is to come")
        return f"P@{self.k} {FINE} · {' · '.join(parts)}"

    def _settled_line(self) -> str:
        signs = {(pair.first, pair.second): _sign(pair) for pair in self.pairs if pair.settled}
        if not signs:
            return "no pair of models is settled yet"
        if len(signs) == len(self.pairs):  # a whole order: one chain says it all
            models = dict.fromkeys(model for pair in self.pairs for model in (pair.first, pair.second))
            wins = {model: sum(pair.better == model for pair in self.pairs) for model in models}
            order = sorted(models, key=lambda model: -wins[model])
            chain = order[0]
            for above, below in pairwise(order):
                chain += f" {'>' if wins[above] > wins[below] else '='} {below}"
            return f"settled: {chain}"
        said = [
            f"{second} > {first}" if sign == "<" else f"{first} {sign} {second}"
            for (first, second), sign in signs.items()
        ]
        more = f" and {len(said) - _PAIRS_SAID} more" if len(said) > _PAIRS_SAID else ""
        return f"settled: {', '.join(said[:_PAIRS_SAID])}{more}"


def _sign(pair: Pair) -> str:
    if pair.better is None:
        return "="
    return ">" if pair.better == pair.first else "<"


@dataclass(slots=True)
class _Open:
    """One unjudged window of a query: what it is worth to each model."""

    item: PoolItem
    weights: tuple[float, ...]


@dataclass(slots=True)
class _QueryPart:
    """What one query adds to every model."""

    known: list[float]
    open: list[_Open] = field(default_factory=list)
    pending: tuple[int, ...] = ()
    """Models whose hits for it are still to come."""


class JudgingOrder:
    """The order for one grid, kept up to date query by query.

    Args:
        grid: whose fine queries count.
        weight: what a rank is worth; None for P@k with the grid's k.
    """

    def __init__(self, grid: Grid, weight: RankWeight | None = None) -> None:
        self._grid = grid
        self._weight = weight or (lambda rank: 1 / grid.k if rank <= grid.k else 0.0)
        self._most = sum(self._weight(rank) for rank in range(1, grid.depth + 1))
        self._models = [model for model in grid.models if grid.has_results(model)]
        self._pairs = list(combinations(range(len(self._models)), 2))
        self._queries = [query.text for query in grid.queries if query.group == FINE]
        self._parts = {query: self._part(query) for query in self._queries}
        self._bounds = {query: self._query_bounds(part) for query, part in self._parts.items()}

    def refresh(self, query: str) -> None:
        """Reads one query again after a verdict on it, or after its hits came."""
        if query in self._parts:
            self._parts[query] = self._part(query)
            self._bounds[query] = self._query_bounds(self._parts[query])

    def standing(self) -> Standing:
        """Who is ahead of whom."""
        pairs = self._differences()
        leader = self._leader(pairs)
        expected, left = (leader, 0) if leader else self._expectation()
        return Standing(self._grid.k, tuple(pairs), leader, expected, left)

    def suggestions(self, *, after: str | None = None) -> list[Suggestion]:
        """Every unjudged item of the fine queries that a finished cell holds, the most decisive first.

        Args:
            after: the query that was judged last; while it has something that decides, it goes on.
        """
        undecided = [
            place for place, pair in zip(self._pairs, self._differences(), strict=True) if not pair.settled
        ]
        ranked: list[tuple[bool, float, int, list[Suggestion]]] = []
        for number, query in enumerate(self._queries):
            found = sorted(self._suggested(query, undecided), key=lambda one: -one.weight)
            if found:
                deciding = [one.weight for one in found if one.weight > 0]
                mean = sum(deciding) / len(deciding) if deciding else 0.0
                ranked.append((query == after and bool(deciding), mean, -number, found))
        ranked.sort(key=lambda one: one[:3], reverse=True)
        ordered = [suggestion for *_, found in ranked for suggestion in found]
        return [one for one in ordered if one.weight > 0] + [one for one in ordered if not one.weight > 0]

    def _part(self, query: str) -> _QueryPart:
        part = _QueryPart([0.0] * len(self._models))
        weights: dict[Window, list[float]] = {}
        pending = []
        for place, model in enumerate(self._models):
            cell = self._grid.cell(model, query)
            if cell.state is State.PENDING:
                pending.append(place)
            for hit, outcome in zip(cell.hits, cell.outcomes, strict=False):
                if outcome == UNJUDGED:
                    row = weights.setdefault(hit.window, [0.0] * len(self._models))
                    row[place] = self._weight(hit.rank)
                elif outcome in (TRUE, IMPLIED_TRUE):
                    part.known[place] += self._weight(hit.rank)
        part.pending = tuple(pending)
        part.open = [_Open(PoolItem(query, window), tuple(row)) for window, row in weights.items()]
        return part

    def _query_bounds(self, part: _QueryPart) -> list[tuple[float, float]]:
        """For every pair the bounds of its difference in one query."""
        bounds = []
        for first, second in self._pairs:
            low = high = part.known[first] - part.known[second]
            for item in part.open:
                step = item.weights[first] - item.weights[second]
                if step < 0:
                    low += step
                else:
                    high += step
            if first in part.pending:
                high += self._most
            if second in part.pending:
                low -= self._most
            bounds.append((low, high))
        return bounds

    def _differences(self) -> list[Pair]:
        count = max(1, len(self._queries))
        every = list(self._bounds.values())
        return [
            Pair(
                self._models[first],
                self._models[second],
                Bounds(
                    sum(bounds[place][0] for bounds in every) / count,
                    sum(bounds[place][1] for bounds in every) / count,
                ),
            )
            for place, (first, second) in enumerate(self._pairs)
        ]

    def _leader(self, pairs: Sequence[Pair]) -> str | None:
        """The model that no other can pass; none where all are equal whatever is to come."""
        for model in self._models:
            leads = [
                pair.difference
                if pair.first == model
                else Bounds(-pair.difference.high, -pair.difference.low)
                for pair in pairs
                if model in (pair.first, pair.second)
            ]
            if all(lead.low > -_EXACT for lead in leads) and any(lead.high > _EXACT for lead in leads):
                return model
        return None

    def _suggested(self, query: str, undecided: Sequence[tuple[int, int]]) -> Iterator[Suggestion]:
        for item in self._parts[query].open:
            moved = []
            for first, second in undecided:
                step = abs(item.weights[first] - item.weights[second])
                if step > 0:
                    moved.append((-step, first, second))
            moved.sort()
            yield Suggestion(
                item.item,
                sum(-step for step, _, _ in moved),
                tuple((self._models[first], self._models[second]) for _, first, second in moved),
            )

    def _expectation(self) -> tuple[str | None, int]:
        """The likely leader, and how many verdicts in the order of suggestion make it sure.

        Every unjudged window is taken to be as likely true as the judged ones were.
        """
        if len(self._models) < 2:
            return None, 0
        share = self._true_share()
        places = {item.item: item.weights for part in self._parts.values() for item in part.open}
        values = [
            sum(part.known[place] for part in self._parts.values())
            + share * sum(weights[place] for weights in places.values())
            for place in range(len(self._models))
        ]
        leader = max(range(len(values)), key=values.__getitem__)
        # What is surely left of its lead over each other model, before any more verdict.
        leads = {
            other: sum(
                part.known[leader]
                - part.known[other]
                + sum(min(0.0, item.weights[leader] - item.weights[other]) for item in part.open)
                for part in self._parts.values()
            )
            for other in range(len(self._models))
            if other != leader
        }
        count = 0
        for suggestion in self.suggestions():
            if all(lead > -_EXACT for lead in leads.values()):
                return self._models[leader], count
            if suggestion.weight > 0:
                count += 1
                weights = places[suggestion.item]
                for other in leads:
                    step = weights[leader] - weights[other]
                    leads[other] += share * step - min(0.0, step)
        return self._models[leader], max(1, count)

    def _true_share(self) -> float:
        true = judged = 1  # as if one true and one of each had been seen, so that it is never 0 or 1
        for model in self._models:
            for outcomes in self._grid.outcomes(model):
                hits = [outcome for outcome in outcomes if outcome > UNJUDGED]
                judged += len(hits)
                true += sum(outcome in (TRUE, IMPLIED_TRUE) for outcome in hits)
        return true / (judged + 1)
