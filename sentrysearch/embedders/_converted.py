"""Keeps networks converted to ONNX in the cache folder, so that a model is ready without importing torch.

A file is the SHA-256 of its payload followed by the payload, under a name made of the digests of the weights
and the converter's revision: other weights or another converter are another file, and a truncated or altered
file is noticed and made again. Files appear by an atomic replace, so two processes may convert at once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from sentrysearch.errors import EmbedderUnavailable
from sentrysearch.locations import cache_folder

_DIGEST_BYTES = hashlib.sha256().digest_size


@functools.cache
def digest(path: Path) -> str:
    """SHA-256 of a file of weights, in hexadecimal.

    Raises:
        EmbedderUnavailable: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(
            f"weights cannot be read: {error.strerror}", where=path, hint="install their package again"
        ) from error


def converted(name: str, build: Callable[[], bytes]) -> bytes:
    """The payload kept under ``name``, or what ``build`` makes when there is none or it is damaged.

    A cache folder that cannot be written costs time at the next load, nothing else.
    """
    path = cache_folder() / "onnx" / name
    payload = _read(path)
    if payload is None:
        payload = build()
        with contextlib.suppress(OSError):
            _write(path, payload)
    return payload


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            expected = file.read(_DIGEST_BYTES)
            payload = file.read()
    except OSError:
        return None
    return payload if hashlib.sha256(payload).digest() == expected else None


def _write(path: Path, payload: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(payload).digest())
            file.write(payload)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
