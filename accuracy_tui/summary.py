"""One model's numbers for the table: each measure's mean over its group of queries, with bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accuracy_tui.averages import Rankings
from accuracy_tui.benchmark import FINE, FLOOR
from accuracy_tui.grid import Grid, State
from accuracy_tui.metrics import Bounds, Metric, judged_at, precision_at, reciprocal_rank


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of the table."""

    label: str
    """For one query, such as P@3."""
    mean_label: str
    """For the mean over a group."""
    group: str
    metric: Metric

    @property
    def key(self) -> str:
        return f"{self.mean_label} {self.group}"


def cutoffs(k: int) -> list[int]:
    """Where precision is measured: 1, 3 and 5 as far as k goes, and k itself."""
    return sorted({cutoff for cutoff in (1, 3, 5) if cutoff <= k} | {k})


def precision(k: int, group: str) -> Measure:
    """The column of P@k."""
    return Measure(f"P@{k}", f"P@{k}", group, lambda relevant: precision_at(relevant, k))


def table_measures(k: int) -> list[Measure]:
    """The table's columns. A new metric is one more line here."""
    return [
        *(precision(cutoff, FINE) for cutoff in cutoffs(k)),
        Measure("RR", "MRR", FINE, reciprocal_rank),
        precision(1, FLOOR),
    ]


def query_measures(k: int) -> list[Measure]:
    """What is shown of one query and model: P@k and RR, whatever its group."""
    return [*(precision(cutoff, FINE) for cutoff in cutoffs(k)), Measure("RR", "MRR", FINE, reciprocal_rank)]


@dataclass(frozen=True, slots=True)
class Summary:
    """One model's row."""

    model: str
    k: int
    values: Mapping[str, Bounds | None]
    """By ``Measure.key``; None where the model has no run or the group no query."""
    judged: float | None
    """Judged@k, the mean over all queries that returned something; None where none did."""
    failed: tuple[str, ...]
    """Queries that failed: each is 0 in the means."""
    missing: tuple[str, ...]
    """Queries that are not in the run: each is 0 in the means."""
    has_run: bool

    @property
    def precision(self) -> dict[int, Bounds | None]:
        """P@k of the fine queries by cutoff."""
        return {cutoff: self.values[f"P@{cutoff} {FINE}"] for cutoff in cutoffs(self.k)}

    @property
    def mrr(self) -> Bounds | None:
        """MRR of the fine queries."""
        return self.values[f"MRR {FINE}"]

    @property
    def floor(self) -> Bounds | None:
        """P@1 of the floor queries."""
        return self.values[f"P@1 {FLOOR}"]


def summarise(grid: Grid, measures: Sequence[Measure] | None = None) -> list[Summary]:
    """Every model's row, in the grid's order; ``measures`` None are the table's."""
    measures = table_measures(grid.k) if measures is None else measures
    models = [model for model in grid.models if grid.has_results(model)]
    values: dict[str, dict[str, Bounds | None]] = {
        model: dict.fromkeys(measure.key for measure in measures) for model in grid.models
    }
    for group in dict.fromkeys(measure.group for measure in measures):
        columns = [column for column, query in enumerate(grid.queries) if query.group == group]
        if columns and models:
            rankings = Rankings([[grid.outcomes(model)[column] for column in columns] for model in models])
            for measure in measures:
                if measure.group == group:
                    for model, mean in zip(models, rankings.means(measure.metric), strict=True):
                        values[model][measure.key] = mean
    return [
        Summary(
            model=model,
            k=grid.k,
            values=values[model],
            judged=_mean_judged(grid, model),
            failed=_queries_in(grid, model, State.FAILED),
            missing=_queries_in(grid, model, State.MISSING),
            has_run=grid.has_results(model),
        )
        for model in grid.models
    ]


def _mean_judged(grid: Grid, model: str) -> float | None:
    rankings = Counter(grid.outcomes(model))
    if model in grid.pending:  # a query that is still to come isn't one with nothing judged
        delivered = {found.query for found in grid.delivered(model)}
        shown = zip(grid.queries, grid.outcomes(model), strict=True)
        rankings = Counter(outcomes for query, outcomes in shown if query.text in delivered)
    shares = [(judged_at(outcomes, grid.k), count) for outcomes, count in rankings.items()]
    known = [(share, count) for share, count in shares if share is not None]
    return sum(share * count for share, count in known) / sum(count for _, count in known) if known else None


def _queries_in(grid: Grid, model: str, wanted: State) -> tuple[str, ...]:
    if not grid.has_results(model):
        return ()
    return tuple(
        query.text for query in grid.queries_without_hits(model) if grid.state(model, query.text) is wanted
    )
