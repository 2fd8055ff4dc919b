"""The process that does the console's heavy work: reads footage or runs a model, and reports what happens.

A process and not a thread: importing torch and loading a model hold the interpreter's lock for so long that
keys would stall, and a model that runs out of memory must not take the console with it.

It does one task and ends. It also ends as soon as its connection closes, so however the console ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

from accuracy_tui.pass_tasks import CANCEL, ReadFootage, RunModel, Task
from accuracy_tui.run_events import ModelFailed
from accuracy_tui.worker_events import FootageFailed, FootageRead, FootageReading, ModelCancelled
from sentrysearch.errors import Cancelled, FootageError, SentrySearchError

NICENESS = 10
_OUT_OF_MEMORY_SCORE = 500
"""Of 1000: when memory is short the kernel takes this process and not the console."""
_READING_SECONDS = 0.1
"""At least this long between two ``FootageReading`` events."""
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serves the connection whose file descriptor is the last argument."""
    descriptor = int(sys.argv[-1])
    os.set_inheritable(descriptor, False)
    _step_back()
    connection = Connection(descriptor)
    try:
        serve(connection)
    except OSError:  # nobody is there any more to report to
        _vanish()
    sys.stdout.flush()
    # What is to be kept is closed; a library that crashes while the interpreter is taken down has no say.
    os._exit(0)


def serve(connection: Connection) -> None:
    """Does the task that comes first, and reports events until it is done."""
    task: Task = connection.recv()
    cancel = threading.Event()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while connection.recv() == CANCEL:
                cancel.set()
        _vanish()

    threading.Thread(target=listen, name="console", daemon=True).start()
    try:
        if isinstance(task, ReadFootage):
            _read_footage(task, connection)
        else:
            _run_model(task, connection, cancel)
    except Cancelled:
        assert isinstance(task, RunModel)
        connection.send(ModelCancelled(task.model))
    except SentrySearchError as error:
        connection.send(_failed(task, str(error)))
    except MemoryError:
        connection.send(_failed(task, "out of memory"))
    except BrokenPipeError:
        raise
    except Exception as error:
        traceback.print_exc()
        reason = " ".join(str(error).split())
        connection.send(
            _failed(task, f"{type(error).__name__}: {reason}" if reason else type(error).__name__)
        )


def _failed(task: Task, reason: str) -> FootageFailed | ModelFailed:
    return FootageFailed(reason) if isinstance(task, ReadFootage) else ModelFailed(task.model, reason)


def _read_footage(task: ReadFootage, connection: Connection) -> None:
    from accuracy_tui.session import read_footage

    told, what_was_told = 0.0, ""
    skipped: list[str] = []

    def progress(what: str, done: int, total: int | None) -> None:
        nonlocal told, what_was_told
        now = time.monotonic()
        if what != what_was_told or done == total or now - told >= _READING_SECONDS:
            told, what_was_told = now, what
            connection.send(FootageReading(what, done, total))

    def skip(error: FootageError) -> None:
        skipped.append(str(error))

    footages = read_footage(task.benchmark, task.override, progress=progress, skipped=skip)
    connection.send(FootageRead(footages, tuple(skipped)))


def _run_model(task: RunModel, connection: Connection, cancel: threading.Event) -> None:
    from accuracy_tui.runner import Job, run_models
    from accuracy_tui.runs import check_writable
    from sentrysearch.store import sweep

    check_writable(task.benchmark.runs)
    sweep()
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
    with closing(run_models(job, cancel=cancel)) as events:
        for event in events:
            connection.send(event)


def _step_back() -> None:
    """Lets the console go first: for the processor, and to stay when memory runs out."""
    os.nice(NICENESS)
    with contextlib.suppress(
        OSError
    ):  # a session of its own would have a share of its own whatever its niceness
        Path("/proc/self/autogroup").write_text(str(NICENESS))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(_OUT_OF_MEMORY_SCORE))
    if sys.platform == "linux":
        import ctypes

        # Also where this process is too busy to notice that its connection closed.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _vanish() -> None:
    """Ends at once, with whatever was started from here."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
