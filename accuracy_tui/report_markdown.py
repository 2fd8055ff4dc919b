"""The table as GitHub-flavoured markdown, to paste into a pull request."""

from __future__ import annotations

import re

from accuracy_tui.grid import State
from accuracy_tui.report import Report, cell_judged, interval, number
from accuracy_tui.summary import query_measures
from sentrysearch.text import printable

# Everything that could become a link, an image, code, HTML, emphasis, a formula or a new table cell.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~&$])")


def render_markdown(report: Report, per_query: bool) -> str:
    """One row a model, bold where the bounds settle which is best, then what to read with it."""
    lines = _table(report)
    if per_query:
        lines += ["", *_query_table(report)]
    lines += ["", *(f"- {escape(line)}" for line in report.remarks())]
    return "\n".join(lines) + "\n"


def escape(text: object) -> str:
    """Text from outside as markdown that shows it as it is."""
    return _MARKUP.sub(r"\\\1", printable(text))


def _table(report: Report) -> list[str]:
    heads = [f"{measure.mean_label} {measure.group}" for measure in report.measures]
    lines = _head(["model"], [*heads, report.judged_label])
    best = {measure.key: report.best(measure) for measure in report.measures}
    for summary in report.summaries:
        values = []
        for measure in report.measures:
            shown = interval(summary.values[measure.key])
            values.append(f"**{shown}**" if summary.model in best[measure.key] else shown)
        judged = "–" if summary.judged is None else number(summary.judged)
        lines.append(_row([escape(summary.model), *values, judged]))
    return lines


def _query_table(report: Report) -> list[str]:
    measures = query_measures(report.k)
    lines = _head(
        ["group", "query", "model", "ranks"], [*(measure.label for measure in measures), report.judged_label]
    )
    for query in report.grid.queries:
        for model in report.grid.models:
            cell = report.grid.cell(model, query.text)
            judged = cell_judged(cell)
            ranks = cell.glyphs
            if cell.state is State.FAILED:
                ranks = f"failed: {escape(cell.error)}"
            elif cell.state is State.MISSING:
                ranks = "did not run"
            values = [interval(cell.bounds(measure.metric)) for measure in measures]
            shown = "–" if judged is None else number(judged)
            lines.append(_row([query.group, escape(query.text), escape(model), ranks, *values, shown]))
    return lines


def _head(texts: list[str], numbers: list[str]) -> list[str]:
    return [_row([*texts, *numbers]), _row([*(["---"] * len(texts)), *(["---:"] * len(numbers))])]


def _row(values: list[str]) -> str:
    return f"| {' | '.join(values)} |"
