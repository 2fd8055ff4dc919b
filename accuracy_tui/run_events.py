"""What a runner tells. Light to import: a console that shows a run reads these from another process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from accuracy_tui.runs import Run
from sentrysearch.pass_events import PassEvent


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """One event of one model's pass."""

    model: str
    event: PassEvent


@dataclass(frozen=True, slots=True)
class ModelFinished:
    """A model's run is saved."""

    model: str
    run: Run
    path: Path


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A model could not run or failed; the others go on."""

    model: str
    reason: str


RunnerEvent = ModelProgress | ModelFinished | ModelFailed
