"""The process that does the console's heavy work: reads footage or runs a model, and reports to the console.

A process and not a thread: importing torch and loading a model hold the interpreter's lock for so long that
keys would stall, and a model that runs out of memory must not take the console with it. It ends when its
socket closes, so however the console ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from accuracy_tui.benchmark import Benchmark, Query
from accuracy_tui.worker_events import FootageFailed, FootageRead, FootageReading, ModelCancelled
from sentrysearch.errors import BadInput, Cancelled, SentrySearchError
from sentrysearch.types import Footage

NICENESS = 10
CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class ReadFootage:
    """Find and probe the footage."""

    benchmark: Benchmark
    override: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class RunModel:
    """One model's pass."""

    benchmark: Benchmark
    model: str
    footages: tuple[Footage, ...]
    queries: tuple[Query, ...]
    merge: bool
    """Only these queries are new; the others of the model's saved run stay."""
    keep_index: bool
    index: Path | None


Task = ReadFootage | RunModel


def serve(connection: Connection) -> None:
    """Does the one task that comes, and reports events until it is done."""
    task: Task = connection.recv()
    cancel = threading.Event()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while connection.recv() == CANCEL:
                cancel.set()
        os._exit(0)  # nobody is there any more to report to

    threading.Thread(target=listen, daemon=True).start()
    if isinstance(task, ReadFootage):
        _read_footage(task, connection)
    else:
        _run_model(task, connection, cancel)


def _read_footage(task: ReadFootage, connection: Connection) -> None:
    from accuracy_tui.session import read_footage

    skipped: list[str] = []
    try:
        footages = read_footage(
            task.benchmark,
            task.override,
            progress=lambda what, done, total: connection.send(FootageReading(what, done, total)),
            skipped=lambda error: skipped.append(str(error)),
        )
    except (SentrySearchError, OSError) as error:
        connection.send(FootageFailed(str(error)))
    else:
        connection.send(FootageRead(footages, tuple(skipped)))


def _run_model(task: RunModel, connection: Connection, cancel: threading.Event) -> None:
    from accuracy_tui.runner import Job, ModelFailed, run_models
    from accuracy_tui.runs import check_writable

    job = Job(
        models=(task.model,),
        footages=task.footages,
        window=task.benchmark.window,
        queries=task.queries,
        k=task.benchmark.k,
        runs=task.benchmark.runs,
        keep_index=task.keep_index,
        index=task.index,
        merge=task.merge,
    )
    try:
        check_writable(job.runs)
        with closing(run_models(job, cancel=cancel)) as events:
            for event in events:
                connection.send(event)
    except Cancelled:
        connection.send(ModelCancelled(task.model))
    except (BadInput, SentrySearchError, OSError) as error:
        connection.send(ModelFailed(task.model, str(error)))


if __name__ == "__main__":
    os.nice(NICENESS)  # keys come first
    serve(Connection(int(sys.argv[1])))
