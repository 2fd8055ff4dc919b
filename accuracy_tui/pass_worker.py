"""Runs passes beside the console: one thread with a queue, and a child process for each task in it."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accuracy_tui.benchmark import Benchmark, Query
from accuracy_tui.pass_queue import PassQueue, Wanted
from accuracy_tui.worker_events import (
    FootageFailed,
    FootageRead,
    FootageReading,
    ModelCancelled,
    ModelWaiting,
    WorkerEvent,
)
from sentrysearch.errors import StoreError
from sentrysearch.throwaway import ThrowawayRoot

if TYPE_CHECKING:
    from accuracy_tui.pass_child import PassChild
    from accuracy_tui.pass_tasks import Task
    from sentrysearch.types import Footage

_CANCEL_SECONDS = 3.0
"""A pass that has not stopped by then is ended by force; the vectors it has made stay for a retry."""
_END_SECONDS = 2.0
"""How long a process may stay after its last event."""
_JOIN_SECONDS = 1.0

OnEvent = Callable[[WorkerEvent], None]


class PassWorker:
    """Reads footage and runs models, one after another. Its methods return at once; one thread calls them.

    Args:
        benchmark: what is run.
        on_event: called on the worker's thread; may be set later, before anything is asked.
        footage: files and folders instead of the benchmark's.
        keep_index: keep the vectors, and reuse those of earlier runs; otherwise they last until ``close``.
        program: what runs ``pass_process.main``, for those who have models of their own; None for the usual.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        on_event: OnEvent = lambda event: None,
        *,
        footage: Sequence[Path] = (),
        keep_index: bool = False,
        program: Sequence[str] | None = None,
    ) -> None:
        self.on_event = on_event
        self._benchmark = benchmark
        self._override = tuple(footage)
        self._keep_index = keep_index
        self._program = program
        self._index = ThrowawayRoot()
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_writer.setblocking(False)
        self._closed = threading.Event()
        self._mutex = threading.Lock()
        """Guards what both sides look at: ``_busy`` and ``_child``."""
        self._busy = False
        self._child: PassChild | None = None
        self._thread: threading.Thread | None = None
        # Of the worker's thread alone:
        self._queries = {query.text: query for query in benchmark.queries}
        self._queue = PassQueue()
        self._deadline: float | None = None
        self._footages: tuple[Footage, ...] | None = None
        self._footage_failure: str | None = None

    @property
    def busy(self) -> bool:
        """Whether anything is queued or under way."""
        with self._mutex:
            return self._busy

    def read_footage(self) -> None:
        """Finds and probes the footage; ``FootageRead`` or ``FootageFailed`` ends it."""
        self._ask(self._want_footage)

    def start(self, models: Sequence[str], queries: Sequence[Query] | None = None) -> None:
        """Runs models; those that are queued or running already are passed over.

        Args:
            queries: all that there are, from now on; None for those known: the benchmark's and those added.
        """
        self._ask(lambda: self._want_models(models, queries))

    def add_queries(self, queries: Sequence[Query], models: Sequence[str]) -> None:
        """Searches more queries with models that have a run, and adds them to it.

        Windows are embedded again only where this worker has not run the model; a hosted model, which would
        be paid again, fails then.
        """
        self._ask(lambda: self._want_added(queries, models))

    def cancel(self, model: str) -> None:
        """Stops a model's pass, or takes it out of the queue; ``ModelCancelled`` follows within seconds."""
        self._ask(lambda: self._cancel(model))

    def cancel_all(self) -> None:
        """Stops every pass."""
        self._ask(self._cancel_all)

    def close(self) -> None:
        """Ends at once, whatever a model is doing; no event follows. May be called twice."""
        self._closed.set()
        with self._mutex:
            if self._child is not None:
                self._child.kill()
        self._wake()
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)
        self._index.close()
        if self._thread is None or not self._thread.is_alive():
            self._wake_reader.close()
            self._wake_writer.close()

    def _ask(self, request: Callable[[], None]) -> None:
        with self._mutex:
            self._busy = True
            self._asked.put(request)
        self._wake()
        if self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(target=self._work, name="passes", daemon=True)
            self._thread.start()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full, so that the thread will wake; or closed
            self._wake_writer.send(b"\0")

    # The worker's thread: what was asked

    def _want_footage(self) -> None:
        self._footage_failure = None
        self._queue.want_footage()

    def _want_models(self, models: Sequence[str], queries: Sequence[Query] | None) -> None:
        if queries is not None:
            self._queries = {query.text: query for query in queries}
        self._want(models, merge=False)

    def _want_added(self, queries: Sequence[Query], models: Sequence[str]) -> None:
        self._queries |= {query.text: query for query in queries}
        self._want(models, merge=True)

    def _want(self, models: Sequence[str], *, merge: bool) -> None:
        self._footage_failure = None  # it may have been put in its place meanwhile
        for model in models:
            if self._queue.want(model, merge=merge):
                self._report(ModelWaiting(model))

    def _cancel(self, model: str) -> None:
        waited = self._queue.waits(model)
        self._queue.drop(model)
        current = self._queue.current
        if current is not None and current.model == model:
            self._stop(current)
        elif waited:
            self._report(ModelCancelled(model))

    def _cancel_all(self) -> None:
        for model in self._queue.models:
            self._cancel(model)

    def _stop(self, current: Wanted) -> None:
        if current.cancelled or self._child is None:
            return
        current.cancelled = True
        if current.interruptible:
            self._child.cancel()
            self._deadline = time.monotonic() + _CANCEL_SECONDS
        else:
            self._child.kill()

    # The worker's thread: what is done

    def _work(self) -> None:
        while not self._closed.is_set():
            while not self._asked.empty():
                self._asked.get()()
            if self._queue.current is None and self._queue:
                self._begin(self._queue.next())
            waits = self._queue.current is not None or not self._queue
            with self._mutex:
                self._busy = self._queue.current is not None or bool(self._queue) or not self._asked.empty()
            if waits:
                self._wait()
        if self._child is not None:
            self._child.close()

    def _wait(self) -> None:
        """Until something is asked, told or overdue."""
        from multiprocessing.connection import wait

        child = self._child
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        ready = wait([self._wake_reader, *([child.connection] if child is not None else [])], left)
        if self._wake_reader in ready:
            self._wake_reader.recv(4096)
        if child is not None and child.connection in ready:
            event = child.event()
            if event is None:
                self._end(child)
            else:
                self._take(event)
        elif child is not None and not ready:
            child.kill()

    def _begin(self, wanted: Wanted) -> None:
        if wanted.model is None:
            self._run(wanted, self._footage_task())
        elif self._footages is not None:
            try:
                self._run(wanted, self._model_task(wanted, self._footages))
            except StoreError as error:
                self._fail(wanted, str(error))
        elif self._footage_failure is not None:
            self._fail(wanted, self._footage_failure)
        else:
            self._queue.put_back(wanted)
            self._queue.want_footage()

    def _footage_task(self) -> Task:
        from accuracy_tui.pass_tasks import ReadFootage

        return ReadFootage(self._benchmark, self._override)

    def _model_task(self, wanted: Wanted, footages: tuple[Footage, ...]) -> Task:
        from accuracy_tui.pass_tasks import RunModel

        assert wanted.model is not None
        return RunModel(
            benchmark=self._benchmark,
            model=wanted.model,
            footages=footages,
            queries=tuple(self._queries.values()),
            merge=wanted.merge,
            keep_index=self._keep_index,
            index=None if self._keep_index else self._index.path(),
        )

    def _run(self, wanted: Wanted, task: Task) -> None:
        from accuracy_tui.pass_child import PROGRAM, PassChild

        try:
            child = PassChild(task, self._program or PROGRAM)
        except OSError as error:
            self._fail(wanted, f"its process can't be started: {error.strerror}")
            return
        with self._mutex:
            self._child = child
            if self._closed.is_set():
                child.kill()
        self._queue.current, self._deadline = wanted, None

    def _take(self, event: WorkerEvent) -> None:
        from accuracy_tui.run_events import ModelProgress
        from sentrysearch.pass_events import Loading

        current = self._queue.current
        assert current is not None
        if isinstance(event, ModelProgress):
            current.interruptible = not isinstance(event.event, Loading)
        elif not isinstance(event, FootageReading):
            self._settle(current, event)
            self._deadline = time.monotonic() + _END_SECONDS
            return
        self._report(event)

    def _end(self, child: PassChild) -> None:
        """The child is gone, with or without a last event."""
        current = self._queue.current
        assert current is not None
        with self._mutex:
            self._child = None
        self._queue.current = self._deadline = None
        how = child.close()
        if not current.settled and current.cancelled and current.model is not None:
            self._settle(current, ModelCancelled(current.model))
        elif not current.settled:
            self._fail(current, how)
        if current.model is not None and self._queue.waits(current.model):
            self._report(ModelWaiting(current.model))

    def _fail(self, wanted: Wanted, reason: str) -> None:
        from accuracy_tui.run_events import ModelFailed

        if wanted.model is None:
            self._settle(wanted, FootageFailed(f"reading the footage: {reason}"))
        else:
            self._settle(wanted, ModelFailed(wanted.model, reason))

    def _settle(self, wanted: Wanted, event: WorkerEvent) -> None:
        wanted.settled = True
        if isinstance(event, FootageRead):
            self._footages = event.footages
        elif isinstance(event, FootageFailed):
            self._footages, self._footage_failure = None, event.reason
        self._report(event)

    def _report(self, event: WorkerEvent) -> None:
        if not self._closed.is_set():
            self.on_event(event)
