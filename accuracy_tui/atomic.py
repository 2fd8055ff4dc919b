"""Writes a whole file or leaves the old one as it was."""

from __future__ import annotations

import os
from pathlib import Path

from sentrysearch.errors import SentrySearchError


def write_atomically(path: Path, text: str) -> None:
    """Replaces ``path`` with UTF-8 ``text`` and flushes it to the disk; a missing folder is made.

    A link is followed, so that the file it names is replaced and not the link.

    Raises:
        SentrySearchError: it can't be written; ``path`` is as it was.
    """
    import tempfile  # here, since reading results must start fast

    data = text.encode("utf-8")
    temporary: str | None = None
    try:
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, _mode(target))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        Path(temporary).replace(target)
        temporary = None
        _sync_folder(target.parent)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SentrySearchError(f"cannot be written: {reason}", where=path) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """The mode of the file that is replaced, else what a new file would get (mkstemp gives 0600)."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        umask = os.umask(0o077)  # reading it means setting it
        os.umask(umask)
        return 0o666 & ~umask


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
