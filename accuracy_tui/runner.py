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
from accuracy_tui.run_events import ModelFailed as ModelFailed
from accuracy_tui.run_events import ModelFinished as ModelFinished
from accuracy_tui.run_events import ModelProgress as ModelProgress
from accuracy_tui.run_events import RunnerEvent as RunnerEvent
from accuracy_tui.runs import Run, RunQuery, load_run, run_file_name, save_run
from accuracy_tui.session import as_run_footage
from sentrysearch import embedders
from sentrysearch.errors import BadInput, Cancelled, EmbedderFailed, FootageError, SentrySearchError
from sentrysearch.footage import fingerprint
from sentrysearch.locations import collections_folder
from sentrysearch.passes import Finished, Loading, Searched, embedder_pass
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
    """Search only what the model's saved run lacks, and add it there, where the vectors are the same."""


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
            absent = sum(window not in collection for window in windows)
            if job.merge and hosted and absent:
                raise EmbedderFailed(
                    f"more queries need its vectors, and {absent} of {len(windows)} windows are not embedded",
                    hint="run the model again, which sends them",
                )
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
    saved = _saved_run(job, embedder.name) if job.merge else None
    base = saved if saved is not None and _same_vectors(saved, job, embedder) else None
    k = job.k if base is None else base.k
    groups = {query.text: query.group for query in job.queries}
    if base is not None:
        for known in base.queries:
            groups.pop(known.query, None)
    elif saved is not None:  # it is made anew, with all it had
        groups = {known.query: known.group for known in saved.queries} | groups
    searched: dict[str, RunQuery] = {}
    timings: dict[str, float] = {}
    embeds = any(window not in collection for window in windows)
    if embeds:
        _check_unchanged(job.footages)
    events = embedder_pass(embedder, job.footages, windows, list(groups), collection, k=k, cancel=cancel)
    with closing(events):
        for event in events:
            if isinstance(event, Searched):
                searched[event.query] = RunQuery(
                    event.query, groups[event.query], tuple(event.hits), event.error
                )
            elif isinstance(event, Finished):
                timings = event.timings.as_dict()
            yield ModelProgress(embedder.name, event)
    if embeds:
        _check_unchanged(job.footages)
    found = tuple(searched.values())
    if base is not None:
        run = dataclasses.replace(base, queries=(*base.queries, *found))
    else:
        run = Run(
            model=embedder.name,
            revision=embedder.revision,
            options=_options(embedder),
            footage=as_run_footage(job.footages),
            window=job.window,
            k=k,
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            timings=timings,
            queries=found,
        )
    yield ModelFinished(embedder.name, run, save_run(run, job.runs))


def _check_unchanged(footages: Sequence[Footage]) -> None:
    """A run says which files it was made on; a file replaced since it was read would make that untrue."""
    for footage in footages:
        try:
            now = fingerprint(footage.path)
        except FootageError:  # what can't be read any more the pass tells
            continue
        if now != footage.fingerprint:
            raise FootageError(
                "is another file than the one that was read", where=footage.name, hint="start again"
            )


def _options(embedder: Embedder) -> dict[str, int]:
    return {"dimension": embedder.dimension}


def _saved_run(job: Job, model: str) -> Run | None:
    try:
        return load_run(job.runs / run_file_name(model))
    except BadInput:  # there is none, or none that can be read
        return None


def _same_vectors(run: Run, job: Job, embedder: Embedder) -> bool:
    """Whether queries searched now belong beside those of the run."""
    footage = {(item.name, item.fingerprint) for item in job.footages}
    return (
        run.revision == embedder.revision
        and run.options == _options(embedder)
        and run.window == job.window
        and {(item.name, item.fingerprint) for item in run.footage} == footage
        and run.k >= job.k
    )
