"""Footage to send, with sound and a time code that survives encoding, and a look at what arrived."""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from sentrysearch.footage import probe
from sentrysearch.types import Footage, Window, WindowFrames


def film(path: Path, seconds: int, *, width: int = 320, height: int = 180, fps: int = 10) -> Footage:
    """A video with a sound track whose pictures are as bright as their time: 40 + 2 levels a second."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=fps, options={"preset": "ultrafast"})
        video.width, video.height, video.pix_fmt = width, height, "yuv420p"
        sound = container.add_stream("aac", rate=8000, layout="mono")
        for index in range(seconds * fps):
            level = 40 + round(2 * index / fps)
            picture = av.VideoFrame.from_ndarray(np.full((height * 3 // 2, width), 128, np.uint8), "yuv420p")
            np.asarray(picture.planes[0]).reshape(-1)[:] = level
            picture.pts, picture.time_base = index, Fraction(1, fps)
            container.mux(video.encode(picture))
        for index in range(seconds * 8):
            samples = av.AudioFrame.from_ndarray(np.full((1, 1000), 0.1, np.float32), "fltp", "mono")
            samples.sample_rate, samples.pts, samples.time_base = 8000, index * 1000, Fraction(1, 8000)
            container.mux(sound.encode(samples))
        container.mux(video.encode())
        container.mux(sound.encode())
    return probe(path, path.name)


def window(footage: Footage, start: float, end: float) -> WindowFrames:
    """A window as the pass hands it to an embedder that encodes clips itself."""
    return WindowFrames(Window(footage.name, start, end), footage, ())


@dataclass(frozen=True)
class Arrived:
    """What the bytes of a clip hold."""

    container: str
    codec: str
    tracks: list[str]
    seconds: float
    width: int
    height: int
    times: list[float]
    film_times: list[float]
    """Of which moment of the film each picture is, by its brightness."""


def look_at(data: bytes) -> Arrived:
    with av.open(io.BytesIO(data)) as container:
        stream = container.streams.video[0]
        times, film_times = [], []
        for picture in container.decode(stream):
            times.append(float(picture.time))
            film_times.append((float(picture.to_ndarray()[: picture.height].mean()) - 40) / 2)
        return Arrived(
            container.format.name,
            stream.codec_context.name,
            [track.type for track in container.streams],
            float(stream.duration * stream.time_base),
            stream.width,
            stream.height,
            times,
            film_times,
        )
