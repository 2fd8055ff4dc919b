"""Runs passes beside the console: one worker thread, and for each task a child process that it listens to."""

from __future__ import annotations

import contextlib
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from accuracy_tui.benchmark import Benchmark, Query
from accuracy_tui.worker_events import FootageFailed, FootageRead, ModelCancelled, ModelWaiting, WorkerEvent
from sentrysearch.errors import StoreError
from sentrysearch.throwaway import ThrowawayRoot

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from accuracy_tui.pass_process import Task
    from sentrysearch.types import Footage

_CANCEL_SECONDS = 3.0
"""A pass that has not stopped by then is ended by force; its vectors are not kept anyway."""

_FOOTAGE = ""  # the task that reads the footage, among the names of models


class PassWorker:
    """Reads footage and runs models, one after another. Its methods return at once; one thread calls them.

    Args:
        benchmark: what is run.
        footage: files and folders instead of the benchmark's.
        keep_index: keep the vectors, and reuse those of earlier runs; otherwise they last as long as this.
    """

    def __init__(
        self, benchmark: Benchmark, *, footage: Sequence[Path] = (), keep_index: bool = False
    ) -> None:
        self.on_event: Callable[[WorkerEvent], None] = lambda event: None
        """Called on the worker's thread."""
        self._benchmark = benchmark
        self._override = tuple(footage)
        self._keep_index = keep_index
        self._index = ThrowawayRoot()
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._mutex = threading.Lock()
        self._waiting: dict[str, int] = {}  # tasks of each model, queued or running
        self._cancelled: set[str] = set()
        self._child: _Child | None = None
        self._closed = False
        self._footages: tuple[Footage, ...] = ()
        self._thread = threading.Thread(target=self._work, name="passes", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether anything is queued or under way."""
        with self._mutex:
            return bool(self._waiting)

    def read_footage(self) -> None:
        """Finds and probes the footage; ``FootageRead`` or ``FootageFailed`` ends it."""
        if self._enqueue(_FOOTAGE):
            self._tasks.put(self._read_footage)

    def start(self, models: Sequence[str], queries: Sequence[Query] | None = None) -> None:
        """Runs models; those that are queued or running already are passed over.

        Args:
            queries: what is searched; None for the benchmark's queries.
        """
        asked = self._benchmark.queries if queries is None else tuple(queries)
        for model in models:
            if self._enqueue(model):
                self.on_event(ModelWaiting(model))
                self._tasks.put(lambda model=model: self._run(model, asked, merge=False))  # type: ignore[misc]

    def add_queries(self, queries: Sequence[Query], models: Sequence[str]) -> None:
        """Searches more queries with models that have a run, and adds them to it.

        The windows are embedded again only where this worker has not run the model.
        """
        asked = tuple(queries)
        for model in models:
            self._enqueue(model, again=True)
            self.on_event(ModelWaiting(model))
            self._tasks.put(lambda model=model: self._run(model, asked, merge=True))  # type: ignore[misc]

    def cancel(self, model: str) -> None:
        """Stops a model's pass, or takes it out of the queue; ``ModelCancelled`` follows."""
        with self._mutex:
            if model in self._waiting:
                self._cancelled.add(model)
                if self._child is not None and self._child.name == model:
                    self._child.cancel()

    def cancel_all(self) -> None:
        """Stops everything."""
        with self._mutex:
            models = [model for model in self._waiting if model != _FOOTAGE]
        for model in models:
            self.cancel(model)

    def close(self) -> None:
        """Ends at once, whatever a model is doing; may be called twice."""
        with self._mutex:
            self._closed = True
            if self._child is not None:
                self._child.kill()
        self._tasks.put(lambda: None)
        self._thread.join(1.0)
        self._index.close()

    def _enqueue(self, model: str, *, again: bool = False) -> bool:
        with self._mutex:
            if model in self._waiting and not again:
                return False
            self._waiting[model] = self._waiting.get(model, 0) + 1
            return True

    def _work(self) -> None:
        while not self._closed:
            self._tasks.get()()

    def _done(self, model: str) -> None:
        with self._mutex:
            self._waiting[model] -= 1
            if not self._waiting[model]:
                del self._waiting[model]
                self._cancelled.discard(model)

    def _read_footage(self) -> None:
        from accuracy_tui.pass_process import ReadFootage

        try:
            last = self._follow(_FOOTAGE, ReadFootage(self._benchmark, self._override))
            if isinstance(last, FootageRead):
                self._footages = last.footages
            elif not isinstance(last, FootageFailed):
                self._report(FootageFailed(f"reading the footage {self._ending(last)}"))
        finally:
            self._done(_FOOTAGE)

    def _run(self, model: str, queries: tuple[Query, ...], *, merge: bool) -> None:
        from accuracy_tui.pass_process import RunModel
        from accuracy_tui.runner import ModelFailed, ModelFinished

        try:
            if model not in self._cancelled and not self._footages:
                self._enqueue(_FOOTAGE, again=True)
                self._read_footage()
            if model in self._cancelled:
                self._report(ModelCancelled(model))
                return
            if not self._footages:
                self._report(ModelFailed(model, "its footage cannot be read"))
                return
            try:
                index = None if self._keep_index else self._index.path()
            except StoreError as error:
                self._report(ModelFailed(model, str(error)))
                return
            task = RunModel(self._benchmark, model, self._footages, queries, merge, self._keep_index, index)
            last = self._follow(model, task)
            if not isinstance(last, ModelFinished | ModelFailed | ModelCancelled):
                stopped = model in self._cancelled
                self._report(
                    ModelCancelled(model) if stopped else ModelFailed(model, f"its pass {self._ending(last)}")
                )
        finally:
            self._done(model)

    def _follow(self, name: str, task: Task) -> object:
        """Has a child do a task and reports its events; the last one, or why the child ended without."""
        try:
            child = _Child(name, task)
        except OSError as error:
            return f"could not start: {error.strerror}"
        with self._mutex:
            self._child = child
            if self._closed:
                child.kill()
            elif name in self._cancelled:
                child.cancel()
        last: object = None
        try:
            for event in child.events():
                last = event
                self._report(event)
            return child.ending() if child.failed() else last
        finally:
            with self._mutex:
                self._child = None
            child.close()

    @staticmethod
    def _ending(last: object) -> str:
        return last if isinstance(last, str) else "ended without a result"

    def _report(self, event: Any) -> None:
        if not self._closed:
            self.on_event(event)


class _Child:
    """One run of ``pass_process``."""

    def __init__(self, name: str, task: Task) -> None:
        from multiprocessing.connection import Connection

        self.name = name
        self._log: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close())
        self._timer: threading.Timer | None = None
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "accuracy_tui.pass_process", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,  # what the terminal sends is for the console
            )
        self._connection: Connection = Connection(ours.detach())
        with contextlib.suppress(OSError):  # it ended at once: that is found when its events are read
            self._connection.send(task)

    def events(self) -> Any:
        """What it reports, until it ends."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                yield self._connection.recv()

    def cancel(self) -> None:
        """Asks it to stop, and sees to it that it does."""
        from accuracy_tui.pass_process import CANCEL

        with contextlib.suppress(OSError):
            self._connection.send(CANCEL)
        self._timer = threading.Timer(_CANCEL_SECONDS, self.kill)
        self._timer.daemon = True
        self._timer.start()

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._process.kill()

    def failed(self) -> bool:
        """Whether it ended otherwise than by finishing."""
        return self._wait() != 0

    def ending(self) -> str:
        """How it ended, in words."""
        status = self._wait()
        if status < 0:
            name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
            likely = ", most likely out of memory" if -status == signal.SIGKILL else ""
            return f"was ended by {name}{likely}"
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip().splitlines()
        return f"ended with status {status}" + (f": {said[-1]}" if said else "")

    def _wait(self) -> int:
        try:
            return self._process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._connection.close()
        self.kill()
        self._process.wait()
        self._log.close()
