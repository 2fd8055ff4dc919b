"""Writes a whole text file or leaves the old one as it was."""

from __future__ import annotations

import os
from pathlib import Path

from accuracy_tui.durable import replace_file
from sentrysearch.errors import SentrySearchError


def write_atomically(path: Path, text: str) -> None:
    """Replaces ``path`` with UTF-8 ``text`` and flushes it to the disk; a missing folder is made.

    A link is followed, so that the file it names is replaced and not the link.

    Raises:
        SentrySearchError: it can't be written; ``path`` is as it was.
    """
    try:
        Path(os.path.realpath(path)).parent.mkdir(parents=True, exist_ok=True)
        # The process in the name keeps two that write the same file out of each other's half-written one.
        replace_file(path, text.encode("utf-8"), f".{os.getpid()}.tmp")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SentrySearchError(f"cannot be written: {reason}", where=path) from None
