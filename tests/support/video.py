"""Makes small video files whose pictures say which one they are and which way is up.

A picture is a grid of 4 × 4 cells. The corner cells are red (top left), green (top right) and blue (bottom
left); the other thirteen are black or white and spell the picture's number in binary, so that it can be read
back after any coding, scaling or turning.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

CELLS = 4
_RED, _GREEN, _BLUE = 0, 3, 12
_COLOURS = {_RED: (220, 30, 30), _GREEN: (30, 200, 30), _BLUE: (30, 30, 220)}
_BITS = [cell for cell in range(CELLS * CELLS) if cell not in _COLOURS]
_DARK, _LIGHT = 24, 230


def picture(number: int, size: tuple[int, int] = (160, 96), *, noise: int = 0) -> NDArray[np.uint8]:
    """The picture of a number below 8192 as (height, width, 3); ``noise`` is the amplitude of added grain."""
    width, height = size
    cells = np.zeros((CELLS * CELLS, 3), np.int16)
    for cell, colour in _COLOURS.items():
        cells[cell] = colour
    for bit, cell in enumerate(_BITS):
        cells[cell] = _LIGHT if number >> bit & 1 else _DARK
    rows = np.arange(height) * CELLS // height
    columns = np.arange(width) * CELLS // width
    image = cells.reshape(CELLS, CELLS, 3)[rows][:, columns]
    if noise:
        random = np.random.default_rng(number)
        image = image + random.integers(-noise, noise + 1, image.shape[:2])[..., None]
    return np.clip(image, 0, 255).astype(np.uint8)


def _cell_colours(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Mean colour of the middle of each cell, shape (16, 3)."""
    height, width = image.shape[:2]
    means = []
    for row in range(CELLS):
        for column in range(CELLS):
            top, bottom = (4 * row + 1) * height // 16, max((4 * row + 3) * height // 16, 1)
            left, right = (4 * column + 1) * width // 16, max((4 * column + 3) * width // 16, 1)
            means.append(image[top:bottom, left:right].reshape(-1, 3).mean(axis=0))
    return np.array(means)


def read_number(image: NDArray[np.uint8]) -> int:
    """The number that an upright picture shows."""
    colours = _cell_colours(image)
    assert is_upright(image), "the picture is not upright, or its colours are wrong"
    return sum(1 << bit for bit, cell in enumerate(_BITS) if colours[cell].mean() > (_DARK + _LIGHT) / 2)


def is_upright(image: NDArray[np.uint8]) -> bool:
    """Whether the coloured corners are where they belong."""
    colours = _cell_colours(image)
    return all(colours[cell].argmax() == channel for channel, cell in enumerate((_RED, _GREEN, _BLUE)))


def write_clip(
    path: Path,
    *,
    seconds: float = 2.0,
    fps: float = 25.0,
    size: tuple[int, int] = (160, 96),
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    container: str | None = None,
    container_options: Mapping[str, str] | None = None,
    codec_options: Mapping[str, str] | None = None,
    gop: int = 25,
    b_frames: int = 2,
    start_time: float = 0.0,
    times: Sequence[float] | None = None,
    rotation: int = 0,
    aspect: Fraction | None = None,
    interlaced: bool = False,
    noise: int = 0,
    first_number: int = 0,
) -> list[float]:
    """Writes a video whose n-th picture shows ``first_number`` + n; returns when each is shown.

    Args:
        seconds: length at a constant rate; unused when ``times`` is given.
        container: name of FFmpeg's muxer; by default from the suffix.
        start_time: added to every timestamp.
        times: when each picture is shown, ascending seconds, for a variable rate.
        rotation: degrees clockwise that a player must turn the stored pictures; they are stored turned the
            other way, so that they come out upright.
        aspect: shape of a pixel.
        interlaced: coded as fields, top first, both of the picture's own number.
        noise: amplitude of grain, for files of a realistic size.

    Returns:
        The pictures' times in seconds without ``start_time``.
    """
    rate = Fraction(fps).limit_denominator(1001)
    # These count pictures; the others may have any timestamp.
    counted = codec in ("mpeg4", "mpeg2video") or path.suffix in (".avi", ".h264")
    base = 1 / rate if counted else Fraction(1, 90_000)
    if times is None:
        times = [number / fps for number in range(round(seconds * fps))]
    stored = (size[1], size[0]) if rotation in (90, 270) else size
    options = dict(codec_options or {})
    if interlaced and codec == "libx264":
        options["x264-params"] = ":".join(filter(None, [options.get("x264-params"), "tff=1"]))
    if codec == "libx265":
        options["x265-params"] = ":".join(filter(None, [options.get("x265-params"), "log-level=none"]))
    if codec == "libsvtav1":
        os.environ["SVT_LOG"] = "1"  # it writes its settings to the terminal otherwise
    with av.open(str(path), "w", format=container, options=dict(container_options or {})) as output:
        stream = output.add_stream(codec, rate=rate, options=options)
        stream.width, stream.height = stored
        stream.pix_fmt = pixel_format
        stream.codec_context.time_base = base
        stream.codec_context.gop_size = gop
        stream.codec_context.thread_count = 1
        if codec in ("libx264", "libx265", "mpeg4", "mpeg2video"):
            stream.codec_context.max_b_frames = b_frames
        if aspect is not None:
            stream.codec_context.sample_aspect_ratio = aspect
        if rotation:
            stream.set_display_rotation(-rotation)
        for number, time in enumerate(times):
            image = picture(first_number + number, size, noise=noise)
            frame = av.VideoFrame.from_ndarray(
                np.ascontiguousarray(np.rot90(image, rotation // 90)), format="rgb24"
            )
            frame = frame.reformat(format=pixel_format)
            frame.time_base = base
            frame.pts = round((time + start_time) / base)
            for packet in stream.encode(frame):
                output.mux(packet)
        for packet in stream.encode():
            output.mux(packet)
    return list(times)
