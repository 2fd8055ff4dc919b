"""What the terminal can show, asked before the console starts."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time
import tty
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self

from accuracy_tui.player.colours import NO_COLOUR, PALETTE, SIXTEEN, TRUE_COLOUR

ANSWER_SECONDS = 0.4
"""How long a terminal may take to answer; one at the end of a slow line counts as one without pictures."""

_CELL = (8, 16)
# Is a picture of one pixel understood (kitty)? Then what every terminal answers, with a 4 for sixel.
_QUESTION = b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"
_DEVICE = re.compile(rb"\x1b\[\?([\d;]+)c")


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a terminal can show."""

    colours: str = TRUE_COLOUR
    kitty: bool = False
    sixel: bool = False
    cell: tuple[int, int] = _CELL
    """A cell's width and height in pixels."""
    quadrants: bool = True
    """Whether its letters can be trusted to have the quadrant blocks; halves are older."""


def colours_of(environ: Mapping[str, str]) -> str:
    """How many colours, by the usual variables."""
    if environ.get("NO_COLOR"):
        return NO_COLOUR
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return TRUE_COLOUR
    term = environ.get("TERM", "")
    if "direct" in term or "kitty" in term:
        return TRUE_COLOUR
    if "256" in term or "TMUX" in environ:
        return PALETTE
    if term in ("dumb", "vt100", "vt220"):
        return NO_COLOUR
    return SIXTEEN if term in ("linux", "ansi", "cygwin") or "16color" in term else PALETTE


def ask(descriptor: int, environ: Mapping[str, str]) -> Abilities:
    """Asks the terminal behind ``descriptor``; what it doesn't answer in time it doesn't have."""
    with Question(descriptor, environ) as question:
        return question.answer()


class Question:
    """What the terminal is asked; it may answer while something else is done. A context manager.

    Until it is left the terminal shows nothing that is typed, and what is typed before the answer is lost: so
    ask before anything invites typing. A signal that ends the process leaves the terminal as it was. For the
    main thread.
    """

    def __init__(self, descriptor: int, environ: Mapping[str, str]) -> None:
        self._descriptor = descriptor
        self._environ = environ
        self._before: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._deadline = 0.0

    def __enter__(self) -> Self:
        with contextlib.suppress(termios.error, OSError):
            self._before = termios.tcgetattr(self._descriptor)
            for number in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) == signal.SIG_DFL:
                    self._handlers[number] = signal.signal(number, self._end)
            tty.setcbreak(self._descriptor, termios.TCSANOW)  # Ctrl-C stays what it is
            os.write(self._descriptor, _QUESTION)
            self._deadline = time.monotonic() + ANSWER_SECONDS
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:  # what nobody waited for is not to land on the shell's line
            self._read()
        self._restore()

    def answer(self) -> Abilities:
        """What the terminal has said by now, or says before its time is over."""
        answer = self._read() if self._before is not None else b""
        self._restore()
        device = _DEVICE.search(answer)
        return Abilities(
            colours=colours_of(self._environ),
            kitty=b"\x1b_Gi=31;OK" in answer,
            sixel=device is not None and b"4" in device[1].split(b";"),
            cell=_cell_size(self._descriptor),
            quadrants=self._environ.get("TERM") != "linux",  # its fonts have 256 or 512 letters
        )

    def _read(self) -> bytes:
        answer = b""
        with contextlib.suppress(OSError):
            while not _DEVICE.search(answer):
                left = max(0.0, self._deadline - time.monotonic())
                if not select.select([self._descriptor], [], [], left)[0]:
                    break
                found = os.read(self._descriptor, 1024)
                if not found:  # hung up
                    break
                answer += found
        return answer

    def _restore(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._descriptor, termios.TCSANOW, before)
        while self._handlers:
            signal.signal(*self._handlers.popitem())

    def _end(self, number: int, _frame: FrameType | None) -> None:
        self._restore()
        os.kill(os.getpid(), number)


def _cell_size(descriptor: int) -> tuple[int, int]:
    with contextlib.suppress(OSError):
        packed = fcntl.ioctl(descriptor, termios.TIOCGWINSZ, bytes(8))
        rows, columns, width, height = struct.unpack("HHHH", packed)
        if rows and columns and width and height:
            return width // columns, height // rows
    return _CELL
