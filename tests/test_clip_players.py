"""Clips by a real libmpv, in memory and in a window, and by PyAV where there is no libmpv."""

import ctypes
import ctypes.util
import itertools
import os
import queue
import signal
import time

import numpy as np
import psutil
import pytest

from accuracy_tui.player import PlayerError, cut
from accuracy_tui.player.clip_player import (
    Clip,
    Control,
    FilmstripReady,
    KeyPressed,
    PictureReady,
    PlayerLost,
    Position,
    ShowFailed,
    Shown,
)
from accuracy_tui.player.mpv_clips import InlineClips, WindowClips
from sentrysearch.types import Window
from support.screen import COLOURS, needs_screen, until, virtual_screen, write_clip

needs_mpv = pytest.mark.skipif(ctypes.util.find_library("mpv") is None, reason="needs libmpv")
NO_MPV = {"ACCURACY_TUI_NO_MPV": "1"}


class Heard:
    """A player's events."""

    def __init__(self):
        self._events = queue.SimpleQueue()
        self.all = []

    def __call__(self, event):
        self._events.put(event)

    def next(self, kind, condition=lambda event: True, seconds=20.0):
        """The next event of a kind; what comes before it is passed over."""
        deadline = time.monotonic() + seconds
        while True:
            event = self._events.get(timeout=max(0.01, deadline - time.monotonic()))
            self.all.append(event)
            if isinstance(event, kind) and condition(event):
                return event


def colour_of(picture):
    mean = picture.pixels.reshape(-1, 3).mean(axis=0)
    return min(COLOURS, key=lambda name: np.abs(mean - COLOURS[name]).sum())


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def footage(tmp_path):
    return write_clip(tmp_path / "--fs $(x) ${path} [b].mkv", offset=3.5)


@pytest.fixture(params=["mpv", "av"])
def inline(request, heard):
    if request.param == "mpv" and ctypes.util.find_library("mpv") is None:
        pytest.skip("needs libmpv")
    environ = {**os.environ, "DISPLAY": "", **(NO_MPV if request.param == "av" else {})}
    player = InlineClips(heard, environ, fps=20)
    player.resize(120, 90)
    yield player
    player.close()


def second(footage, number, query="a {\\b1} \\N query"):
    """One of the clip's seconds, each of which has a colour of its own."""
    return Clip(footage, Window(footage.name, float(number), number + 1.0), query)


def test_pictures_of_the_window_and_no_others(inline, heard, footage):
    clip = second(footage, 1)
    inline.show(clip)
    heard.next(Shown)
    times = []
    for _ in range(25):  # more than one turn of the loop
        heard.next(PictureReady, lambda event: event.clip is clip)
        picture = inline.picture()
        assert picture.pixels.shape == (90, 120, 3)
        assert colour_of(picture) == "green"
        times.append(picture.time)
    assert min(times) < 1.3 and max(times) > 1.7
    assert all(1.0 <= seconds < 2.0 for seconds in times)


def test_the_next_clip_is_ready(inline, heard, footage):
    first, following = second(footage, 0), second(footage, 2)
    inline.show(first)
    heard.next(Shown)
    inline.prefetch(following)
    heard.next(Position)
    time.sleep(0.3)
    inline.show(following)
    assert heard.next(Shown).clip is following
    heard.next(PictureReady, lambda event: event.clip is following)
    assert colour_of(inline.picture()) == "blue"


def test_what_is_looked_at_goes_on_from_its_cut(inline, heard, footage, monkeypatch):
    # As if key frames were far apart.
    monkeypatch.setattr(cut, "decoding_distance", lambda footage, seconds: 1e12)
    first, following = second(footage, 1), second(footage, 2)
    inline.show(first)
    heard.next(Shown)
    inline.control(Control.FASTER)
    heard.next(Position, lambda event: event.speed == 1.5)
    inline.prefetch(following)
    until(lambda: len(cuts_open_in(inline.process_id)) == 2)
    for _ in range(30):
        position = heard.next(Position)
        assert position.clip is first and 0.99 <= position.seconds < 2.01
    assert (position.speed, position.paused) == (1.5, False)
    heard.next(PictureReady)
    assert colour_of(inline.picture()) == "green"
    assert sum(isinstance(event, Shown) for event in heard.all) == 1
    inline.show(following)
    assert heard.next(Shown).clip is following
    heard.next(PictureReady, lambda event: event.clip is following)
    assert colour_of(inline.picture()) == "blue"


def cuts_open_in(process):
    return {file.path for file in psutil.Process(process).open_files() if "/accuracy-tui-" in file.path}


def test_controls(inline, heard, footage):
    clip = second(footage, 1)
    inline.show(clip)
    heard.next(Shown)
    inline.control(Control.PAUSE)
    paused = heard.next(Position, lambda event: event.paused)
    inline.control(Control.STEP)
    stepped = heard.next(Position, lambda event: event.paused and event.seconds != paused.seconds)
    assert 0 < (stepped.seconds - paused.seconds) % 1.0 < 0.35
    inline.control(Control.FASTER)
    assert heard.next(Position, lambda event: event.speed != 1.0).speed == 1.5
    inline.control(Control.NORMAL_SPEED)
    heard.next(Position, lambda event: event.speed == 1.0)
    inline.control(Control.AROUND)
    heard.next(Position, lambda event: event.around)
    inline.control(Control.PAUSE)
    seen = set()
    while seen < {"red", "green", "blue"}:  # before, in and after the window
        heard.next(PictureReady)
        seen.add(colour_of(inline.picture()))
    inline.control(Control.AROUND)
    heard.next(Position, lambda event: not event.around and 1.0 <= event.seconds < 2.0)


def test_another_size(inline, heard, footage):
    inline.show(second(footage, 3))
    heard.next(Shown)
    inline.resize(64, 64)
    heard.next(PictureReady, lambda event: inline.picture().pixels.shape == (48, 64, 3))
    assert colour_of(inline.picture()) == "yellow"


def test_stills(inline, heard, footage):
    clip = Clip(footage, Window(footage.name, 0.0, 4.0), "q")
    inline.filmstrip(clip, 4, 40, 40)
    pictures = heard.next(FilmstripReady).pictures
    assert [colour_of(picture) for picture in pictures] == list(COLOURS)
    assert [picture.time for picture in pictures] == pytest.approx([0.5, 1.5, 2.5, 3.5])


def test_a_file_that_is_no_video(inline, heard, footage, tmp_path):
    footage.path.write_bytes(b"not a video at all")
    clip = second(footage, 1)
    inline.show(clip)
    failed = heard.next(ShowFailed)
    assert failed.clip is clip and "\n" not in str(failed.error)
    good = write_clip(tmp_path / "good.mkv")
    inline.show(second(good, 0))
    heard.next(Shown)


def test_hidden_is_quiet(inline, heard, footage):
    inline.show(second(footage, 1))
    heard.next(Shown)
    inline.hide()
    time.sleep(0.3)
    while not heard._events.empty():
        heard._events.get()
    time.sleep(0.3)
    assert heard._events.empty() and inline.picture() is None


def test_a_child_that_is_killed_comes_back_once(inline, heard, footage):
    clip = second(footage, 1)
    inline.show(clip)
    heard.next(Shown)
    os.kill(inline.process_id, signal.SIGKILL)
    assert heard.next(Shown).clip is clip  # by a new child
    child = inline.process_id
    inline.close()
    until(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)


def test_a_child_that_dies_at_every_clip_is_given_up(inline, heard, footage, monkeypatch):
    monkeypatch.setattr(InlineClips, "_start", lambda self: (_ for _ in ()).throw(PlayerError("no more")))
    inline.show(second(footage, 1))
    heard.next(Shown)
    os.kill(inline.process_id, signal.SIGKILL)
    assert "no more" in str(heard.next(PlayerLost).error)


def test_without_libmpv_it_says_how_to_get_it(heard):
    player = InlineClips(heard, {**os.environ, **NO_MPV})
    assert "apt install libmpv2" in player.line
    player.close()
    with pytest.raises(PlayerError, match="no display here"):
        WindowClips(heard, {"PATH": os.environ["PATH"]})


def test_nothing_is_left_when_the_console_is_killed(footage, tmp_path):
    import subprocess
    import sys

    program = (
        "import os, time; from accuracy_tui.player.mpv_clips import InlineClips\n"
        "player = InlineClips(lambda event: None, os.environ); print(player.process_id, flush=True)\n"
        "time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    child = int(owner.stdout.readline())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    until(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)


@pytest.fixture
def screen(tmp_path):
    with virtual_screen(tmp_path) as running:
        yield running


@needs_screen
def test_a_window_plays_the_loop(screen, heard, footage):
    player = WindowClips(heard, screen.environ)
    try:
        assert screen.environ["DISPLAY"] in player.line
        player.show(second(footage, 2))
        heard.next(Shown)
        until(lambda: screen.colour() == "blue")
        times = [heard.next(Position).seconds for _ in range(25)]
        assert all(1.99 <= seconds < 3.01 for seconds in times)
        assert any(later < earlier for earlier, later in itertools.pairwise(times))  # it looped
        player.prefetch(second(footage, 0))
        player.show(second(footage, 1))
        heard.next(Shown)
        until(lambda: screen.colour() == "green")
        player.hide()
        until(lambda: screen.colour() != "green")
    finally:
        player.close()


@needs_screen
@pytest.mark.skipif(ctypes.util.find_library("Xtst") is None, reason="needs libXtst (apt install libxtst6)")
def test_keys_in_the_window(screen, heard, footage):
    player = WindowClips(heard, screen.environ)
    try:
        clip = second(footage, 2)
        player.show(clip)
        heard.next(Shown)
        until(lambda: screen.colour() == "blue")
        for key in "ynusq":
            _type(screen.environ["DISPLAY"], key)
            pressed = heard.next(KeyPressed)
            assert (pressed.clip, pressed.key) == (clip, key)
    finally:
        player.close()


@needs_screen
def test_a_display_that_is_lost_is_said(screen, heard, footage):
    player = WindowClips(heard, screen.environ)
    try:
        player.show(second(footage, 2))
        heard.next(Shown)
        screen.kill()
        assert heard.next(PlayerLost).error is not None
    finally:
        player.close()


def _type(display, key):
    """Presses and lets go of a key over the middle of the screen, with the XTEST extension."""
    x11 = ctypes.CDLL(ctypes.util.find_library("X11"))
    xtest = ctypes.CDLL(ctypes.util.find_library("Xtst"))
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XKeysymToKeycode.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
    for function in (xtest.XTestFakeKeyEvent, xtest.XTestFakeMotionEvent):
        function.argtypes = [ctypes.c_void_p] + [ctypes.c_int] * (
            3 if function is xtest.XTestFakeKeyEvent else 4
        )
    x11.XFlush.argtypes = x11.XCloseDisplay.argtypes = [ctypes.c_void_p]
    opened = x11.XOpenDisplay(display.encode())
    xtest.XTestFakeMotionEvent(opened, -1, 400, 300, 0)
    code = x11.XKeysymToKeycode(opened, ord(key)) & 0xFF
    xtest.XTestFakeKeyEvent(opened, code, 1, 0)
    xtest.XTestFakeKeyEvent(opened, code, 0, 0)
    x11.XFlush(opened)
    x11.XCloseDisplay(opened)
