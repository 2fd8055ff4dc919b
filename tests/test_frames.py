"""Sampling: which picture each window holds, read from the pictures themselves; segments, damage, threads."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from sentrysearch.errors import BadInput, Cancelled
from sentrysearch.footage import probe
from sentrysearch.frames import Damage, DecodeStatistics, sample, sample_times
from sentrysearch.types import Footage, Sampling, Window, WindowFrames, WindowGrid
from sentrysearch.windows import cut
from tests.support.video import picture, read_number, write_clip


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTRYSEARCH_CACHE", str(tmp_path / "cache"))


def small(shown):
    return shown.rgb(80, 48)


def take(footage, windows, sampling, *, prepare=small, **options):
    """(frames by window, damage) of a sampling that runs to its end."""
    results = list(sample([footage], windows, sampling, prepare, cancel=threading.Event(), **options))
    frames = {item.window: item.frames for item in results if isinstance(item, WindowFrames)}
    return frames, [item for item in results if isinstance(item, Damage)]


def numbers(frames):
    """Picture number by sample time."""
    return {frame.time: read_number(frame.data) for held in frames.values() for frame in held}


def expected_numbers(times, moments):
    """What a player shows: the last picture that began at or before each moment."""
    return {moment: max(n for n, time in enumerate(times) if time <= moment + 0.0006) for moment in moments}


# Sample times, worked by hand.


def test_samples_lie_in_the_middle_of_steps():
    assert sample_times(Window("a", 0, 3), Sampling(1.0)) == [0.5, 1.5, 2.5]
    assert sample_times(Window("a", 0.6, 2.6), Sampling(1.0)) == [1.5, 2.5]
    assert sample_times(Window("a", 0.5, 1.5), Sampling(1.0)) == [0.5], "the start is in, the end is not"
    assert sample_times(Window("a", 0, 1), Sampling(2.0)) == [0.25, 0.75]


def test_short_windows_are_sampled_more_finely_and_long_ones_more_coarsely():
    assert sample_times(Window("a", 0, 1), Sampling(1.0, min_frames=3)) == [1 / 6, 0.5, 5 / 6]
    assert sample_times(Window("a", 0.6, 1.4), Sampling(1.0)) == [0.75, 1.25], "halves are the first that hit"
    assert sample_times(Window("a", 0, 10), Sampling(1.0, max_frames=5)) == [1, 3, 5, 7, 9]
    assert len(sample_times(Window("a", 0, 1000), Sampling(1.0, max_frames=64))) <= 64
    assert len(sample_times(Window("a", 0.3, 0.4), Sampling(1.0, min_frames=4))) >= 4


def test_overlapping_windows_share_samples():
    one, two = (set(sample_times(Window("a", start, start + 3), Sampling(2.0))) for start in (0, 2.2))
    assert one & two == {2.25, 2.75}


@pytest.mark.parametrize(
    "sampling", [Sampling(0), Sampling(-1), Sampling(float("nan")), Sampling(1, 5, 4), Sampling(1, 0)]
)
def test_impossible_samplings_are_refused(sampling):
    with pytest.raises(BadInput):
        sample_times(Window("a", 0, 3), sampling)


# The right picture, whatever the file.

FILES = {
    "h264 mp4": ("a.mp4", {}),
    "h264 without b-frames": ("a.mp4", {"b_frames": 0}),
    "h264 pyramid": ("a.mp4", {"b_frames": 8, "codec_options": {"x264-params": "b-pyramid=normal"}}),
    "h264 mkv": ("a.mkv", {}),
    "h264 ts": ("a.ts", {}),
    "h264 avi with b-frames": ("a.avi", {"b_frames": 3}),
    "h264 elementary": ("a.h264", {"container": "h264"}),
    "h264 fragmented": ("a.mp4", {"container_options": {"movflags": "frag_keyframe+empty_moov"}}),
    "hevc mp4": ("a.mp4", {"codec": "libx265"}),
    "hevc 10-bit mkv": ("a.mkv", {"codec": "libx265", "pixel_format": "yuv420p10le"}),
    "h264 10-bit": ("a.mp4", {"pixel_format": "yuv420p10le"}),
    "vp9 webm": ("a.webm", {"codec": "libvpx-vp9"}),
    "av1 mkv": ("a.mkv", {"codec": "libsvtav1", "codec_options": {"preset": "12"}}),
    "av1 mp4": ("a.mp4", {"codec": "libsvtav1", "codec_options": {"preset": "12"}}),
    "mpeg-4 avi with b-frames": ("a.avi", {"codec": "mpeg4"}),
    "mpeg-4 mp4": ("a.mp4", {"codec": "mpeg4"}),
    "mjpeg avi": ("a.avi", {"codec": "mjpeg", "pixel_format": "yuvj420p"}),
    "mjpeg mov": ("a.mov", {"codec": "mjpeg", "pixel_format": "yuvj420p"}),
    "mpeg-2 ts": ("a.ts", {"codec": "mpeg2video"}),
    "odd size": ("a.mkv", {"size": (161, 97), "pixel_format": "yuv444p"}),
    "late start mkv": ("a.mkv", {"start_time": 7.3}),
    "late start ts": ("a.ts", {"start_time": 1000.0}),
    "negative start ts": (
        "a.ts",
        {"start_time": -0.5, "container_options": {"avoid_negative_ts": "disabled"}},
    ),
    "negative start mp4": (
        "a.mp4",
        {
            "start_time": -0.5,
            "container_options": {
                "avoid_negative_ts": "disabled",
                "movflags": "frag_keyframe+empty_moov+delay_moov",
            },
        },
    ),
    "turned 90": ("a.mp4", {"rotation": 90}),
    "turned 180": ("a.mov", {"rotation": 180}),
    "turned 270": ("a.mp4", {"rotation": 270}),
    "wide pixels": ("a.mp4", {"aspect": Fraction(4, 3)}),
    "interlaced h264": ("a.mp4", {"interlaced": True, "codec_options": {"flags": "+ildct+ilme"}}),
    "interlaced mpeg-2": ("a.ts", {"codec": "mpeg2video", "codec_options": {"flags": "+ildct+ilme"}}),
    "29.97": ("a.mp4", {"fps": 30000 / 1001}),
    "12.5": ("a.avi", {"fps": 12.5, "b_frames": 3}),
}


@pytest.mark.parametrize("kind", FILES)
def test_each_sample_is_the_picture_a_player_shows(tmp_path, kind):
    name, options = FILES[kind]
    times = write_clip(tmp_path / name, seconds=3, **options)
    footage = probe(tmp_path / name, name)
    windows = cut(footage, WindowGrid(1.0, 0.5))
    frames, damage = take(footage, windows, Sampling(5.0), segments=2)
    moments = sorted({time for window in windows for time in sample_times(window, Sampling(5.0))})
    assert damage == []
    assert set(frames) == set(windows)
    assert [frame.time for frame in frames[windows[1]]] == sample_times(windows[1], Sampling(5.0))
    assert numbers(frames) == expected_numbers(times, moments)


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4"])
def test_a_variable_rate_is_followed(tmp_path, name):
    times = [0.0, 0.1, 0.15, 0.7, 2.3, 2.35, 2.4, 2.45, 2.9]
    write_clip(tmp_path / name, times=times, b_frames=0)
    footage = probe(tmp_path / name, name)
    windows = [Window(name, 0.0, 3.0)]
    frames, damage = take(footage, windows, Sampling(10.0))
    assert damage == []
    assert numbers(frames) == expected_numbers(times, sample_times(windows[0], Sampling(10.0)))


def test_a_file_that_starts_again_at_zero_is_reported_from_there(tmp_path):
    for number in range(2):
        write_clip(tmp_path / f"{number}.ts", seconds=3, first_number=100 * number, b_frames=0)
    (tmp_path / "a.ts").write_bytes((tmp_path / "0.ts").read_bytes() + (tmp_path / "1.ts").read_bytes())
    footage = probe(tmp_path / "a.ts", "a")
    frames, _ = take(footage, [Window("a", 0.0, 3.0)], Sampling(5.0))
    assert numbers(frames) == {
        time: int(time * 25 + 0.01) for time in sample_times(Window("a", 0, 3), Sampling(5.0))
    }


def test_pictures_before_the_first_timestamp_are_timed_backwards(tmp_path):
    # Matroska cannot store the negative times of the first pictures: they come without any.
    write_clip(
        tmp_path / "a.mkv", seconds=2, start_time=-0.08, container_options={"avoid_negative_ts": "disabled"}
    )
    footage = probe(tmp_path / "a.mkv", "a")
    frames, _ = take(footage, [Window("a", 0.0, 1.9)], Sampling(10.0))
    for time, number in numbers(frames).items():
        clock = time + footage.start_time + 0.08
        assert number == int(clock * 25 + 0.01)


def test_interlaced_pictures_are_shown_without_combing(tmp_path):
    """Fields of two different pictures, woven: only one of them may be seen."""
    top, bottom = picture(5, (160, 96)), picture(2730, (160, 96))
    woven = top.copy()
    woven[1::2] = bottom[1::2]
    with av.open(str(tmp_path / "a.mkv"), "w") as output:
        stream = output.add_stream(
            "mpeg2video", rate=25, options={"flags": "+ildct+ilme", "qmin": "1", "qmax": "2"}
        )
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        for number in range(25):
            frame = av.VideoFrame.from_ndarray(woven, format="rgb24").reformat(format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    footage = probe(tmp_path / "a.mkv", "a")
    frames, _ = take(
        footage, [Window("a", 0.0, 1.0)], Sampling(1.0), prepare=lambda shown: shown.rgb(160, 96)
    )
    (frame,) = frames[Window("a", 0.0, 1.0)]
    assert read_number(frame.data) == 5
    lines = frame.data[2:-2].astype(int).mean(axis=(1, 2))
    assert np.abs(np.diff(lines)).mean() < 8, "lines alternate"


@pytest.mark.parametrize(("size", "matrix"), [((1280, 720), 1), ((160, 96), 5)])
def test_colours_follow_what_players_assume_of_the_size(tmp_path, size, matrix):
    """An untagged HD file is BT.709, a small one BT.601: pure red comes back as red."""
    red = np.zeros((size[1], size[0], 3), np.uint8)
    red[..., 0] = 255
    with av.open(str(tmp_path / "a.mkv"), "w") as output:
        stream = output.add_stream("libx264", rate=25, options={"crf": "5", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        frame = av.VideoFrame.from_ndarray(red, format="rgb24").reformat(
            format="yuv420p", dst_colorspace=matrix
        )
        frame.colorspace = 2
        frame.pts, frame.time_base = 0, Fraction(1, 25)
        output.mux(stream.encode(frame))
        output.mux(stream.encode())
    footage = probe(tmp_path / "a.mkv", "a")
    frames, _ = take(footage, [Window("a", 0.0, 0.1)], Sampling(10.0))
    (frame,) = frames[Window("a", 0.0, 0.1)]
    assert np.abs(frame.data.reshape(-1, 3).mean(axis=0) - [255, 0, 0]).max() < 6


# Each picture once.


def test_each_needed_picture_is_prepared_once_and_shared(tmp_path):
    write_clip(tmp_path / "a.mp4", seconds=6)
    footage = probe(tmp_path / "a.mp4", "a")
    windows = cut(footage, WindowGrid(2.0, 1.5))
    seen: dict[int, int] = defaultdict(int)

    def prepare(shown):
        data = shown.rgb(80, 48)
        seen[read_number(data)] += 1
        return data

    statistics = DecodeStatistics()
    frames, _ = take(footage, windows, Sampling(4.0), prepare=prepare, segments=1, statistics=statistics)
    moments = {time for window in windows for time in sample_times(window, Sampling(4.0))}
    assert len(seen) == len(moments) == statistics.prepared
    assert set(seen.values()) == {1}
    assert statistics.pictures <= 150
    by_time = defaultdict(set)
    for held in frames.values():
        for frame in held:
            by_time[frame.time].add(id(frame))
    assert all(len(objects) == 1 for objects in by_time.values())


def test_samples_of_one_long_picture_share_its_data(tmp_path):
    write_clip(tmp_path / "a.mp4", times=[0.0, 2.0, 4.0], b_frames=0)
    footage = probe(tmp_path / "a.mp4", "a")
    statistics = DecodeStatistics()
    frames, _ = take(footage, [Window("a", 0.0, 4.0)], Sampling(2.0), statistics=statistics)
    held = frames[Window("a", 0.0, 4.0)]
    assert len(held) == 8
    assert statistics.prepared == 2
    assert held[0].data is held[3].data


def test_stretches_no_window_needs_are_not_decoded(tmp_path):
    write_clip(tmp_path / "a.mp4", seconds=40, gop=25)
    footage = probe(tmp_path / "a.mp4", "a")
    windows = [Window("a", 3.0, 4.0), Window("a", 35.0, 36.0)]
    statistics = DecodeStatistics()
    frames, damage = take(footage, windows, Sampling(5.0), segments=1, statistics=statistics)
    assert damage == []
    assert numbers(frames) == {
        time: int(time * 25) for window in windows for time in sample_times(window, Sampling(5.0))
    }
    assert statistics.pictures < 150, "of 1000"


# Segments side by side.

SEGMENTED = {
    "h264 mp4": ("a.mp4", {}, True),
    "h264 mkv": ("a.mkv", {}, True),
    "hevc closed": ("a.mp4", {"codec": "libx265", "codec_options": {"x265-params": "no-open-gop=1"}}, True),
    "hevc open gop": ("a.mp4", {"codec": "libx265", "codec_options": {"x265-params": "open-gop=1"}}, True),
    "vp9": (
        "a.webm",
        {"codec": "libvpx-vp9", "codec_options": {"deadline": "realtime", "cpu-used": "8"}},
        True,
    ),
    "mpeg-4": ("a.mp4", {"codec": "mpeg4"}, True),
    "h264 open gop": ("a.mp4", {"codec_options": {"x264-params": "open-gop=1:scenecut=0"}}, False),
    "intra refresh": (
        "a.mp4",
        {"b_frames": 0, "codec_options": {"x264-params": "intra-refresh=1:scenecut=0"}},
        False,
    ),
    "ts": ("a.ts", {}, False),
    "avi": ("a.avi", {}, False),
}


@pytest.mark.parametrize("kind", SEGMENTED)
def test_segments_give_exactly_what_one_pass_gives(tmp_path, kind):
    name, options, divides = SEGMENTED[kind]
    write_clip(tmp_path / name, seconds=12, gop=25, noise=12, **options)
    footage = probe(tmp_path / name, name)
    windows = cut(footage, WindowGrid(2.0, 0.5))
    alone, together = DecodeStatistics(), DecodeStatistics()
    one, no_damage = take(footage, windows, Sampling(2.0), prepare=whole, segments=1, statistics=alone)
    more, none_either = take(footage, windows, Sampling(2.0), prepare=whole, segments=3, statistics=together)
    assert no_damage == none_either == []
    assert alone.segments == 1
    assert (together.segments > 1) == divides
    assert set(one) == set(more) == set(windows)
    for window, frames in one.items():
        assert [frame.time for frame in frames] == [frame.time for frame in more[window]]
        for frame, other in zip(frames, more[window], strict=True):
            assert np.array_equal(frame.data, other.data)


def whole(shown):
    return shown.rgb(shown.width, shown.height)


def test_where_a_segment_does_not_begin_as_the_one_before_ends_the_rest_is_one_pass(tmp_path):
    """A file that lies: every packet is marked a key frame, so segments begin at pictures that are not."""
    write_clip(tmp_path / "true.mp4", seconds=12, gop=50, noise=12, codec="mpeg4", b_frames=0)
    with av.open(str(tmp_path / "true.mp4")) as source, av.open(str(tmp_path / "a.mp4"), "w") as output:
        stream = output.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream, packet.is_keyframe = stream, True
                output.mux(packet)
    footage = probe(tmp_path / "a.mp4", "a")
    windows = cut(footage, WindowGrid(2.0, 0.5))
    alone, together = DecodeStatistics(), DecodeStatistics()
    right, _ = take(footage, windows, Sampling(2.0), prepare=whole, segments=1, statistics=alone)
    found, damage = take(footage, windows, Sampling(2.0), prepare=whole, segments=2, statistics=together)
    assert alone.pictures <= 300
    assert together.pictures > 350, "some was decoded twice"
    assert damage == []
    assert set(found) == set(windows)
    for window, frames in right.items():
        for frame, other in zip(frames, found[window], strict=True):
            assert np.array_equal(frame.data, other.data)


def test_parameters_that_change_on_the_way_are_followed(tmp_path):
    """Two streams of different size and codec settings joined: the second has its own parameters."""
    write_clip(tmp_path / "one.ts", seconds=6, size=(160, 96))
    write_clip(tmp_path / "two.ts", seconds=6, size=(320, 192), start_time=6, first_number=150, b_frames=0)
    (tmp_path / "a.ts").write_bytes((tmp_path / "one.ts").read_bytes() + (tmp_path / "two.ts").read_bytes())
    footage = probe(tmp_path / "a.ts", "a")
    windows = cut(footage, WindowGrid(1.0, 0.0))
    frames, _ = take(footage, windows, Sampling(2.0), segments=2)
    found = numbers(frames)
    for time in (0.25, 3.25, 5.25, 6.75, 9.25, 11.25):
        assert abs(found[time] - int(time * 25)) <= 3, "the join itself may shift by the decoder's delay"


def test_several_footages_in_one_sampling(tmp_path):
    footages, windows = [], []
    for number in range(5):
        name = f"{number}.mp4"
        write_clip(tmp_path / name, seconds=1.2, first_number=100 * number)
        footages.append(probe(tmp_path / name, name))
        windows += cut(footages[-1], WindowGrid(1.0, 0.5))
    results = list(sample(footages, windows, Sampling(5.0), small, cancel=threading.Event(), segments=3))
    assert [item.window for item in results] == windows
    for item in results:
        for frame in item.frames:
            assert read_number(frame.data) == 100 * int(item.window.footage[0]) + int(frame.time * 25 + 0.01)
            assert frame.footage == item.window.footage


# Damage.


def test_a_truncated_file_gives_what_it_has_and_says_what_is_missing(tmp_path):
    path = tmp_path / "a.mp4"
    write_clip(path, seconds=10, noise=30, container_options={"movflags": "faststart"})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 6 // 10])
    footage = probe(path, "a")
    assert footage.duration == pytest.approx(10, abs=0.05), "what the header promises"
    windows = cut(footage, WindowGrid(1.0, 0.0))
    frames, damage = take(footage, windows, Sampling(5.0), segments=2)
    assert_right_or_reported(frames, damage, windows)
    assert 4 <= len(frames) <= 7
    assert damage[-1].end == pytest.approx(10, abs=0.05)
    assert 4.5 < damage[-1].start < 7.5


@pytest.mark.parametrize("name", ["a.mkv", "a.ts", "a.avi", "a.webm"])
def test_other_containers_truncated(tmp_path, name):
    path = tmp_path / name
    codec = (
        {"codec": "libvpx-vp9", "codec_options": {"deadline": "realtime", "cpu-used": "8"}}
        if "webm" in name
        else {}
    )
    write_clip(path, seconds=10, noise=30, **codec)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 6 // 10])
    footage = probe(path, "a")
    windows = cut(footage, WindowGrid(1.0, 0.0))
    frames, damage = take(footage, windows, Sampling(5.0), segments=2)
    assert_right_or_reported(frames, damage, windows)
    assert len(frames) >= 4


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts"])
def test_a_partly_corrupt_file_gives_the_rest(tmp_path, name, seed):
    path = tmp_path / name
    write_clip(
        path,
        seconds=10,
        noise=30,
        gop=25,
        container_options={"movflags": "faststart"} if "mp4" in name else {},
    )
    data = bytearray(path.read_bytes())
    chance = random.Random(seed)
    for _ in range(4):
        position = chance.randrange(len(data) // 3, len(data) * 9 // 10)
        data[position : position + 1500] = chance.randbytes(1500)
    path.write_bytes(data)
    footage = probe(path, "a")
    windows = cut(footage, WindowGrid(1.0, 0.0))
    for segments in (1, 2):
        frames, damage = take(footage, windows, Sampling(5.0), segments=segments)
        covered_or_present(frames, damage, windows)
        assert len(frames) >= 3
        assert damage, "something was said"
        assert any(item.end > 3.0 for item in damage)


def covered_or_present(frames, damage, windows):
    """Windows without frames lie in what was reported."""
    for window in windows:
        if window not in frames:
            inside = [
                item for item in damage if item.start <= window.start + 0.5 and item.end >= window.end - 0.5
            ]
            assert inside, f"{window} has neither frames nor damage"


def assert_right_or_reported(frames, damage, windows):
    covered_or_present(frames, damage, windows)
    for time, number in numbers(frames).items():
        shown = number / 25
        assert -0.001 <= time - shown <= 0.6, "no picture stands for a moment far after it"


def test_footage_that_vanishes_is_reported(tmp_path):
    write_clip(tmp_path / "a.mp4", seconds=1)
    footage = probe(tmp_path / "a.mp4", "a")
    (tmp_path / "a.mp4").unlink()
    frames, damage = take(footage, [Window("a", 0.0, 1.0)], Sampling(2.0))
    assert frames == {}
    assert [(item.footage, item.start, item.end) for item in damage] == [("a", 0.0, footage.duration)]


# Threads and bounds.


def decoder_threads():
    return [thread for thread in threading.enumerate() if thread.name == "decoder"]


@pytest.fixture
def long_footage(tmp_path) -> Footage:
    write_clip(tmp_path / "a.mp4", seconds=60, gop=25, size=(64, 48))
    return probe(tmp_path / "a.mp4", "a")


@pytest.mark.parametrize("segments", [1, 2, 4])
def test_a_slow_reader_holds_the_decoders_back(long_footage, segments):
    prepared = threading.Semaphore(0)
    count = [0]
    lock = threading.Lock()

    def prepare(shown):
        with lock:
            count[0] += 1
        prepared.release()
        return shown.rgb(16, 16)

    windows = cut(long_footage, WindowGrid(1.0, 0.0))
    running = sample(
        [long_footage],
        windows,
        Sampling(10.0),
        prepare,
        cancel=threading.Event(),
        segments=segments,
        ahead=12,
    )
    next(running)
    while prepared.acquire(timeout=0.5):
        pass
    # Nothing more comes: 600 in all. Queues of 12 ÷ segments for segments + 1, one in each worker's hands,
    # and the ten of the first window with those read beside them.
    assert count[0] <= 12 + 12 // segments + 2 * segments + 12
    running.close()
    assert decoder_threads() == []


@pytest.mark.parametrize("segments", [1, 3])
def test_closing_stops_the_threads(long_footage, segments):
    windows = cut(long_footage, WindowGrid(1.0, 0.0))
    running = sample(
        [long_footage], windows, Sampling(5.0), small, cancel=threading.Event(), segments=segments
    )
    next(running)
    assert decoder_threads()
    running.close()
    assert decoder_threads() == []


def test_cancelling_ends_it(long_footage):
    cancel = threading.Event()
    windows = cut(long_footage, WindowGrid(1.0, 0.0))
    running = sample([long_footage], windows, Sampling(5.0), small, cancel=cancel, segments=2)
    next(running)
    cancel.set()
    with pytest.raises(Cancelled):
        list(running)
    assert decoder_threads() == []


def test_what_prepare_raises_reaches_the_caller(long_footage):
    def prepare(shown):
        raise ZeroDivisionError("of the embedder")

    windows = cut(long_footage, WindowGrid(1.0, 0.0))
    with pytest.raises(ZeroDivisionError, match="of the embedder"):
        list(sample([long_footage], windows, Sampling(5.0), prepare, cancel=threading.Event(), segments=2))
    assert decoder_threads() == []


def test_a_window_of_unknown_footage_is_refused(long_footage):
    with pytest.raises(BadInput, match="isn't there"):
        list(sample([long_footage], [Window("other", 0, 1)], Sampling(), small, cancel=threading.Event()))


def test_no_windows_no_work(long_footage):
    assert list(sample([long_footage], [], Sampling(), small, cancel=threading.Event())) == []
    missing = Footage("gone", Path("/nowhere"), "sha256:0", 5.0, 0.0, 8, 8, 0, "h264", 25.0)
    windows = [Window("a", 0.0, 1.0)]
    results = list(sample([missing, long_footage], windows, Sampling(), small, cancel=threading.Event()))
    assert [item.window for item in results] == windows
