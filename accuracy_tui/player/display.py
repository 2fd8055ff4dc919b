"""Which display a window can be opened on, asked in a way that can't hang.

Opening a display that no longer answers (an SSH connection that stalled, a stopped server) blocks the X
client library for ever, so its socket is tried first.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from accuracy_tui.player import PlayerError

ANSWER_SECONDS = 1.0
"""How long a display may take to greet; a local one takes well under a millisecond."""

_BY_HAND = "run it on the machine's own desktop, or copy the mpv command shown to a machine with one"
# The X11 connection setup: little-endian, protocol 11.0, no authorisation. Even a refusal is an answer.
_X_HELLO = struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Display:
    """A local display that answered."""

    kind: Literal["x11", "wayland"]
    name: str


def find_display(environ: Mapping[str, str]) -> Display:
    """The local display named by the environment, Wayland before X.

    Raises:
        PlayerError: there is none, it is another machine's, or it doesn't answer.
    """
    wayland = environ.get("WAYLAND_DISPLAY")
    if wayland:
        # An absolute name stands for itself.
        path = Path(environ.get("XDG_RUNTIME_DIR", "")) / wayland
        if path.is_absolute() and _answers(str(path), hello=b""):
            return Display("wayland", wayland)
    name = environ.get("DISPLAY")
    if not name:
        if wayland:
            raise PlayerError(f"Wayland display {wayland} does not answer", hint=_BY_HAND)
        raise PlayerError("no display here", hint=_BY_HAND)
    number = re.fullmatch(r"(?:unix)?:(\d+)(?:\.\d+)?", name)
    if number is None:
        raise PlayerError(f"display {name} is another machine's, too slow for video", hint=_BY_HAND)
    path_name = f"/tmp/.X11-unix/X{number[1]}"
    if not any(_answers(address, hello=_X_HELLO) for address in (path_name, "\0" + path_name)):
        raise PlayerError(f"display {name} does not answer", hint=_BY_HAND)
    return Display("x11", name)


def _answers(address: str, *, hello: bytes) -> bool:
    """Whether a server listens on a local socket and, given a greeting, replies to it in time."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(address)
            if not hello:
                return True
            connection.sendall(hello)
            return bool(connection.recv(1))
    except OSError:
        return False
