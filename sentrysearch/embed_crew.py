"""The threads that embed a pass's windows, and how a library's error becomes one of ours.

::

    source ─ take, one thread at a time ─ embed_windows, all at once ─ results ─ whoever iterates them
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sentrysearch.embedders._vectors import unit_vectors, window_label
from sentrysearch.errors import Cancelled, EmbedderFailed, FootageError, SentrySearchError
from sentrysearch.types import Embedder, Window, WindowFrames

if TYPE_CHECKING:  # PyAV is loaded by the passes that decode
    import numpy as np
    from numpy.typing import NDArray

    from sentrysearch.frames import Damage

_POLL_SECONDS = 0.05
"""How often a waiting pass looks whether it is cancelled."""
_GRACE_SECONDS = 2.0
"""How long a pass that ends early waits for what the model is busy with; then it is left to end alone."""
_LONGEST_MESSAGE = 300
"""Characters shown of an error of a library."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Windows with their vectors, shape (n, dimension), checked and of length 1."""

    windows: list[Window]
    vectors: NDArray[np.float32]


class Crew:
    """The threads that embed: each takes windows from the source, embeds them, and takes the next.

    Args:
        embedder: says how many threads, and how many windows at once.
        source: is asked by one thread at a time, and closed with the crew.
        stop: set when the crew is to take no more; the source is expected to end then, too.
    """

    def __init__(
        self, embedder: Embedder, source: Generator[WindowFrames | Damage, None, None], stop: threading.Event
    ) -> None:
        self._embedder = embedder
        self._source = source
        self._source_lock = threading.Lock()
        self._stop = stop
        self._results: queue.SimpleQueue[Batch | Damage | SentrySearchError | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"{embedder.name} {number}", daemon=True)
            for number in range(embedder.concurrency)
        ]

    # The thread that iterates the pass.

    def results(self, cancel: threading.Event) -> Iterator[Batch | Damage]:
        """What the threads make, until all are done; raises the first error after the last result."""
        for thread in self._threads:
            thread.start()
        busy = len(self._threads)
        failure: SentrySearchError | None = None
        while busy:
            if cancel.is_set():
                raise Cancelled
            try:
                result = self._results.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if result is None:
                busy -= 1
            elif isinstance(result, SentrySearchError):
                failure = failure or result
            else:
                yield result
        if failure is not None:
            raise failure

    def close(self) -> Iterator[Batch]:
        """Ends the threads and the source; gives what was made and not yet taken from :meth:`results`."""
        self._stop.set()
        until = time.monotonic() + _GRACE_SECONDS
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
        if self._source_lock.acquire(timeout=_GRACE_SECONDS):
            try:
                self._source.close()
            finally:
                self._source_lock.release()
        while not self._results.empty():
            result = self._results.get()
            if isinstance(result, Batch):
                yield result

    # The crew's threads.

    def _work(self) -> None:
        try:
            while batch := self._take():
                self._results.put(self._embedded(batch))
        except BaseException as error:  # to be raised by whoever iterates the pass
            self._stop.set()  # the others finish what they have, and take no more
            self._results.put(translated(error, "footage"))
        finally:
            self._results.put(None)

    def _take(self) -> list[WindowFrames]:
        """The next windows, as many as the embedder wants at once; none at the end."""
        batch: list[WindowFrames] = []
        with self._source_lock:
            while len(batch) < self._embedder.batch_size and not self._stop.is_set():
                try:
                    item = next(self._source, None)
                except Cancelled:  # stopped meanwhile
                    break
                if item is None:
                    break
                if isinstance(item, WindowFrames):
                    batch.append(item)
                else:
                    self._results.put(item)
        return [] if self._stop.is_set() else batch

    def _embedded(self, batch: Sequence[WindowFrames]) -> Batch | Damage:
        windows = [item.window for item in batch]
        labels = [window_label(window) for window in windows]
        try:
            raw = self._embedder.embed_windows(batch)
            return Batch(windows, unit_vectors(raw, labels, self._embedder.dimension))
        except FootageError as error:
            # An embedder that encodes clips itself, window by window, met a stretch that cannot be decoded.
            from sentrysearch.frames import Damage

            return Damage(windows[0].footage, windows[0].start, windows[-1].end, error.what)
        except Exception as error:
            others = f" or one of {len(batch) - 1} beside it" if len(batch) > 1 else ""
            raise translated(error, labels[0] + others) from error


def translated(error: BaseException, where: str) -> SentrySearchError:
    """An error of a library as one line; errors of our own as they are."""
    if isinstance(error, SentrySearchError):
        return error
    if _is_out_of_memory(error):
        return EmbedderFailed("out of memory", where=where, hint="free some, or take a smaller model")
    message = " ".join(str(error).split())[:_LONGEST_MESSAGE]
    return EmbedderFailed(
        f"{type(error).__name__}: {message}" if message else type(error).__name__, where=where
    )


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if "torch" not in sys.modules:  # then it isn't torch's, and asking would import it
        return False
    from sentrysearch.embedders._memory import is_out_of_memory

    return is_out_of_memory(error)
