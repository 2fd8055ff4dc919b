"""What the pass worker reports while it works, and what a pass's state is for whoever watches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from accuracy_tui.run_events import ModelFailed, ModelFinished, ModelProgress
    from sentrysearch.types import Footage


@dataclass(frozen=True, slots=True)
class FootageReading:
    """Footage is being downloaded or read."""

    what: str
    done: int
    total: int | None
    """None while unknown."""


@dataclass(frozen=True, slots=True)
class FootageRead:
    """All footage is known."""

    footages: tuple[Footage, ...]
    skipped: tuple[str, ...] = ()
    """A line for each file of a folder that cannot be used."""


@dataclass(frozen=True, slots=True)
class FootageFailed:
    """The footage cannot be used: nothing can be run or played."""

    reason: str


@dataclass(frozen=True, slots=True)
class ModelWaiting:
    """A model's pass will begin after those before it."""

    model: str


@dataclass(frozen=True, slots=True)
class ModelCancelled:
    """A model's pass was stopped by the user; what it had saved before stays."""

    model: str


WorkerEvent: TypeAlias = Union[
    FootageReading,
    FootageRead,
    FootageFailed,
    ModelWaiting,
    ModelCancelled,
    "ModelProgress",
    "ModelFinished",
    "ModelFailed",
]


@dataclass(frozen=True, slots=True)
class NotRun:
    """No run, and none asked for."""


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run of an earlier session."""

    created: str
    """ISO 8601."""
    seconds: float | None
    """How long its pass took; None where the run doesn't say."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Queued."""


@dataclass(frozen=True, slots=True)
class Loading:
    """The model is being loaded."""

    since: float
    """By ``time.monotonic``."""


@dataclass(frozen=True, slots=True)
class EmbeddingWindows:
    """How far the windows are."""

    done: int
    total: int
    windows_per_second: float
    eta_seconds: float | None


@dataclass(frozen=True, slots=True)
class Searching:
    """Queries that have their hits."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Done:
    """The pass is over and its run saved."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """The pass failed."""

    reason: str


@dataclass(frozen=True, slots=True)
class CancelledPass:
    """The user stopped it."""


PassState: TypeAlias = (
    NotRun | SavedRun | Waiting | Loading | EmbeddingWindows | Searching | Done | Failed | CancelledPass
)


def is_active(state: PassState) -> bool:
    """Whether the pass is queued or under way."""
    return isinstance(state, Waiting | Loading | EmbeddingWindows | Searching)
