"""A folder for collections that last as long as one process; the next ``sweep`` deletes what is left."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import uuid
from pathlib import Path
from typing import IO

from sentrysearch.errors import StoreError
from sentrysearch.locations import collections_folder

PREFIX = "_accuracy"
"""Of the names of folders that ``sentrysearch.store.sweep`` may delete once nobody holds their lock."""


class ThrowawayRoot:
    """Made at the first ``path``; held until ``close``, or until its process ends in whatever way."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._lock: IO[bytes] | None = None

    def path(self) -> Path:
        """The folder.

        Raises:
            StoreError: it can't be made.
        """
        if self._path is None:
            path = collections_folder() / f"{PREFIX}-{uuid.uuid4().hex[:12]}"
            try:
                path.mkdir(parents=True)
                self._lock = (path / "lock").open("ab")
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise StoreError(f"cannot be made: {error.strerror}", where=path) from error
            self._path = path
        return self._path

    def close(self) -> None:
        """Deletes it; may be called twice."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path = None
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._lock.close()
            self._lock = None
