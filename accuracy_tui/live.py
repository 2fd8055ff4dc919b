"""A benchmark while it is measured and judged: runs, verdicts, passes and the grid they make.

The console's screens read this and call it, always on one thread; it knows nothing of terminals. What changed
comes back as a ``Change``, so that exactly the cells concerned are drawn again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from accuracy_tui.benchmark import GROUPS, Benchmark, Query
from accuracy_tui.grid import Grid
from accuracy_tui.judging import describe, said
from accuracy_tui.pool import Found, PoolItem, pool
from accuracy_tui.report import Report, build_report
from accuracy_tui.runs import Run, RunFootage, RunQuery
from accuracy_tui.session import as_run_footage, comparable, load_saved, open_judgments
from accuracy_tui.verdicts import UNJUDGED, JudgmentsError, Verdict
from accuracy_tui.worker_events import (
    CancelledPass,
    Done,
    EmbeddingWindows,
    Failed,
    FootageFailed,
    FootageRead,
    FootageReading,
    Loading,
    ModelCancelled,
    ModelWaiting,
    NotRun,
    PassState,
    SavedRun,
    Searching,
    Waiting,
    WorkerEvent,
    is_active,
)
from sentrysearch.errors import BadInput, SentrySearchError
from sentrysearch.text import holds_surrogate, printable

if TYPE_CHECKING:
    from accuracy_tui.judgments import Conflict, Judgments
    from accuracy_tui.metrics import Bounds
    from accuracy_tui.run_events import ModelFailed, ModelFinished, ModelProgress
    from accuracy_tui.summary import Measure, Summary
    from sentrysearch.pass_events import Searched
    from sentrysearch.types import Footage, Window


class Change(NamedTuple):
    """What has to be drawn again."""

    cells: frozenset[tuple[str, str]] = frozenset()
    """(model, query)."""
    layout: bool = False
    """Models, queries or the grid itself are others than before."""

    def __or__(self, other: object) -> Change:
        if not isinstance(other, Change):
            return NotImplemented
        return Change(self.cells | other.cells, self.layout or other.layout)


class Undone(NamedTuple):
    """What ``undo`` took back."""

    query: str
    window: Window
    value: bool | None
    """The verdict that is in effect again."""
    change: Change


class LiveSession:
    """One benchmark's runs, verdicts and passes. Made by ``open``; a context manager. Used by one thread."""

    def __init__(
        self,
        benchmark: Benchmark,
        *,
        models: Sequence[str] = (),
        implied: bool = True,
        accept_footage: bool = False,
    ) -> None:
        self.benchmark = benchmark
        self.queries = _grouped(benchmark.queries)
        self.footages: Mapping[str, Footage] = {}
        """By name; empty until they are read."""
        self._as_read: dict[str, tuple[int, int] | None] = {}
        self.footage_line: str | None = None
        """What is being read, or why nothing can be played; None when all is well or nothing was asked."""
        self.judgments: Judgments | None = None
        """None while it isn't known which footage the verdicts are about."""
        self.notes: list[str] = []
        """To be said once: whoever shows them empties the list."""
        self.passes: dict[str, PassState] = {}
        self._conflicts: tuple[Conflict, ...] = ()
        self._problem: str | None = None
        self._chosen = tuple(dict.fromkeys(models))
        self._implied = implied
        self._accept_footage = accept_footage
        self._runs: dict[str, Run] = {}
        self._began: dict[str, float] = {}
        self.grid = Grid((), self.queries, self.look, k=benchmark.k)

    @classmethod
    def open(
        cls,
        benchmark: Benchmark,
        *,
        models: Sequence[str] = (),
        implied: bool = True,
        accept_footage: bool = False,
    ) -> Self:
        """Loads the saved runs and opens the judgments; no model and no footage is touched.

        Args:
            benchmark: what is measured.
            models: the only columns to show; by default the benchmark's, then those that have a run.
            implied: whether verdicts that follow from others count.
            accept_footage: use judgments that were made on another file of the same name.

        Raises:
            BadInput: the judgments are malformed or belong to another clip.
        """
        session = cls(benchmark, models=models, implied=implied, accept_footage=accept_footage)
        saved, problems = load_saved(benchmark)
        runs, left_out = comparable(saved, benchmark)
        session.notes += [*problems, *left_out]
        session._take_runs(runs)
        if runs:
            session._open_judgments(runs[0].footage)
        session._rebuild()
        return session

    @property
    def k(self) -> int:
        return self.benchmark.k

    @property
    def models(self) -> tuple[str, ...]:
        """The grid's columns, in order."""
        return self.grid.models

    def look(self, query: str, window: Window) -> Verdict:
        """What is known of a window for a query."""
        return UNJUDGED if self.judgments is None else self.judgments.look(query, window)

    def why_not_played(self, name: str) -> str | None:
        """Why windows of this footage can't be played, as far as that is known here."""
        if name not in self.footages:
            unread = "the footage is being read" if not self.footages else None
            return self.footage_line or unread or "its footage is not among the benchmark's"
        now, before = _state(self.footages[name].path), self._as_read[name]
        if now is None or before is None or now == before:  # one that is gone the player tells of
            return None
        return f"{printable(name)} is another file than the one that was read; start the console again"

    # Verdicts

    def put(self, query: str, window: Window, value: bool | None) -> Change:
        """Records a verdict, or takes it back with None; it is durable when this returns.

        Raises:
            JudgmentsError: it could not be recorded, and is not in effect.
            BadInput: an impossible window or text.
        """
        self._writable().put(query, window, value)
        return self._refresh([query])

    def undo(self) -> Undone | None:
        """Takes back the last verdict that still stands, of earlier sessions too; None without any.

        Raises:
            JudgmentsError: it could not be recorded, and nothing changed.
        """
        undone = self._writable().undo()
        if undone is None:
            return None
        query, window, value = undone
        return Undone(query, window, value, self._refresh([query]))

    def poll(self) -> Change:
        """Takes in what others did to the judgments; problems and conflicts become notes."""
        if self.judgments is None:
            return Change()
        changes = self.judgments.poll()
        for conflict in changes.conflicts:
            if conflict not in self._conflicts:
                mine, theirs = said(conflict.mine), said(conflict.theirs)
                place = f"{conflict.query} · {describe(conflict.window)}"
                self.notes.append(
                    f"{place} was judged {mine} here and is {theirs} in the file; "
                    f"{mine} counts until it is judged again"
                )
        self._conflicts = changes.conflicts
        if changes.problem is not None and changes.problem != self._problem:
            self.notes.append(changes.problem)
        self._problem = changes.problem
        return self._refresh(dict.fromkeys(query for query, _ in changes.items))

    def say_notes(self) -> list[str]:
        """The notes so far, also those of the judgments; they are not given again."""
        if self.judgments is not None:
            self.notes += self.judgments.notices
            self.judgments.notices.clear()
        notes = [printable(note) for note in self.notes]
        self.notes.clear()
        return notes

    # Passes

    def apply(self, event: WorkerEvent) -> Change:
        """Takes in what the pass worker reports."""
        if isinstance(event, FootageReading):
            share = f" {event.done * 100 // event.total} %" if event.total else ""
            self.footage_line = f"{printable(event.what)}{share}"
            return Change()
        if isinstance(event, FootageRead):
            return self._take_footage(event)
        if isinstance(event, FootageFailed):
            self.footage_line = printable(event.reason)
            self.notes.append(event.reason)
            return Change()
        layout = self._add_model(event.model)
        return layout | self._apply_to_model(event)

    def add_query(self, text: str, group: str) -> Change:
        """One more query; passes asked for from now on search it.

        Raises:
            BadInput: it is empty, no text, or there already.
        """
        text = text.strip()
        if not text:
            raise BadInput("the query is empty")
        if holds_surrogate(text):
            raise BadInput("the query is not UTF-8 text")
        for query in self.queries:
            if query.text == text:
                raise BadInput(f"“{text}” is a {query.group} query already")
        self.queries = _grouped([*self.queries, Query(text, group)])
        self._rebuild()
        return Change(layout=True)

    @property
    def added_queries(self) -> tuple[Query, ...]:
        """Those that the benchmark file doesn't have."""
        own = {query.text for query in self.benchmark.queries}
        return tuple(query for query in self.queries if query.text not in own)

    def add_models(self, models: Iterable[str]) -> Change:
        """Columns for models that have none."""
        change = Change()
        for model in models:
            change |= self._add_model(model)
        return change

    # Numbers

    def report(self) -> Report:
        """The table as it stands."""
        return self._report

    def summaries(self) -> Sequence[Summary]:
        """One a model, in the grid's order."""
        return self._report.summaries

    def measures(self) -> Sequence[Measure]:
        """The rows of numbers."""
        return self._report.measures

    def best(self, measure: Measure) -> frozenset[str]:
        """The models that are best in a measure whatever the unjudged windows turn out to be."""
        return self._report.best(measure)

    def bounds(self, model: str, measure: Measure) -> Bounds | None:
        """A model's mean; None without a run."""
        return self._by_model[model].values[measure.key]

    def unjudged(self) -> tuple[int, int]:
        """How many pool items are unjudged, and how many there are."""
        return self._report.unjudged, self._report.pooled

    def pool(self) -> Mapping[PoolItem, Found]:
        """Every (query, window) that a finished run returned, at any rank, in plain judging order."""
        return self._pool

    def found(self, query: str, window: Window) -> Found:
        """(model, rank) for every model that returned a window for a query, in the grid's order."""
        return tuple(
            (model, hit.rank)
            for model in self.models
            for hit in self.grid.cell(model, query).hits
            if hit.window == window
        )

    def close(self) -> None:
        """Brings the YAML up to date and lets go of it.

        Raises:
            JudgmentsError: the YAML could not be written; the verdicts are safe beside it.
        """
        judgments, self.judgments = self.judgments, None
        if judgments is not None:
            judgments.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except JudgmentsError:
            if error is None:
                raise

    @cached_property
    def _report(self) -> Report:
        failures = {model: state.reason for model, state in self.passes.items() if isinstance(state, Failed)}
        return build_report(self.grid, failures=failures)

    @cached_property
    def _by_model(self) -> dict[str, Summary]:
        return {summary.model: summary for summary in self._report.summaries}

    @cached_property
    def _pool(self) -> dict[PoolItem, Found]:
        runs = [self._runs[model] for model in self.models if model in self._runs]
        return pool(runs, None, self.queries)

    def _outdated(self, *, pool: bool) -> None:
        for name in ("_report", "_by_model", *(["_pool"] if pool else [])):
            self.__dict__.pop(name, None)

    def _writable(self) -> Judgments:
        if self.judgments is None:
            reason = self.footage_line or "no run yet"
            raise JudgmentsError(f"verdicts can't be taken before the footage is known: {reason}")
        return self.judgments

    def _refresh(self, queries: Iterable[str]) -> Change:
        cells = frozenset((model, query) for query in queries for model in self.grid.refresh(query))
        if cells:
            self._outdated(pool=False)
        return Change(cells)

    def _take_runs(self, runs: Iterable[Run]) -> None:
        shown = [run for run in runs if not self._chosen or run.model in self._chosen]
        self._runs = {run.model: run for run in shown}
        for model in self._chosen or self.benchmark.models:
            self.passes.setdefault(model, NotRun())
        for run in shown:
            if not is_active(self.passes.get(run.model, NotRun())):
                timings = [run.timings[name] for name in ("load", "embed") if name in run.timings]
                self.passes[run.model] = SavedRun(run.created, sum(timings) if timings else None)

    def _open_judgments(self, footage: Sequence[RunFootage]) -> None:
        self.judgments = open_judgments(
            self.benchmark,
            footage,
            write=True,
            implied=self._implied,
            accept_footage=self._accept_footage,
        )
        self._judged_footage = {(item.name, item.fingerprint) for item in footage}

    def _rebuild(self) -> None:
        """The grid anew, for other models or queries; what passes have delivered so far is kept."""
        before = self.grid
        self.grid = Grid(
            list(self._runs.values()), self.queries, self.look, k=self.k, models=tuple(self.passes)
        )
        for model in before.pending & set(self.grid.models):
            self.grid.begin(model)
            for found in before.delivered(model):
                self.grid.searched(model, found)
        self._outdated(pool=True)

    def _add_model(self, model: str) -> Change:
        if model in self.passes:
            return Change()
        self.passes[model] = NotRun()
        self.grid.add_model(model)
        self._outdated(pool=False)
        return Change(layout=True)

    def _take_footage(self, event: FootageRead) -> Change:
        self.footage_line = None
        self.footages = {footage.name: footage for footage in event.footages}
        self._as_read = {footage.name: _state(footage.path) for footage in event.footages}
        self.notes += [f"left out: {line}" for line in event.skipped]
        watched = as_run_footage(event.footages)
        known = {(item.name, item.fingerprint) for item in watched}
        if self.judgments is not None and self._judged_footage == known:
            return Change()
        kept, left_out = comparable(self._runs.values(), self.benchmark, watched)
        self.notes += left_out
        for model in self._runs.keys() - {run.model for run in kept}:
            self.passes[model] = NotRun()
        self._take_runs(kept)
        try:
            self.close()
            self._open_judgments(watched)
        except SentrySearchError as error:
            # The console stays: it says why nothing can be judged, and the runs can still be read.
            self.footage_line = str(error)
            self.notes.append(str(error))
        self._rebuild()
        return Change(layout=True)

    def _apply_to_model(
        self, event: ModelWaiting | ModelCancelled | ModelProgress | ModelFinished | ModelFailed
    ) -> Change:
        from accuracy_tui.run_events import ModelFailed, ModelFinished, ModelProgress

        if isinstance(event, ModelWaiting):
            self.passes[event.model] = Waiting()
        elif isinstance(event, ModelProgress):
            return self._progress(event)
        elif isinstance(event, ModelFinished):
            self.passes[event.model] = Done(self._seconds(event.model))
            self._runs[event.model] = event.run
            return self._settle(event.model)
        elif isinstance(event, ModelFailed):
            self.passes[event.model] = Failed(printable(event.reason))
            return self._settle(event.model)
        elif isinstance(event, ModelCancelled):
            self.passes[event.model] = CancelledPass()
            return self._settle(event.model)
        return Change()

    def _progress(self, progress: ModelProgress) -> Change:
        from sentrysearch import pass_events

        model, event = progress.model, progress.event
        if isinstance(event, pass_events.Loading):
            if not isinstance(self.passes[model], Loading):  # said once by the runner, once by the pass
                self._began[model] = time.monotonic()
                self.passes[model] = Loading(self._began[model])
        elif isinstance(event, pass_events.Embedding):
            self.passes[model] = EmbeddingWindows(
                event.done, event.total, event.windows_per_second, event.eta_seconds
            )
        elif isinstance(event, pass_events.Damaged):
            damage = event.damage
            place = f"{damage.footage} {damage.start:.1f}–{damage.end:.1f} s"
            self.notes.append(f"{model}: {place} not decoded: {damage.reason}")
        elif isinstance(event, pass_events.Searched):
            return self._searched(model, event)
        return Change()

    def _searched(self, model: str, event: Searched) -> Change:
        groups = {query.text: query.group for query in self.queries}
        earlier = {found.query for found in self._runs[model].queries} if model in self._runs else set()
        change = Change()
        # A query added to a run leaves its others as they are; anything else is the run made anew.
        if model not in self.grid.pending and (event.query in earlier or not earlier):
            self.grid.begin(model)
            change = self._whole(model)
        found = RunQuery(event.query, groups.get(event.query, GROUPS[0]), tuple(event.hits), event.error)
        self.grid.searched(model, found)
        state = self.passes[model]
        done = state.done + 1 if isinstance(state, Searching) else 1
        self.passes[model] = Searching(done, max(done, len(self.queries)))
        self._outdated(pool=False)
        return change | Change(frozenset({(model, event.query)}))

    def _settle(self, model: str) -> Change:
        """The grid shows the model's run, or that it has none."""
        self.grid.set_run(model, self._runs.get(model))
        self._outdated(pool=True)
        return self._whole(model)

    def _whole(self, model: str) -> Change:
        return Change(frozenset((model, query.text) for query in self.queries))

    def _seconds(self, model: str) -> float:
        return time.monotonic() - self._began.get(model, time.monotonic())


def _state(path: Path) -> tuple[int, int] | None:
    """Changes when a file's content does; None without the file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _grouped(queries: Iterable[Query]) -> tuple[Query, ...]:
    every = list(queries)
    return tuple(query for group in GROUPS for query in every if query.group == group)
