"""Windows cut into memory, where footage has its key frames so far apart that seeking would be slow.

To show a picture a decoder must begin at the key frame before it: with one in 250 frames of 1080p that takes
most of a second, at the first picture and again at every turn of the loop. A cut has a key frame at its start
and many after.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from accuracy_tui.player.clip_player import Clip, around
from accuracy_tui.player.window_video import window_video, yield_to_others
from sentrysearch.errors import SentrySearchError
from sentrysearch.types import Footage, Window

SLOW_PIXELS = 60 * 1280 * 720
"""Pixels between a key frame and a window's start that take a decoder some 100 ms."""

_MOST_SECONDS = 120.0
_SIDE = 960
_KEY_SECONDS = 0.5
_HELD_STEP = 0.02


@dataclass(frozen=True, slots=True)
class Cut:
    """A small video that holds a window and some seconds around it."""

    path: Path
    start: float
    """Where in the footage it begins, in seconds."""


class Cuts:
    """Makes cuts, one at a time."""

    def __init__(self) -> None:
        self._held_until = 0.0
        self._mutex = threading.Lock()
        self._made: dict[int, tuple[Clip, Cut]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = itertools.count()
        self._latest: Clip | None = None
        self._closed = False

    def prepare(self, clip: Clip, then: Callable[[Cut | None], None]) -> None:
        """Makes a cut where one is needed, then calls ``then``; at once where it isn't.

        One that is being made for a clip before this one is given up.
        """
        self._latest = clip
        if clip.window.end - clip.window.start > _MOST_SECONDS:
            then(None)
            return

        def work() -> None:
            cut = None
            yield_to_others()
            with contextlib.suppress(SentrySearchError, OSError):  # then the footage itself is played
                if decoding_distance(clip.footage, clip.window.start) > SLOW_PIXELS:
                    cut = self._make(clip)
            if not self._closed:
                then(cut)

        threading.Thread(target=work, name="cut", daemon=True).start()

    def ready(self, clip: Clip) -> Cut | None:
        """The clip's cut, if it is made."""
        with self._mutex:
            made = self._made.get(id(clip))
            return made[1] if made is not None else None

    def give_up(self) -> None:
        """What is being made is not wanted any more."""
        self._latest = None

    def hold(self, seconds: float) -> None:
        """What is being made stands still, for so many seconds at most: someone waits for a picture."""
        self._held_until = time.monotonic() + seconds

    def close(self) -> None:
        """Deletes all; may be called twice."""
        self._closed = True
        with self._mutex:
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _is_wanted(self, clip: Clip) -> bool:
        """Asked on the cut's thread, with each picture."""
        while self._latest is clip and not self._closed and time.monotonic() < self._held_until:
            time.sleep(_HELD_STEP)
        return self._latest is clip and not self._closed

    def _make(self, clip: Clip) -> Cut | None:
        window = around(clip.footage, clip.window)
        window = Window(window.footage, round(window.start, 1), round(window.end, 1))
        encoded = window_video(
            clip.footage,
            window,
            max_side=_SIDE,
            key_seconds=_KEY_SECONDS,
            wanted=lambda: self._is_wanted(clip),
        )
        with self._mutex:
            if self._closed:
                return None
            if self._folder is None:
                memory = Path("/dev/shm")  # where there is none, the file system's cache is as good
                where = memory if memory.is_dir() else None
                self._folder = tempfile.TemporaryDirectory(prefix="accuracy-tui-", dir=where)
            path = Path(self._folder.name) / f"{next(self._numbers)}.mp4"
            path.write_bytes(encoded)
            cut = Cut(path, window.start)
            self._made[id(clip)] = (clip, cut)
            while len(self._made) > 4:
                _, old = self._made.pop(next(iter(self._made)))
                old.path.unlink(missing_ok=True)
            return cut


def decoding_distance(footage: Footage, seconds: float) -> float:
    """How many pixels a decoder must decode to show the picture at ``seconds``.

    Raises:
        OSError: the footage can't be read.
    """
    import av
    import av.error

    try:
        with av.open(str(footage.path.absolute())) as container:
            stream = container.streams.video[0]
            if stream.time_base is None:
                return 0.0
            target = seconds + footage.start_time
            container.seek(int(target / stream.time_base), stream=stream)
            for packet in container.demux(stream):
                if packet.pts is not None:
                    before = max(0.0, target - float(packet.pts * stream.time_base))
                    return before * (footage.frame_rate or 30.0) * footage.width * footage.height
    except av.error.FFmpegError as error:
        raise OSError(str(error)) from error
    return 0.0
