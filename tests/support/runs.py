"""Runs and verdicts made by hand or drawn at random, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from accuracy_tui.benchmark import Query
from accuracy_tui.runs import Run, RunFootage, RunQuery
from accuracy_tui.verdicts import UNJUDGED, Verdict
from sentrysearch.types import Hit, Window, WindowGrid

FOOTAGE = "clip.mp4"


def window(index: int, footage: str = FOOTAGE) -> Window:
    """The window that starts at ``index`` times ten seconds."""
    return Window(footage, index * 10.0, index * 10.0 + 10.0)


def ranked(windows: Sequence[Window], scores: Sequence[float] | None = None) -> tuple[Hit, ...]:
    """Hits in this order; scores fall by 0.01 unless given."""
    scores = [0.9 - 0.01 * rank for rank in range(len(windows))] if scores is None else scores
    return tuple(
        Hit(rank, found, round(score, 6))
        for rank, (found, score) in enumerate(zip(windows, scores, strict=True), start=1)
    )


def make_run(
    model: str,
    found: Mapping[Query, Sequence[Window] | str],
    *,
    k: int = 5,
    footage: Sequence[str] = (FOOTAGE,),
) -> Run:
    """A run with these windows for each query, best first; text in their place is the query's error."""
    return Run(
        model=model,
        revision="1",
        options={"dimension": 8},
        footage=tuple(RunFootage(name, f"sha256:{index:064x}", 900.0) for index, name in enumerate(footage)),
        window=WindowGrid(10.0, 0.0),
        k=k,
        created="2025-01-31T12:00:00+00:00",
        timings={"decode": 1.5, "embed": 2.25},
        queries=tuple(
            RunQuery(query.text, query.group, (), windows)
            if isinstance(windows, str)
            else RunQuery(query.text, query.group, ranked(windows))
            for query, windows in found.items()
        ),
    )


def looker(verdicts: Mapping[tuple[str, Window], Verdict | bool]) -> Callable[[str, Window], Verdict]:
    """Looks verdicts up in a mapping; what it doesn't hold is unjudged."""

    def look(query: str, wanted: Window) -> Verdict:
        verdict = verdicts.get((query, wanted), UNJUDGED)
        return verdict if isinstance(verdict, Verdict) else Verdict(verdict)

    return look
