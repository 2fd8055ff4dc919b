"""Files that are whole or absent after a crash, and stay so after a power cut.

A rename puts a complete file in place of another in one step; that step is on disk only once the file was
synced before it (else the new name may point at missing data) and the folder after it (else the old name
may come back).
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_all(descriptor: int, data: bytes) -> None:
    """Writes every byte; a full disk may take some of them before it raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path) -> None:
    """Makes names created, replaced or deleted in a folder durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_beside(path: Path, data: bytes, suffix: str) -> Path:
    """Writes and syncs ``.<name><suffix>`` in the folder of ``path``, ready to be renamed over it.

    It gets the mode and, where allowed, the owner of the file it is to replace. On an error nothing stays.

    Raises:
        OSError: the disk is full, the folder read-only, …
    """
    beside = path.with_name(f".{path.name.removeprefix('.')}{suffix}")
    with contextlib.suppress(FileNotFoundError):
        beside.unlink()  # what a killed process left
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            with contextlib.suppress(FileNotFoundError):
                old = path.stat()
                with contextlib.suppress(PermissionError):
                    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                        os.fchown(descriptor, old.st_uid, old.st_gid)
                os.fchmod(descriptor, old.st_mode & 0o7777)
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside


def put_in_place(beside: Path, path: Path) -> None:
    """Renames what ``write_beside`` wrote over ``path``; the folder is not synced yet.

    Raises:
        OSError: ``path`` is as it was, and nothing stays beside it.
    """
    try:
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def replace_file(path: Path, data: bytes, suffix: str = ".new") -> None:
    """Puts ``data`` in place of what ``path`` holds, in one durable step; a link is followed, not replaced.

    Args:
        suffix: of the name it is written under first.

    Raises:
        OSError: nothing was changed, except that an error of the folder's sync leaves the new file in place.
    """
    path = Path(os.path.realpath(path))
    put_in_place(write_beside(path, data, suffix), path)
    sync_folder(path.parent)
