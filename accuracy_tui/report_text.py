"""The table for a terminal: aligned, in fixed columns that don't move when verdicts come in."""

from __future__ import annotations

import unicodedata

from accuracy_tui.benchmark import FINE, FLOOR
from accuracy_tui.grid import State
from accuracy_tui.report import Report, cell_judged, interval, number
from accuracy_tui.summary import query_measures
from sentrysearch.text import printable

BEST = "*"
_VALUE = len("0.00–0.00")
_MAX_NAME = 40


def render_text(report: Report, per_query: bool) -> str:
    """The table in at most 80 columns for k = 5 and model names up to 16 characters."""
    lines = [*_table(report)]
    if per_query:
        lines += ["", *_query_table(report)]
    if any(report.best(measure) for measure in report.measures):
        lines += ["", f"{BEST} best of its column whatever the unjudged windows turn out to be"]
    else:
        lines.append("")
    lines += [printable(line) for line in report.remarks()]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _table(report: Report) -> list[str]:
    width = max(len("model"), *(cells(_name(summary.model)) for summary in report.summaries), 0)
    groups = "".join(f" {measure.group:>{_VALUE}} " for measure in report.measures)
    labels = "".join(f" {measure.mean_label:>{_VALUE}} " for measure in report.measures)
    lines = [f"{'':{width}}{groups}", f"{'model':{width}}{labels} {report.judged_label}"]
    best = {measure.key: report.best(measure) for measure in report.measures}
    for summary in report.summaries:
        row = pad(_name(summary.model), width)
        for measure in report.measures:
            mark = BEST if summary.model in best[measure.key] else " "
            row += f" {interval(summary.values[measure.key]):>{_VALUE}}{mark}"
        judged = "–" if summary.judged is None else number(summary.judged)
        lines.append(f"{row} {judged:>{len(report.judged_label)}}")
    return lines


def _query_table(report: Report) -> list[str]:
    grid = report.grid
    width = max(2 + max((cells(_name(model)) for model in grid.models), default=0), len("query and model"))
    measures = query_measures(report.k)
    labels = "".join(f" {measure.label:>{_VALUE}}" for measure in measures)
    ranks = max(report.k, len("ranks"))
    lines = [f"{'query and model':{width}} {'ranks':{ranks}}{labels} {report.judged_label}"]
    for group in (FINE, FLOOR):
        queries = [query.text for query in grid.queries if query.group == group]
        if queries:
            lines.append(f"─ {group} ".ljust(width, "─"))
        for query in queries:
            lines.append(printable(query))
            for model in grid.models:
                cell = grid.cell(model, query)
                row = f"  {pad(_name(model), width - 2)} {cell.glyphs:{ranks}}"
                row += "".join(f" {interval(cell.bounds(measure.metric)):>{_VALUE}}" for measure in measures)
                judged = cell_judged(cell)
                shown = "–" if judged is None else number(judged)
                row += f" {shown:>{len(report.judged_label)}}"
                if cell.state is State.FAILED:
                    row += f"  failed: {printable(cell.error)}"
                elif cell.state is State.MISSING:
                    row += "  did not run"
                lines.append(row)
    return lines


def _name(model: str) -> str:
    """A model's name; the end of a long one, where paths and hub ids differ."""
    name = printable(model)
    return name if len(name) <= _MAX_NAME else f"…{name[1 - _MAX_NAME :]}"


def cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def pad(text: str, width: int) -> str:
    """The text with spaces after it, up to ``width`` columns."""
    return text + " " * (width - cells(text))
