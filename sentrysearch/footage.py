"""Finds and probes footage: what is there, how long it is, how it is shown, and its fingerprint."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sentrysearch import locations
from sentrysearch.clock import Decoded
from sentrysearch.decoder import Video
from sentrysearch.errors import FootageError
from sentrysearch.picture import shown_size, turn
from sentrysearch.types import Footage

VIDEO_SUFFIXES = frozenset(
    {
        *(".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts", ".m2ts", ".mts", ".mpg", ".mpeg", ".vob"),
        *(".flv", ".f4v", ".wmv", ".asf", ".ogv", ".3gp", ".3g2", ".mxf", ".mjpeg", ".mjpg", ".ivf", ".dv"),
        *(".nut", ".h264", ".264", ".hevc", ".265"),
    }
)
# A file of which so many pictures in a row fail is not probed further.
_PROBED_FAULTS = 500
# A file changed so recently may change again within its timestamp's resolution.
_SETTLED_SECONDS = 2.0

Progress = Callable[[int, int], None]
Skipped = Callable[[FootageError], None]


def scan(entry: Path, *, progress: Progress | None = None, skipped: Skipped | None = None) -> list[Footage]:
    """Probes a file, or every video file below a folder (by suffix, hidden ones left out), sorted by name.

    Args:
        progress: called with (files done, files in all) before the first file and after each.
        skipped: told of each file of a folder that cannot be used, such as the empty one that a camera
            leaves when its power fails; None to let the first one raise.

    Raises:
        FootageError: there is nothing there, a file cannot be used, or a folder holds no video that can.
    """
    if entry.is_dir():
        files = {_name(path.relative_to(entry).as_posix()): path for path in _video_files(entry)}
        if not files:
            raise FootageError("the folder holds no video files", where=entry)
    else:
        files = {_name(entry.absolute().name): entry}
    footages = []
    if progress is not None:
        progress(0, len(files))
    for done, name in enumerate(sorted(files), start=1):
        try:
            footages.append(probe(files[name], name))
        except FootageError as error:
            if skipped is None or not entry.is_dir():
                raise
            skipped(error)
        if progress is not None:
            progress(done, len(files))
    if not footages:
        raise FootageError("not one video file in the folder can be used", where=entry)
    return footages


def scan_all(
    entries: Sequence[Path], *, progress: Progress | None = None, skipped: Skipped | None = None
) -> list[Footage]:
    """Scans several entries as ``scan`` does; footage named twice counts once.

    Raises:
        FootageError: as ``scan``, or two different footages share a name.
    """
    named: dict[str, Footage] = {}
    for entry in entries:
        for footage in scan(entry, progress=progress, skipped=skipped):
            other = named.setdefault(footage.name, footage)
            if other.fingerprint != footage.fingerprint:
                raise FootageError(
                    f"two different footages are named {footage.name!r}: {other.path} and {footage.path}",
                    hint="rename one, or give the folder above both",
                )
    return list(named.values())


def probe(path: Path, name: str) -> Footage:
    """Reads what there is to know of a video file, decoding its first picture.

    Args:
        name: what the footage is called in windows and runs.

    Raises:
        FootageError: the file is missing, empty, not video, or not one picture of it can be decoded.
    """
    with Video(path) as video:
        first = _first_picture(video)
        if first is None:
            raise FootageError("no picture in it can be decoded", where=path)
        duration = video.duration()
        frame, stream = first.frame, video.stream
        rotation = turn(frame)
        width, height = shown_size(frame.width, frame.height, stream.sample_aspect_ratio, rotation)
        rate = stream.average_rate
        codec, start = video.codec, float(video.start)
    return Footage(
        name=name,
        path=path.absolute(),
        fingerprint=fingerprint(path),
        duration=max(duration, first.time + first.duration),
        start_time=start,
        width=width,
        height=height,
        rotation=rotation,
        codec=codec,
        frame_rate=float(rate) if rate else 0.0,
    )


def fingerprint(path: Path) -> str:
    """``sha256:<hex>`` of the whole file, remembered in the cache folder while the file stays as it is.

    Raises:
        FootageError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            state = [status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev]
            memory = _memory(path)
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                remembered = json.loads(memory.read_bytes())
                if remembered["state"] == state:
                    return str(remembered["fingerprint"])
            result = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except (OSError, ValueError) as error:
        raise FootageError(f"cannot be read: {getattr(error, 'strerror', error)}", where=path) from error
    if time.time() - status.st_mtime > _SETTLED_SECONDS:
        _remember(memory, {"state": state, "fingerprint": result})
    return result


def _memory(path: Path) -> Path:
    key = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:32]
    return locations.cache_folder() / "fingerprints" / f"{key}.json"


def _remember(memory: Path, content: dict[str, object]) -> None:
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time only
        memory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=memory.parent, delete=False) as file:
            json.dump(content, file)
        Path(file.name).replace(memory)


def _first_picture(video: Video) -> Decoded | None:
    for item in itertools.islice(video.pictures(), _PROBED_FAULTS):
        if isinstance(item, Decoded):
            return item
    return None


def _video_files(folder: Path) -> list[Path]:
    found = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(parent, name)
            for name in files
            if not name.startswith(".") and Path(name).suffix.lower() in VIDEO_SUFFIXES
        ]
    return [path for path in found if path.is_file()]


def _name(text: str) -> str:
    """A file name that can be written as UTF-8, whatever bytes the file system holds."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")
