"""Signals and lost terminals: the console ends in order where it can, and in any case.

A terminal that is gone can block whoever writes to it for ever, Textual's own writer among them. So a thread
waits beside every orderly end and finishes what does not finish by itself; verdicts are on disk either way.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

GRACE_SECONDS = 1.5
"""What an orderly end may take."""

_HEEDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Ending:
    """Watches for the end while the console runs. A context manager, made on the main thread.

    Args:
        terminal: the descriptor that keys come from.
        last_resort: called on a thread of its own before the process is ended by force: ends what would
            outlive it.
    """

    def __init__(self, terminal: int, last_resort: Callable[[], None]) -> None:
        self._terminal = terminal
        self._last_resort = last_resort
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[int], None] = lambda number: None
        self._previous: dict[int, Any] = {}
        self._finished = threading.Event()
        self._begun = threading.Event()

    def tell(self, loop: asyncio.AbstractEventLoop, end: Callable[[int], None]) -> None:
        """Who ends the console in order: ``end`` is called on the loop's thread with a signal's number."""
        self._loop, self._end = loop, end

    def __enter__(self) -> Ending:
        for number in _HEEDED:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup
                self._previous[number] = signal.signal(number, self._received)
        threading.Thread(target=self._watch, name="terminal", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _received(self, number: int, _frame: FrameType | None) -> None:
        self._begin(number)

    def _begin(self, number: int) -> None:
        if self._begun.is_set():
            return
        self._begun.set()
        threading.Thread(target=self._force, args=(number,), name="ending", daemon=True).start()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._end, number)

    def _force(self, number: int) -> None:
        time.sleep(GRACE_SECONDS)
        if not self._finished.is_set():
            with contextlib.suppress(Exception):
                self._last_resort()
            os._exit(128 + number)

    def _watch(self) -> None:
        """A terminal that hangs up without a signal reaching us ends the console too."""
        poll = select.poll()
        poll.register(self._terminal, 0)  # only what is told anyway: errors and hang-ups
        while not self._finished.wait(1.0):
            if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0)):
                self._begin(signal.SIGHUP)
                return
