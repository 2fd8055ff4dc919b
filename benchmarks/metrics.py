"""(e) The metrics of 1,000 queries × 5 models against pytrec_eval.

Run: ``python benchmarks/metrics.py``. Both start from verdicts already matched to hits, each in the form it
works on (pytrec_eval: dictionaries of qrels and runs; here: the grid's rankings) and end with every model's
mean P@1, P@3, P@5 and RR over all queries; here with both bounds. Checks that the means agree to 1e-9 and
prints the ratio (target: ≥ 10), the two run alternately, the fastest of each.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

import pytrec_eval

from accuracy_tui.averages import Rankings
from accuracy_tui.benchmark import FINE, Query
from accuracy_tui.grid import Grid
from accuracy_tui.runs import Run, RunFootage, RunQuery
from accuracy_tui.summary import query_measures
from accuracy_tui.trec import document_id
from accuracy_tui.verdicts import Verdict
from sentrysearch.types import Hit, Window, WindowGrid

QUERIES, MODELS, K = 1000, 5, 5
ROUNDS = 30
TREC = {"P@1": "P_1", "P@3": "P_3", "P@5": "P_5", "RR": "recip_rank"}

Result = TypeVar("Result")


def make_grid() -> Grid:
    """Random rankings of 100 windows, 9 in 10 judged, 3 in 10 of those true."""
    drawn = random.Random(5)
    windows = [Window("clip.mp4", index * 25.0, index * 25.0 + 30.0) for index in range(100)]
    queries = [Query(f"query {number}", FINE) for number in range(QUERIES)]
    verdicts = {
        (query.text, window): Verdict(None if drawn.random() < 0.1 else drawn.random() < 0.3)
        for query in queries
        for window in windows
    }
    runs = []
    for number in range(MODELS):
        found = []
        for query in queries:
            hits = enumerate(drawn.sample(windows, K), start=1)
            ranked = tuple(Hit(rank, window, 1.0 - rank / 100) for rank, window in hits)
            found.append(RunQuery(query.text, query.group, ranked))
        footage = (RunFootage("clip.mp4", "", 2600.0),)
        grid = WindowGrid(30.0, 5.0)
        runs.append(Run(f"model {number}", "1", {}, footage, grid, K, "", {}, tuple(found)))
    return Grid(runs, queries, lambda query, window: verdicts[query, window], k=K)


def by_pytrec_eval(
    qrels: dict[str, dict[str, int]], runs: list[dict[str, dict[str, float]]]
) -> list[dict[str, float]]:
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"P.1,3,5", "recip_rank"})
    means = []
    for run in runs:
        values = evaluator.evaluate(run).values()
        means.append({name: sum(of[key] for of in values) / QUERIES for name, key in TREC.items()})
    return means


def by_us(rows: list[list[bytes]]) -> list[dict[str, float]]:
    """The lower bounds; the upper ones are computed as well."""
    rankings = Rankings(rows)
    columns = {measure.label: rankings.means(measure.metric) for measure in query_measures(K)}
    return [{label: means[row].low for label, means in columns.items()} for row in range(len(rows))]


def timed(action: Callable[[], Result]) -> tuple[float, Result]:
    begin = time.perf_counter()
    result = action()
    return time.perf_counter() - begin, result


def main() -> None:
    grid = make_grid()
    rows = [grid.outcomes(model) for model in grid.models]
    qrels: dict[str, dict[str, int]] = {query.text: {} for query in grid.queries}
    runs: list[dict[str, dict[str, float]]] = []
    for model in grid.models:
        runs.append({})
        for query in grid.queries:
            cell = grid.cell(model, query.text)
            runs[-1][query.text] = {document_id(hit.window): float(K - hit.rank) for hit in cell.hits}
            for hit, glyph in zip(cell.hits, cell.glyphs, strict=True):
                if glyph != "·":
                    qrels[query.text][document_id(hit.window)] = int(glyph == "●")
    theirs, ours = by_pytrec_eval(qrels, runs), by_us(rows)
    for their, our in zip(theirs, ours, strict=True):
        for name in TREC:
            if abs(their[name] - our[name]) > 1e-9:
                raise SystemExit(f"{name} differs: {their[name]} by pytrec_eval, {our[name]} here")
    pairs = [
        (timed(lambda: by_pytrec_eval(qrels, runs))[0], timed(lambda: by_us(rows))[0]) for _ in range(ROUNDS)
    ]
    slow, fast = (min(column) for column in zip(*pairs, strict=True))
    print(f"pytrec_eval {slow * 1000:.1f} ms, here {fast * 1000:.2f} ms: {slow / fast:.0f}×, means equal")


if __name__ == "__main__":
    main()
