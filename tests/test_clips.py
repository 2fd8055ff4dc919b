"""A window's own clip: the right pictures, upright, small enough, whole."""

from __future__ import annotations

import io
from fractions import Fraction

import av
import pytest

from sentrysearch.clips import encode_clip
from sentrysearch.errors import FootageError
from sentrysearch.footage import probe
from sentrysearch.types import Window
from tests.support.video import read_number, write_clip


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTRYSEARCH_CACHE", str(tmp_path / "cache"))


def decoded(clip):
    """(container, [(seconds, number)], key frame flags)."""
    with av.open(io.BytesIO(clip)) as container:
        assert [stream.type for stream in container.streams] == ["video"]
        stream = container.streams.video[0]
        frames = list(container.decode(stream))
        seconds = container.duration / 1_000_000
        shown = [(float(frame.time), read_number(frame.to_ndarray(format="rgb24"))) for frame in frames]
        return seconds, (stream.width, stream.height, stream.codec_context.name), shown, frames[0].key_frame


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.mp4", {}),
        ("a.ts", {"start_time": 50.0}),
        ("a.avi", {"b_frames": 3}),
        ("a.mkv", {"start_time": 3.0, "gop": 250}),
        ("a.mp4", {"rotation": 90}),
        ("a.webm", {"codec": "libvpx-vp9"}),
        ("a.mp4", {"codec_options": {"x264-params": "open-gop=1:scenecut=0"}}),
    ],
)
def test_the_clip_holds_the_windows_pictures(tmp_path, name, options):
    write_clip(tmp_path / name, seconds=6, **options)
    footage = probe(tmp_path / name, name)
    seconds, (width, height, codec), shown, key = decoded(encode_clip(footage, Window(name, 2.0, 3.6)))
    assert (width, height, codec) == (160, 96, "h264")
    assert key
    assert shown[0] == (0, 50)
    assert [number for _, number in shown] == list(range(50, 90))
    assert [time for time, _ in shown] == pytest.approx([n / 25 for n in range(40)], abs=0.002)
    assert seconds == pytest.approx(1.6, abs=0.05)


def test_sides_are_even_square_and_never_enlarged(tmp_path):
    write_clip(tmp_path / "a.mkv", seconds=1, size=(161, 97), pixel_format="yuv444p")
    footage = probe(tmp_path / "a.mkv", "a")
    window = Window("a", 0.0, 0.4)
    assert decoded(encode_clip(footage, window))[1][:2] == (160, 96)
    assert decoded(encode_clip(footage, window, max_side=80))[1][:2] == (80, 48)
    write_clip(tmp_path / "b.mp4", seconds=1, aspect=Fraction(2, 1))
    assert decoded(encode_clip(probe(tmp_path / "b.mp4", "b"), window))[1][:2] == (320, 96)


def test_fewer_pictures_a_second(tmp_path):
    write_clip(tmp_path / "a.mp4", seconds=4)
    footage = probe(tmp_path / "a.mp4", "a")
    seconds, _, shown, _ = decoded(encode_clip(footage, Window("a", 1.0, 3.0), fps=5))
    assert [number for _, number in shown] == [25, 30, 35, 40, 45, 50, 55, 60, 65, 70]
    assert seconds == pytest.approx(2.0, abs=0.1)


def test_no_longer_than_asked(tmp_path):
    write_clip(tmp_path / "a.mp4", seconds=4)
    footage = probe(tmp_path / "a.mp4", "a")
    seconds, _, shown, _ = decoded(encode_clip(footage, Window("a", 0.0, 4.0), max_seconds=1.0))
    assert seconds <= 1.05
    assert shown[-1][1] == 24


def test_a_long_picture_lasts_to_the_windows_end(tmp_path):
    write_clip(tmp_path / "a.mkv", times=[0.0, 0.1, 5.0, 5.1], b_frames=0)
    footage = probe(tmp_path / "a.mkv", "a")
    seconds, _, shown, _ = decoded(encode_clip(footage, Window("a", 1.0, 4.0)))
    assert {number for _, number in shown} == {1}
    assert seconds == pytest.approx(3.0, abs=0.3)


def test_bytes_are_kept_to(tmp_path):
    write_clip(tmp_path / "a.mp4", seconds=2, noise=80)
    footage = probe(tmp_path / "a.mp4", "a")
    window = Window("a", 0.0, 2.0)
    free = encode_clip(footage, window)
    for limit in (len(free) // 2, len(free) // 8, len(free) // 20):
        clip = encode_clip(footage, window, max_bytes=limit)
        assert len(clip) <= limit
        assert [number for _, number in decoded(clip)[2]] == list(range(50))
    with pytest.raises(FootageError, match=r"0\.0-2\.0 s cannot be encoded in 500 bytes"):
        encode_clip(footage, window, max_bytes=500)


def test_a_window_of_which_nothing_decodes_is_an_error(tmp_path):
    path = tmp_path / "a.mp4"
    write_clip(path, seconds=4, noise=30, container_options={"movflags": "faststart"})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    footage = probe(path, "a")
    with pytest.raises(FootageError, match="nothing can be decoded"):
        encode_clip(footage, Window("a", 3.5, 4.0))
