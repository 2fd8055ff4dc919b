"""Cuts footage into windows: arithmetic only, in whole tenths of a second."""

from __future__ import annotations

import math

from sentrysearch.errors import BadInput
from sentrysearch.types import Footage, Window, WindowGrid

_TENTHS = 10
# Room for the binary rounding of a decimal such as 2.3 when it is counted in tenths.
_ROUNDING = 1e-6
_MAX_SECONDS = 1e9


def check_grid(grid: WindowGrid) -> None:
    """Refuses a grid that cannot be cut.

    Raises:
        BadInput: length or overlap is not a number of tenths of a second, length is below 0.1 s, overlap is
            negative, or overlap is not below length.
    """
    _lengths(grid)


def cut(footage: Footage, grid: WindowGrid) -> list[Window]:
    """The footage's windows in time order: starts 0, step, 2·step, … with step = length − overlap.

    The last window ends at the footage's duration (rounded to 0.1 s) and may be shorter; no window starts
    once one has reached the end. Footage shorter than a window is one window, and none is ever empty.

    Raises:
        BadInput: as ``check_grid``.
    """
    length, step = _lengths(grid)
    end = max(1, round(footage.duration * _TENTHS))
    windows = []
    start = 0
    while True:
        stop = min(start + length, end)
        windows.append(Window(footage.name, start / _TENTHS, stop / _TENTHS))
        if stop == end:
            return windows
        start += step


def _lengths(grid: WindowGrid) -> tuple[int, int]:
    """Window length and step in tenths of a second."""
    length = _tenths("window length", grid.length)
    overlap = _tenths("window overlap", grid.overlap)
    if length < 1:
        raise BadInput(f"window length {grid.length:g} s is too short", hint="at least 0.1 s")
    if overlap < 0:
        raise BadInput(f"window overlap {grid.overlap:g} s is negative", hint="0 or more")
    if overlap >= length:
        raise BadInput(
            f"window overlap {grid.overlap:g} s is not below the window length {grid.length:g} s",
            hint="make it smaller, or windows longer",
        )
    return length, length - overlap


def _tenths(what: str, seconds: float) -> int:
    if not math.isfinite(seconds):
        raise BadInput(f"{what} is not a number of seconds")
    if abs(seconds) > _MAX_SECONDS:
        raise BadInput(f"{what} {seconds:g} s is longer than any footage")
    tenths = round(seconds * _TENTHS)
    if abs(seconds * _TENTHS - tenths) > _ROUNDING:
        raise BadInput(f"{what} {seconds:g} s is not a multiple of 0.1 s")
    return tenths
