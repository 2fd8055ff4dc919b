"""Samples windows' pictures: each that is needed is decoded and prepared once, segments side by side.

Worker threads take segments in order and put prepared frames into a bounded queue a segment; the caller's
thread reads the queues in order and hands out windows as they fill. A segment's frames are used only if the
last picture decoded on the way into it equals its own first one; where they differ, the rest of that footage
is decoded again in one pass, as a player would.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sentrysearch.crew import Crew, Job, Pending
from sentrysearch.errors import BadInput
from sentrysearch.machine import cores
from sentrysearch.sampler import Damage, DecodeStatistics
from sentrysearch.types import Footage, Picture, Sampling, Window, WindowFrames

__all__ = ["Damage", "DecodeStatistics", "sample", "sample_times"]

_TENTHS = 10
_MOST_SEGMENTS = 8


def sample_times(window: Window, sampling: Sampling) -> list[float]:
    """When the window is sampled: seconds of the footage, ascending, inside [start, end).

    Samples lie at (i + ½)·step from the footage's start. The step is 1/fps; a window that would get fewer
    than ``min_frames`` has it divided, one that would get more than ``max_frames`` multiplied, by the
    smallest whole number that is enough, so windows that overlap share samples.

    Raises:
        BadInput: a rate or count that is not positive, or ``min_frames`` above ``max_frames``.
    """
    if not (
        math.isfinite(sampling.fps) and sampling.fps > 0 and 1 <= sampling.min_frames <= sampling.max_frames
    ):
        raise BadInput(f"sampling {sampling} is impossible")
    rate = Fraction(sampling.fps).limit_denominator(1_000_000)
    start = Fraction(round(window.start * _TENTHS), _TENTHS)
    end = Fraction(round(window.end * _TENTHS), _TENTHS)
    indices = _indices(start, end, rate)
    if len(indices) < sampling.min_frames:
        scale = next(
            n for n in itertools.count(2) if len(_indices(start, end, rate * n)) >= sampling.min_frames
        )
        rate *= scale
    elif len(indices) > sampling.max_frames:
        scale = next(
            n for n in itertools.count(2) if len(_indices(start, end, rate / n)) <= sampling.max_frames
        )
        rate /= scale
    return [float(Fraction(2 * index + 1, 2) / rate) for index in _indices(start, end, rate)]


def _indices(start: Fraction, end: Fraction, rate: Fraction) -> range:
    """Every i with start ≤ (i + ½)/rate < end."""
    half = Fraction(1, 2)
    return range(math.ceil(start * rate - half), math.ceil(end * rate - half))


def sample(
    footages: Sequence[Footage],
    windows: Sequence[Window],
    sampling: Sampling,
    prepare: Callable[[Picture], NDArray[np.uint8]],
    *,
    cancel: threading.Event,
    segments: int | None = None,
    ahead: int = 32,
    statistics: DecodeStatistics | None = None,
) -> Iterator[WindowFrames | Damage]:
    """Yields every window with its frames once they are there, and what could not be decoded.

    Overlapping windows hold the same ``Frame`` objects; frames that show one picture share its data. A window
    of which some samples are damaged has fewer frames; one without any is not yielded, a ``Damage`` covers
    it. Footage by footage in the order given; within one, windows come as they are complete.

    Args:
        footages: where the windows lie; others are not opened.
        prepare: called on a decoder's thread, once a picture, several at once when ``segments`` is above 1.
        cancel: set it to end the generator with ``Cancelled``.
        segments: how many are decoded side by side, each on one thread; by default one a core, at most 8.
        ahead: prepared frames that may wait for the caller, about.
        statistics: is added to, if given.

    Raises:
        Cancelled: ``cancel`` was set.
        BadInput: a window whose footage isn't given, or an impossible sampling.

    Whatever ``prepare`` raises passes through. Closing the generator stops and joins its threads.
    """
    jobs = _jobs(footages, windows, sampling)
    workers = max(1, min(cores(), _MOST_SEGMENTS) if segments is None else segments)
    crew = Crew(jobs, prepare, cancel, workers, max(1, ahead // workers), statistics or DecodeStatistics())
    try:
        yield from crew.run()
    finally:
        crew.stop()


def _jobs(footages: Sequence[Footage], windows: Sequence[Window], sampling: Sampling) -> list[Job]:
    jobs = {footage.name: Job(footage) for footage in footages}
    for window in windows:
        if window.footage not in jobs:
            raise BadInput(f"a window lies in footage {window.footage!r}, which isn't there")
        times = sample_times(window, sampling)
        pending = Pending(window, len(times))
        for time in times:
            jobs[window.footage].waiting.setdefault(time, []).append(pending)
    return [job for job in jobs.values() if job.waiting]
