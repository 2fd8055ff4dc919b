"""What plays clips into memory where libmpv isn't installed: PyAV, with the controls that judging needs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accuracy_tui.player.clip_player import Control, next_speed
from sentrysearch.errors import SentrySearchError

if TYPE_CHECKING:
    from accuracy_tui.player.clip_child import Child, Pictures, Shot
    from sentrysearch.clock import Decoded
    from sentrysearch.decoder import Video
    from sentrysearch.picture import Scalers

_MOMENT = 0.001
"""Less than any picture is on show, in seconds."""

_TAIL = 0.1
"""How close to the loop's end a jump may go, in seconds."""


class AvDeck:
    """Decodes one clip on a thread of its own, in time with the clock.

    It reads the file as sentrysearch does: what is shown is what the models were given, damage and all.
    """

    def __init__(self, child: Child, pictures: Pictures) -> None:
        self._child = child
        self._pictures = pictures
        self.shot: Shot | None = None
        self.ready = False
        self.exchanged: Shot | None = None
        self.around = False
        self._size = (240, 160)
        self._paused = True
        self._speed = 1.0
        self._time = 0.0
        self._sent = 0.0
        self._seek: float | None = None
        """Where to go on instead, in seconds."""
        self._again = False
        """Whether to draw the picture on show once more."""
        self._single = False
        """Whether to go on by one picture although it is paused."""
        self._anchor = (0.0, 0.0)
        """A moment of the monotonic clock, and the clip's own time then."""
        self._changed = threading.Condition()
        threading.Thread(target=self._work, name="pictures", daemon=True).start()

    def load(self, shot: Shot, *, paused: bool) -> None:
        with self._changed:
            self.shot, self.ready, self.around = shot, False, False
            self._paused, self._speed = True, 1.0
            self._seek, self._again, self._single = None, False, False
            self._size = (shot.width, shot.height)
            self._time = shot.start
            self._changed.notify()

    def play(self, shot: Shot) -> None:
        """What was loaded for later is to be seen now."""
        self._size = (shot.width, shot.height)

    def exchange(self, shot: Shot, behind: float) -> None:
        """What is seen goes on from another file, at the start of its loop."""
        with self._changed:
            self.shot, self._seek = shot, None
            self._time = max(0.0, self._time - behind)
            self._changed.notify()

    def go(self) -> None:
        with self._changed:
            self._paused = False
            self._again = True  # now that it is seen
            self._changed.notify()

    def control(self, control: Control) -> None:
        with self._changed:
            if self.shot is None:
                return
            if control is Control.PAUSE:
                self._paused = not self._paused
            elif control in (Control.FASTER, Control.SLOWER, Control.NORMAL_SPEED):
                self._anchor = (time.monotonic(), self._time)
                self._speed = next_speed(self._speed, control)
            elif control is Control.STEP:
                self._paused = self._single = True
            elif control is Control.STEP_BACK:
                self._paused = True
                self._move(-_MOMENT)
            elif control in (Control.FORWARD, Control.BACK):
                self._move(1.0 if control is Control.FORWARD else -1.0)
            elif control is Control.RESTART:
                self._seek = self.shot.start
            elif control is Control.AROUND:
                self.around = not self.around
                self._seek = self._bounds(self.shot)[0]
            self._changed.notify()

    def _move(self, seconds: float) -> None:
        assert self.shot is not None
        low, high = self._bounds(self.shot)
        self._seek = min(max(self._time + seconds, low), max(low, high - _TAIL))

    def hide(self) -> None:
        with self._changed:
            self.shot, self.ready = None, False
            self._changed.notify()

    def close(self) -> None:
        self.hide()

    def resize(self, width: int, height: int) -> None:
        with self._changed:
            self._size = (max(2, width), max(2, height))
            self._again = True
            self._changed.notify()

    def render(self, *, seen: bool) -> None:
        """Nothing waits to be drawn here: the thread sends what it decodes."""

    def position(self) -> dict[str, Any] | None:
        return {
            "time": round(self._time, 3),
            "paused": self._paused,
            "speed": self._speed,
            "around": self.around,
        }

    def _bounds(self, shot: Shot) -> tuple[float, float]:
        margin = shot.margin if self.around else 0.0
        return max(0.0, shot.start - margin), shot.end + margin

    # On the deck's own thread

    def _work(self) -> None:
        while True:
            with self._changed:
                while self.shot is None:
                    self._changed.wait()
                shot = self.shot
            try:
                self._show(shot)
            except SentrySearchError as error:
                self._child.work.put(("failed", self, shot, error.what))
            except Exception as error:  # PyAV's errors are many; each is why this clip can't be shown
                self._child.work.put(("failed", self, shot, str(error) or type(error).__name__))
            with self._changed:
                while self.shot is shot:
                    self._changed.wait()

    def _show(self, shot: Shot) -> None:
        from sentrysearch.decoder import Video
        from sentrysearch.picture import Scalers

        with Video(Path(shot.path)) as video:
            video.stream.thread_type = "AUTO"
            video.stream.codec_context.thread_count = 0
            scalers = Scalers()
            start = shot.start
            while self.shot is shot:
                if not self._turn(shot, video, scalers, start):
                    raise ValueError("nothing of this window can be decoded")
                with self._changed:
                    start = self._bounds(shot)[0] if self._seek is None else self._seek
                    self._seek = None

    def _turn(self, shot: Shot, video: Video, scalers: Scalers, start: float) -> bool:
        """Plays from ``start`` to the loop's end, or until something else is wanted.

        Returns:
            Whether there was any picture.
        """
        on_show: Decoded | None = None
        self._anchor = (time.monotonic(), start)
        end = self._bounds(shot)[1]
        for picture in _pictures(video, start):
            if picture.time >= end:
                break
            if on_show is not None and not self._wait(shot, picture.time, on_show, scalers):
                return True
            on_show = picture
            self._take(shot, picture, scalers)
        else:
            if on_show is not None:  # the file ends within the window
                end = min(end, on_show.time + 1 / float(video.rate))
        if on_show is not None:
            self._wait(shot, end, on_show, scalers)
        return on_show is not None

    def _wait(self, shot: Shot, seconds: float, on_show: Decoded, scalers: Scalers) -> bool:
        """Waits until a moment of the clip is due; False where something else is to be played."""
        with self._changed:
            while self.shot is shot and self._seek is None:
                if self._again:
                    self._again = False
                    self._draw(shot, on_show, scalers)
                if self._single:
                    self._single = False
                    self._anchor = (time.monotonic(), seconds)
                    return True
                if self._paused:
                    self._changed.wait()
                    self._anchor = (time.monotonic(), self._time)
                    continue
                moment, clip_time = self._anchor
                left = moment + (seconds - clip_time) / self._speed - time.monotonic()
                if left <= 0:
                    return True
                self._changed.wait(left)
            return False

    def _take(self, shot: Shot, picture: Decoded, scalers: Scalers) -> None:
        """A picture is due."""
        with self._changed:
            if self.shot is not shot:  # another was asked for while this one was decoded
                return
            self._time = max(picture.time, self._bounds(shot)[0])
            if not self.ready:
                self.ready = True
                self._child.work.put(("ready", self, shot))
        if self._paused or time.monotonic() - self._sent >= 1 / self._pictures.fps - 0.005:
            self._draw(shot, picture, scalers)

    def _draw(self, shot: Shot, picture: Decoded, scalers: Scalers) -> None:
        if self is not self._child.decks[0]:
            return
        import numpy as np

        self._sent = time.monotonic()
        width, height = self._size
        slot = self._pictures.next
        self._pictures.next = (slot + 1) % self._pictures.slots
        memory = np.frombuffer(
            self._pictures.memory, np.uint8, width * height * 4, slot * self._pictures.slot_bytes
        )
        memory.reshape(height, width, 4)[:, :, :3] = scalers.rgb(picture.frame, width, height)
        self._child.send(
            event="picture", clip=shot.clip, slot=slot, width=width, height=height, time=self._time
        )
        self._child.work.put(("position", self))


def _pictures(video: Video, start: float) -> Iterator[Decoded]:
    """Those from the picture on show at ``start`` on."""
    from sentrysearch.clips import pictures_from

    before: Decoded | None = None
    for picture in pictures_from(video, start, seek=True):
        if picture.time <= start + _MOMENT / 2:
            before = picture
            continue
        if before is not None:
            yield before
            before = None
        yield picture
    if before is not None:
        yield before
