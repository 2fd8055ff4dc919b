"""A window as a small video of its own, made fast: someone waits for it.

The clips that models are sent go through RGB, one exact picture after the other. Here pictures stay in the
decoder's own format from end to end, every core decodes, and the encoder takes the fast way.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sentrysearch.errors import Cancelled, FootageError
from sentrysearch.types import Footage, Window

_MOST_RATE = 30.0
_TIME_BASE = Fraction(1, 90_000)
_OPTIONS = {"preset": "ultrafast", "tune": "fastdecode", "crf": "23"}
_UNSPECIFIED, _BT709, _SMPTE170M = 2, 1, 6
_SD_HEIGHT = 576
_NICE = 10


def window_video(
    footage: Footage,
    window: Window,
    *,
    max_side: int,
    key_seconds: float = 1.0,
    wanted: Callable[[], bool] = lambda: True,
) -> bytes:
    """The window as an H.264 MP4 without audio, square pixels, a key frame first.

    Turned footage stays as it is stored and says in the file how to turn it.

    Args:
        max_side: the longer side is scaled down to this many pixels, never up.
        key_seconds: a key frame at least this often, so that a player seeks fast.
        wanted: asked with each picture whether to go on.

    Raises:
        FootageError: nothing of the window can be decoded or encoded.
        Cancelled: it isn't wanted any more.
    """
    import av
    import av.error

    file = io.BytesIO()
    try:
        with av.open(file, "w", format="mp4") as output:
            _encode(output, footage, window, max_side, key_seconds, wanted)
    except (av.error.FFmpegError, ValueError) as error:
        raise FootageError(f"cannot be made a clip: {error}", where=footage.name) from error
    return file.getvalue()


def _encode(
    output: Any,
    footage: Footage,
    window: Window,
    side: int,
    key_seconds: float,
    wanted: Callable[[], bool],
) -> None:
    from av.video.reformatter import VideoReformatter

    from sentrysearch.clips import even_size, shown
    from sentrysearch.decoder import Video
    from sentrysearch.picture import first_field, shown_size, turn

    rate = Fraction(min(_MOST_RATE, footage.frame_rate or 25.0)).limit_denominator(1001)
    interval = float(1 / rate)
    seconds = window.end - window.start
    scaler = VideoReformatter()
    stream = scaled = None
    last = -1.0
    with Video(footage.path) as video:
        video.stream.thread_type = "AUTO"
        video.stream.codec_context.thread_count = 0
        for picture in shown(video, window.start, window.end, seek=True):
            if not wanted():
                raise Cancelled
            time = max(0.0, picture.time - window.start)
            if time - last < 0.75 * interval and last >= 0:
                continue
            frame = picture.frame
            if stream is None:
                size = shown_size(frame.width, frame.height, video.stream.sample_aspect_ratio, 0)
                width, height = even_size(*size, side)
                stream = output.add_stream("libx264", rate=rate, options=_OPTIONS)
                stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                stream.set_display_rotation(-turn(frame))
                context = stream.codec_context
                context.time_base = _TIME_BASE
                context.thread_count = 0
                context.gop_size = max(1, round(key_seconds * rate))
                # What players take it for where it isn't said, by the size it has in the footage.
                unsaid = _BT709 if frame.height > _SD_HEIGHT else _SMPTE170M
                context.colorspace = unsaid if frame.colorspace == _UNSPECIFIED else frame.colorspace
            if frame.interlaced_frame:
                frame = first_field(frame)
            scaled = scaler.reformat(
                frame, stream.width, stream.height, "yuv420p", dst_color_range="MPEG", threads=1
            )
            _write(output, stream, scaled, time)
            last = time
    if stream is None or scaled is None:
        where = f"{window.start:.1f}-{window.end:.1f} s"
        raise FootageError(f"nothing can be decoded of {where}", where=footage.name)
    if last + 1.5 * interval < seconds:  # so that it is as long as the window
        _write(output, stream, scaled, seconds - interval)
    output.mux(stream.encode())


def _write(output: Any, stream: Any, frame: Any, time: float) -> None:
    frame.time_base = _TIME_BASE
    frame.pts = round(time / _TIME_BASE)
    frame.pict_type = 0  # what it was in the footage is nothing to the encoder
    output.mux(stream.encode(frame))


def yield_to_others() -> None:
    """Lets the other threads of the program go first, as well as those of the decoders started here."""
    if sys.platform == "linux":  # where a thread has a priority of its own
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
