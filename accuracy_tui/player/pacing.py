"""How fast pictures may be sent, so that what a key brings about doesn't have to queue behind them.

Each picture begins and ends with the question where the cursor is. A terminal answers when it gets there, so
questions without an answer tell how much is still on its way, however deep the buffers are; and the time
between a picture's two answers is what it takes the line, however far away the terminal is.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_QUESTION = "\x1b[6n"

MOST_UNANSWERED = 2
"""Pictures on their way at most."""

SLOW_SECONDS = 0.2
"""Where a picture takes the line longer, only one is on its way."""

SILENT_SECONDS = 1.0
"""A terminal that has never answered counts as having drawn a picture after this time."""

PATIENCE_SECONDS = 15.0
"""One that answers is waited for: it is a slow line. An answer that got lost costs this much."""

BYTES_PER_SECOND = 900_000

_FAREWELL_SECONDS = 0.5


def with_questions(picture: str) -> str:
    """What to write for a picture, so that the terminal says how far it is."""
    return _QUESTION + picture + _QUESTION


class Pacing:
    """Counts what is on its way; used by one thread.

    Args:
        fps: pictures a second at most.
        now: the clock, in seconds.
    """

    def __init__(self, fps: float, now: Callable[[], float] = time.monotonic) -> None:
        self._interval = 1 / fps
        self._now = now
        self._asked: deque[float] = deque()
        """When each question without an answer was sent, in turns before and after a picture."""
        self._not_before = 0.0
        self._begun = 0.0
        self._quickest: float | None = None
        self._slow = False

    @property
    def most(self) -> int:
        """How many pictures may be on their way."""
        return 1 if self._slow else MOST_UNANSWERED

    @property
    def unanswered(self) -> int:
        """Pictures on their way."""
        return (len(self._asked) + 1) // 2

    @property
    def behind(self) -> bool:
        """Whether as many are on their way as may be."""
        return self.unanswered >= self.most

    def sent(self, size: int) -> None:
        """A picture of ``size`` bytes was written, with its questions."""
        now = self._now()
        self._asked += (now, now)
        self._not_before = now + max(self._interval, size / BYTES_PER_SECOND)

    def answered(self) -> None:
        """The terminal has come to the next question."""
        if not self._asked:
            return
        now = self._now()
        if len(self._asked) % 2 == 0:
            took = now - self._asked[0]
            self._quickest = took if self._quickest is None else min(self._quickest, took)
            self._begun = now
        else:
            self._slow = now - self._begun > SLOW_SECONDS
        self._asked.popleft()

    def wait(self) -> float:
        """Seconds until the next picture may be sent, unless an answer comes before; 0 or less for now."""
        now = self._now()
        patience = SILENT_SECONDS if self._quickest is None else PATIENCE_SECONDS
        while self._asked and now - self._asked[0] > patience:
            self._asked.popleft()
        if self.behind:
            return max(0.01, patience - (now - self._asked[0]))
        return self._not_before - now

    def farewell(self) -> float:
        """Seconds until the answers still open will have come, if the terminal is as quick as it was.

        Whoever reads the terminal next would take them for something typed.
        """
        if not self._asked or self._quickest is None:
            return 0.0
        due = self._asked[-1] + 2 * self._quickest + SLOW_SECONDS - self._now()
        return min(_FAREWELL_SECONDS, max(0.0, due))

    def forget(self) -> None:
        """No answers will come any more: the terminal was somebody else's meanwhile."""
        self._asked.clear()
