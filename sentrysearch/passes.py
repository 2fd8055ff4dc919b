"""One embedder over all windows and all queries, as a generator of progress.

::

    frames.sample ─┐                ┌─ embed_windows ─┐
    (its threads   ├─ windows, one ─┤  (a thread for  ├─ results ─ appended to the collection
    decode ahead)  │  at a time     └─ each at once) ─┘            by whoever iterates the pass
    no frames ─────┘

Decoding overlaps the model's work: while the model is busy the decoder fills its bounded queue, and whatever
thread of the model is free takes the next windows from it. Nothing here prints or knows of a terminal.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from sentrysearch.embed_crew import Batch, Crew, translated
from sentrysearch.embedders._vectors import query_label, unit_vectors
from sentrysearch.errors import Cancelled, FootageError
from sentrysearch.pass_events import Damaged as Damaged
from sentrysearch.pass_events import Embedding as Embedding
from sentrysearch.pass_events import Finished as Finished
from sentrysearch.pass_events import Loaded as Loaded
from sentrysearch.pass_events import Loading as Loading
from sentrysearch.pass_events import PassEvent as PassEvent
from sentrysearch.pass_events import Searched as Searched
from sentrysearch.pass_events import Timings as Timings
from sentrysearch.search import rank
from sentrysearch.store import Collection
from sentrysearch.types import Embedder, Footage, Window, WindowFrames

if TYPE_CHECKING:  # PyAV is loaded by the passes that decode
    import numpy as np
    from numpy.typing import NDArray

    from sentrysearch.frames import Damage, DecodeStatistics

_PROGRESS_SECONDS = 0.25
"""At least this long from one ``Embedding`` event to the next; the first and the last come in any case."""


def embedder_pass(
    embedder: Embedder,
    footages: Sequence[Footage],
    windows: Sequence[Window],
    queries: Sequence[str],
    collection: Collection,
    *,
    k: int,
    cancel: threading.Event,
) -> Generator[PassEvent, None, None]:
    """Loads the embedder, embeds the windows that the collection lacks, then embeds and ranks each query.

    Every batch is appended as soon as it is embedded, so whatever ends the pass, what was embedded stays.
    When a batch fails, those already being embedded are waited for and appended before the error is raised.

    Args:
        embedder: not closed here.
        footages: where the windows lie.
        windows: those that are in the collection are not embedded again.
        queries: searched in this order; one that fails is ``Searched`` with its error, and the rest go on.
        collection: all its windows are ranked, in the end.
        k: hits a query.
        cancel: set it to end the pass within a few seconds, whatever the model is doing.

    Raises:
        EmbedderError: the model cannot be loaded, or failed; names the window.
        FootageError: no window at all could be decoded.
        Cancelled: ``cancel`` was set.

    Closing the generator ends it as ``cancel`` does.
    """
    yield Loading()
    began = time.perf_counter()
    load_embedder(embedder)
    load = time.perf_counter() - began
    yield Loaded(load)

    began = time.perf_counter()
    decode = yield from _embed(embedder, footages, windows, collection, cancel)
    embed = time.perf_counter() - began
    if windows and not len(collection):
        raise FootageError("not one window could be decoded", where=", ".join(item.name for item in footages))

    latencies: list[float] = []
    stored, vectors = collection.windows(), collection.vectors()
    for query in queries:
        _check(cancel)
        began = time.perf_counter()
        searched = search_query(embedder, query, stored, vectors, k)
        if searched.error is None:
            latencies.append(time.perf_counter() - began)
        yield searched
    cold, warm = latencies[:1], latencies[1:]
    yield Finished(
        Timings(load, decode, embed, cold[0] if cold else None, statistics.median(warm) if warm else None)
    )


def _check(cancel: threading.Event) -> None:
    if cancel.is_set():
        raise Cancelled


def load_embedder(embedder: Embedder) -> None:
    """Loads it. Raises EmbedderError, whatever its libraries raise."""
    try:
        embedder.load()
    except Exception as error:
        raise translated(error, f"loading {embedder.name}") from error


def search_query(
    embedder: Embedder, query: str, windows: Sequence[Window], vectors: NDArray[np.float32], k: int
) -> Searched:
    """Embeds a query and ranks the windows; what goes wrong with it is in the result's ``error``."""
    label = query_label(query)
    try:
        vector = unit_vectors([embedder.embed_query(query)], [label], embedder.dimension)
    except Cancelled:
        raise
    except Exception as error:
        return Searched(query, (), str(translated(error, label)))
    (hits,) = rank(windows, vectors, vector, k)
    return Searched(query, tuple(hits))


def _embed(
    embedder: Embedder,
    footages: Sequence[Footage],
    windows: Sequence[Window],
    collection: Collection,
    cancel: threading.Event,
) -> Generator[PassEvent, None, float]:
    """Embeds what the collection lacks; returns the CPU seconds that decoding took."""
    from sentrysearch.frames import DecodeStatistics

    wanted = dict.fromkeys(windows)
    missing = [window for window in wanted if window not in collection]
    progress = _Progress(len(wanted) - len(missing), len(wanted))
    yield progress.event()
    if not missing:
        return 0.0
    stop = threading.Event()
    decoding = DecodeStatistics()
    crew = Crew(embedder, _source(embedder, footages, missing, stop, decoding), stop)
    try:
        for result in crew.results(cancel):
            if isinstance(result, Batch):
                collection.append(result.windows, result.vectors)
                if progress.add(len(result.windows)):
                    yield progress.event()
            else:
                yield Damaged(result)
    finally:
        for batch in crew.close():
            collection.append(batch.windows, batch.vectors)
    yield progress.event()
    return decoding.decode_seconds + decoding.prepare_seconds


def _source(
    embedder: Embedder,
    footages: Sequence[Footage],
    windows: Sequence[Window],
    stop: threading.Event,
    decoding: DecodeStatistics,
) -> Generator[WindowFrames | Damage, None, None]:
    """The windows as the embedder takes them, decoded as they are asked for and somewhat ahead."""
    from sentrysearch.frames import sample

    if embedder.sampling is None:
        by_name = {footage.name: footage for footage in footages}
        yield from (WindowFrames(window, by_name[window.footage], ()) for window in windows)
    else:
        yield from sample(
            footages, windows, embedder.sampling, embedder.prepare, cancel=stop, statistics=decoding
        )


class _Progress:
    """Counts windows and says when it is time to tell."""

    def __init__(self, done: int, total: int) -> None:
        self._before = self._done = done
        self._total = total
        self._began = self._told = time.monotonic()

    def add(self, windows: int) -> bool:
        """Whether an event is due."""
        self._done += windows
        return time.monotonic() - self._told >= _PROGRESS_SECONDS

    def event(self) -> Embedding:
        self._told = time.monotonic()
        made = self._done - self._before
        rate = made / max(self._told - self._began, 1e-9)
        eta = (self._total - self._done) / rate if made else None
        return Embedding(self._done, self._total, rate, eta)
