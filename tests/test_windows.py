"""Cutting footage into windows, checked against hand-worked lists and the properties DESIGN.md states."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentrysearch.errors import BadInput
from sentrysearch.types import Footage, Window, WindowGrid
from sentrysearch.windows import check_grid, cut


def footage(duration: float) -> Footage:
    return Footage("a.mp4", Path("a.mp4"), "sha256:0", duration, 0.0, 16, 16, 0, "h264", 25.0)


def spans(duration: float, length: float, overlap: float) -> list[tuple[float, float]]:
    return [(window.start, window.end) for window in cut(footage(duration), WindowGrid(length, overlap))]


def test_windows_worked_by_hand() -> None:
    assert spans(90, 30, 5) == [(0, 30), (25, 55), (50, 80), (75, 90)]
    assert spans(80, 30, 5) == [(0, 30), (25, 55), (50, 80)], "the third reaches the end"
    assert spans(80.1, 30, 5) == [(0, 30), (25, 55), (50, 80), (75, 80.1)]
    assert spans(7.3, 30, 5) == [(0, 7.3)], "shorter than one window"
    assert spans(1.0, 0.3, 0.1) == [(0, 0.3), (0.2, 0.5), (0.4, 0.7), (0.6, 0.9), (0.8, 1.0)]
    assert cut(footage(1), WindowGrid(1, 0)) == [Window("a.mp4", 0.0, 1.0)]


def test_durations_are_rounded_to_tenths_and_never_empty() -> None:
    assert spans(8.84, 30, 5) == [(0, 8.8)]
    assert spans(30.04, 30, 5) == [(0, 30)]
    assert spans(0.02, 30, 5) == [(0, 0.1)]


@given(
    duration=st.floats(0.01, 2000),
    length=st.integers(1, 600),
    overlap=st.integers(0, 599),
)
def test_windows_cover_the_footage_in_steps(duration: float, length: int, overlap: int) -> None:
    grid = WindowGrid(length / 10, overlap / 10)
    if overlap >= length:
        with pytest.raises(BadInput):
            cut(footage(duration), grid)
        return
    windows = cut(footage(duration), grid)
    assert windows[0].start == 0
    assert windows[-1].end == max(0.1, round(duration * 10) / 10)
    for window in windows:
        assert round(window.start * 10) / 10 == window.start
        assert window.start < window.end <= window.start + length / 10 + 1e-9
    for before, after in itertools.pairwise(windows):
        assert before.end < windows[-1].end, "a window after one that reached the end"
        assert after.start - before.start == pytest.approx((length - overlap) / 10)
        assert after.start <= before.end


@pytest.mark.parametrize(
    ("length", "overlap"),
    [
        (30, 30),
        (30, 31),
        (0, 0),
        (-1, -2),
        (30, -1),
        (0.05, 0),
        (math.nan, 0),
        (30, math.nan),
        (math.inf, 5),
        (1e308, 5),
        (30, -1e308),
        (2, 0.55),
    ],
)
def test_impossible_grids_are_refused(length: float, overlap: float) -> None:
    with pytest.raises(BadInput):
        check_grid(WindowGrid(length, overlap))
    with pytest.raises(BadInput):
        cut(footage(100), WindowGrid(length, overlap))


def test_a_grid_of_tenths_passes() -> None:
    check_grid(WindowGrid(0.3, 0.2))
    check_grid(WindowGrid(2.3, 1.1))
