"""Clips on the whole terminal by mpv's own text or pixel output, while the console is suspended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from accuracy_tui.player import PlayerError
from accuracy_tui.player.clip_player import AROUND_SECONDS, Clip, Control, OnEvent
from accuracy_tui.player.clip_process import ClipProcess

if TYPE_CHECKING:
    from accuracy_tui.player.abilities import Abilities

GUARD_SECONDS = 0.25
_KEYS = {
    " ": Control.PAUSE,
    "+": Control.FASTER,
    "-": Control.SLOWER,
    "0": Control.NORMAL_SPEED,
    ".": Control.STEP,
    ",": Control.STEP_BACK,
    "w": Control.AROUND,
    "r": Control.RESTART,
    "l": Control.FORWARD,
    "h": Control.BACK,
    "\x1b[C": Control.FORWARD,
    "\x1b[D": Control.BACK,
}
_HELP = "y yes  n no  s skip  u undo  space pause  . , picture  + - speed  w ±5 s  v other player  q back"
# Back to plain text, the cursor seen, no pictures, an empty screen.
_CLEAN = "\x1b[0m\x1b[?25h\x1b_Ga=d,d=A,q=2\x1b\\\x1b[2J\x1b[H"


class TerminalClips:
    """Plays one clip at a time with :meth:`play`, which has the terminal to itself.

    Raises:
        PlayerError: no libmpv.
    """

    route = "terminal"
    takes_terminal = True

    def __init__(
        self, on_event: OnEvent, environ: Mapping[str, str], abilities: Abilities | None = None
    ) -> None:
        self._environ = environ
        self._output = _output(abilities)
        self.line = f"mpv on the whole terminal ({self._output})"
        # Whether mpv can be had at all is known before the console makes room for it.
        ClipProcess(["null"], lambda message: None, environ=environ).close()

    def show(self, clip: Clip) -> None:
        """Nothing by itself: the console suspends, then calls ``play``."""

    def prefetch(self, clip: Clip) -> None:
        """Nothing: what plays is started anew for each clip."""

    def control(self, control: Control) -> None:
        """Nothing: keys are read while it plays."""

    def hide(self) -> None:
        """Nothing is shown outside ``play``."""

    def close(self) -> None:
        """Nothing runs outside ``play``."""

    def play(self, clip: Clip) -> str:
        """Plays a clip until a key answers: one of ``ynusvq``. The terminal is as before when it returns.

        Raises:
            PlayerError: the clip can't be played, or mpv ended.
        """
        keyboard, screen = sys.__stdin__, sys.__stdout__
        if keyboard is None or screen is None:
            raise PlayerError("there is no terminal")
        size = os.get_terminal_size(screen.fileno())
        before = termios.tcgetattr(keyboard.fileno())
        playing = _Playing()
        process: ClipProcess | None = None
        try:
            tty.setcbreak(keyboard.fileno(), termios.TCSADRAIN)
            screen.write("\x1b[2J\x1b[H\x1b[?25l")
            screen.flush()
            process = ClipProcess(
                [self._output, json.dumps(self._options(size.columns, size.lines - 2))],
                playing.take,
                environ=self._environ,
                stdout=screen.fileno(),
            )
            window = clip.window
            process.send(
                do="show",
                clip=1,
                path=str(clip.footage.path.absolute()),
                start=window.start,
                end=window.end,
                margin=AROUND_SECONDS,
                caption="",
                title="",
                width=0,
                height=0,
            )
            lines = ((size.lines - 1, clip.caption), (size.lines, _HELP))
            below = "".join(f"\x1b[{row};1H\x1b[0m\x1b[2K{text[: size.columns - 1]}" for row, text in lines)

            def draw() -> None:
                screen.write(below)
                screen.flush()

            return _answer(keyboard.fileno(), playing, process, draw)
        finally:
            if process is not None:
                process.close()
            screen.write(_CLEAN)
            screen.flush()
            with contextlib.suppress(termios.error):
                termios.tcsetattr(keyboard.fileno(), termios.TCSADRAIN, before)
                termios.tcflush(keyboard.fileno(), termios.TCIFLUSH)

    def _options(self, columns: int, rows: int) -> dict[str, str]:
        if self._output == "tct":
            return {
                "vo-tct-width": str(columns),
                "vo-tct-height": str(rows),
                "vo-tct-buffering": "frame",
                "vo-tct-256": "no" if self._environ.get("COLORTERM") else "yes",
                "vf": "fps=12",
                "profile": "sw-fast",
                "quiet": "yes",
            }
        prefix = f"vo-{self._output}"
        return {f"{prefix}-rows": str(rows), f"{prefix}-cols": str(columns), "vf": "fps=12", "quiet": "yes"}


class _Playing:
    """What the process says."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self.shown_at: float | None = None
        self.problem: str | None = None

    def take(self, message: dict[str, Any]) -> None:
        with self._mutex:
            if message["event"] == "shown":
                self.shown_at = time.monotonic()
            elif message["event"] in ("failed", "ended"):
                self.problem = message["reason"]


def _answer(keyboard: int, playing: _Playing, process: ClipProcess, draw: Callable[[], None]) -> str:
    """The key that answers.

    Args:
        draw: writes the lines below the picture, which mpv wipes when it begins.
    """
    last = drawn = 0.0
    while True:
        if time.monotonic() - drawn > 1 or (playing.shown_at is not None and drawn < playing.shown_at):
            drawn = time.monotonic()
            draw()
        if playing.problem is not None:
            raise PlayerError(playing.problem)
        if not select.select([keyboard], [], [], 0.1)[0]:
            continue
        typed = os.read(keyboard, 64).decode(errors="replace")
        if not typed:
            return "q"
        control = _KEYS.get(typed) or _KEYS.get(typed[:1])
        key = "q" if typed == "\x1b" else typed[:1]
        if control is not None:
            process.send(do="control", control=control.value)
        elif key in "yn":
            # A held key can't judge what was not yet seen.
            now = time.monotonic()
            held, last = now - last < GUARD_SECONDS, now
            if not held and playing.shown_at is not None and now - playing.shown_at >= GUARD_SECONDS:
                return key
        elif key in "usvq":
            return key


def _output(abilities: Abilities | None) -> str:
    """mpv's video output for this terminal."""
    if abilities is not None and abilities.kitty:
        return "kitty"
    return "sixel" if abilities is not None and abilities.sixel else "tct"
