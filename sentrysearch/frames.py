"""Samples windows' pictures: each that is needed is decoded and prepared once, segments side by side.

Worker threads take segments in order and put prepared frames into a bounded queue a segment; the caller's
thread reads the queues in order and hands out windows as they fill. A segment's frames are used only if the
last picture decoded on the way into it equals its own first one; where they differ, the rest of that footage
is decoded again in one pass, as a player would.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sentrysearch.decoder import Video
from sentrysearch.errors import BadInput, Cancelled, FootageError
from sentrysearch.sampler import (
    Began,
    DecodeStatistics,
    Ended,
    Gap,
    Message,
    Prepare,
    Sampled,
    SegmentSampler,
)
from sentrysearch.segments import Segment, one_pass, plan
from sentrysearch.types import Footage, Frame, Picture, Sampling, Window, WindowFrames

__all__ = ["Damage", "DecodeStatistics", "sample", "sample_times"]

_TENTHS = 10
# Longest and shortest a segment is made; key frames are 1 to 10 s apart in most files.
_LONGEST_SECONDS, _SHORTEST_SECONDS = 30.0, 4.0
_MOST_SEGMENTS = 8
# How often blocked threads look whether they are to stop.
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Damage:
    """A stretch of a footage, in seconds, that could not be decoded, and why."""

    footage: str
    start: float
    end: float
    reason: str


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
    workers = max(1, _cores() if segments is None else segments)
    crew = _Crew(jobs, prepare, cancel, workers, max(1, ahead // workers), statistics or DecodeStatistics())
    try:
        yield from crew.run()
    finally:
        crew.stop()


def _cores() -> int:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _MOST_SEGMENTS)


@dataclass(slots=True, eq=False)
class _Pending:
    """A window that still waits for samples."""

    window: Window
    missing: int
    frames: list[Frame] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Flight:
    """A segment on its way from the worker that decodes it to the caller."""

    job: _Job
    segment: Segment
    messages: queue.Queue[Message | BaseException]
    claimed: bool = False
    dropped: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True, eq=False)
class _Job:
    """One footage with the windows that are wanted of it."""

    footage: Footage
    waiting: dict[float, list[_Pending]] = field(default_factory=dict)
    flights: list[_Flight] | None = None
    """None until planned."""

    def take(self, sampled: Sampled) -> Iterator[WindowFrames]:
        """The windows that this sample completes."""
        for pending in self.waiting.pop(sampled.time, ()):
            if sampled.frame is not None:
                pending.frames.append(sampled.frame)
            pending.missing -= 1
            if pending.missing == 0 and pending.frames:
                yield WindowFrames(pending.window, self.footage, tuple(pending.frames))


def _jobs(footages: Sequence[Footage], windows: Sequence[Window], sampling: Sampling) -> list[_Job]:
    jobs = {footage.name: _Job(footage) for footage in footages}
    for window in windows:
        if window.footage not in jobs:
            raise BadInput(f"a window lies in footage {window.footage!r}, which isn't there")
        times = sample_times(window, sampling)
        pending = _Pending(window, len(times))
        for time in times:
            jobs[window.footage].waiting.setdefault(time, []).append(pending)
    return [job for job in jobs.values() if job.waiting]


class _Crew:
    """The worker threads of one ``sample`` and what they share."""

    def __init__(
        self,
        jobs: Sequence[_Job],
        prepare: Prepare,
        cancel: threading.Event,
        workers: int,
        ahead: int,
        statistics: DecodeStatistics,
    ) -> None:
        self._jobs = jobs
        self._cancel = cancel
        self._workers = workers
        self._ahead = ahead
        self._sampler = functools.partial(SegmentSampler, prepare=prepare, statistics=statistics)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._error: BaseException | None = None
        # The condition guards what follows, and every job's and flight's plain fields.
        self._changed = threading.Condition()
        self._unplanned = deque(jobs)
        self._unclaimed: deque[_Flight] = deque()
        self._claims = 0

    # The caller's thread.

    def run(self) -> Iterator[WindowFrames | Damage]:
        for _ in range(self._workers):
            self._start(self._work)
        for job in self._jobs:
            yield from self._footage(job)

    def stop(self) -> None:
        """Stops and joins the threads."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _footage(self, job: _Job) -> Iterator[WindowFrames | Damage]:
        before: Segment | None = None
        border: bytes | None = None
        for flight in self._flights(job):
            for message in self._messages(flight):
                if isinstance(message, Ended):
                    border = message.digest
                elif not isinstance(message, Began):
                    yield from _results(job, message)
                elif message.digest is None or (flight.segment.follows and message.digest != border):
                    self._drop(job)
                    yield from self._one_pass(job, before)
                    return
            before = flight.segment
            self._release(flight)

    def _flights(self, job: _Job) -> list[_Flight]:
        with self._changed:
            while job.flights is None:
                self._check()
                self._changed.wait(_POLL_SECONDS)
            return job.flights

    def _messages(self, flight: _Flight) -> Iterator[Message]:
        """What the flight's worker sends, to its end."""
        while True:
            self._check()
            try:
                message = flight.messages.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if isinstance(message, BaseException):
                raise message
            yield message
            if isinstance(message, Ended):
                return

    def _one_pass(self, job: _Job, before: Segment | None) -> Iterator[WindowFrames | Damage]:
        """Decodes what is left of a footage in one pass, from the last segment that was right."""
        rest = Segment(None if before is None else before.entry, None, False, tuple(sorted(job.waiting)))
        flight = self._flight(job, rest)
        self._start(self._work_alone, flight)
        for message in self._messages(flight):
            yield from _results(job, message)

    def _check(self) -> None:
        """Raises what ends the sampling from outside."""
        if self._cancel.is_set():
            raise Cancelled
        if self._error is not None:
            raise self._error

    def _release(self, *flights: _Flight) -> None:
        """Lets workers claim as many more."""
        with self._changed:
            self._claims -= sum(flight.claimed for flight in flights)
            for flight in flights:
                flight.claimed = False
            self._changed.notify_all()

    def _drop(self, job: _Job) -> None:
        """Gives up what is decoded, or yet to be decoded, of a footage."""
        flights = job.flights or []
        with self._changed:
            for flight in flights:
                flight.dropped.set()
            self._unclaimed = deque(flight for flight in self._unclaimed if flight.job is not job)
        self._release(*flights)

    # The workers' threads.

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, name="decoder", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        try:
            with contextlib.closing(_Opened()) as opened:
                while (flight := self._claim()) is not None:
                    self._fly(flight, opened)
        except BaseException as error:  # to be raised where the caller waits
            self._error = error

    def _work_alone(self, flight: _Flight) -> None:
        with contextlib.closing(_Opened()) as opened:
            self._fly(flight, opened)

    def _claim(self) -> _Flight | None:
        """The next segment in order, once few enough are decoded but unread; None at the end."""
        with self._changed:
            while not self._stop.is_set():
                if self._claims > self._workers:
                    self._changed.wait()
                elif self._unclaimed:
                    flight = self._unclaimed.popleft()
                    flight.claimed = True
                    self._claims += 1
                    return flight
                elif self._unplanned:
                    job = self._unplanned.popleft()
                    job.flights = [self._flight(job, segment) for segment in self._plan(job)]
                    self._unclaimed.extend(job.flights)
                    self._changed.notify_all()
                else:
                    return None
        return None

    def _flight(self, job: _Job, segment: Segment) -> _Flight:
        return _Flight(job, segment, queue.Queue(self._ahead))

    def _plan(self, job: _Job) -> list[Segment]:
        times = sorted(job.waiting)
        span = times[-1] - times[0]
        if job.footage.duration <= 2 * _SHORTEST_SECONDS:
            return one_pass(times)
        length = math.inf
        if self._workers > 1:
            longest = min(_LONGEST_SECONDS, self._ahead * span / len(times), span / (2 * self._workers))
            length = max(_SHORTEST_SECONDS, longest)
        try:
            with Video(job.footage.path) as video:
                return plan(video, times, length)
        except FootageError:  # the worker meets it again, and tells
            return one_pass(times)

    def _fly(self, flight: _Flight, opened: _Opened) -> None:
        """Decodes a segment into its queue."""
        footage, segment = flight.job.footage, flight.segment

        def stopped() -> bool:
            return self._stop.is_set() or self._cancel.is_set() or flight.dropped.is_set()

        sampler = self._sampler(footage.name, footage.duration, stopped=stopped)
        try:
            video = opened.at(footage.path, fresh=segment.entry is None)
            for message in sampler.run(video, segment):
                _put(flight, message, stopped)
        except FootageError as error:
            for time in segment.times:
                _put(flight, Sampled(time, None), stopped)
            _put(flight, Gap(0.0, footage.duration, error.what), stopped)
            _put(flight, Ended(None), stopped)
        except BaseException as error:  # to be raised where the caller waits
            _put(flight, error, stopped)


class _Opened:
    """The file a worker has open, kept from one segment to the next."""

    def __init__(self) -> None:
        self._video: Video | None = None

    def at(self, path: Path, *, fresh: bool) -> Video:
        if fresh or self._video is None or self._video.path != path:
            self.close()
            self._video = Video(path)
        return self._video

    def close(self) -> None:
        if self._video is not None:
            self._video.close()
            self._video = None


def _put(flight: _Flight, message: Message | BaseException, stopped: Callable[[], bool]) -> None:
    while not stopped():
        try:
            flight.messages.put(message, timeout=_POLL_SECONDS)
        except queue.Full:
            continue
        return


def _results(job: _Job, message: Message) -> Iterator[WindowFrames | Damage]:
    if isinstance(message, Sampled):
        yield from job.take(message)
    elif isinstance(message, Gap):
        yield Damage(job.footage.name, message.start, message.end, message.reason)
