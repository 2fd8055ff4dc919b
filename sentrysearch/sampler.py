"""Decodes one segment and hands on its samples: the only place where pictures become prepared arrays."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import av.error
import numpy as np
from numpy.typing import NDArray

from sentrysearch.clock import Decoded, Fault
from sentrysearch.decoder import HOLD_SECONDS, Video
from sentrysearch.pass_events import Damage as Damage
from sentrysearch.picture import DecodedPicture, Scalers
from sentrysearch.segments import TOLERANCE, Entry, Segment
from sentrysearch.types import Frame, Picture

Prepare = Callable[[Picture], NDArray[np.uint8]]

# Pictures a decoder holds back, at most, to put them into the order they are shown in.
_DECODER_DELAY = 16
# Damage that begins so soon after other damage is told together with it.
_MERGE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Sampled:
    """A sample time with its frame, or None where nothing could be decoded."""

    time: float
    frame: Frame | None


@dataclass(frozen=True, slots=True)
class Began:
    """The first picture of a segment with an entry, as a digest; None when it isn't the entry's picture."""

    digest: bytes | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The picture at the segment's end, as a digest; None when there was none to compare."""

    digest: bytes | None


Message = Sampled | Damage | Began | Ended


@dataclass(slots=True)
class DecodeStatistics:
    """What decoding cost, summed over its threads; read it when the pass is over."""

    decode_seconds: float = 0.0
    """CPU seconds of reading and decoding."""
    prepare_seconds: float = 0.0
    """CPU seconds of ``prepare`` on the decoder's threads."""
    pictures: int = 0
    """Pictures decoded."""
    prepared: int = 0
    """Pictures handed to ``prepare``."""
    segments: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, decode: float, prepare: float, pictures: int, prepared: int) -> None:
        with self._lock:
            self.decode_seconds += decode
            self.prepare_seconds += prepare
            self.pictures += pictures
            self.prepared += prepared
            self.segments += 1


class SegmentSampler:
    """Takes the samples of one segment of one footage, on one thread."""

    def __init__(
        self,
        name: str,
        duration: float,
        prepare: Prepare,
        statistics: DecodeStatistics,
        stopped: Callable[[], bool],
    ) -> None:
        self._name = name
        self._duration = duration
        self._prepare = prepare
        self._statistics = statistics
        self._stopped = stopped
        self._scalers = Scalers()

    def run(self, video: Video, segment: Segment) -> Iterator[Message]:
        """Samples in time order, then the gaps; first and last the digests for comparing borders.

        Ends early, without ``Ended``, once ``stopped()``. Errors of ``prepare`` pass through.
        """
        began = time.thread_time()
        self._prepared: tuple[Decoded, NDArray[np.uint8]] | None = None
        self._prepare_seconds, self._pictures, self._count = 0.0, 0, 0
        self._damage: list[Damage] = []
        try:
            yield from self._run(video, segment)
        finally:
            spent = time.thread_time() - began - self._prepare_seconds
            self._statistics.add(spent, self._prepare_seconds, self._pictures, self._count)

    def _run(self, video: Video, segment: Segment) -> Iterator[Message]:
        if segment.entry is not None and not _seek(video, segment.entry):
            yield Began(None)
            return
        pending = deque(segment.times)
        shown: Decoded | None = None
        faults = _Faults()
        last: bytes | None = None
        for item in video.pictures():
            if self._stopped():
                return
            if isinstance(item, Fault):
                faults.add(item.reason)
                continue
            self._pictures += 1
            if segment.entry is not None and (item.pts is None or item.pts < segment.entry.pts):
                continue
            if shown is None:
                if segment.entry is not None:
                    yield Began(_digest(item) if item.pts == segment.entry.pts else None)
                else:
                    self._note_late_start(item, faults.reason)
            elif item.time < shown.time:  # a player could not show it in order either
                faults.add("timestamps go back")
                continue
            elif faults.reason and (
                faults.pictures_since == 0 or item.time - shown.time > video.hold_seconds(shown)
            ):
                self._note(shown.time + shown.duration, item.time, faults.reason)
            while pending and pending[0] + TOLERANCE < item.time:
                yield self._sample(video, pending.popleft(), shown, item, bool(faults.reason))
            shown = item
            faults.picture()
            if segment.until is not None:
                if item.pts is not None and item.pts >= segment.until.pts:
                    last = _digest(item)
                    break
            elif not pending:
                break
        else:
            self._note_early_end(video, shown, faults.reason)
            if shown is None and segment.entry is not None:
                yield Began(None)
        while pending:
            yield self._sample(video, pending.popleft(), shown, None, True)
        yield from self._damage
        yield Ended(last)

    def _sample(
        self, video: Video, moment: float, shown: Decoded | None, after: Decoded | None, damaged: bool
    ) -> Sampled:
        """The picture on show at a moment; across damage only what is near enough to stand for it."""
        hold = video.hold_seconds(shown)
        if shown is not None and (not damaged or moment <= shown.time + hold):
            return Sampled(moment, self._frame(video, moment, shown))
        if after is not None and shown is None and after.time - moment <= hold:
            return Sampled(moment, self._frame(video, moment, after))
        return Sampled(moment, None)

    def _frame(self, video: Video, moment: float, shown: Decoded) -> Frame:
        if self._prepared is None or self._prepared[0] is not shown:
            began = time.thread_time()
            picture = DecodedPicture(shown.frame, video.stream.sample_aspect_ratio, self._scalers)
            self._prepared = (shown, self._prepare(picture))
            self._prepare_seconds += time.thread_time() - began
            self._count += 1
        return Frame(self._name, moment, self._prepared[1])

    def _note_late_start(self, first: Decoded, fault: str) -> None:
        if fault or first.time > HOLD_SECONDS:
            self._note(0.0, first.time, fault or "no picture yet")

    def _note_early_end(self, video: Video, shown: Decoded | None, fault: str) -> None:
        """Notes what is missing after the last picture, where the file ended before the samples did."""
        end = 0.0 if shown is None else shown.time + video.hold_seconds(shown)
        if fault or end + TOLERANCE < self._duration:
            start = 0.0 if shown is None else min(shown.time + shown.duration, self._duration)
            self._note(start, self._duration, fault or "the file ends early")

    def _note(self, start: float, end: float, reason: str) -> None:
        if self._damage and start <= self._damage[-1].end + _MERGE_SECONDS:
            previous = self._damage.pop()
            start, end, reason = previous.start, max(end, previous.end), previous.reason
        self._damage.append(Damage(self._name, start, max(start, end), reason))


class _Faults:
    """The last fault, for as long as pictures that came before it may still leave the decoder."""

    def __init__(self) -> None:
        self.reason = ""
        self.pictures_since = 0

    def add(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.pictures_since = 0

    def picture(self) -> None:
        self.pictures_since += 1
        if self.pictures_since > _DECODER_DELAY:
            self.reason = ""


def _seek(video: Video, entry: Entry) -> bool:
    try:
        video.seek(entry.target)
    except av.error.FFmpegError:
        return False
    return True


def _digest(item: Decoded) -> bytes:
    """Equal for equal pictures at equal times."""
    frame = item.frame
    plain = frame.format.name == "yuv420p" and frame.width % 2 == frame.height % 2 == 0
    pixels = frame.to_ndarray() if plain else frame.reformat(format="rgb24", threads=1).to_ndarray()
    digest = hashlib.blake2b(f"{item.pts} {pixels.shape}".encode(), digest_size=16)
    digest.update(pixels.tobytes())
    return digest.digest()
