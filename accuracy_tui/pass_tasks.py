"""What the console asks of a pass's process. Light to import: both sides read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accuracy_tui.benchmark import Benchmark, Query
    from sentrysearch.types import Footage

CANCEL = "cancel"
"""The one message that may follow a task."""


@dataclass(frozen=True, slots=True)
class ReadFootage:
    """Find and probe the footage; ``FootageRead`` or ``FootageFailed`` comes last."""

    benchmark: Benchmark
    override: tuple[Path, ...]
    """Files and folders instead of the benchmark's."""


@dataclass(frozen=True, slots=True)
class RunModel:
    """One model's pass; ``ModelFinished``, ``ModelFailed`` or ``ModelCancelled`` comes last."""

    benchmark: Benchmark
    model: str
    footages: tuple[Footage, ...]
    queries: tuple[Query, ...]
    merge: bool
    """Search only what the model's saved run lacks."""
    keep_index: bool
    index: Path | None
    """Where vectors stay for the session."""


Task = ReadFootage | RunModel
