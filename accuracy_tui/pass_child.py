"""The console's end of a pass's process: starts it, reads its events, ends it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import IO

from accuracy_tui.pass_tasks import CANCEL, Task
from accuracy_tui.worker_events import WorkerEvent

PROGRAM = (sys.executable, "-P", "-m", "accuracy_tui.pass_process")
"""What is run; the connection's file descriptor is added. Nothing is imported from the current folder."""

_LONGEST_LINE = 200
_EXIT_SECONDS = 1.0
"""How long a process that has closed its connection may take to end."""


class PassChild:
    """One process with one task. Used by one thread, but for ``kill``.

    Raises:
        OSError: it can't be started.
    """

    def __init__(self, task: Task, program: Sequence[str] = PROGRAM) -> None:
        self.task = task
        self._silent = False
        self._log = _log()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [*program, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=self._log or subprocess.DEVNULL,
                    stderr=self._log or subprocess.DEVNULL,
                    start_new_session=True,  # what the terminal sends is for the console
                )
        except BaseException:
            ours.close()
            self._close_log()
            raise
        self.connection = Connection(ours.detach())
        """Readable when there is an event or the process has ended."""
        self._send(task)

    @property
    def pid(self) -> int:
        return self._process.pid

    def event(self) -> WorkerEvent | None:
        """The next event; None once it has ended."""
        try:
            event: WorkerEvent = self.connection.recv()
        except (EOFError, OSError):
            self._silent = True
            return None
        return event

    def cancel(self) -> None:
        """Asks it to stop; it may take some seconds."""
        self._send(CANCEL)

    def kill(self) -> None:
        """Ends it and what it started, at once; any thread may call it, and more than once."""
        if self._process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> str:
        """Sees that it is gone and frees everything; returns how it ended, in words."""
        if self._silent:  # it is ending by itself, and how is worth knowing
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_EXIT_SECONDS)
        self.kill()
        status = self._process.wait()
        self.connection.close()
        said = self._last_line()
        self._close_log()
        if status == -signal.SIGKILL:
            return "ended by signal 9, likely out of memory"
        ended = f"ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
        return f"{ended}: {said}" if said else ended

    def _send(self, message: Task | str) -> None:
        with contextlib.suppress(OSError):  # it has ended already, which is found when its events are read
            self.connection.send(message)

    def _last_line(self) -> str:
        if self._log is None:
            return ""
        with contextlib.suppress(OSError):
            size = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, size - 4096))
            lines = self._log.read().decode(errors="replace").split("\n")
            said = [line.strip() for line in lines if line.strip()]
            return said[-1][:_LONGEST_LINE] if said else ""
        return ""

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()


def _log() -> IO[bytes] | None:
    """Takes what libraries print, which must not reach the screen; None where there is no room for a file."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        return None
