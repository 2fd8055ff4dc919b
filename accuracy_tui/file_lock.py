"""One writer at a time: a lock that dies with its process, and says who holds it."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from accuracy_tui.durable import write_all


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that holds a lock."""

    pid: int | None = None
    host: str = ""
    since: str = ""

    def __str__(self) -> str:
        if self.pid is None:
            return "another process"
        return f"process {self.pid} on {self.host} since {self.since}"


class LockedError(Exception):
    """Another process holds the lock."""

    def __init__(self, holder: LockHolder) -> None:
        super().__init__(str(holder))
        self.holder = holder


class FileLock:
    """Holds ``path`` locked from construction to ``close``.

    The kernel keeps the lock (flock) with the open file, so a killed process leaves none behind, whatever
    its file still says: a stale lock needs no guessing whether a process id is still in use.

    Raises:
        LockedError: held by another.
        OSError: the file can't be made: a read-only folder, a full disk.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        while True:
            # Not truncated on opening: until the lock is ours, the text in it is the holder's.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _read_holder(descriptor)
                os.close(descriptor)
                raise LockedError(holder) from None
            except OSError:
                os.close(descriptor)
                raise
            if _names(path, descriptor):
                break
            os.close(descriptor)  # its last holder deleted it between our opening and our locking
        self._descriptor: int | None = descriptor
        now = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S")
        text = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now})
        with contextlib.suppress(OSError):  # a full disk: the lock holds, only its holder stays unnamed
            os.ftruncate(descriptor, 0)
            write_all(descriptor, text.encode() + b"\n")

    def close(self) -> None:
        """Lets go of the lock and deletes its file."""
        if self._descriptor is None:
            return
        if _names(self._path, self._descriptor):
            with contextlib.suppress(OSError):
                self._path.unlink()
        os.close(self._descriptor)
        self._descriptor = None


def _names(path: Path, descriptor: int) -> bool:
    """Whether ``path`` still is the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def _read_holder(descriptor: int) -> LockHolder:
    try:
        entry = json.loads(os.pread(descriptor, 4096, 0))
        return LockHolder(int(entry["pid"]), str(entry["host"]), str(entry["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return LockHolder()
