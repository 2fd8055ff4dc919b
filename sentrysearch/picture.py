"""A decoded picture made upright, square-pixelled and progressive, straight from the decoder's planes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.reformatter import Colorspace, VideoReformatter
from numpy.typing import NDArray

_UNSPECIFIED_COLORSPACE = 2
_HD_WIDTH, _HD_HEIGHT = 1280, 576
# Scalers kept per decoder; an embedder asks for one or two sizes.
_KEPT_SCALERS = 8


def turn(frame: VideoFrame) -> int:
    """Degrees clockwise (0, 90, 180, 270) that make the picture upright."""
    # FFmpeg gives the counterclockwise angle of the display matrix.
    return round(-frame.rotation / 90) % 4 * 90


def shown_size(width: int, height: int, aspect: Fraction | None, rotation: int) -> tuple[int, int]:
    """Width and height as shown: pixels made square by stretching, then turned."""
    if aspect and aspect > 0:
        if aspect >= 1:
            width = max(1, round(width * aspect))
        else:
            height = max(1, round(height / aspect))
    return (height, width) if rotation in (90, 270) else (width, height)


class Scalers:
    """The scaling contexts of one decoder, so that they are set up once and not for every picture."""

    def __init__(self) -> None:
        self._scalers: dict[tuple[int, int], VideoReformatter] = {}

    def rgb(self, frame: VideoFrame, width: int, height: int) -> NDArray[np.uint8]:
        """The frame as stored, scaled to (height, width, 3)."""
        if (width, height) not in self._scalers:
            if len(self._scalers) >= _KEPT_SCALERS:
                self._scalers.clear()
            self._scalers[width, height] = VideoReformatter()
        source = None
        if frame.colorspace == _UNSPECIFIED_COLORSPACE and (
            frame.width >= _HD_WIDTH or frame.height > _HD_HEIGHT
        ):
            source = Colorspace.ITU709  # what players assume of HD
        scaled = self._scalers[width, height].reformat(
            frame, width, height, "rgb24", src_colorspace=source, threads=1
        )
        return np.asarray(scaled.to_ndarray(), dtype=np.uint8)


class DecodedPicture:
    """A ``Picture``: valid while its decoder's callback runs."""

    def __init__(self, frame: VideoFrame, aspect: Fraction | None, scalers: Scalers) -> None:
        self._frame = frame
        self._scalers = scalers
        self._rotation = turn(frame)
        self._size = shown_size(frame.width, frame.height, aspect, self._rotation)

    @property
    def width(self) -> int:
        return self._size[0]

    @property
    def height(self) -> int:
        return self._size[1]

    def rgb(self, width: int, height: int) -> NDArray[np.uint8]:
        """The whole picture scaled to (height, width, 3), uint8 RGB, upright."""
        frame = self._frame
        if frame.interlaced_frame:
            frame = first_field(frame)
        if self._rotation in (90, 270):
            width, height = height, width
        pixels = self._scalers.rgb(frame, width, height)
        if self._rotation:
            pixels = np.ascontiguousarray(np.rot90(pixels, -self._rotation // 90))
        return pixels


def first_field(frame: VideoFrame) -> VideoFrame:
    """Every other line of an interlaced frame: one moment in time, without combing, at half the height."""
    graph = Graph()
    source = graph.add_buffer(
        width=frame.width,
        height=frame.height,
        format=frame.format,
        time_base=frame.time_base or Fraction(1, 90_000),
    )
    field = graph.add("field", "type=top")
    sink = graph.add("buffersink")
    source.link_to(field)
    field.link_to(sink)
    graph.configure()
    graph.push(frame)
    pulled = graph.pull()
    assert isinstance(pulled, VideoFrame)
    return pulled
