"""The threads that sample footage, and the reader that puts their segments together into windows."""

from __future__ import annotations

import contextlib
import functools
import math
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sentrysearch.decoder import Video
from sentrysearch.errors import Cancelled, FootageError
from sentrysearch.sampler import (
    Began,
    Damage,
    DecodeStatistics,
    Ended,
    Message,
    Prepare,
    Sampled,
    SegmentSampler,
)
from sentrysearch.segments import Segment, one_pass, plan
from sentrysearch.types import Footage, Frame, Window, WindowFrames

# Longest and shortest a segment is made; key frames are 1 to 10 s apart in most files.
_LONGEST_SECONDS, _SHORTEST_SECONDS = 30.0, 4.0
# How often blocked threads look whether they are to stop.
_POLL_SECONDS = 0.05


@dataclass(slots=True, eq=False)
class Pending:
    """A window that still waits for samples."""

    window: Window
    missing: int
    frames: list[Frame] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Flight:
    """A segment on its way from the worker that decodes it to the caller."""

    job: Job
    segment: Segment
    messages: queue.Queue[Message | BaseException]
    claimed: bool = False
    dropped: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True, eq=False)
class Job:
    """One footage with the windows that are wanted of it."""

    footage: Footage
    waiting: dict[float, list[Pending]] = field(default_factory=dict)
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


class Crew:
    """The worker threads of one ``sample`` and what they share."""

    def __init__(
        self,
        jobs: Sequence[Job],
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

    def _footage(self, job: Job) -> Iterator[WindowFrames | Damage]:
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

    def _flights(self, job: Job) -> list[_Flight]:
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

    def _one_pass(self, job: Job, before: Segment | None) -> Iterator[WindowFrames | Damage]:
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

    def _drop(self, job: Job) -> None:
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

    def _flight(self, job: Job, segment: Segment) -> _Flight:
        return _Flight(job, segment, queue.Queue(self._ahead))

    def _plan(self, job: Job) -> list[Segment]:
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
            _put(flight, Damage(footage.name, 0.0, footage.duration, error.what), stopped)
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


def _results(job: Job, message: Message) -> Iterator[WindowFrames | Damage]:
    if isinstance(message, Sampled):
        yield from job.take(message)
    elif isinstance(message, Damage):
        yield message
