"""Runs every requested model over the footage and saves each one's run, as a generator of events.

No threads and no printing: the command line iterates it, and the console's worker thread will.
"""

from __future__ import annotations

import dataclasses
import datetime
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

from accuracy_tui.benchmark import Query
from accuracy_tui.runs import Run, RunQuery, load_runs, save_run
from accuracy_tui.session import as_run_footage
from sentrysearch import embedders
from sentrysearch.errors import Cancelled, EmbedderFailed, SentrySearchError
from sentrysearch.locations import collections_folder
from sentrysearch.passes import Finished, Loading, PassEvent, Searched, embedder_pass
from sentrysearch.store import Collection, CollectionIdentity
from sentrysearch.types import Embedder, Footage, Window, WindowGrid
from sentrysearch.windows import cut


@dataclass(frozen=True, slots=True)
class Job:
    """What to run: every model over the same windows and queries."""

    models: tuple[str, ...]
    footages: tuple[Footage, ...]
    window: WindowGrid
    queries: tuple[Query, ...]
    k: int
    runs: Path
    """The folder that run files are written to."""
    keep_index: bool = False
    index: Path | None = None
    """A folder for vectors that several jobs share; None where each model's are its own, deleted after it."""
    merge: bool = False
    """Add the queries to the model's saved run, instead of making it anew."""


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """One event of one model's pass."""

    model: str
    event: PassEvent


@dataclass(frozen=True, slots=True)
class ModelFinished:
    """A model's run is saved."""

    model: str
    run: Run
    path: Path


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A model could not run or failed; the others go on."""

    model: str
    reason: str


RunnerEvent = ModelProgress | ModelFinished | ModelFailed


def run_models(job: Job, *, cancel: threading.Event) -> Generator[RunnerEvent, None, None]:
    """Runs the job's models one after another.

    Raises:
        BadInput: a model name that doesn't exist, before any model is loaded.
        Cancelled: ``cancel`` was set; runs already saved stay.
    """
    for model in job.models:
        embedders.find(model)
    windows = [window for footage in job.footages for window in cut(footage, job.window)]
    for model in job.models:
        try:
            yield from _run_model(job, model, windows, cancel)
        except Cancelled:
            raise
        except SentrySearchError as error:
            yield ModelFailed(model, str(error))
        except MemoryError:
            yield ModelFailed(model, "out of memory")


def _run_model(
    job: Job, model: str, windows: Sequence[Window], cancel: threading.Event
) -> Iterator[RunnerEvent]:
    yield ModelProgress(model, Loading())  # a local model's revision already takes torch's import
    with closing(embedders.create(model)) as embedder:
        identity = CollectionIdentity(
            model=embedder.name,
            revision=embedder.revision,
            dimension=embedder.dimension,
            window=job.window,
            footage=tuple((footage.name, footage.fingerprint) for footage in job.footages),
        )
        hosted = bool(embedders.find(model).keys)
        with _collection(job, identity, hosted=hosted) as collection:
            try:
                yield from _pass(job, embedder, windows, collection, cancel)
            except EmbedderFailed as error:
                # What a hosted model has embedded was paid for: the next run goes on from there.
                if not (hosted and len(collection) and collection.keep(root=collections_folder())):
                    raise
                raise EmbedderFailed(
                    f"{error}; {len(collection)} of {len(windows)} windows are embedded and kept",
                    hint="run again to go on from there",
                ) from error


def _collection(
    job: Job, identity: CollectionIdentity, *, hosted: bool
) -> AbstractContextManager[Collection]:
    if job.keep_index or (hosted and Collection.exists(identity)):
        return Collection.open(identity)
    if job.index is not None:
        return Collection.open(identity, root=job.index)
    return Collection.throwaway(identity)


def _pass(
    job: Job,
    embedder: Embedder,
    windows: Sequence[Window],
    collection: Collection,
    cancel: threading.Event,
) -> Iterator[RunnerEvent]:
    searched: dict[str, RunQuery] = {}
    groups = {query.text: query.group for query in job.queries}
    timings: dict[str, float] = {}
    events = embedder_pass(embedder, job.footages, windows, list(groups), collection, k=job.k, cancel=cancel)
    with closing(events):
        for event in events:
            if isinstance(event, Searched):
                searched[event.query] = RunQuery(
                    event.query, groups[event.query], tuple(event.hits), event.error
                )
            elif isinstance(event, Finished):
                timings = event.timings.as_dict()
            yield ModelProgress(embedder.name, event)
    run = Run(
        model=embedder.name,
        revision=embedder.revision,
        options={"dimension": embedder.dimension},
        footage=as_run_footage(job.footages),
        window=job.window,
        k=job.k,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        timings=timings,
        queries=tuple(searched.values()),
    )
    if job.merge:
        run = _merged(run, job.runs)
    yield ModelFinished(embedder.name, run, save_run(run, job.runs))


def _merged(run: Run, folder: Path) -> Run:
    """The model's saved run with the queries of ``run`` in it, where both searched the same vectors."""
    saved = next((saved for saved in load_runs(folder).runs if saved.model == run.model), None)
    if saved is None or (saved.revision, saved.window, saved.footage) != (
        run.revision,
        run.window,
        run.footage,
    ):
        return run
    new = {searched.query for searched in run.queries}
    queries = (*(searched for searched in saved.queries if searched.query not in new), *run.queries)
    return dataclasses.replace(saved, queries=queries, k=max(saved.k, run.k))
