"""The program that shows clips for the console: libmpv in a process of its own, told over a socket.

Either with mpv's own window, or drawing into memory that the console shares and paints on the terminal. A
process of its own because losing a display ends a process that uses libmpv, a stalled display blocks every
call into it, and what it prints would land on the terminal.

::

    python -m accuracy_tui.player.clip_child SOCKET_FD OUTPUT [OPTIONS | MEMORY_FD SLOT_BYTES SLOTS FPS]
    ← {"event": "ready", "backend": "mpv" | "av"}      or {"event": "failed", "reason": …} and the end
    → {"do": "show" | "prefetch", "clip": 1, "path": …, "start": 12.0, "end": 13.0, "margin": 5.0,
       "caption": …, "title": …, "width": 240, "height": 160}
    ← {"event": "shown", "clip": 1}                     its first picture is up
    ← {"event": "failed", "clip": 1, "reason": …}
    ← {"event": "position", "clip": 1, "time": 12.4, "paused": false, "speed": 1.0, "around": false}
    ← {"event": "picture", "clip": 1, "slot": 2, "width": 240, "height": 160, "time": 12.4}
    ← {"event": "key", "clip": 1, "key": "y"}
    → {"do": "exchange", "was": 1, "behind": 30.0, "clip": 2, "path": …}    the clip shown, from another file
      whose clock is so far behind: it goes on where it is, under another number
    → {"do": "control", "control": "pause"}   {"do": "hide"}

Pictures in memory are as the file stores them, not turned. ``OUTPUT`` is mpv's (x11 or wlshm for a window),
or ``memory``; ``OPTIONS`` are more of mpv's, in JSON. Times are the file's as a player shows them. It ends
when the socket closes.
"""

from __future__ import annotations

import json
import mmap
import os
import queue
import socket
import sys
import threading
import time
from typing import Any, NamedTuple, Protocol

from accuracy_tui.player.clip_player import Control, next_speed

_POSITION_SECONDS = 0.1


class Shot(NamedTuple):
    """What is to be shown."""

    clip: int
    path: str
    start: float
    end: float
    margin: float
    caption: str
    title: str
    width: int
    height: int


class Deck(Protocol):
    """Plays one clip, or keeps one ready."""

    shot: Shot | None
    ready: bool
    exchanged: Shot | None
    """What another file is being loaded for, while it is seen."""

    def load(self, shot: Shot, *, paused: bool) -> None: ...
    def play(self, shot: Shot) -> None: ...
    def exchange(self, shot: Shot, behind: float) -> None: ...
    def control(self, control: Control) -> None: ...
    def hide(self) -> None: ...
    def close(self) -> None: ...
    def position(self) -> dict[str, Any] | None: ...


class Child:
    """Serves one console: the deck that is seen, and where possible one with the next clip."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self.work: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self.decks: list[Any] = []
        self._told = 0.0

    def send(self, **event: Any) -> None:
        """To the console; on any thread."""
        with self._sending:
            self._connection.sendall(json.dumps(event).encode() + b"\n")

    def listen(self) -> None:
        """Puts what the console says into the queue of work, until it is gone."""
        with self._connection.makefile("rb") as lines:
            for line in lines:
                self.work.put(("request", json.loads(line)))
        os._exit(0)

    def serve(self) -> None:
        """Does the work that comes: the console's requests, and what decks report."""
        while True:
            kind, *rest = self.work.get()
            if kind == "request":
                try:
                    self._request(rest[0])
                except Exception as error:  # what mpv refuses once it may do for the next clip
                    if "clip" in rest[0]:
                        self.send(event="failed", clip=rest[0]["clip"], reason=str(error))
            elif kind == "ready":
                self._ready(*rest)
            elif kind == "mpv":
                rest[0].heard(*rest[1:])
            elif kind == "failed":
                deck, shot, reason = rest
                if deck.shot is shot:
                    deck.shot = None
                    if deck is self.decks[0]:
                        self.send(event="failed", clip=shot.clip, reason=reason)
            elif kind == "render":
                rest[0].render(seen=rest[0] is self.decks[0])
            elif kind == "key":
                shot = self.decks[0].shot
                if shot is not None:
                    self.send(event="key", clip=shot.clip, key=rest[0])
            elif kind == "position":
                self._position(rest[0])

    def _request(self, request: dict[str, Any]) -> None:
        do = request.pop("do")
        if do == "show":
            self._show(Shot(**request))
        elif do == "prefetch":
            if len(self.decks) > 1:
                self.decks[1].load(Shot(**request), paused=True)
        elif do == "exchange":
            was, behind = request.pop("was"), request.pop("behind")
            shot = self.decks[0].shot
            if shot is not None and shot.clip == was and self.decks[0].ready:
                self.decks[0].exchange(Shot(**request), behind)
        elif do == "control":
            self.decks[0].control(Control(request["control"]))
            self._position(self.decks[0], at_once=True)
        elif do == "resize":
            for deck in self.decks:
                deck.resize(request["width"], request["height"])
        elif do == "hide":
            for deck in self.decks:
                deck.hide()

    def _show(self, shot: Shot) -> None:
        if len(self.decks) > 1 and self.decks[1].shot is not None and self.decks[1].shot.clip == shot.clip:
            self.decks.reverse()
            self.decks[1].hide()
            deck = self.decks[0]
            deck.play(shot)
            if deck.ready:
                self._ready(deck, deck.shot)
        else:
            self.decks[0].load(shot, paused=False)

    def _ready(self, deck: Any, shot: Shot) -> None:
        if deck.shot is not shot:
            return
        if deck.exchanged is shot:
            deck.go_on()
            return
        deck.ready = True
        if deck is self.decks[0]:
            deck.go()
            self.send(event="shown", clip=shot.clip)

    def _position(self, deck: Any, *, at_once: bool = False) -> None:
        if deck is not self.decks[0] or not deck.ready:
            return
        now = time.monotonic()
        state = deck.position()
        # While it plays another one follows soon; where it was stopped has to be told.
        often = now - self._told < _POSITION_SECONDS and not at_once
        if state is not None and (state["paused"] or not often):
            self._told = now
            self.send(event="position", clip=deck.shot.clip, **state)


class MpvDeck:
    """One mpv core."""

    def __init__(self, child: Child, output: str, pictures: Pictures | None, more: dict[str, str]) -> None:
        from accuracy_tui.player.mpv_core import make_mpv

        self._child = child
        self._complaints: list[str] = []
        self._pictures = pictures
        if pictures is not None:
            # Its software renderer can't turn pictures, and fails an assertion where they are to be turned by
            # a quarter: they come as they are stored. What size they have is for the console to say, whose
            # pixels needn't be square.
            more = {"sws-scaler": "bilinear", "sws-fast": "yes", "video-rotate": "no", "keepaspect": "no"}
        else:  # libmpv leaves its window's keys alone unless told
            more = {"input-vo-keyboard": "yes", **more}
        self.mpv = make_mpv("libmpv" if pictures is not None else output, self._complaints, **more)
        self.shot: Shot | None = None
        self.ready = False
        self.around = False
        self.exchanged: Shot | None = None
        self._paused = False
        self._loading: int | None = None
        """mpv's number of the file asked for last, until its first picture is up."""
        self._begun: int | None = None
        """Its number of the file that it began last."""
        self._renderer = None if pictures is None else _Renderer(self, pictures)
        if pictures is None:
            self.mpv.command("keybind", "CLOSE_WIN", "stop")
            for key in "ynusq":
                self.mpv.command("keybind", key, f"script-message judged {key}")
        self.mpv.register_event_callback(self._event)
        self.mpv.observe_property("time-pos", self._moved)

    def load(self, shot: Shot, *, paused: bool) -> None:
        self.shot, self.ready, self.around, self.exchanged = shot, False, False, None
        if self._renderer is not None:
            self._renderer.resize(shot.width, shot.height)
        self.mpv["speed"] = 1.0
        self.mpv["title"] = shot.title.replace("$", "$$")  # "${…}" would be expanded
        self._open(shot, shot.start)

    def exchange(self, shot: Shot, behind: float) -> None:
        """What is seen goes on from another file."""
        assert self.shot is not None
        seconds = self.mpv.time_pos
        if self.exchanged is None:
            self._paused = bool(self.mpv["pause"])
        self.shot = self.exchanged = shot
        self._open(shot, shot.start if seconds is None else max(0.0, seconds - behind))

    def go_on(self) -> None:
        """The other file is open."""
        self.exchanged = None
        self._loop()
        self.mpv["pause"] = self._paused
        if self._renderer is not None:
            self._renderer.again = True
            self._child.work.put(("render", self))

    def _open(self, shot: Shot, seconds: float) -> None:
        self._complaints.clear()
        player = self.mpv
        player["ab-loop-a"] = player["ab-loop-b"] = "no"  # the clip before this one isn't to jump
        player["pause"] = True
        player["start"] = str(seconds)
        self._loading = player.command("loadfile", os.fsencode(shot.path), "replace")["playlist_entry_id"]

    def play(self, shot: Shot) -> None:
        """What was loaded for later is to be seen now."""
        self.shot = shot if self.shot is None else self.shot
        if self._renderer is not None:
            self._renderer.resize(shot.width, shot.height)
            self._renderer.again = True

    def go(self) -> None:
        """The first picture is up, and the clip is seen: it plays."""
        assert self.shot is not None
        self._loop()
        self.mpv["pause"] = False
        self._caption()
        if self._renderer is not None:
            self._renderer.again = True
            self._child.work.put(("render", self))

    def _loop(self) -> None:
        assert self.shot is not None
        margin = self.shot.margin if self.around else 0.0
        self.mpv["ab-loop-a"] = str(max(0.0, self.shot.start - margin))
        self.mpv["ab-loop-b"] = str(self.shot.end + margin)

    def _caption(self) -> None:
        if self._pictures is None and self.shot is not None and self.shot.caption:
            # The overlay's text is ASS: a backslash or a brace would be a command.
            text = self.shot.caption.replace("\\", "\\\u2060").replace("{", "\\{")
            line = "{\\an8\\fs28\\bord2}" + text + "{\\fs18}\\N y yes   n no   s skip   u undo"
            self.mpv.command("osd-overlay", id=1, format="ass-events", data=line)

    def control(self, control: Control) -> None:
        if self.shot is None or not self.ready or self.exchanged is not None:
            return
        player = self.mpv
        start, end = self.shot.start, self.shot.end
        if control is Control.PAUSE:
            player["pause"] = not player["pause"]
        elif control in (Control.FASTER, Control.SLOWER, Control.NORMAL_SPEED):
            player["speed"] = next_speed(player["speed"], control)
        elif control is Control.STEP:
            player.command("frame-step")
        elif control is Control.STEP_BACK:
            player.command("frame-back-step")
        elif control in (Control.FORWARD, Control.BACK):
            step = 1.0 if control is Control.FORWARD else -1.0
            low, high = float(player["ab-loop-a"]), float(player["ab-loop-b"])
            self._seek(min(max((player.time_pos or start) + step, low), max(low, high - 0.1)))
        elif control is Control.RESTART:
            self._seek(start)
        elif control is Control.AROUND:
            self.around = not self.around
            self._loop()
            if self.around or not start <= (player.time_pos or start) < end:
                self._seek(float(player["ab-loop-a"]))

    def _seek(self, seconds: float) -> None:
        self.mpv.command("seek", str(seconds), "absolute+exact")

    def hide(self) -> None:
        self.shot, self.ready, self.exchanged, self._loading = None, False, None, None
        self.mpv.command("stop")

    def resize(self, width: int, height: int) -> None:
        if self._renderer is not None:
            self._renderer.resize(width, height)
            self._renderer.again = True
            self._child.work.put(("render", self))

    def render(self, *, seen: bool) -> None:
        """Draws a picture if there is a new one."""
        if self._renderer is not None:
            self._renderer.render(seen=seen and self.ready)

    def position(self) -> dict[str, Any] | None:
        seconds = self.mpv.time_pos
        if seconds is None:
            return None
        player = self.mpv
        return {
            "time": round(seconds, 3),
            "paused": bool(player["pause"]),
            "speed": float(player["speed"]),
            "around": self.around,
        }

    def wake(self) -> None:
        """On mpv's thread: there is something to draw."""
        self._child.work.put(("render", self))

    def send_picture(self, slot: int, width: int, height: int) -> None:
        """A picture is in memory."""
        if self.shot is not None:
            seconds = self.mpv.time_pos or self.shot.start
            self._child.send(
                event="picture", clip=self.shot.clip, slot=slot, width=width, height=height, time=seconds
            )

    def _moved(self, _name: str, seconds: float | None) -> None:
        if seconds is not None:
            self._child.work.put(("position", self))

    def heard(self, kind: str, number: int, error: int) -> None:
        """What became of a file, in the order in which it did; of one asked for earlier it means nothing."""
        import mpv

        if kind == "begun":
            self._begun = number
        elif self._loading is None or self._loading != (number if kind == "ended" else self._begun):
            return
        elif kind == "pictured":
            self._loading = None
            self._child.work.put(("ready", self, self.shot))
        elif error:
            self._loading = None
            reason = ": ".join([mpv._mpv_error_string(error).decode(), *self._complaints[:1]])
            self._child.work.put(("failed", self, self.shot, reason))

    def _event(self, event: Any) -> None:
        """On mpv's event thread, ahead of or behind what was asked: told in the queue of work."""
        import mpv

        kind = event.event_id.value
        if kind == mpv.MpvEventID.START_FILE:
            self._child.work.put(("mpv", self, "begun", event.data.playlist_entry_id, 0))
        elif kind == mpv.MpvEventID.PLAYBACK_RESTART:
            self._child.work.put(("mpv", self, "pictured", 0, 0))
        elif kind == mpv.MpvEventID.END_FILE:
            self._child.work.put(("mpv", self, "ended", event.data.playlist_entry_id, event.data.error))
        elif kind == mpv.MpvEventID.CLIENT_MESSAGE:
            words = [bytes(word).decode(errors="replace") for word in event.data.args]
            if words[:1] == ["judged"]:
                self._child.work.put(("key", words[1]))


class Pictures:
    """Memory shared with the console: slots that take turns, so that one being read isn't drawn over."""

    def __init__(self, descriptor: int, slot_bytes: int, slots: int, fps: float) -> None:
        self.memory = mmap.mmap(descriptor, slot_bytes * slots)
        self.slot_bytes = slot_bytes
        self.slots = slots
        self.fps = fps
        self.next = 0


class _Renderer:
    """Draws an mpv's pictures into memory, by libmpv's software renderer (libmpv's render.h)."""

    def __init__(self, deck: MpvDeck, pictures: Pictures) -> None:
        import ctypes

        import mpv

        self._ctypes = ctypes
        self._deck = deck
        self._pictures = pictures
        self._sent = 0.0
        self._size = (240, 160)
        self.again = False
        """Whether to draw although mpv has nothing new: the picture is wanted in another size, or at all."""
        for name, number in (("sw_size", 17), ("sw_format", 18), ("sw_stride", 19), ("sw_pointer", 20)):
            mpv.MpvRenderParam.TYPES.setdefault(name, (number, ctypes.c_void_p))
        self._context = mpv.MpvRenderContext(deck.mpv, "sw")
        self._context.update_cb = deck.wake

    def resize(self, width: int, height: int) -> None:
        width, height = max(2, width), max(2, height)
        while width * height * 4 > self._pictures.slot_bytes:
            width, height = width // 2, height // 2
        self._size = (width, height)

    def render(self, *, seen: bool) -> None:
        fresh = self._context.update()
        if not fresh and not (seen and self.again):
            return
        now = time.monotonic()
        due = seen and (self.again or now - self._sent >= 1 / self._pictures.fps - 0.005)
        self._draw()
        self._context.report_swap()
        if due:
            self.again = False
            self._sent = now
            slot = self._pictures.next
            self._pictures.next = (slot + 1) % self._pictures.slots
            self._deck.send_picture(slot, *self._size)

    def _draw(self) -> None:
        ctypes, pictures = self._ctypes, self._pictures
        width, height = self._size
        size = (ctypes.c_int * 2)(width, height)
        stride = ctypes.c_size_t(width * 4)
        start = pictures.next * pictures.slot_bytes
        memory = (ctypes.c_char * (width * height * 4)).from_buffer(pictures.memory, start)
        self._context.render(
            sw_size=ctypes.cast(size, ctypes.c_void_p),
            sw_format=ctypes.cast(ctypes.c_char_p(b"rgb0"), ctypes.c_void_p),
            sw_stride=ctypes.cast(ctypes.pointer(stride), ctypes.c_void_p),
            sw_pointer=ctypes.cast(memory, ctypes.c_void_p),
        )


def main(arguments: list[str]) -> None:
    """Serves the console until the socket closes."""
    connection = socket.socket(fileno=int(arguments[0]))
    child = Child(connection)
    threading.Thread(target=child.listen, daemon=True).start()
    output = arguments[1]
    pictures = None
    if output == "memory":
        pictures = Pictures(int(arguments[2]), int(arguments[3]), int(arguments[4]), float(arguments[5]))
    try:
        if os.environ.get("ACCURACY_TUI_NO_MPV"):
            raise ImportError("left out as ACCURACY_TUI_NO_MPV is set")
        # One window shows one clip; in memory the next one waits on a deck of its own.
        more = json.loads(arguments[2]) if pictures is None and len(arguments) > 2 else {}
        child.decks = [MpvDeck(child, output, pictures, more) for _ in range(1 if pictures is None else 2)]
        backend = "mpv"
    except (ImportError, OSError) as error:  # python-mpv raises OSError where it finds no libmpv
        if pictures is None:
            child.send(event="failed", reason=f"libmpv cannot be loaded ({error})")
            return
        from accuracy_tui.player.av_deck import AvDeck

        child.decks = [AvDeck(child, pictures) for _ in range(2)]
        backend = "av"
    child.send(event="ready", backend=backend)
    child.serve()


if __name__ == "__main__":
    main(sys.argv[1:])
