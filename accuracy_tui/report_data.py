"""The table for other programs: CSV and JSON, with full numbers."""

from __future__ import annotations

import json
from typing import Any

from accuracy_tui.benchmark import GROUPS
from accuracy_tui.grid import Cell
from accuracy_tui.metrics import Bounds
from accuracy_tui.report import Report, cell_judged
from accuracy_tui.summary import Summary, query_measures
from sentrysearch.text import printable

SCHEMA = 1


def render_csv(report: Report, per_query: bool) -> str:
    """One row a model, then with ``per_query`` one a model and query, all under one header.

    Columns: ``model``, ``status`` (ran, failed, no run, did not run), ``group`` and ``query`` (empty in a
    model's row), ``ranks`` (glyphs), for every measure ``… low`` and ``… high`` (the mean over its group in a
    model's row, the query's own value in its own), ``Judged@k``, ``reason``. A value that does not exist is
    empty. Text that a spreadsheet would run as a formula begins with ``'``.
    """
    import csv
    import io

    measures = query_measures(report.k) if per_query else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    means = [f"{measure.key} {end}" for measure in report.measures for end in ("low", "high")]
    own = [f"{measure.label} {end}" for measure in measures for end in ("low", "high")]
    context = ["group", "query", "ranks"] if per_query else []
    writer.writerow(["model", "status", *context, *means, *own, report.judged_label, "reason"])
    for summary in report.summaries:
        values = [end for measure in report.measures for end in _ends(summary.values[measure.key])]
        row = [_safe(summary.model), report.status(summary), *[""] * len(context), *values, *[""] * len(own)]
        reason = report.failures.get(summary.model)
        writer.writerow([*row, _full(summary.judged), _safe(reason)])
    for cell in _cells(report) if per_query else []:
        values = [end for measure in measures for end in _ends(cell.bounds(measure.metric))]
        row = [_safe(cell.model), cell.state.value, cell.query.group, _safe(cell.query.text), cell.glyphs]
        writer.writerow([*row, *[""] * len(means), *values, _full(cell_judged(cell)), _safe(cell.error)])
    return out.getvalue()


def render_json(report: Report, per_query: bool) -> str:
    """An object::

        {"schema": 1, "k": 5, "queries": {"fine": 10, "floor": 3},
         "pool": {"items": 120, "unjudged": 4},
         "models": [{"model", "status": "ran" | "failed" | "no run", "reason": text or null,
                     "run": {"revision", "created", "k"} or null,
                     "P@1 fine": {"low", "high"} or null, … one for every column,
                     "best": [columns], "Judged@5": number or null,
                     "failed_queries": [text], "missing_queries": [text]}],
         "remarks": [text],
         "per_query": [{"query", "group", "model", "status": "ran" | "failed" | "did not run" | "no run",
                        "ranks": ["true" | "false" | "implied true" | "implied false" | "unjudged" |
                                  "no hit"],
                        "P@1": {"low", "high"} or null, …, "RR": …, "Judged@5", "error": text or null}]}

    ``per_query`` is there only when asked for. Text is ASCII with escapes, safe to print anywhere.
    """
    grid = report.grid
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "k": report.k,
        "queries": {group: sum(query.group == group for query in grid.queries) for group in GROUPS},
        "pool": {"items": report.pooled, "unjudged": report.unjudged},
        "models": [_model(report, summary) for summary in report.summaries],
        "remarks": report.remarks(),
    }
    if per_query:
        document["per_query"] = [_query(report, cell) for cell in _cells(report)]
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _model(report: Report, summary: Summary) -> dict[str, Any]:
    run = report.grid.runs.get(summary.model)
    return {
        "model": summary.model,
        "status": report.status(summary),
        "reason": report.failures.get(summary.model),
        "run": None if run is None else {"revision": run.revision, "created": run.created, "k": run.k},
        **{measure.key: _bounds(summary.values[measure.key]) for measure in report.measures},
        "best": [measure.key for measure in report.measures if summary.model in report.best(measure)],
        report.judged_label: summary.judged,
        "failed_queries": list(summary.failed),
        "missing_queries": list(summary.missing),
    }


_OUTCOMES = ("no hit", "unjudged", "false", "true", "implied false", "implied true")


def _query(report: Report, cell: Cell) -> dict[str, Any]:
    return {
        "query": cell.query.text,
        "group": cell.query.group,
        "model": cell.model,
        "status": cell.state.value,
        "ranks": [_OUTCOMES[outcome] for outcome in cell.outcomes[: cell.k]],
        **{measure.label: _bounds(cell.bounds(measure.metric)) for measure in query_measures(report.k)},
        report.judged_label: cell_judged(cell),
        "error": cell.error,
    }


def _cells(report: Report) -> list[Cell]:
    grid = report.grid
    return [grid.cell(model, query.text) for query in grid.queries for model in grid.models]


def _bounds(bounds: Bounds | None) -> dict[str, float] | None:
    return None if bounds is None else {"low": bounds.low, "high": bounds.high}


def _ends(bounds: Bounds | None) -> tuple[str, str]:
    return ("", "") if bounds is None else (_full(bounds.low), _full(bounds.high))


def _full(value: float | None) -> str:
    return "" if value is None else repr(value)


def _safe(text: str | None) -> str:
    shown = "" if text is None else printable(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown
