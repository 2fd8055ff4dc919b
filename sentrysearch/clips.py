"""Cuts a window out of its footage as a small video of its own, for hosted models and for players."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from fractions import Fraction

import av
import av.error
import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from sentrysearch.clock import Decoded
from sentrysearch.decoder import Video
from sentrysearch.errors import FootageError
from sentrysearch.picture import DecodedPicture, Scalers
from sentrysearch.segments import TOLERANCE
from sentrysearch.types import Footage, Window

_TIME_BASE = Fraction(1, 90_000)
_QUALITY = {"preset": "veryfast", "crf": "23"}
# Share of the byte limit that the encoder aims at: its bit rate is only an average, and MP4 adds its index.
_AIM = 0.8
_ATTEMPTS = 5
_SMALLEST_SIDE = 64
# How far before the window to start decoding where seeking lands too late, in seconds.
_STEPS_BACK = (0.0, 1.0, 5.0, 15.0)
_SMPTE170M = 6


def encode_clip(
    footage: Footage,
    window: Window,
    *,
    max_seconds: float | None = None,
    max_side: int = 640,
    fps: float | None = None,
    max_bytes: int | None = None,
    key_seconds: float | None = None,
) -> bytes:
    """The window as an H.264 MP4 without audio: upright, square pixels, even sides, a key frame first.

    Args:
        max_seconds: a longer window loses its end.
        max_side: the longer side is scaled down to this many pixels, never up.
        fps: pictures a second at most; by default all that the footage has.
        max_bytes: quality, then size, are lowered until the clip fits.
        key_seconds: a key frame at least this often, so that a player seeks fast.

    Raises:
        FootageError: nothing of the window can be decoded, or no clip of it is small enough.
    """
    seconds = window.end - window.start
    if max_seconds is not None:
        seconds = min(seconds, max_seconds)
    options, bit_rate, side = _QUALITY, None, max_side
    for attempt in range(_ATTEMPTS):
        clip = _encode(footage, window.start, seconds, side, fps, options, bit_rate, key_seconds)
        if max_bytes is None or len(clip) <= max_bytes:
            return clip
        options = {"preset": "veryfast"}
        bit_rate = max(1_000, int(8 * max_bytes * _AIM / seconds / 2**attempt))
        if attempt > 0:
            side = max(_SMALLEST_SIDE, side // 2)
    raise FootageError(
        f"{window.start:.1f}-{window.end:.1f} s cannot be encoded in {max_bytes} bytes",
        where=footage.name,
        hint="shorter windows make smaller clips",
    )


def _encode(
    footage: Footage,
    start: float,
    seconds: float,
    side: int,
    fps: float | None,
    options: dict[str, str],
    bit_rate: int | None,
    key_seconds: float | None,
) -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        stream = None
        for time, image in _pictures(footage, start, seconds, side, fps):
            if stream is None:
                rate = Fraction(fps or footage.frame_rate or 25).limit_denominator(1001)
                stream = output.add_stream("libx264", rate=rate, options=options)
                stream.height, stream.width = image.shape[:2]
                stream.pix_fmt = "yuv420p"
                stream.codec_context.time_base = _TIME_BASE
                stream.codec_context.colorspace = _SMPTE170M
                stream.codec_context.thread_count = 1
                if key_seconds is not None:
                    stream.codec_context.gop_size = max(1, round(key_seconds * rate))
                if bit_rate is not None:
                    stream.codec_context.bit_rate = bit_rate
            frame = VideoFrame.from_ndarray(image, format="rgb24")
            frame = frame.reformat(format="yuv420p", dst_colorspace="itu601", threads=1)
            frame.time_base = _TIME_BASE
            frame.pts = round(time / _TIME_BASE)
            output.mux(stream.encode(frame))
        if stream is None:
            raise FootageError(
                f"nothing can be decoded of {start:.1f}-{start + seconds:.1f} s", where=footage.name
            )
        output.mux(stream.encode())
    return file.getvalue()


def _pictures(
    footage: Footage, start: float, seconds: float, side: int, fps: float | None
) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """(seconds into the clip, RGB picture), first the one on show at the start, last one near the end."""
    interval = 1 / (fps or footage.frame_rate or 25)
    scalers = Scalers()
    image = None
    slot, time = -1, 0.0
    with Video(footage.path) as video:
        for decoded in shown(video, start, start + seconds):
            time = max(0.0, decoded.time - start)
            if fps is not None and int((time + TOLERANCE) * fps) == slot:
                continue
            slot = int((time + TOLERANCE) * (fps or 0))
            picture = DecodedPicture(decoded.frame, video.stream.sample_aspect_ratio, scalers)
            image = picture.rgb(*even_size(picture.width, picture.height, side))
            yield time, image
            last = time
    if image is not None and last + 1.5 * interval < seconds:  # so that the clip is as long as the window
        yield seconds - interval, image


def shown(video: Video, start: float, end: float, *, seek: bool | None = None) -> Iterator[Decoded]:
    """The pictures on show from start to end, in seconds as a player shows them; ``seek`` as below."""
    before: Decoded | None = None
    ended = True
    for item in pictures_from(video, start, seek=seek):
        if item.time >= end - TOLERANCE:
            ended = False
            break
        if item.time > start + TOLERANCE:
            if before is not None:
                yield before
                before = None
            yield item
        else:
            before = item
    if before is not None and not (ended and before.time + video.hold_seconds(before) < start):
        yield before


def pictures_from(video: Video, time: float, *, seek: bool | None = None) -> Iterator[Decoded]:
    """Decodes from a picture at or before a time where seeking finds one, otherwise from the beginning.

    Args:
        time: in seconds, as a player shows it.
        seek: whether to seek at all; by default only where the file's timestamps can be trusted.
    """
    if video.timed if seek is None else seek:
        for back in _STEPS_BACK:
            try:
                video.seek(round((Fraction(max(0.0, time - back)) + video.start) / video.time_base))
            except av.error.FFmpegError:
                break
            pictures = (item for item in video.pictures() if isinstance(item, Decoded))
            first = next(pictures, None)
            if first is not None and (first.time <= time + TOLERANCE or back >= time):
                yield from itertools.chain([first], pictures)
                return
    with Video(video.path) as fresh:
        yield from (item for item in fresh.pictures() if isinstance(item, Decoded))


def even_size(width: int, height: int, side: int) -> tuple[int, int]:
    """Scaled down so that neither is more than ``side``, both even as video coding wants them."""
    scale = min(1.0, side / max(width, height))
    return max(2, round(width * scale / 2) * 2), max(2, round(height * scale / 2) * 2)
