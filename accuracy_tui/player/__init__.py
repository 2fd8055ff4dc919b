"""Showing a window of footage to the person who judges it: one interface, several routes.

A route is chosen by :func:`find_player`; judging goes on without a picture where there is none, with the
command line of :func:`play_command` to copy.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sentrysearch.errors import SentrySearchError
from sentrysearch.text import printable
from sentrysearch.types import Footage, Window


class PlayerError(SentrySearchError):
    """A clip could not be shown; judging goes on without the picture."""


class Player(Protocol):
    """Shows one window at a time, over and over, until the next one or ``close``."""

    def show(self, footage: Footage, window: Window) -> None:
        """Returns once the window's first picture is up; the clip then loops by itself.

        Raises:
            PlayerError: it could not be shown. The player may be asked again.
        """
        ...

    def close(self) -> None:
        """Takes the picture away and ends what shows it; never fails, may be called twice."""
        ...


@dataclass(frozen=True, slots=True)
class Route:
    """What :func:`find_player` found: a player ready to show, or None, and one line that says so."""

    player: Player | None
    line: str


def find_player(environ: Mapping[str, str] = os.environ) -> Route:
    """The way to show clips here: mpv in a window of its own where a local display answers.

    A display forwarded over SSH isn't chosen: uncompressed video through it takes some 50 MB/s.
    """
    from accuracy_tui.player.window import WindowPlayer

    player = WindowPlayer(environ)
    try:
        line = player.start()
    except PlayerError as error:
        return Route(None, f"clips are not played: {error}")
    return Route(player, f"clips play in an {line}")


def play_command(footage: Footage, window: Window) -> str:
    """A shell command on one printable line that loops the window in the reader's own mpv."""
    start, end = f"{window.start:.1f}", f"{window.end:.1f}"
    words = ["mpv", f"--start={start}", f"--ab-loop-a={start}", f"--ab-loop-b={end}", "--"]
    return f"{shlex.join(words)} {_shell_word(str(footage.path.absolute()))}"


def _shell_word(text: str) -> str:
    r"""Quoted for a shell; with characters that a terminal may act on, as ``$'…'`` with ``\xNN`` bytes."""
    if printable(text) == text:
        return shlex.quote(text)
    escaped = re.sub(rb"[^ -&(-\[\]-~]", lambda byte: b"\\x%02x" % byte.group()[0], os.fsencode(text))
    return f"$'{escaped.decode()}'"
