"""mpv for the console: in a window of its own, or drawing into memory for the terminal."""

from __future__ import annotations

import functools
import itertools
import mmap
import tempfile
import threading
from collections import deque
from collections.abc import Mapping
from typing import IO, Any

from accuracy_tui.player import PlayerError
from accuracy_tui.player.clip_player import (
    AROUND_SECONDS,
    Clip,
    Control,
    FilmstripReady,
    KeyPressed,
    OnEvent,
    Picture,
    PictureReady,
    PlayerLost,
    Position,
    ShowFailed,
    Shown,
)
from accuracy_tui.player.clip_process import INSTALL, ClipProcess
from accuracy_tui.player.cut import Cut, Cuts
from accuracy_tui.player.display import find_display
from sentrysearch.text import printable

_OUTPUTS = {"x11": "x11", "wayland": "wlshm"}
ANSWER_SECONDS = 15.0
"""A child that neither shows a clip nor says why not in this time is stuck, and is ended."""

_HOLD_SECONDS = 2.0
"""Cuts stand still so long at most while a clip's first picture is waited for."""

_CRASHES = 2
"""So many crashes in a row, without a picture between them, and the player is given up."""


class _MpvClips:
    """What both have in common. Its methods are called by one thread; events come on others."""

    route = ""
    _cuts_shown_first = True
    """What is looked at freezes at each turn of its loop; the next one is ready in memory without a cut."""

    def __init__(self, on_event: OnEvent, environ: Mapping[str, str]) -> None:
        self.line = ""
        self._on_event = on_event
        self._environ = environ
        self._mutex = threading.RLock()
        self._clips: dict[int, Clip] = {}
        self._shifts: dict[int, float] = {}  # by clip number: where in the footage its file begins
        self._turns: dict[int, int] = {}  # by clip number: degrees clockwise that make its pictures upright
        self._cutting: Clip | None = None
        self._looked_at: deque[Clip] = deque(maxlen=4)  # those that have a cut, or need none
        self._numbers = itertools.count(1)
        self._shown: tuple[Clip, int] | None = None
        self._next: tuple[Clip, int] | None = None
        self._crashes = 0
        self._closed = False
        self._cuts = Cuts()
        self._process: ClipProcess | None = None
        self._timer: threading.Timer | None = None

    def show(self, clip: Clip) -> None:
        with self._mutex:
            if self._next is not None and self._next[0] is clip:
                self._shown, self._next = self._next, None
            else:
                self._shown = (clip, self._number(clip))
            if self._cutting is not clip:  # this one's first picture needs the processors
                self._cutting = None
                self._cuts.give_up()
            self._cuts.hold(_HOLD_SECONDS)
            self._send("show", *self._shown)
            self._expect(self._shown[1])

    def prefetch(self, clip: Clip) -> None:
        with self._mutex:
            # From the footage itself first: whoever is quick need not wait until its cut is made.
            self._make_ready(clip)
        self._cut_next()

    def _make_ready(self, clip: Clip) -> None:
        self._next = (clip, self._number(clip))
        self._send("prefetch", *self._next)

    def _cut_next(self) -> None:
        """Has the cut made that is missing most."""
        with self._mutex:
            order = (self._shown, self._next) if self._cuts_shown_first else (self._next, self._shown)
            for clip in [of[0] for of in order if of is not None]:
                if clip is self._cutting:
                    return
                if not any(clip is done for done in self._looked_at):
                    self._cutting = clip
                    self._cuts.prepare(clip, functools.partial(self._cut_made, clip))
                    return

    def _cut_made(self, clip: Clip, cut: Cut | None) -> None:
        """On a thread of the cuts'; ``cut`` is None where none is needed, or none could be made."""
        with self._mutex:
            if self._closed or self._cutting is not clip:
                return
            self._cutting = None
            self._looked_at.append(clip)
            if cut is not None and self._next is not None and self._next[0] is clip:
                self._make_ready(clip)
            elif cut is not None and self._shown is not None and self._shown[0] is clip:
                was = self._shown[1]
                self._shown = (clip, self._number(clip))
                self._send("exchange", *self._shown, was=was)
        self._cut_next()

    def control(self, control: Control) -> None:
        if self._process is not None:
            self._process.send(do="control", control=control.value)

    def hide(self) -> None:
        self._stop_waiting()
        with self._mutex:
            self._shown = self._next = self._cutting = None
            self._cuts.give_up()
            if self._process is not None:
                self._process.send(do="hide")

    def close(self) -> None:
        self._closed = True
        self._stop_waiting()
        if self._process is not None:
            self._process.close()
        self._cuts.close()

    @property
    def process_id(self) -> int | None:
        """Of the child."""
        return self._process.process.pid if self._process is not None else None

    def _start(self) -> None:
        raise NotImplementedError

    def _expect(self, number: int) -> None:
        """An answer about this clip, in time."""
        self._stop_waiting()
        self._timer = threading.Timer(ANSWER_SECONDS, self._stuck, (number,))
        self._timer.daemon = True
        self._timer.start()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _stuck(self, number: int) -> None:
        with self._mutex:
            if self._shown is not None and self._shown[1] == number and self._process is not None:
                self._process.kill()  # its end is heard of as any other

    def _number(self, clip: Clip) -> int:
        number = next(self._numbers)
        self._clips[number] = clip
        for old in [one for one in self._clips if one < number - 5]:
            del self._clips[old]
            self._shifts.pop(old, None)
            self._turns.pop(old, None)
        return number

    def _send(self, do: str, clip: Clip, number: int, *, was: int | None = None) -> None:
        """Tells the child; ``was`` is the clip's number where it is shown already, from another file."""
        if self._process is None:
            return
        cut = self._cuts.ready(clip)
        self._turns[number] = clip.footage.rotation
        width, height = self._size(clip, number)
        window = clip.window
        shift = 0.0 if cut is None else cut.start
        exchanged = {} if was is None else {"was": was, "behind": shift - self._shifts.get(was, 0.0)}
        self._process.send(
            do=do,
            clip=number,
            # An absolute path is never read as a URL or an option.
            path=str(clip.footage.path.absolute() if cut is None else cut.path),
            start=round(window.start - shift, 3),
            end=round(window.end - shift, 3),
            margin=AROUND_SECONDS,
            caption=clip.caption,
            title=printable(f"{clip.footage.name}  {window.start:.1f}–{window.end:.1f} s"),
            width=width,
            height=height,
            **exchanged,
        )
        self._shifts[number] = shift

    def _size(self, clip: Clip, number: int) -> tuple[int, int]:
        return 0, 0

    def _message(self, message: dict[str, Any]) -> None:
        """On the process's thread."""
        kind = message["event"]
        if kind == "ended":
            self._ended(message["reason"])
            return
        number = message["clip"]
        with self._mutex:
            clip = self._clips.get(number)
        if clip is None:
            return
        if kind == "shown":
            self._crashes = 0
            self._stop_waiting()
            self._cuts.hold(0.0)
            self._on_event(Shown(clip))
        elif kind == "failed":
            self._stop_waiting()
            self._on_event(ShowFailed(clip, PlayerError(message["reason"], where=clip.footage.name)))
        elif kind == "position":
            seconds = message["time"] + self._shifts.get(number, 0.0)
            self._on_event(Position(clip, seconds, message["paused"], message["speed"], message["around"]))
        elif kind == "key":
            self._on_event(KeyPressed(clip, message["key"]))
        elif kind == "picture":
            self._take_picture(clip, message)

    def _take_picture(self, clip: Clip, message: dict[str, Any]) -> None:
        pass

    def _ended(self, reason: str) -> None:
        """The child is gone: a new one goes on where it was, once or twice."""
        with self._mutex:
            if self._closed:
                return
            self._crashes += 1
            shown = self._shown
            if self._process is not None:
                self._process.close()
                self._process = None
            if self._crashes < _CRASHES:
                try:
                    self._start()
                except PlayerError as error:
                    self._on_event(PlayerLost(error))
                    return
                if shown is not None:
                    self._send("show", *shown)
                    self._expect(shown[1])
                return
        self._on_event(PlayerLost(PlayerError(f"the player ended: {reason}")))


class WindowClips(_MpvClips):
    """Clips in mpv's own window on a local display.

    Raises:
        PlayerError: no display answers, or there is no libmpv.
    """

    route = "window"
    _cuts_shown_first = False  # a window has nothing ready but the file it is to open

    def __init__(self, on_event: OnEvent, environ: Mapping[str, str]) -> None:
        super().__init__(on_event, environ)
        self._start()

    def _start(self) -> None:
        display = find_display(self._environ)
        self.line = f"mpv window on {display.name}"
        try:
            self._process = ClipProcess([_OUTPUTS[display.kind]], self._message, environ=self._environ)
        except PlayerError as error:
            raise PlayerError(str(error), hint=INSTALL) from error


_SLOTS = 4
_SLOT_BYTES = 1280 * 800 * 4


class InlineClips(_MpvClips):
    """Clips as pictures that the console draws; by mpv, or by PyAV where libmpv isn't installed.

    Args:
        fps: pictures a second at most.

    Raises:
        PlayerError: the child doesn't start.
    """

    route = "inline"

    def __init__(self, on_event: OnEvent, environ: Mapping[str, str], *, fps: float = 8.0) -> None:
        super().__init__(on_event, environ)
        self._fps = fps
        self._room = (240, 160, 1.0)
        self._picture: Picture | None = None
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close())
        self._file.truncate(_SLOT_BYTES * _SLOTS)
        self._memory = mmap.mmap(self._file.fileno(), _SLOT_BYTES * _SLOTS)
        self._start()

    def _start(self) -> None:
        descriptor = self._file.fileno()
        self._process = ClipProcess(
            ["memory", str(descriptor), str(_SLOT_BYTES), str(_SLOTS), str(self._fps)],
            self._message,
            environ=self._environ,
            descriptors=[descriptor],
        )
        self.line = "inline" if self._process.backend == "mpv" else f"inline, without mpv; {INSTALL}"

    def picture(self) -> Picture | None:
        return self._picture

    def resize(self, width: int, height: int, pixel_shape: float = 1.0) -> None:
        with self._mutex:
            self._room = (max(2, width), max(2, height), pixel_shape)
            if self._process is not None and self._shown is not None:
                size = self._size(*self._shown)
                self._process.send(do="resize", width=size[0], height=size[1])

    def hide(self) -> None:
        super().hide()
        self._picture = None

    def show(self, clip: Clip) -> None:
        self._picture = None
        super().show(clip)

    def filmstrip(self, clip: Clip, count: int, width: int, height: int, pixel_shape: float = 1.0) -> None:
        def make() -> None:
            from accuracy_tui.player.stills import stills

            try:
                pictures = stills(clip.footage, clip.window, count, width, height, pixel_shape)
            except PlayerError as error:
                self._on_event(ShowFailed(clip, error))
            else:
                self._on_event(FilmstripReady(clip, tuple(pictures)))

        threading.Thread(target=make, name="stills", daemon=True).start()

    def _size(self, clip: Clip, number: int) -> tuple[int, int]:
        """The largest size of the clip's shape in the room there is, of a picture not yet turned."""
        width, height, pixel_shape = self._room
        shape = clip.footage.width / max(1, clip.footage.height) / pixel_shape
        if width / height > shape:
            width = max(2, round(height * shape))
        else:
            height = max(2, round(width / shape))
        return (height, width) if self._turns.get(number) in (90, 270) else (width, height)

    def _take_picture(self, clip: Clip, message: dict[str, Any]) -> None:
        import numpy as np

        width, height = message["width"], message["height"]
        start = message["slot"] * _SLOT_BYTES
        flat = np.frombuffer(self._memory, np.uint8, width * height * 4, start)
        number = message["clip"]
        upright = np.rot90(flat.reshape(height, width, 4)[:, :, :3], -self._turns.get(number, 0) // 90)
        # Copied at once: the slot will be drawn over.
        pixels = upright.copy()
        with self._mutex:
            if self._shown is None or self._shown[0] is not clip:
                return
            shift = self._shifts.get(number, 0.0)
            self._picture = Picture(pixels, message["time"] + shift)
        self._on_event(PictureReady(clip))

    def close(self) -> None:
        super().close()
        self._file.close()
