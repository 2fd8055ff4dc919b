"""Divides footage into segments that can be decoded side by side with the result of one sequential pass.

A segment starts at a picture after which nothing refers to anything before it. Containers mark key frames
more generously than that (recovery points, open GOPs), so for H.264 and HEVC the packet itself is read.
Where the container cannot seek exactly, or the codec is not known here, there is one segment: the file.
"""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import av.error

from sentrysearch.clock import Fault
from sentrysearch.decoder import Video

# A sample shows the last picture that began at or before it; times of containers that count milliseconds
# are off by up to half of one.
TOLERANCE = 0.0006
# Footage between two samples further apart than this may be jumped over.
_JUMP_SECONDS = 2.0
# Seeking goes by decoding times, which lie before the times shown: how far to step back and look again.
_STEPS_BACK = (0.0, 1.0, 5.0)
_SEEKABLE = ("mov,mp4", "matroska")
# Every key frame of these is a clean start: later pictures refer to nothing before it.
_CLEAN_KEY_FRAMES = frozenset({"vp8", "vp9", "av1", "mpeg4", "mpeg2video", "mjpeg", "prores", "dnxhd"})
_H264_SLICES, _H264_IDR = (1, 5), 5
_HEVC_SLICES, _HEVC_ENTRIES = (0, 31), range(16, 22)  # BLA, IDR and CRA


@dataclass(frozen=True, slots=True)
class Entry:
    """A picture at which decoding can start: where to seek for it, its timestamp, and its time in seconds."""

    target: int
    pts: int
    time: float


@dataclass(frozen=True, slots=True)
class Segment:
    """Samples to be taken in one go."""

    entry: Entry | None
    """None: from the beginning of the file."""
    until: Entry | None
    """The next segment's entry where that one goes on right after this one: decoded up to and with it."""
    follows: bool
    """It goes on where the segment before it ends, whose last picture must equal its first."""
    times: tuple[float, ...]


def one_pass(times: Sequence[float]) -> list[Segment]:
    """The whole file as one segment."""
    return [Segment(None, None, False, tuple(times))]


def plan(video: Video, times: Sequence[float], length: float) -> list[Segment]:
    """Segments of about ``length`` seconds that hold every sample time once, in order.

    Stretches without samples are jumped over. The video is left at some other position.

    Args:
        times: ascending, not empty.
        length: seconds; infinite to divide at jumps only.
    """
    if not video.format.startswith(_SEEKABLE) or not video.timed:
        return one_pass(times)
    start = _entry(video, times[0])
    segments: list[Segment] = []
    first, follows = 0, False
    for index in range(1, len(times)):
        apart = times[index] - times[index - 1] > _JUMP_SECONDS
        if not apart and times[index] - times[first] < length:
            continue
        entry = _entry(video, times[index])
        if entry is None:
            continue
        split = bisect.bisect_left(times, entry.time - TOLERANCE)
        if split <= first:  # no key frame since this segment's own
            continue
        jump = entry.time - times[split - 1] > _JUMP_SECONDS
        segments.append(Segment(start, None if jump else entry, follows, tuple(times[first:split])))
        start, first, follows = entry, split, not jump
    segments.append(Segment(start, None, follows, tuple(times[first:])))
    return segments


def _entry(video: Video, time: float) -> Entry | None:
    """The last clean start at or before a time, where seeking finds one."""
    for back in _STEPS_BACK:
        target = int((max(0.0, time - back) + float(video.start)) / video.time_base)
        with contextlib.suppress(av.error.FFmpegError):
            video.seek(target)
            packet = next(video.packets(), None)
            if packet is None or isinstance(packet, Fault) or packet.pts is None:
                return None
            shown = video.seconds(packet.pts)
            if shown <= time + TOLERANCE:
                clean = packet.is_keyframe and _is_clean(video, bytes(packet))
                return Entry(target, packet.pts, shown) if clean else None
    return None


def _is_clean(video: Video, data: bytes) -> bool:
    extradata = video.stream.codec_context.extradata or b""
    if video.codec == "h264":
        length_bytes = (extradata[4] & 3) + 1 if len(extradata) > 4 and extradata[0] == 1 else None
        kinds = [unit & 31 for unit in _unit_headers(data, length_bytes)]
        slices = [kind for kind in kinds if _H264_SLICES[0] <= kind <= _H264_SLICES[1]]
        return bool(slices) and set(slices) == {_H264_IDR}
    if video.codec == "hevc":
        length_bytes = (extradata[21] & 3) + 1 if len(extradata) > 21 and extradata[0] == 1 else None
        kinds = [unit >> 1 & 63 for unit in _unit_headers(data, length_bytes)]
        slices = [kind for kind in kinds if _HEVC_SLICES[0] <= kind <= _HEVC_SLICES[1]]
        return bool(slices) and all(kind in _HEVC_ENTRIES for kind in slices)
    return video.codec in _CLEAN_KEY_FRAMES


def _unit_headers(data: bytes, length_bytes: int | None) -> list[int]:
    """First byte of every NAL unit of a packet, with length prefixes or (None) with start codes."""
    headers = []
    position = 0
    if length_bytes is None:
        while (position := data.find(b"\0\0\1", position)) >= 0 and position + 3 < len(data):
            position += 3
            headers.append(data[position])
        return headers
    while position + length_bytes < len(data):
        size = int.from_bytes(data[position : position + length_bytes], "big")
        headers.append(data[position + length_bytes])
        position += length_bytes + size
    return headers
