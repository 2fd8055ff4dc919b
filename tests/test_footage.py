"""Probing: what a player would say of a file, and a clear refusal of what isn't footage."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from sentrysearch import footage as footage_module
from sentrysearch.errors import FootageError
from sentrysearch.footage import fingerprint, probe, scan, scan_all
from tests.support.video import write_clip


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    monkeypatch.setenv("SENTRYSEARCH_CACHE", str(cache))
    return cache


def test_what_is_known_of_a_plain_file(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_clip(path, seconds=2, fps=25, size=(160, 96))
    found = probe(path, "name")
    assert (found.name, found.path) == ("name", path)
    assert (found.width, found.height, found.rotation) == (160, 96, 0)
    assert (found.codec, found.frame_rate) == ("h264", 25.0)
    assert found.duration == pytest.approx(2.0, abs=0.001)
    assert found.start_time == 0.0


@pytest.mark.parametrize("rotation", [90, 180, 270])
@pytest.mark.parametrize("suffix", [".mp4", ".mov"])
def test_rotated_footage_has_the_size_it_is_shown_at(tmp_path: Path, rotation: int, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    write_clip(path, seconds=0.4, size=(160, 96), rotation=rotation)
    found = probe(path, "a")
    assert (found.width, found.height, found.rotation) == (160, 96, rotation)
    with av.open(str(path)) as stored:
        turned = rotation in (90, 270)
        assert (stored.streams.video[0].width, stored.streams.video[0].height) == (
            (96, 160) if turned else (160, 96)
        )


@pytest.mark.parametrize(("aspect", "size"), [(Fraction(2, 1), (320, 96)), (Fraction(1, 2), (160, 192))])
def test_pixels_that_are_not_square_are_stretched(
    tmp_path: Path, aspect: Fraction, size: tuple[int, int]
) -> None:
    write_clip(tmp_path / "a.mkv", seconds=0.4, aspect=aspect)
    found = probe(tmp_path / "a.mkv", "a")
    assert (found.width, found.height) == size


@pytest.mark.parametrize(
    ("name", "start"), [("a.mkv", 5.5), ("a.mp4", 5.5), ("a.ts", 100.0), ("a.ts", -0.5), ("a.mkv", 0.0)]
)
def test_start_times_are_known_and_not_part_of_the_duration(tmp_path: Path, name: str, start: float) -> None:
    options = {"avoid_negative_ts": "disabled"} if start < 0 else {}
    write_clip(tmp_path / name, seconds=2, start_time=start, container_options=options)
    found = probe(tmp_path / name, name)
    assert found.start_time == pytest.approx(start, abs=0.001)
    assert found.duration == pytest.approx(2.0, abs=0.05)


def test_a_live_recording_without_a_duration_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "live.mkv"
    write_clip(path, seconds=2, container_options={"live": "1"})
    with av.open(str(path)) as stored:
        assert stored.duration is None
    assert probe(path, "live").duration == pytest.approx(2.0, abs=0.05)


def test_cover_art_is_not_footage(tmp_path: Path) -> None:
    song = tmp_path / "song.mp4"
    with av.open(str(song), "w") as output:
        sound = output.add_stream("aac", rate=8000)
        art = output.add_stream("mjpeg", rate=1)
        art.width, art.height, art.pix_fmt = 32, 32, "yuvj420p"
        art.disposition = av.stream.Disposition.attached_pic
        image = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24").reformat(
            format="yuvj420p"
        )
        image.pts, image.time_base = 0, Fraction(1, 1)
        output.mux(art.encode(image))
        tone = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        tone.sample_rate, tone.pts = 8000, 0
        output.mux(sound.encode(tone))
        output.mux(sound.encode())
        output.mux(art.encode())
    with pytest.raises(FootageError, match="holds no video"):
        probe(song, "song")


def test_sound_alone_is_not_footage(tmp_path: Path) -> None:
    path = tmp_path / "sound.mkv"
    with av.open(str(path), "w") as output:
        sound = output.add_stream("aac", rate=8000)
        tone = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        tone.sample_rate, tone.pts = 8000, 0
        output.mux(sound.encode(tone))
        output.mux(sound.encode())
    with pytest.raises(FootageError, match="holds no video"):
        probe(path, "sound")


def test_files_that_are_not_video_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("not a video\n" * 1000)
    (tmp_path / "noise.mp4").write_bytes(np.random.default_rng(1).bytes(100_000))
    os.mkfifo(tmp_path / "pipe.mp4")
    for name, reason in [
        ("empty.mp4", "empty"),
        ("text.mp4", "not a video"),
        ("noise.mp4", "not a video"),
        ("missing.mp4", "[Nn]o such file"),
        ("pipe.mp4", "not a file"),
    ]:
        with pytest.raises(FootageError, match=reason) as caught:
            scan(tmp_path / name)
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_file_whose_pictures_all_fail_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_clip(path, seconds=1, noise=20, container_options={"movflags": "faststart"})
    data = bytearray(path.read_bytes())
    body = data.index(b"mdat") + 4
    data[body:] = bytes(len(data) - body)
    path.write_bytes(data)
    with pytest.raises(FootageError, match="no picture"):
        probe(path, "a")


@pytest.mark.parametrize(
    "name",
    [
        "with space.mp4",
        "line\nbreak.mp4",
        "per%cent%03d.mp4",
        "-i.mp4",
        "http:..example.mp4",
        "concat:a|b.mp4",
        "pipe:0.mp4",
        "quote'\".mp4",
        "ünï©ode.mp4",
    ],
)
def test_odd_names_are_only_names(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_clip(tmp_path / "plain.mp4", seconds=0.4)
    (tmp_path / "plain.mp4").rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert [found.name for found in scan(Path(name))] == [name]


def test_a_path_that_reads_like_a_url_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "http:" / "example.org"
    folder.mkdir(parents=True)
    write_clip(folder / "a.mp4", seconds=0.4)
    monkeypatch.chdir(tmp_path)
    assert Path("http://example.org/a.mp4").exists()
    assert [found.name for found in scan(Path("http:"))] == ["example.org/a.mp4"]


def test_a_name_that_is_no_utf8_can_be_read_and_written(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.mp4"))
    write_clip(tmp_path / "plain.mp4", seconds=0.4)
    (tmp_path / "plain.mp4").rename(path)
    (found,) = scan(path)
    assert found.name == "caf\\xe9.mp4"
    assert found.name.encode("utf-8")
    assert found.width == 160


@pytest.mark.parametrize(
    "script",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nreal.mp4\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile real.mp4\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n",
    ],
)
def test_a_playlist_named_like_a_video_opens_nothing(tmp_path: Path, script: str) -> None:
    write_clip(tmp_path / "real.mp4", seconds=0.4)
    (tmp_path / "trap.mp4").write_text(script)
    with pytest.raises(FootageError):
        probe(tmp_path / "trap.mp4", "trap")


def test_folders_are_searched_for_video_in_name_order(tmp_path: Path) -> None:
    for name in ["b.mp4", "sub/a.MKV", "a.mp4", ".hidden.mp4", ".git/x.mp4"]:
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        write_clip(tmp_path / "in" / name, seconds=0.4)
    (tmp_path / "in" / "notes.txt").write_text("not video")
    progress: list[tuple[int, int]] = []
    found = scan(tmp_path / "in", progress=lambda done, total: progress.append((done, total)))
    assert [footage.name for footage in found] == ["a.mp4", "b.mp4", "sub/a.MKV"]
    assert progress == [(0, 3), (1, 3), (2, 3), (3, 3)]
    (tmp_path / "none").mkdir()
    with pytest.raises(FootageError, match="no video files"):
        scan(tmp_path / "none")


def test_two_footages_of_one_name_are_refused_and_the_same_one_counts_once(tmp_path: Path) -> None:
    for folder, number in [("one", 0), ("two", 7)]:
        (tmp_path / folder).mkdir()
        write_clip(tmp_path / folder / "a.mp4", seconds=0.4, first_number=number)
    one, two = tmp_path / "one" / "a.mp4", tmp_path / "two" / "a.mp4"
    assert len(scan_all([one, one])) == 1
    assert [found.name for found in scan_all([tmp_path])] == ["one/a.mp4", "two/a.mp4"]
    with pytest.raises(FootageError, match=r"two different footages are named 'a\.mp4'"):
        scan_all([one, two])


def test_fingerprints_are_those_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")  # the example of FIPS 180-2
    assert (
        fingerprint(tmp_path / "abc")
        == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_fingerprints_are_remembered_while_the_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    first = fingerprint(path)
    monkeypatch.setattr(footage_module.hashlib, "file_digest", lambda *_: pytest.fail("read again"))
    assert fingerprint(path) == first
    monkeypatch.undo()
    path.write_bytes(b"abd")
    os.utime(path, (1_000_000_001, 1_000_000_001))
    assert fingerprint(path) != first


def test_a_cache_that_cannot_be_written_or_read_costs_nothing_else(tmp_path: Path, own_cache: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    own_cache.write_text("a file where the folder should be")
    expected = fingerprint(path)
    own_cache.unlink()
    fingerprint(path)
    (memory,) = (own_cache / "fingerprints").iterdir()
    memory.write_text("{broken")
    assert fingerprint(path) == expected


def test_ffmpeg_says_nothing_on_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_clip(path, seconds=1, noise=20)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    program = (
        "import sys; from pathlib import Path; from sentrysearch.footage import probe\n"
        "try: probe(Path(sys.argv[1]), 'a')\nexcept Exception: pass"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stderr == done.stdout == ""


def test_a_file_of_a_folder_that_cannot_be_used_is_told_and_the_rest_is_scanned(tmp_path):
    write_clip(tmp_path / "a.mp4", seconds=1)
    (tmp_path / "b.mp4").write_bytes(b"")
    told = []
    assert [found.name for found in scan(tmp_path, skipped=told.append)] == ["a.mp4"]
    assert ["b.mp4" in str(error) for error in told] == [True]
    with pytest.raises(FootageError, match=r"b\.mp4"):
        scan(tmp_path)
    with pytest.raises(FootageError, match=r"b\.mp4"):  # named by itself
        scan(tmp_path / "b.mp4", skipped=told.append)
    (tmp_path / "a.mp4").unlink()
    with pytest.raises(FootageError, match="not one video file"):
        scan(tmp_path, skipped=told.append)
