"""mpv in a window of its own, held by a child process that may crash or hang without harm."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from accuracy_tui.player import PlayerError
from accuracy_tui.player.display import find_display
from sentrysearch.text import printable
from sentrysearch.types import Footage, Window

ANSWER_SECONDS = 15.0
"""A child that takes longer than this to answer is hung and is killed."""

_OUTPUTS = {"x11": "x11", "wayland": "wlshm"}
_INSTALL = "install libmpv (Debian, Ubuntu: apt install libmpv2; macOS: brew install mpv)"


class WindowPlayer:
    """Plays in an mpv window; one that crashed is started again at the next clip.

    Args:
        environ: where the display is named, and what the child process is given.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = dict(environ)
        self._child: _Child | None = None

    def start(self) -> str:
        """Starts mpv, without a picture yet, and names the display.

        Raises:
            PlayerError: no display, or no libmpv.
        """
        display = find_display(self._environ)
        self.close()
        try:
            self._child = _Child(_OUTPUTS[display.kind], self._environ)
            self._child.read_reply(0)
        except OSError as error:  # no process, no socket, no temporary file
            raise PlayerError(f"mpv does not start: {error.strerror}") from error
        except (_ChildEnded, PlayerError) as error:
            self.close()
            hint = _INSTALL if isinstance(error, PlayerError) else None
            raise PlayerError(f"mpv does not start: {error}", hint=hint) from error
        return display.name

    def show(self, footage: Footage, window: Window) -> None:
        request = {
            "do": "show",
            "path": str(footage.path.absolute()),  # never read as a URL or an option
            "start": window.start,
            "end": window.end,
            "title": printable(f"{footage.name}  {window.start:.1f}–{window.end:.1f} s"),
        }
        for attempt in (1, 2):
            try:
                self._ask(request)
                return
            except _ChildEnded as error:  # crashed by itself before, or by this clip
                if attempt == 2:
                    raise PlayerError(f"mpv ended while it showed the clip: {error}") from error

    def state(self) -> dict[str, Any]:
        """What is on screen: ``path``, ``time`` (seconds, None before a first clip), ``visible``."""
        try:
            state: dict[str, Any] = self._ask({"do": "state"})
        except _ChildEnded as error:
            raise PlayerError(f"mpv has ended: {error}") from error
        return state

    @property
    def process_id(self) -> int | None:
        """Of the child that holds mpv, while there is one."""
        return self._child.process.pid if self._child else None

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _ask(self, request: dict[str, Any]) -> Any:
        if self._child is None:
            self.start()
        assert self._child is not None
        try:
            return self._child.ask(request)
        except _ChildEnded:
            self.close()
            raise


class _ChildEnded(Exception):
    """The child crashed, or hung and was killed; str() says which."""


class _Child:
    """One run of ``mpv_child.py``, and the socket to it."""

    def __init__(self, output: str, environ: Mapping[str, str]) -> None:
        self._last_id = 0
        self._unread = b""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close())
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(ANSWER_SECONDS)
        program = Path(__file__).with_name("mpv_child.py")
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", program, str(theirs.fileno()), output],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=environ,
                start_new_session=True,  # Ctrl-C in the terminal is for the one who asks
            )

    def ask(self, request: dict[str, Any]) -> Any:
        """Its answer.

        Raises:
            PlayerError: it answered with an error.
            _ChildEnded: it didn't answer.
        """
        self._last_id += 1
        try:
            self._socket.sendall(json.dumps({"id": self._last_id, **request}).encode() + b"\n")
        except OSError as error:
            raise self._ended() from error
        return self.read_reply(self._last_id)

    def read_reply(self, request_id: int) -> Any:
        while True:  # replies to requests that were interrupted are passed over
            reply = json.loads(self._read_line())
            if reply["id"] == request_id:
                if "error" in reply:
                    raise PlayerError(reply["error"])
                return reply.get("value")

    def _read_line(self) -> bytes:
        while b"\n" not in self._unread:
            try:
                received = self._socket.recv(65536)
            except TimeoutError as error:
                raise _ChildEnded(f"no answer in {ANSWER_SECONDS:.0f} seconds") from error
            except OSError as error:
                raise self._ended() from error
            if not received:
                raise self._ended()
            self._unread += received
        line, self._unread = self._unread.split(b"\n", 1)
        return line

    def _ended(self) -> _ChildEnded:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip().splitlines()
        return _ChildEnded(said[-1] if said else f"exit status {self.process.returncode}")

    def close(self) -> None:
        self._socket.close()  # on which it ends by itself, unless it is stuck
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()
