"""Footage as cameras and phones make it: the pictures of the window, all of them, and upright."""

import ctypes.util
import os
import queue
import time
from fractions import Fraction

import numpy as np
import pytest

from accuracy_tui.player.clip_player import Clip, PictureReady, PlayerLost, ShowFailed
from accuracy_tui.player.mpv_clips import InlineClips
from sentrysearch.footage import probe
from sentrysearch.types import Window
from support.video import read_number, write_clip

START, END = 2.0, 2.6
EXPECTED = set(range(50, 65))


def mpv():
    if ctypes.util.find_library("mpv") is None:
        pytest.skip("needs libmpv")
    return {}


def av():
    return {"ACCURACY_TUI_NO_MPV": "1"}


class Playing:
    """A player that draws, over one window of one file."""

    def __init__(self, path, backend, *, fps=60):
        self.events = queue.SimpleQueue()
        self.footage = probe(path, path.name)
        environ = {**os.environ, "DISPLAY": "", **backend()}
        self.player = InlineClips(self.events.put, environ, fps=fps)
        self.player.resize(160, 160)

    def __enter__(self):
        self.player.show(Clip(self.footage, Window(self.footage.name, START, END), "a query"))
        return self

    def __exit__(self, *_):
        self.player.close()

    def pictures(self, seconds=20.0):
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            event = self.events.get(timeout=left)
            assert not isinstance(event, (ShowFailed, PlayerLost)), event.error
            if isinstance(event, PictureReady):
                yield self.player.picture()

    def numbers(self, wanted):
        """What the pictures show, until every wanted number was seen and the loop has come round."""
        seen = []
        for picture in self.pictures():
            seen.append(read_number(picture.pixels))
            if wanted <= set(seen) and len(seen) > 2 * len(wanted):
                return set(seen)
        raise AssertionError(f"seen were {sorted(set(seen))}")


@pytest.mark.parametrize("backend", [mpv, av])
@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_phone_held_another_way(tmp_path, backend, rotation):
    write_clip(tmp_path / "clip.mp4", seconds=4, size=(192, 96), rotation=rotation)
    with Playing(tmp_path / "clip.mp4", backend) as playing:
        some = {55, 56, 57, 58, 59, 60}
        assert playing.numbers(some) <= EXPECTED  # read_number() fails where it isn't upright
        assert playing.player.picture().pixels.shape == (80, 160, 3)
        playing.player.resize(100, 20)
        assert any(picture.pixels.shape == (20, 40, 3) for picture in playing.pictures())


@pytest.mark.parametrize("name", ["b-frames.avi", "stream.ts", "elementary.h264"])
def test_timestamps_that_are_hard_to_seek_by(tmp_path, name):
    write_clip(tmp_path / name, seconds=4, start_time=5.0 if name.endswith("ts") else 0.0)
    with Playing(tmp_path / name, av) as playing:
        assert playing.numbers(EXPECTED) == EXPECTED


def test_pixels_that_are_not_square(tmp_path):
    write_clip(tmp_path / "clip.mp4", seconds=4, aspect=Fraction(4, 3))
    with Playing(tmp_path / "clip.mp4", av) as playing:
        assert playing.numbers(EXPECTED) == EXPECTED
        assert playing.player.picture().pixels.shape == (72, 160, 3)


def test_a_picture_that_is_on_show_for_long(tmp_path):
    write_clip(tmp_path / "clip.mkv", times=[0.0, 0.5, 1.0, 2.2, 2.4, 2.5, 2.9])
    with Playing(tmp_path / "clip.mkv", av) as playing:
        began = time.monotonic()
        seen = []
        for picture in playing.pictures():
            number = read_number(picture.pixels)
            if not seen or seen[-1] != number:
                seen.append(number)
            if len(seen) > 8:
                break
        # The one that is on show as the window begins comes first, and for as long as it should.
        assert seen[:5] == [2, 3, 4, 5, 2]
        assert time.monotonic() - began > 2 * (END - START)


@pytest.mark.parametrize("backend", [mpv, av])
def test_damage_in_the_middle(tmp_path, backend):
    path = tmp_path / "clip.mkv"
    write_clip(path, seconds=6)
    data = bytearray(path.read_bytes())
    for place in np.random.default_rng(1).integers(len(data) // 3, len(data) * 2 // 3, 60):
        data[place] ^= 0xFF
    path.write_bytes(data)
    with Playing(path, backend) as playing:
        for _, _ in zip(range(20), playing.pictures(), strict=False):
            pass
