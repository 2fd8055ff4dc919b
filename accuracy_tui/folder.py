"""The thread that brings the judgment file up to date while nobody is judging."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

IDLE = 2.0
"""Seconds without a verdict after which it folds: a fold would cost a verdict given at the same moment some
milliseconds, the interpreter being shared."""
LATEST = 30.0
"""Seconds after which it folds even if verdicts keep coming."""
RETRY = 10.0
"""Seconds after a failure."""


class Folder:
    """Calls ``fold`` on a daemon thread some time after ``poke``; ``fold`` says whether it is done."""

    def __init__(self, fold: Callable[[], bool]) -> None:
        self._fold = fold
        self._stopped = threading.Event()
        self._wanted = threading.Event()
        self._last = 0.0
        self._thread: threading.Thread | None = None

    def poke(self) -> None:
        """Asks for a fold; cheap enough for every verdict."""
        self._last = time.monotonic()
        if not self._wanted.is_set():
            self._wanted.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="judgments-fold", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Ends the thread, after the fold it may be in."""
        self._stopped.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            first = time.monotonic()
            while True:
                now = time.monotonic()
                due = min(self._last + IDLE, first + LATEST)
                if now >= due:
                    break
                if self._stopped.wait(due - now):
                    return
            if self._stopped.is_set():
                return
            self._wanted.clear()
            if not self._fold():
                if self._stopped.wait(RETRY):
                    return
                self._wanted.set()
