"""A file that we replace now and then and others may change at any moment."""

from __future__ import annotations

import time
from pathlib import Path

from accuracy_tui.durable import put_in_place, sync_folder, write_beside
from accuracy_tui.yaml_source import read_bytes
from sentrysearch.errors import BadInput

_COARSE = 50_000_000
"""Nanoseconds within which two changes may get one time stamp."""


class WatchedFile:
    """Knows what the file last held and notices when someone else changes it.

    A file that is missing or blank after it held something counts as ``gone``, not as changed: editors and
    git take a file away before they bring the new one, and truncate before they write.

    Raises:
        BadInput: it can't be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._signature: tuple[int, int, int] | None = None
        self._young = False
        self._noticed = float("-inf")
        self.gone = False
        self.data = b""
        """What it last held."""
        try:
            path.stat()
        except FileNotFoundError:
            pass
        except OSError as error:  # out of reach (no permission, links in circles) is not missing
            raise BadInput(f"cannot be read: {error.strerror}", where=path) from None
        self.data = self.news() or b""
        self.gone = False
        self._noticed = float("-inf")

    def news(self) -> bytes | None:
        """What the file holds now, if that is not what it last held or it came back; else None.

        Raises:
            BadInput: it can't be read.
        """
        signature = self._look()
        if signature is None or (signature == self._signature and not self._young):
            self._mark_gone(self.gone or (signature is None and bool(self.data)))
            self._signature = signature
            return None
        self._signature = None  # should the reading fail, the next look tries again
        data = read_bytes(self._path)
        # From before the reading: a change during it is seen as a further one.
        self._signature = signature
        self._young = time.time_ns() - signature[2] < _COARSE
        if self.data.strip() and not data.strip():
            self._mark_gone(True)
            return None
        came_back, self.gone = self.gone, False
        if data == self.data and not came_back:
            return None
        self.data = data
        self._noticed = time.monotonic()
        return data

    def rest(self) -> float:
        """Seconds since an outside change was noticed."""
        return time.monotonic() - self._noticed

    def replace(self, data: bytes) -> bool:
        """Puts ``data`` in its place in one durable step; False, and nothing done, if it just changed.

        Raises:
            OSError: disk full, …; the file is as it was.
        """
        beside = write_beside(self._path, data, ".new")
        if self._look() != self._signature:
            beside.unlink(missing_ok=True)
            return False
        put_in_place(beside, self._path)
        self.data, self.gone = data, False
        self._signature, self._young = self._look(), True
        sync_folder(self._path.parent)
        return True

    def _mark_gone(self, gone: bool) -> None:
        if gone and not self.gone:
            self._noticed = time.monotonic()
        self.gone = gone

    def _look(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns
