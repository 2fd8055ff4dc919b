"""What a pass worker reported, to be waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

SECONDS = 60.0
"""Until a wait is given up: far more than anything here takes."""


class Reported:
    """Called with each event, on the worker's thread."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self._changed = threading.Condition()

    def __call__(self, event: Any) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(self, wanted: Callable[[Any], bool], *, after: int = 0) -> Any:
        """The first such event, from place ``after`` on."""
        until = time.monotonic() + SECONDS
        with self._changed:
            while True:
                for event in self.events[after:]:
                    if wanted(event):
                        return event
                if not self._changed.wait(until - time.monotonic()) and time.monotonic() >= until:
                    raise AssertionError(f"it did not come; what came: {self.events[after:]}")

    def of(self, kind: type, model: str | None = None, *, after: int = 0) -> Any:
        """The first event of a kind, of a model."""
        return self.wait(
            lambda event: isinstance(event, kind) and (model is None or event.model == model), after=after
        )

    def pass_event(self, kind: type, model: str, *, after: int = 0) -> Any:
        """The first event of a kind that a model's pass told."""
        progress = self.wait(
            lambda event: (
                isinstance(getattr(event, "event", None), kind) and getattr(event, "model", None) == model
            ),
            after=after,
        )
        return progress.event

    def names(self, model: str) -> list[str]:
        """Kinds of a model's events, progress left out."""
        return [
            type(event).__name__
            for event in self.events
            if getattr(event, "model", None) == model and not hasattr(event, "event")
        ]
