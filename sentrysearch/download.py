"""Fetches footage that is given by URL into the cache folder: once, resumed, verified."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import re
import time
from collections.abc import Callable, Iterator
from io import BufferedRandom
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx

from sentrysearch import locations
from sentrysearch.errors import FootageError
from sentrysearch.footage import fingerprint

Progress = Callable[[int, int | None], None]

_TIMEOUT_SECONDS = 30.0
# Attempts in a row that bring nothing before it gives up; the pause doubles with each.
_ATTEMPTS = 5
_PAUSE_SECONDS = 0.5
_LONGEST_NAME = 120
_WORTH_RETRYING = frozenset({408, 425, 429, 500, 502, 503, 504})


class _TryAgain(Exception):
    """A fault that may pass."""


def fetch(url: str, sha256: str, *, progress: Progress | None = None) -> Path:
    """The file at an http(s) URL, from the cache folder or downloaded into it.

    A download that was cut short goes on where it stopped, also after a restart. The file appears under its
    name only when it is whole and its checksum is right.

    Args:
        sha256: of the file, 64 hexadecimal digits, with or without ``sha256:`` before them.
        progress: called with (bytes there, bytes in all or None).

    Raises:
        FootageError: not such a URL or checksum, the server refuses or stays away, the disk is full, or the
            content is not what the checksum says.
    """
    digest = sha256.removeprefix("sha256:").lower()
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise FootageError(f"{sha256!r} is not a sha256 checksum", where=url, hint="64 hexadecimal digits")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise FootageError("not an http or https URL", where=url)
    folder = locations.cache_folder() / "footage" / digest
    whole = folder / _file_name(parts.path)
    if whole.is_file() and fingerprint(whole) == f"sha256:{digest}":
        return whole
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / "partial", url) as partial:
            _download(url, partial, progress)
            partial.seek(0)
            found = hashlib.file_digest(partial, "sha256").hexdigest()
            if found != digest:
                partial.truncate(0)
                raise FootageError(
                    f"the file has sha256 {found}, not {digest}",
                    where=url,
                    hint="correct the checksum, or find out why the file changed",
                )
            (folder / "partial").replace(whole)
    except OSError as error:
        raise FootageError(f"cannot be stored in {folder}: {error.strerror}", where=url) from error
    return whole


def _file_name(path: str) -> str:
    """The footage's name: the last part of the URL's path, made harmless."""
    name = re.sub(r"[\x00-\x1f\x7f/\\]", "_", unquote(path.rstrip("/").rpartition("/")[2])).lstrip(".")
    return name[-_LONGEST_NAME:] if name and name != "partial" else "footage.mp4"


@contextlib.contextmanager
def _locked(path: Path, url: str) -> Iterator[BufferedRandom]:
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FootageError("another process is downloading it", where=url, hint="wait for it") from error
        yield file


def _download(url: str, partial: BufferedRandom, progress: Progress | None) -> None:
    failures = 0
    with httpx.Client(timeout=_TIMEOUT_SECONDS, follow_redirects=True) as client:
        while True:
            before = partial.seek(0, 2)
            try:
                _receive(client, url, partial, progress)
                return
            except (_TryAgain, httpx.TransportError) as error:
                failures = 1 if partial.seek(0, 2) > before else failures + 1
                if failures >= _ATTEMPTS:
                    reason = str(error) or type(error).__name__
                    raise FootageError(
                        f"download failed: {reason}", where=url, hint="try again, it goes on where it stopped"
                    ) from error
                time.sleep(_PAUSE_SECONDS * 2 ** (failures - 1))
            except httpx.HTTPError as error:
                raise FootageError(f"download failed: {error}", where=url) from error
            except httpx.InvalidURL as error:
                raise FootageError(f"not a usable URL: {error}", where=url) from error


def _receive(client: httpx.Client, url: str, partial: BufferedRandom, progress: Progress | None) -> None:
    """Appends what is missing, in one request.

    Raises:
        _TryAgain, httpx.TransportError: it broke off, or the server asks to come back.
    """
    there = partial.seek(0, 2)
    headers = {"Accept-Encoding": "identity"}
    if there:
        headers["Range"] = f"bytes={there}-"
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 416 and there:  # nothing follows: whole, or not this file
            if _total(response) == there:
                return
            partial.truncate(0)
            raise _TryAgain("the server's file changed")
        if response.status_code in _WORTH_RETRYING:
            raise _TryAgain(f"the server answers {response.status_code}")
        if response.status_code not in (200, 206):
            raise FootageError(f"the server answers {response.status_code}", where=url)
        if response.status_code == 200 or _first_byte(response) != there:
            partial.truncate(0)
            if response.status_code == 206:
                raise _TryAgain("the server sent another part than was asked for")
            there = 0
        total = _total(response)
        for chunk in response.iter_raw():
            partial.write(chunk)
            there += len(chunk)
            if progress is not None:
                progress(there, total)
        partial.flush()
        if total is not None and there < total:
            raise _TryAgain(f"the connection ended after {there} of {total} bytes")


def _first_byte(response: httpx.Response) -> int | None:
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(match.group(1)) if match else None


def _total(response: httpx.Response) -> int | None:
    """Bytes of the whole file, as the server says."""
    if response.status_code in (206, 416):
        match = re.search(r"/(\d+)$", response.headers.get("Content-Range", ""))
    else:
        match = re.fullmatch(r"(\d+)", response.headers.get("Content-Length", ""))
    return int(match.group(1)) if match else None
