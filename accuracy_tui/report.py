"""The side-by-side table, one row a model, as text, markdown, CSV or JSON.

``build_report`` gathers what all four show; ``render`` makes one of them. Everything that came from outside
(model names, queries, reasons) is made safe for where it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accuracy_tui.grid import Cell, Grid
from accuracy_tui.metrics import Bounds, judged_at
from accuracy_tui.summary import Measure, Summary, summarise, table_measures
from sentrysearch.errors import BadInput

FORMATS = ("text", "markdown", "csv", "json")


@dataclass(frozen=True, slots=True)
class Report:
    """What a table shows."""

    grid: Grid
    measures: tuple[Measure, ...]
    summaries: tuple[Summary, ...]
    failures: Mapping[str, str]
    """Why models failed just now, by model; one may still have the run of an earlier day."""
    notes: tuple[str, ...]
    unjudged: int
    """Distinct (query, window) of all runs without a verdict."""
    pooled: int
    """Distinct (query, window) of all runs."""

    @property
    def k(self) -> int:
        return self.grid.k

    @property
    def judged_label(self) -> str:
        return f"Judged@{self.k}"

    def best(self, measure: Measure) -> frozenset[str]:
        """The models that no other can pass in this column whatever the unjudged windows turn out to be.

        None where all models are equal, or only one has a value. Comparing the intervals is on the safe side:
        a window that two models share can only bring them closer than their intervals say.
        """
        known = {
            summary.model: bounds
            for summary in self.summaries
            if (bounds := summary.values[measure.key]) is not None
        }
        best = frozenset(
            model
            for model, bounds in known.items()
            if all(bounds.low >= other.high - 1e-12 for name, other in known.items() if name != model)
        )
        return best if len(best) < len(known) else frozenset()

    def status(self, summary: Summary) -> str:
        """``ran``, ``failed`` (now) or ``no run``."""
        if summary.model in self.failures:
            return "failed"
        return "ran" if summary.has_run else "no run"

    def remarks(self) -> list[str]:
        """Lines to read with the table: what failed, what is unjudged, what else the caller noted."""
        lines = []
        listed = {summary.model for summary in self.summaries}
        lines += [f"{model} failed: {why}" for model, why in self.failures.items() if model not in listed]
        for summary in self.summaries:
            if reason := self.failures.get(summary.model):
                earlier = "; shown is its earlier run" if summary.has_run else ""
                lines.append(f"{summary.model} failed: {reason}{earlier}")
            elif not summary.has_run:
                lines.append(f"{summary.model} did not run")
            for what, queries in (("failed", summary.failed), ("did not run", summary.missing)):
                if queries:
                    lines.append(f"{summary.model}: {_queries(queries)} {what} and {_count(queries)} as 0")
            run = self.grid.runs.get(summary.model)
            if run is not None and run.k < self.k:
                lines.append(
                    f"{summary.model}: its run has only {run.k} of {self.k} ranks, the others count as 0"
                )
        if self.unjudged:
            unjudged = f"{self.unjudged} of {self.pooled} pool items are unjudged"
            lines.append(f"{unjudged}; ranges show what they leave open")
        elif self.pooled:
            lines.append(f"all {self.pooled} pool items are judged")
        return [*lines, *self.notes]


def build_report(
    grid: Grid, *, failures: Mapping[str, str] | None = None, notes: Sequence[str] = ()
) -> Report:
    """Gathers what the table shows.

    Args:
        grid: its models are the rows, also those without a run.
        failures: why models failed just now; each should be a model of the grid.
        notes: more lines to print below the table.
    """
    measures = table_measures(grid.k)
    unjudged, pooled = grid.unjudged()
    return Report(
        grid=grid,
        measures=tuple(measures),
        summaries=tuple(summarise(grid, measures)),
        failures=dict(failures or {}),
        notes=tuple(notes),
        unjudged=unjudged,
        pooled=pooled,
    )


def render(report: Report, form: str, *, per_query: bool = False) -> str:
    """The report in one of ``FORMATS``, ending in a line break; ``per_query`` adds a row a query and model.

    Raises:
        BadInput: no such format.
    """
    if form == "text":
        from accuracy_tui.report_text import render_text as renderer
    elif form == "markdown":
        from accuracy_tui.report_markdown import render_markdown as renderer
    elif form == "csv":
        from accuracy_tui.report_data import render_csv as renderer
    elif form == "json":
        from accuracy_tui.report_data import render_json as renderer
    else:
        raise BadInput(f"no format {form!r}", hint=f"there are {', '.join(FORMATS)}")
    return renderer(report, per_query)


def cell_judged(cell: Cell) -> float | None:
    """Judged@k of one query and model; None where nothing came back."""
    return judged_at(cell.outcomes, cell.k)


def number(value: float) -> str:
    """A metric to two decimals, never rounded up to a 1.00 or down to a 0.00 that it is not."""
    text = f"{value:.2f}"
    if text == "1.00" and value < 1 - 1e-12:
        return "0.99"
    return "0.01" if text == "0.00" and value > 1e-12 else text


def interval(bounds: Bounds | None) -> str:
    """``0.30``, ``0.30–0.50`` while verdicts are missing, ``–`` where there is no value."""
    if bounds is None:
        return "–"
    return number(bounds.low) if bounds.settled else f"{number(bounds.low)}–{number(bounds.high)}"


def _queries(queries: Sequence[str]) -> str:
    shown = ", ".join(f'"{query}"' for query in queries[:3])
    more = f" and {len(queries) - 3} more" if len(queries) > 3 else ""
    return f"{shown}{more}"


def _count(queries: Sequence[str]) -> str:
    return "counts" if len(queries) == 1 else "count"
