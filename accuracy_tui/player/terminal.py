"""Clips on the whole terminal by mpv's own text or pixel output, while the console is suspended."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.cells import set_cell_size

from accuracy_tui.player import PlayerError
from accuracy_tui.player.clip_player import AROUND_SECONDS, Clip, Control, OnEvent, ShowFailed
from accuracy_tui.player.clip_process import INSTALL, ClipProcess
from accuracy_tui.player.whole_terminal import WholeTerminal

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
_LEAVING = ("\x1b", "\x03")
_STOPPING = "\x1a"
_HELP = "y yes  n no  s skip  u undo  space pause  .,+-  w ±5 s  v other player  q back"
_NO_PICTURES = b"\x1b_Ga=d,d=A,q=2\x1b\\"
_REDRAW_SECONDS = 1.0


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
        self._on_event = on_event
        self._environ = environ
        self._outputs = _outputs(abilities)
        """mpv's video outputs for this terminal, best first; those that its mpv lacks are taken out."""
        # Whether mpv can be had at all is known before the console makes room for it.
        try:
            ClipProcess(["null"], lambda message: None, environ=environ).close()
        except PlayerError as error:
            raise PlayerError(error.what, hint=INSTALL) from error

    @property
    def line(self) -> str:
        return f"mpv on the whole terminal ({self._outputs[0]})"

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
        """Plays a clip until a key answers. The terminal is as before when it returns.

        Returns:
            One of ``ynusvq``; "" where this clip can't be played, of which ``ShowFailed`` tells.

        Raises:
            PlayerError: there is no terminal, or mpv ended.
        """
        with WholeTerminal(_NO_PICTURES if self._outputs[0] == "kitty" else b"") as terminal:
            while True:
                showing = _Showing(clip, self._outputs[0], terminal, self._environ)
                try:
                    answer = showing.answer()
                finally:
                    showing.close()
                if answer == _STOPPING:
                    terminal.stop()
                elif answer is not None:
                    return answer
                elif showing.problem is None:
                    continue  # in the terminal's new size
                elif showing.lacks_output and len(self._outputs) > 1:
                    self._outputs = self._outputs[1:]
                else:
                    self._on_event(ShowFailed(clip, PlayerError(showing.problem, where=clip.footage.name)))
                    return ""


class _Showing:
    """One process that shows one clip in a terminal of one size.

    Raises:
        PlayerError: mpv doesn't start.
    """

    def __init__(self, clip: Clip, output: str, terminal: WholeTerminal, environ: Mapping[str, str]) -> None:
        self._output = output
        self._terminal = terminal
        self._size = terminal.size
        self._shown_at: float | None = None
        self._ended: str | None = None
        self.problem: str | None = None
        """Why the clip can't be played."""
        columns, rows = self._size
        lines = ((rows - 1, clip.caption), (rows, _HELP))
        self._below = "".join(
            f"\x1b[{row};1H\x1b[0m\x1b[2K{set_cell_size(text, columns - 1).rstrip()}" for row, text in lines
        )
        self._process = ClipProcess(
            [output, json.dumps(_options(output, columns, max(2, rows - 2), environ))],
            self._take,
            environ=environ,
            stdout=terminal.screen,
        )
        self._process.send(
            do="show",
            clip=1,
            path=str(clip.footage.path.absolute()),
            start=clip.window.start,
            end=clip.window.end,
            margin=AROUND_SECONDS,
            caption="",
            title="",
            width=0,
            height=0,
        )

    def answer(self) -> str | None:
        """The key that answers; None for the terminal's new size, or a clip that can't be played.

        Raises:
            PlayerError: mpv ended.
        """
        last = drawn = 0.0
        terminal = self._terminal
        while self.problem is None and terminal.size == self._size:
            now = time.monotonic()
            shown_at = self._shown_at
            # mpv wipes what is below the picture when it begins.
            if now - drawn > _REDRAW_SECONDS or (shown_at is not None and drawn < shown_at):
                drawn = now
                terminal.write(self._below)
            if self._ended is not None:
                raise PlayerError(self._ended)
            typed = terminal.key(0.1)
            if terminal.ending or typed in _LEAVING:
                return "q"
            if not typed:
                continue
            control = _KEYS.get(typed) or _KEYS.get(typed[0])
            key = typed[0]
            if control is not None:
                self._process.send(do="control", control=control.value)
            elif key in "yn":
                # A held key can't judge what was not yet seen.
                now = time.monotonic()
                held, last = now - last < GUARD_SECONDS, now
                if not held and shown_at is not None and now - shown_at >= GUARD_SECONDS:
                    return key
            elif key in "usvq" or key == _STOPPING:
                return key
        return None

    @property
    def lacks_output(self) -> bool:
        """Whether it is mpv's output that can't be had, and not the clip."""
        reason = self.problem or ""
        return "vo:" in reason or f"vo/{self._output}" in reason

    def close(self) -> None:
        self._process.close()

    def _take(self, message: dict[str, Any]) -> None:
        """On the process's thread."""
        if message["event"] == "shown":
            self._shown_at = time.monotonic()
        elif message["event"] == "failed":
            self.problem = message["reason"]
        elif message["event"] == "ended":
            self._ended = message["reason"]


def _options(output: str, columns: int, rows: int, environ: Mapping[str, str]) -> dict[str, str]:
    common = {"vf": "fps=12", "quiet": "yes"}
    if output == "tct":
        return common | {
            "vo-tct-width": str(columns),
            "vo-tct-height": str(rows),
            "vo-tct-buffering": "frame",
            "vo-tct-256": "no" if environ.get("COLORTERM") else "yes",
            "profile": "sw-fast",
        }
    # It is ended by force, and so would never leave the other screen.
    size = {"rows": str(rows), "cols": str(columns), "alt-screen": "no"}
    return common | {f"vo-{output}-{name}": value for name, value in size.items()}


def _outputs(abilities: Abilities | None) -> list[str]:
    pictures = [] if abilities is None else [("kitty", abilities.kitty), ("sixel", abilities.sixel)]
    return [*(output for output, possible in pictures if possible), "tct"]
