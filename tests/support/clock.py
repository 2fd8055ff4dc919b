"""A clock for the hosted embedders that only moves when somebody waits, and remembers the waits."""

from __future__ import annotations

import threading

from sentrysearch.embedders._hosted import Clock


class FakeClock(Clock):
    def __init__(self, wall: float = 1_700_000_000.0) -> None:
        self.waits: list[float] = []
        self._now = 100.0
        self._wall = wall
        self._lock = threading.Lock()

    def now(self) -> float:
        with self._lock:
            return self._now

    def wall(self) -> float:
        return self._wall

    def wait(self, event: threading.Event, seconds: float) -> bool:
        with self._lock:
            self.waits.append(seconds)
            self._now += seconds
        return event.is_set()

    def pass_time(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds
