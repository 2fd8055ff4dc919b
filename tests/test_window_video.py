"""The fast way to a small video of a window: the same pictures as the exact way's."""

import threading
import time
from fractions import Fraction

import av
import numpy as np
import pytest

from accuracy_tui.player.window_video import window_video
from sentrysearch.clips import encode_clip
from sentrysearch.decoder import Video
from sentrysearch.errors import Cancelled, FootageError
from sentrysearch.footage import probe
from sentrysearch.picture import DecodedPicture, Scalers
from sentrysearch.types import Window
from support.video import read_number, write_clip


def pictures(folder, data):
    """Those of a video in memory as shown, upright and with square pixels, and what it says of itself."""
    path = folder / "made.mp4"
    path.write_bytes(data)
    scalers = Scalers()
    with Video(path) as video:
        shown = []
        for decoded in video.pictures():
            picture = DecodedPicture(decoded.frame, video.stream.sample_aspect_ratio, scalers)
            shown.append(picture.rgb(picture.width, picture.height))
    return shown, probe(path, "made")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rotation": 90},
        {"rotation": 180},
        {"aspect": Fraction(4, 3)},
        {"interlaced": True},
        {"size": (1280, 720)},  # of a size whose colours are read by another table where nothing is said
        {"pixel_format": "yuvj420p"},
        {"start_time": 7.0},
    ],
    ids=str,
)
def test_the_pictures_of_the_window(tmp_path, options):
    path = tmp_path / "clip.mp4"
    write_clip(path, seconds=3, **options)
    footage, window = probe(path, path.name), Window(path.name, 1.0, 2.0)
    fast, made = pictures(tmp_path, window_video(footage, window, max_side=640))
    exact, _ = pictures(tmp_path, encode_clip(footage, window, max_side=640))
    assert [read_number(picture) for picture in fast] == list(range(25, 50))
    assert (made.width, made.height) == (exact[0].shape[1], exact[0].shape[0])
    assert made.duration == pytest.approx(1.0, abs=0.01)
    for one, other in zip(fast, exact, strict=True):
        assert np.abs(one.astype(int) - other).mean() < 8  # colours too


def test_fast_pictures_are_thinned_out_and_sizes_kept_within_the_side(tmp_path):
    path = tmp_path / "clip.mp4"
    write_clip(path, seconds=3, fps=60, size=(640, 320))
    footage = probe(path, path.name)
    shown, made = pictures(tmp_path, window_video(footage, Window(path.name, 1.0, 2.0), max_side=200))
    assert (made.width, made.height) == (200, 100)
    numbers = [read_number(picture) for picture in shown]
    assert 29 <= len(numbers) <= 31 and numbers[0] == 60 and numbers[-1] >= 116


def test_key_frames_come_often(tmp_path):
    path = tmp_path / "clip.mp4"
    write_clip(path, seconds=4, gop=250)
    made = window_video(probe(path, path.name), Window(path.name, 0.5, 3.5), max_side=160, key_seconds=0.5)
    (tmp_path / "made.mp4").write_bytes(made)
    with av.open(str(tmp_path / "made.mp4")) as container:
        keys = [
            float(packet.pts * packet.time_base) for packet in container.demux(video=0) if packet.is_keyframe
        ]
    assert keys[0] == 0.0 and max(np.diff([*keys, 3.0])) <= 0.56


def test_it_stops_when_it_is_not_wanted(tmp_path):
    path = tmp_path / "clip.mp4"
    write_clip(path, seconds=3)
    asked = []
    with pytest.raises(Cancelled):
        window_video(
            probe(path, path.name),
            Window(path.name, 0.0, 3.0),
            max_side=160,
            wanted=lambda: asked.append(1) or len(asked) < 5,
        )
    assert len(asked) == 5


@pytest.mark.parametrize("start", [0.0, 50.0])
def test_what_cannot_be_decoded(tmp_path, start):
    path = tmp_path / "clip.mp4"
    write_clip(path, seconds=2)
    footage = probe(path, path.name)
    if start == 0.0:
        path.write_bytes(b"no video")
    with pytest.raises(FootageError) as caught:
        window_video(footage, Window(path.name, start, start + 1), max_side=160)
    assert "\n" not in str(caught.value)


def test_the_console_goes_on_meanwhile(tmp_path):
    """Making one on a thread leaves the others the interpreter: none waits for a whole video."""
    path = tmp_path / "clip.mp4"
    write_clip(path, seconds=4, size=(640, 360))
    footage = probe(path, path.name)
    done = threading.Event()

    def make():
        window_video(footage, Window(path.name, 0.0, 4.0), max_side=640)
        done.set()

    threading.Thread(target=make, daemon=True).start()
    turns = 0
    while not done.is_set():
        time.sleep(0.001)
        turns += 1
    assert turns > 10
