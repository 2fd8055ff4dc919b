"""What the pass worker does next: models and the footage that they need, in the order they were asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Wanted:
    """Something queued or under way."""

    model: str | None
    """None for reading the footage."""
    merge: bool = False
    """Only what the model's saved run lacks is searched."""
    cancelled: bool = False
    interruptible: bool = False
    """Whether it can stop by itself, which a model that is being loaded can't."""
    settled: bool = False
    """Whether its last event has been reported."""


class PassQueue:
    """Used by one thread."""

    def __init__(self) -> None:
        self.current: Wanted | None = None
        """Under way."""
        self._queued: list[Wanted] = []

    def __bool__(self) -> bool:
        """Whether anything waits; what is under way doesn't count."""
        return bool(self._queued)

    @property
    def models(self) -> list[str]:
        """Queued and under way."""
        every = [*([self.current] if self.current is not None else []), *self._queued]
        return list(dict.fromkeys(wanted.model for wanted in every if wanted.model is not None))

    def want_footage(self) -> None:
        """Reads the footage next, once."""
        reading = self.current is not None and self.current.model is None
        if not reading and not any(wanted.model is None for wanted in self._queued):
            self._queued.insert(0, Wanted(None))

    def want(self, model: str, *, merge: bool) -> bool:
        """Queues a model unless that changes nothing; whether it waits now and did not before.

        A whole pass takes the place of a merge that waits. While a pass is under way more queries are for
        another one after it, and one that is being cancelled can be asked for again.
        """
        queued = next((wanted for wanted in self._queued if wanted.model == model), None)
        if queued is not None:
            queued.merge = queued.merge and merge
            return False
        running = self.current if self.current is not None and self.current.model == model else None
        if running is not None and not (running.cancelled or running.merge or merge):
            return False
        self._queued.append(Wanted(model, merge))
        return running is None

    def waits(self, model: str) -> bool:
        """Whether a model is queued."""
        return any(wanted.model == model for wanted in self._queued)

    def drop(self, model: str) -> None:
        """Takes a model out."""
        self._queued = [wanted for wanted in self._queued if wanted.model != model]

    def next(self) -> Wanted:
        """Takes the first one out."""
        return self._queued.pop(0)

    def put_back(self, wanted: Wanted) -> None:
        """Makes it the first again."""
        self._queued.insert(0, wanted)
