"""What a pass tells while it works. Light to import: a console that shows a pass reads these too."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sentrysearch.types import Hit


@dataclass(frozen=True, slots=True)
class Loading:
    """The model is being loaded."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The model is ready."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Embedding:
    """How far the windows are; those that were in the collection already count as done."""

    done: int
    total: int
    windows_per_second: float
    """Of this pass; 0 before its first window."""
    eta_seconds: float | None
    """None before the first window."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A stretch of a footage, in seconds, that could not be decoded, and why."""

    footage: str
    start: float
    end: float
    reason: str


@dataclass(frozen=True, slots=True)
class Damaged:
    """A stretch of footage that could not be decoded; the pass goes on without it."""

    damage: Damage


@dataclass(frozen=True, slots=True)
class Searched:
    """A query's hits, or why it has none."""

    query: str
    hits: tuple[Hit, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds; None where there was nothing to time."""

    load: float
    decode: float
    """CPU seconds of decoding and preparing pictures, all threads together."""
    embed: float
    """From the first window asked for to the last one stored."""
    cold_query: float | None
    """The first query: embedding and ranking."""
    warm_query: float | None
    """Median of the queries after the first."""

    def as_dict(self) -> dict[str, float]:
        """What was timed, by name."""
        return {name: seconds for name, seconds in asdict(self).items() if seconds is not None}


@dataclass(frozen=True, slots=True)
class Finished:
    """The pass is over."""

    timings: Timings


PassEvent = Loading | Loaded | Embedding | Damaged | Searched | Finished
