"""The state of a model's pass in words."""

from __future__ import annotations

import time

from accuracy_tui.ui.safe_text import one_line
from accuracy_tui.worker_events import (
    CancelledPass,
    Done,
    EmbeddingWindows,
    Failed,
    Loading,
    NotRun,
    PassState,
    SavedRun,
    Searching,
    Waiting,
)


def duration(seconds: float) -> str:
    """``31s``, ``4m12s``, ``1h05m``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def pass_style(state: PassState) -> str:
    """The style of a pass's state."""
    if isinstance(state, Failed):
        return "failed"
    if isinstance(state, Done):
        return "true"
    if isinstance(state, Loading | EmbeddingWindows | Searching):
        return "running"
    return "dim"


def share_done(state: PassState) -> float | None:
    """How far the pass is, from 0 to 1; None where that isn't known."""
    if isinstance(state, EmbeddingWindows | Searching):
        return min(1.0, state.done / max(1, state.total))
    return None


def pass_text(state: PassState, width: int) -> str:
    """A pass's state in at most ``width`` cells, 16 being enough for all but reasons."""
    if isinstance(state, Failed):
        text = f"! {state.reason}"
    elif isinstance(state, EmbeddingWindows):
        text = _embedding(state, width)
    else:
        text = pass_sentence(state)
    return one_line(text, width)


def pass_sentence(state: PassState) -> str:
    """A pass's state with everything that is known, for a place with room."""
    if isinstance(state, NotRun):
        return "no run"
    if isinstance(state, SavedRun):
        return f"run {state.created[:10]}"
    if isinstance(state, Waiting):
        return "waiting"
    if isinstance(state, Loading):
        return f"loading {duration(time.monotonic() - state.since)}"
    if isinstance(state, EmbeddingWindows):
        left = "" if state.eta_seconds is None else f", {duration(state.eta_seconds)} left"
        return f"embedding {state.done} of {state.total} windows, {_rate(state)} windows/s{left}"
    if isinstance(state, Searching):
        return f"searching {state.done}/{state.total}"
    if isinstance(state, Done):
        return f"done in {duration(state.seconds)}"
    if isinstance(state, CancelledPass):
        return "cancelled"
    return f"failed: {state.reason}"


def _embedding(state: EmbeddingWindows, width: int) -> str:
    """Percent, windows a second and what is left; the rate gives way first."""
    share = f"{state.done * 100 // max(1, state.total)}%"
    left = "" if state.eta_seconds is None else f" {duration(state.eta_seconds)}"
    whole = f"{share} {_rate(state)}/s{left}"
    return whole if len(whole) <= width else f"{share}{left}"


def _rate(state: EmbeddingWindows) -> str:
    rate = state.windows_per_second
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"
