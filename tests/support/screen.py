"""A virtual X screen whose pixels can be read, and clips in which each second has a colour of its own."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import numpy as np
import pytest

from sentrysearch.types import Footage

COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "yellow": (200, 200, 30)}
"""Of the first, second, third and fourth second of a clip."""

needs_screen = pytest.mark.skipif(
    shutil.which("Xvfb") is None or ctypes.util.find_library("mpv") is None,
    reason="needs Xvfb and libmpv (apt install xvfb libmpv2)",
)


class Screen:
    """A running Xvfb."""

    def __init__(self, process: subprocess.Popen[bytes], name: str, folder: Path) -> None:
        self.process = process
        self.environ = {**os.environ, "DISPLAY": name, "WAYLAND_DISPLAY": ""}
        self._folder = folder

    def colour(self) -> str | None:
        """Which of COLOURS fills most of what isn't dark; None while everything is."""
        data = (self._folder / "Xvfb_screen0").read_bytes()
        header_size, *_ = struct.unpack(">I", data[:4])
        colours = struct.unpack(">20I", data[:80])[19]
        pixels = np.frombuffer(data, np.uint8, offset=header_size + 12 * colours).reshape(-1, 4)[:, 2::-1]
        counts = {
            name: int((np.abs(pixels.astype(np.int16) - wanted) < 40).all(axis=1).sum())
            for name, wanted in COLOURS.items()
        }
        best = max(counts, key=counts.__getitem__)
        return best if counts[best] > 10_000 else None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def virtual_screen(folder: Path) -> Iterator[Screen]:
    read, write = os.pipe()
    options = f"-displayfd {write} -screen 0 800x600x24 -nolisten tcp".split()
    process = subprocess.Popen(
        ["Xvfb", *options, "-fbdir", folder], pass_fds=[write], stderr=subprocess.DEVNULL
    )
    os.close(write)
    try:
        with os.fdopen(read) as number:
            yield Screen(process, f":{number.readline().strip()}", folder)
    finally:
        process.kill()
        process.wait()


def write_clip(path: Path, *, offset: float = 0.0) -> Footage:
    """Four seconds at 10 pictures a second, the first picture at ``offset`` seconds of the file's clock."""
    with path.open("wb") as file, av.open(file, "w", format="matroska") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for colour in COLOURS.values():
            for _ in range(10):
                frame = av.VideoFrame.from_ndarray(np.full((240, 320, 3), colour, np.uint8), format="rgb24")
                frame.pts = None
                for packet in stream.encode(frame):
                    _write(container, packet, offset)
        for packet in stream.encode():
            _write(container, packet, offset)
    return Footage(path.name, path, "sha256:" + "0" * 64, 4.0, offset, 320, 240, 0, "mpeg4", 10.0)


def _write(container: av.container.OutputContainer, packet: av.Packet, offset: float) -> None:
    shift = round(offset / packet.time_base)
    packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
    container.mux(packet)


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Waits for a condition; fails after a time far beyond what it takes."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
