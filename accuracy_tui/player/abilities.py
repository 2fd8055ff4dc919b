"""What the terminal can show, asked before the console starts."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import struct
import termios
import time
import tty
from collections.abc import Mapping
from dataclasses import dataclass

from accuracy_tui.player.colours import NO_COLOUR, PALETTE, TRUE_COLOUR

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


def colours_of(environ: Mapping[str, str]) -> str:
    """How many colours, by the usual variables."""
    if environ.get("NO_COLOR"):
        return NO_COLOUR
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return TRUE_COLOUR
    term = environ.get("TERM", "")
    if "direct" in term or "kitty" in term:
        return TRUE_COLOUR
    return (
        PALETTE if "256" in term or "TMUX" in environ else NO_COLOUR if term in ("dumb", "vt100") else PALETTE
    )


def ask(descriptor: int, environ: Mapping[str, str]) -> Abilities:
    """Asks the terminal behind ``descriptor``; what it doesn't answer in time it doesn't have.

    Keys typed meanwhile stay what they were only up to the answer: so ask before anything invites typing.
    """
    colours = colours_of(environ)
    cell = _cell_size(descriptor)
    answer = b""
    with contextlib.suppress(termios.error, OSError):
        before = termios.tcgetattr(descriptor)
        try:
            tty.setraw(descriptor, termios.TCSANOW)
            os.write(descriptor, _QUESTION)
            deadline = time.monotonic() + ANSWER_SECONDS
            while not _DEVICE.search(answer) and (left := deadline - time.monotonic()) > 0:
                if select.select([descriptor], [], [], left)[0]:
                    answer += os.read(descriptor, 1024)
        finally:
            termios.tcsetattr(descriptor, termios.TCSANOW, before)
    device = _DEVICE.search(answer)
    return Abilities(
        colours=colours,
        kitty=b"\x1b_Gi=31;OK" in answer,
        sixel=device is not None and b"4" in device[1].split(b";"),
        cell=cell,
    )


def _cell_size(descriptor: int) -> tuple[int, int]:
    with contextlib.suppress(OSError):
        packed = fcntl.ioctl(descriptor, termios.TIOCGWINSZ, bytes(8))
        rows, columns, width, height = struct.unpack("HHHH", packed)
        if rows and columns and width and height:
            return width // columns, height // rows
    return _CELL
