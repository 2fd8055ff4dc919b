"""The console's side of ``clip_child``: starts it, tells it what to show, and hears what comes of it."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from accuracy_tui.player import PlayerError

START_SECONDS = 10.0
"""A child that takes longer to be ready is stuck: with a display that doesn't answer, say."""

INSTALL = "install libmpv (Debian, Ubuntu: apt install libmpv2; macOS: brew install mpv)"

_FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}
"""mpv decodes every clip on new threads: with a heap of glibc's for each it grows by hundreds of MB."""

OnMessage = Callable[[dict[str, Any]], None]


class ClipProcess:
    """One run of ``clip_child``.

    Args:
        arguments: after the socket.
        on_message: called on a thread of its own with each event; then once with ``{"event": "ended",
            "reason": …}`` however the child ends, unless ``close`` was called.
        descriptors: further ones that the child inherits.
        stdout: where its output goes; None for where it harms nobody.

    Raises:
        PlayerError: it cannot start, or can show nothing.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        on_message: OnMessage,
        *,
        environ: Mapping[str, str],
        descriptors: Sequence[int] = (),
        stdout: int | None = None,
    ) -> None:
        self._on_message = on_message
        self._closed = False
        self._sending = threading.Lock()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close())
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(START_SECONDS)
        with theirs:
            try:
                self.process = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",
                        "-m",
                        "accuracy_tui.player.clip_child",
                        str(theirs.fileno()),
                        *arguments,
                    ],
                    pass_fds=[theirs.fileno(), *descriptors],
                    stdin=subprocess.DEVNULL,
                    stdout=self._log if stdout is None else stdout,
                    stderr=self._log,
                    env={**_FEW_ARENAS, **environ},
                    start_new_session=True,  # what the terminal sends is for the console
                )
            except OSError as error:
                self._socket.close()
                self._log.close()
                raise PlayerError(f"the player does not start: {error.strerror}") from error
        self._lines = self._socket.makefile("rb")
        self.backend = self._wait_until_ready()
        self._socket.settimeout(None)
        threading.Thread(target=self._listen, name="clips", daemon=True).start()

    def send(self, **request: Any) -> None:
        """Tells the child; a child that has ended is heard of in another way."""
        with contextlib.suppress(OSError), self._sending:
            self._socket.sendall(json.dumps(request).encode() + b"\n")

    def kill(self) -> None:
        """Ends it at once, as a crash would; what comes of that is told."""
        with contextlib.suppress(OSError):
            self.process.kill()

    def close(self) -> None:
        """Ends it at once; may be called twice."""
        self._closed = True
        self.kill()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2.0)  # gone at once, unless the machine is very busy

    def _wait_until_ready(self) -> str:
        try:
            line = self._lines.readline()
            message = json.loads(line) if line else {"event": "failed", "reason": self._ending()}
        except (OSError, ValueError):
            message = {"event": "failed", "reason": f"no answer in {START_SECONDS:.0f} seconds"}
        if message["event"] != "ready":
            self.close()
            raise PlayerError(f"the player does not start: {message['reason']}")
        return str(message["backend"])

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in self._lines:
                self._on_message(json.loads(line))
        if not self._closed:
            self._on_message({"event": "ended", "reason": self._ending()})

    def _ending(self) -> str:
        """What it said last, or how it ended."""
        try:
            status = self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip().splitlines()
        if said:
            return said[-1]
        return f"ended by signal {-status}" if status < 0 else f"exit status {status}"
