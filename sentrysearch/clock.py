"""When each decoded picture is shown, also where timestamps are missing or those of decoding order."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

# Pictures held back until one of them has a timestamp.
_MOST_EARLY = 16


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """A picture and when it is shown."""

    time: float
    """Seconds from the container's start."""
    pts: int | None
    """The file's own timestamp, in the stream's time base; None where the file has none to trust."""
    duration: float
    """Seconds on show by the file's word; 0 where it doesn't say."""
    frame: VideoFrame


@dataclass(frozen=True, slots=True)
class Fault:
    """Something between two pictures that could not be read or decoded."""

    reason: str


class Clock:
    """Says when each decoded picture is shown."""

    def __init__(self, time_base: Fraction, start: Fraction, rate: Fraction, *, timed: bool) -> None:
        self._time_base = time_base
        self._start = start
        self._step = 1 / rate
        self._timed = timed
        self._waiting: list[Fraction] = []
        self._early: list[VideoFrame] = []
        self._next = Fraction(0)
        self._last: Fraction | None = None

    def sent(self, packet: Packet[VideoStream]) -> None:
        """Notes a packet on its way into the decoder."""
        if self._timed:
            return
        time = self._next if packet.dts is None else packet.dts * self._time_base - self._start
        heapq.heappush(self._waiting, time)
        self._next = time + self._step

    def lost(self) -> None:
        """Notes that a packet gave no picture."""
        if self._waiting:
            heapq.heappop(self._waiting)

    def stamp(self, frame: VideoFrame) -> Iterator[Decoded | Fault]:
        """The pictures whose times are known now that this one is decoded, with their times.

        Where timestamps are those of decoding order, every packet holds one picture, so the n-th picture
        shown takes the n-th time: the smallest that waits. The first pictures of a file may lack a timestamp
        that the ones after them have: they are timed backwards from there.
        """
        if self._timed and frame.pts is not None:
            time = frame.pts * self._time_base - self._start
            yield from self._early_ones(time - len(self._early) * self._step)
        elif self._waiting:
            time = heapq.heappop(self._waiting)
        elif self._last is not None:
            time = self._last + self._step
        elif len(self._early) < _MOST_EARLY:
            self._early.append(frame)
            return
        else:
            yield from self._early_ones(Fraction(0))
            time = (self._last or Fraction(0)) + self._step
        yield self._with_time(frame, time)

    def rest(self) -> Iterator[Decoded | Fault]:
        """Pictures of a file without any timestamps."""
        yield from self._early_ones(Fraction(0))

    def _early_ones(self, first: Fraction) -> Iterator[Decoded | Fault]:
        early, self._early = self._early, []
        for number, frame in enumerate(early):
            yield self._with_time(frame, first + number * self._step)

    def _with_time(self, frame: VideoFrame, time: Fraction) -> Decoded | Fault:
        self._last = time
        if frame.is_corrupt:
            return Fault("a picture is incomplete")
        pts = frame.pts if self._timed else None
        return Decoded(float(time), pts, float((frame.duration or 0) * self._time_base), frame)
