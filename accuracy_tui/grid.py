"""The grid: for every model and query the outcomes of its ranks, from runs and verdicts.

Console and table read this one structure. A verdict that changes touches the cells of its query only:
``refresh`` looks them up again and says which ones differ. A pass that delivers its queries one by one fills
in cells: ``begin``, ``searched`` for each, then ``set_run``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from accuracy_tui.benchmark import Query
from accuracy_tui.metrics import NO_HIT, UNJUDGED, Bounds, Metric, bounds
from accuracy_tui.runs import Run, RunQuery
from accuracy_tui.verdicts import Verdict
from sentrysearch.types import Hit, Window

GLYPHS = "–·○●◌◐"
"""By outcome: no hit, unjudged, false, true, implied false, implied true."""
FAILED_GLYPH = "!"

Look = Callable[[str, Window], Verdict]
"""What is known of a window for a query: ``Judgments.look``."""


class State(Enum):
    """What became of one query with one model."""

    RAN = "ran"
    FAILED = "failed"
    MISSING = "did not run"
    """The model has a run, made before this query was added."""
    PENDING = "searching"
    """The model's pass has not come to this query yet; every rank may still turn out true."""
    NO_RUN = "no run"
    """The model has no run at all."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One model and query."""

    model: str
    query: Query
    state: State
    hits: tuple[Hit, ...]
    error: str | None
    """Why the query failed."""
    outcomes: bytes
    """One a rank, ``Grid.depth`` long; no hits wherever the state isn't RAN."""
    k: int

    @property
    def glyphs(self) -> str:
        """One character for each of the first k ranks; ``!`` for a failure, nothing if it did not run."""
        if self.state is State.FAILED:
            return FAILED_GLYPH
        if self.state is not State.RAN:
            return ""
        return "".join(GLYPHS[outcome] for outcome in self.outcomes[: self.k])

    def bounds(self, metric: Metric) -> Bounds | None:
        """A metric's bounds for this query alone; None where the model has no run."""
        return None if self.state is State.NO_RUN else bounds(metric, self.outcomes)


class Grid:
    """Outcomes of every rank of every model and query.

    Args:
        runs: at most one a model.
        queries: the benchmark's, distinct texts; a run's other queries are left out.
        look: looks a verdict up.
        k: how many ranks P@k and the glyphs go down to.
        models: the rows' order; models that only have a run follow.
    """

    def __init__(
        self, runs: Sequence[Run], queries: Sequence[Query], look: Look, *, k: int, models: Sequence[str] = ()
    ) -> None:
        self.runs = {run.model: run for run in runs}
        self.models = tuple(dict.fromkeys((*models, *self.runs)))
        self.queries = tuple(queries)
        self.k = k
        self._look = look
        self._rows = {model: row for row, model in enumerate(self.models)}
        self._columns = {query.text: column for column, query in enumerate(self.queries)}
        self._unjudged: dict[str, tuple[int, int]] = {}  # by query, once counted
        self.pending: set[str] = set()
        """Models whose pass is delivering queries."""
        self._searched = [self._found_by(model) for model in self.models]
        lengths = (len(found.hits) for searched in self._searched for found in searched.values())
        self.depth = max(k, max(lengths, default=0))
        columns = [self._look_up(query.text) for query in self.queries]
        self._outcomes = (
            [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in self.models]
        )

    def outcomes(self, model: str) -> list[bytes]:
        """One model's rankings, one a query in the grid's order, each ``depth`` long. Raises KeyError."""
        return self._outcomes[self._rows[model]]

    def state(self, model: str, query: str) -> State:
        """What became of a query with a model."""
        searched = self._searched[self._rows[model]].get(query)
        if searched is None:
            if model in self.pending:
                return State.PENDING
            return State.MISSING if model in self.runs else State.NO_RUN
        return State.RAN if searched.error is None else State.FAILED

    def cell(self, model: str, query: str) -> Cell:
        """One cell. Raises KeyError for a model or query that the grid doesn't have."""
        row, column = self._rows[model], self._columns[query]
        searched = self._searched[row].get(query)
        return Cell(
            model=model,
            query=self.queries[column],
            state=self.state(model, query),
            hits=searched.hits if searched is not None else (),
            error=searched.error if searched is not None else None,
            outcomes=self._outcomes[row][column],
            k=self.k,
        )

    def refresh(self, query: str) -> list[str]:
        """Looks one query's verdicts up again after one of them changed; the models whose cell differs.

        The whole query, since a verdict may imply others. A query that the grid doesn't have changes nothing.
        """
        column = self._columns.get(query)
        if column is None:
            return []
        changed = []
        for row, fresh in enumerate(self._look_up(query)):
            if fresh != self._outcomes[row][column]:
                self._outcomes[row][column] = fresh
                changed.append(self.models[row])
        return changed

    def has_results(self, model: str) -> bool:
        """Whether it has a run, or a pass that is delivering queries."""
        return model in self.runs or model in self.pending

    def queries_without_hits(self, model: str) -> list[Query]:
        """Those that failed, did not run, are still to come or found nothing."""
        searched = self._searched[self._rows[model]]
        return [
            query for query in self.queries if (found := searched.get(query.text)) is None or not found.hits
        ]

    def add_model(self, model: str) -> None:
        """One more row, of a model without a run; one that is there stays as it is."""
        if model not in self._rows:
            self._rows[model] = len(self.models)
            self.models = (*self.models, model)
            self._searched.append({})
            self._outcomes.append([bytes([NO_HIT]) * self.depth for _ in self.queries])

    def begin(self, model: str) -> None:
        """A new pass of a model delivers its queries from now on; what it had found before is set aside."""
        self.pending.add(model)
        self._searched[self._rows[model]] = {}
        self._look_up_model(model)

    def searched(self, model: str, found: RunQuery) -> None:
        """Takes in one query's hits; a query that the grid doesn't have is passed over."""
        if found.query in self._columns:
            row = self._rows[model]
            self._searched[row][found.query] = found
            self._deepen(len(found.hits))
            column = self._columns[found.query]
            self._outcomes[row][column] = self._look_up(found.query)[row]

    def delivered(self, model: str) -> list[RunQuery]:
        """What a model's run or its pass so far has found, by query."""
        return list(self._searched[self._rows[model]].values())

    def set_run(self, model: str, run: Run | None) -> None:
        """Takes a whole run in, or None to go back to having none; ends what ``begin`` began."""
        self.pending.discard(model)
        if run is None:
            self.runs.pop(model, None)
        else:
            self.runs[model] = run
        row = self._rows[model]
        self._searched[row] = self._found_by(model)
        self._deepen(max((len(found.hits) for found in self._searched[row].values()), default=0))
        self._look_up_model(model)

    def unjudged(self) -> tuple[int, int]:
        """How many distinct (query, window) of all ranks are unjudged, and how many there are."""
        counts = [self.unjudged_of(query.text) for query in self.queries]
        return sum(unjudged for unjudged, _ in counts), sum(total for _, total in counts)

    def unjudged_of(self, text: str) -> tuple[int, int]:
        """The same for one query. Raises KeyError for one that the grid doesn't have."""
        counted = self._unjudged.get(text)
        if counted is None:
            column = self._columns[text]
            seen: dict[Window, int] = {}
            for row, searched in enumerate(self._searched):
                if text in searched:
                    outcomes = self._outcomes[row][column]
                    seen.update(zip((hit.window for hit in searched[text].hits), outcomes, strict=False))
            unjudged = sum(outcome == UNJUDGED for outcome in seen.values())
            counted = self._unjudged[text] = (unjudged, len(seen))
        return counted

    def _found_by(self, model: str) -> dict[str, RunQuery]:
        """A run's results by query, those of the grid's queries."""
        queries = self.runs[model].queries if model in self.runs else ()
        return {searched.query: searched for searched in queries if searched.query in self._columns}

    def _deepen(self, depth: int) -> None:
        if depth > self.depth:
            self.depth = depth
            for row, model in enumerate(self.models):
                self._outcomes[row] = [
                    outcomes + self._nothing(model, query.text)[len(outcomes) :]
                    for outcomes, query in zip(self._outcomes[row], self.queries, strict=True)
                ]

    def _look_up_model(self, model: str) -> None:
        self._unjudged.clear()
        row = self._rows[model]
        self._outcomes[row] = [self._look_up_cell(row, query.text, {}) for query in self.queries]

    def _look_up(self, text: str) -> list[bytes]:
        """For every model the outcomes of one query's hits; each window is looked up once."""
        known: dict[Window, int] = {}
        outcomes = [self._look_up_cell(row, text, known) for row in range(len(self.models))]
        self._unjudged[text] = (list(known.values()).count(UNJUDGED), len(known))
        return outcomes

    def _look_up_cell(self, row: int, text: str, known: dict[Window, int]) -> bytes:
        found = self._searched[row].get(text)
        windows = [hit.window for hit in found.hits] if found is not None else []
        for window in windows:
            if window not in known:
                known[window] = outcome_of(self._look(text, window))
        outcomes = bytes([known[window] for window in windows])
        if len(outcomes) == self.depth:
            return outcomes
        return outcomes + self._nothing(self.models[row], text)[len(outcomes) :]

    def _nothing(self, model: str, text: str) -> bytes:
        """What stands where no hit came back: yet, or at all."""
        pending = model in self.pending and self.state(model, text) is State.PENDING
        return bytes([UNJUDGED if pending else NO_HIT]) * self.depth


def outcome_of(verdict: Verdict) -> int:
    """The outcome that a verdict gives a hit."""
    return UNJUDGED if verdict.value is None else 2 + verdict.value + 2 * verdict.implied
