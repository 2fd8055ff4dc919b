"""What plays clips into memory where libmpv isn't installed: PyAV, with the controls that judging needs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from accuracy_tui.player.clip_player import Control, next_speed

if TYPE_CHECKING:
    from accuracy_tui.player.clip_child import Child, Pictures, Shot

_STEP_SECONDS = 0.04
"""How far a step goes: about one picture."""


class AvDeck:
    """Decodes one clip on a thread of its own, in time with the clock."""

    def __init__(self, child: Child, pictures: Pictures) -> None:
        self._child = child
        self._pictures = pictures
        self.shot: Shot | None = None
        self.ready = False
        self.around = False
        self._size = (240, 160)
        self._paused = True
        self._speed = 1.0
        self._time = 0.0
        self._sent = 0.0
        self._seek: float | None = None
        self._changed = threading.Condition()
        threading.Thread(target=self._work, name="pictures", daemon=True).start()

    def load(self, shot: Shot, *, paused: bool) -> None:
        with self._changed:
            self.shot, self.ready, self.around = shot, False, False
            self._paused, self._speed = True, 1.0
            self._size = (shot.width, shot.height)
            self._seek = self._time = shot.start
            self._changed.notify()

    def play(self, shot: Shot) -> None:
        """What was loaded for later is to be seen now."""
        self._size = (shot.width, shot.height)

    def go(self) -> None:
        with self._changed:
            self._paused = False
            self._seek = self._time  # drawn again, now that it is seen
            self._changed.notify()

    def control(self, control: Control) -> None:
        if self.shot is None:
            return
        with self._changed:
            if control is Control.PAUSE:
                self._paused = not self._paused
            elif control in (Control.FASTER, Control.SLOWER, Control.NORMAL_SPEED):
                self._speed = next_speed(self._speed, control)
            elif control in (Control.STEP, Control.STEP_BACK):
                self._paused = True
                self._move(_STEP_SECONDS if control is Control.STEP else -_STEP_SECONDS)
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
        self._seek = min(max(self._time + seconds, low), max(low, high - _STEP_SECONDS))

    def hide(self) -> None:
        with self._changed:
            self.shot, self.ready = None, False
            self._changed.notify()

    def close(self) -> None:
        self.hide()

    def resize(self, width: int, height: int) -> None:
        with self._changed:
            self._size = (max(2, width), max(2, height))
            self._seek = self._time
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

    def _work(self) -> None:
        while True:
            with self._changed:
                while self.shot is None:
                    self._changed.wait()
                shot = self.shot
            try:
                self._show(shot)
            except Exception as error:  # PyAV's errors are many; each is why this clip can't be shown
                self._child.work.put(("failed", self, shot, str(error) or type(error).__name__))
            with self._changed:
                while self.shot is shot:
                    self._changed.wait()

    def _show(self, shot: Shot) -> None:
        import av

        with av.open(shot.path) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            began = float((container.start_time or 0) / 1_000_000)
            start = shot.start
            while self.shot is shot:
                played = False
                clock, origin = time.monotonic(), start
                for seconds, frame in _decoded(container, stream, start, began):
                    if self.shot is not shot:
                        return
                    low, high = self._bounds(shot)
                    if seconds >= high:
                        break
                    due = clock + (seconds - origin) / self._speed
                    self._send(shot, frame, seconds)
                    played = True
                    with self._changed:
                        if self._paused and self._seek is None and self.shot is shot:
                            self._changed.wait_for(
                                lambda: not self._paused or self._seek is not None or self.shot is not shot
                            )
                            clock, origin = time.monotonic(), seconds
                        elif (left := due - time.monotonic()) > 0:
                            speed = self._speed
                            self._changed.wait(left)
                            if speed != self._speed:
                                clock, origin = time.monotonic(), seconds
                        if self._seek is not None:
                            break
                else:
                    low, _ = self._bounds(shot)
                if not played and self._seek is None:
                    raise ValueError("nothing of this window can be decoded")
                with self._changed:
                    start = low if self._seek is None else self._seek
                    self._seek = None

    def _send(self, shot: Shot, frame: Any, seconds: float) -> None:
        if not self.ready:
            self._time = seconds
            self.ready = True
            self._seek = None
            self._child.work.put(("ready", self, shot))
        self._time = seconds
        now = time.monotonic()
        if self is not self._child.decks[0] or (
            not self._paused and now - self._sent < 1 / self._pictures.fps - 0.005
        ):
            return
        self._sent = now
        width, height = self._size
        rgb = frame.reformat(width=width, height=height, format="rgba")
        plane = rgb.planes[0]
        slot = self._pictures.next
        self._pictures.next = (slot + 1) % self._pictures.slots
        start = slot * self._pictures.slot_bytes
        data, stride = memoryview(plane), plane.line_size
        for row in range(height):
            to = start + row * width * 4
            self._pictures.memory[to : to + width * 4] = data[row * stride : row * stride + width * 4]
        self._child.send(event="picture", clip=shot.clip, slot=slot, width=width, height=height, time=seconds)
        self._child.work.put(("position", self))


def _decoded(container: Any, stream: Any, start: float, began: float) -> Iterator[tuple[float, Any]]:
    """(seconds as a player shows them, frame) from the picture on show at ``start`` on."""
    container.seek(int((start + began) / stream.time_base), stream=stream)
    before = None
    for frame in container.decode(stream):
        if frame.time is None:
            continue
        seconds = frame.time - began
        if seconds <= start + 1e-3:
            before = (seconds, frame)
            continue
        if before is not None:
            yield start, before[1]
            before = None
        yield seconds, frame
    if before is not None:
        yield start, before[1]
