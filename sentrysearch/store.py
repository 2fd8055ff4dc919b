"""Vector collections on disk: the windows of some footage as one model sees them.

A collection is a folder::

    collection.json   what its vectors depend on (CollectionIdentity), and where each footage was
    windows.jsonl     one window a line: ["name", start, end]
    vectors.f32       their vectors, little-endian float32, row by row in the same order
    lock              held (flock) by the process that writes it; freed by the kernel when that one dies

A batch's vectors are written before its windows, so a process killed between the two leaves vectors without
windows, which the next opening cuts off. Throwaway collections begin with ``_accuracy``; one whose lock is
free belongs to nobody and is swept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from sentrysearch.errors import StoreError
from sentrysearch.locations import collections_folder
from sentrysearch.throwaway import PREFIX
from sentrysearch.types import Footage, Window, WindowGrid

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

_SCHEMA = 1
_VECTOR_TYPE = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class CollectionIdentity:
    """What a collection's vectors depend on: equal identities may share vectors."""

    model: str
    revision: str
    dimension: int
    window: WindowGrid
    footage: tuple[tuple[str, str], ...] = ()
    """(name, fingerprint) of each footage; empty for a collection that footage is added to by and by."""

    def folder_name(self) -> str:
        """Readable, safe as a file name, and different for different identities."""
        content = json.dumps(dataclasses.asdict(self), sort_keys=True)
        readable = re.sub(r"[^A-Za-z0-9.-]+", "-", self.model).strip(".-")[-40:]
        return f"{readable}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


class Collection:
    """An open collection. Make one with :meth:`open`, :meth:`throwaway` or :meth:`read`.

    Not thread-safe: one thread appends.
    """

    def __init__(self, folder: Path, identity: CollectionIdentity, lock: IO[bytes] | None) -> None:
        self.folder = folder
        self.identity = identity
        self._lock = lock
        self._windows: list[Window] = []
        self._known: set[Window] = set()
        self.footage: dict[str, dict[str, Any]] = {}
        """By name: ``{"fingerprint", "path", "duration"}``."""

    @classmethod
    def open(cls, identity: CollectionIdentity, *, root: Path | None = None) -> Collection:
        """Opens the kept collection of this identity for writing, making it where there is none.

        Raises:
            StoreError: another process is writing it, or the disk refuses.
        """
        return cls._open_to_write((root or collections_folder()) / identity.folder_name(), identity)

    @classmethod
    def exists(cls, identity: CollectionIdentity, *, root: Path | None = None) -> bool:
        """Whether a collection of this identity is kept."""
        return ((root or collections_folder()) / identity.folder_name() / "collection.json").exists()

    @classmethod
    @contextlib.contextmanager
    def throwaway(cls, identity: CollectionIdentity, *, root: Path | None = None) -> Iterator[Collection]:
        """A collection that is deleted when the block ends, however it ends, unless it was kept."""
        folder = (root or collections_folder()) / f"{PREFIX}-{uuid.uuid4().hex[:12]}"
        try:
            with cls._open_to_write(folder, identity) as collection:
                try:
                    yield collection
                finally:  # while it is locked; one that was kept has another name by now
                    shutil.rmtree(folder, ignore_errors=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)  # a full disk may leave it half made
            raise

    @classmethod
    def read(cls, folder: Path) -> Collection:
        """Opens a collection for searching only.

        Raises:
            StoreError: there is none, or it is damaged.
        """
        identity, footage = _read_description(folder)
        collection = cls(folder, identity, None)
        collection.footage = footage
        collection._read_windows()
        return collection

    @classmethod
    def _open_to_write(cls, folder: Path, identity: CollectionIdentity) -> Collection:
        with _translated(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / "lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise StoreError(
                "another process is writing this collection", where=folder, hint="wait for it, then run again"
            ) from error
        try:
            collection = cls(folder, identity, lock)
            with _translated(folder):
                if (folder / "collection.json").exists():
                    _, collection.footage = _read_description(folder)
                    collection._read_windows()
                    collection._cut_to_whole_rows()
                else:
                    collection._write_description()
        except BaseException:
            lock.close()
            raise
        return collection

    def __len__(self) -> int:
        return len(self._windows)

    def __contains__(self, window: object) -> bool:
        return window in self._known

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def windows(self) -> list[Window]:
        """The windows in the order of :meth:`vectors`' rows."""
        return list(self._windows)

    def vectors(self) -> NDArray[np.float32]:
        """Shape (len(self), dimension), float32; mapped from disk, not read into memory."""
        shape = (len(self), self.identity.dimension)
        if not len(self):
            return np.empty(shape, np.float32)
        return np.memmap(self.folder / "vectors.f32", dtype=_VECTOR_TYPE, mode="r", shape=shape)

    def append(self, windows: Sequence[Window], vectors: NDArray[np.float32]) -> None:
        """Adds a finished batch; it survives the death of this process.

        Args:
            windows: n windows that the collection doesn't hold yet.
            vectors: shape (n, dimension).

        Raises:
            StoreError: the disk refuses; the collection is as it was.
        """
        if vectors.shape != (len(windows), self.identity.dimension):
            raise StoreError(
                f"{len(windows)} windows with vectors of shape {vectors.shape}, expected dimension "
                f"{self.identity.dimension}",
                where=self.folder,
            )
        lines = "".join(
            json.dumps([window.footage, window.start, window.end]) + "\n" for window in windows
        ).encode("ascii")
        data = vectors.astype(_VECTOR_TYPE, copy=False).tobytes()
        with _translated(self.folder):
            try:
                _append(self.folder / "vectors.f32", data)
                _append(self.folder / "windows.jsonl", lines)
            except OSError:
                with contextlib.suppress(OSError):
                    self._cut_to_whole_rows()
                raise
        self._windows.extend(windows)
        self._known.update(windows)

    @property
    def written(self) -> float:
        """When windows were last added, in seconds since the epoch; 0 for never."""
        path = self.folder / "windows.jsonl"
        return path.stat().st_mtime if path.exists() else 0.0

    def add_footage(self, footage: Footage) -> None:
        """Notes where a footage is; windows of an earlier file of the same name are dropped."""
        known = self.footage.get(footage.name)
        if known is not None and known["fingerprint"] != footage.fingerprint:
            self.drop(footage.name)
        self.footage[footage.name] = {
            "fingerprint": footage.fingerprint,
            "path": os.fsdecode(footage.path.absolute()),
            "duration": footage.duration,
        }
        with _translated(self.folder):
            self._write_description()

    def drop(self, footage: str) -> None:
        """Removes a footage's windows."""
        kept = [row for row, window in enumerate(self._windows) if window.footage != footage]
        vectors = np.array(self.vectors()[kept])
        windows = [self._windows[row] for row in kept]
        with _translated(self.folder):
            # Windows first: a death in between leaves too few windows, never a window with another's vector.
            (self.folder / "windows.jsonl").write_bytes(b"")
            (self.folder / "vectors.f32").write_bytes(b"")
            self.footage.pop(footage, None)
            self._write_description()
        self._windows, self._known = [], set()
        self.append(windows, vectors)

    def keep(self, *, root: Path | None = None) -> bool:
        """Makes this the kept collection of its identity; False where another one is that already."""
        target = (root or self.folder.parent) / self.identity.folder_name()
        if self.folder == target:
            return True
        try:
            self.folder.rename(target)
        except OSError:
            return False
        self.folder = target
        return True

    def close(self) -> None:
        """Frees the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _read_windows(self) -> None:
        lines_path = self.folder / "windows.jsonl"
        whole, _, _ = lines_path.read_bytes().rpartition(b"\n") if lines_path.exists() else (b"", b"", b"")
        vectors_path = self.folder / "vectors.f32"
        rows = vectors_path.stat().st_size // self._row_size if vectors_path.exists() else 0
        try:
            parsed = [json.loads(line) for line in whole.splitlines()[:rows]]
            self._windows = [Window(str(name), float(start), float(end)) for name, start, end in parsed]
        except (ValueError, TypeError) as error:
            raise _damaged(self.folder, "windows.jsonl") from error
        self._known = set(self._windows)

    @property
    def _row_size(self) -> int:
        return self.identity.dimension * _VECTOR_TYPE.itemsize

    def _cut_to_whole_rows(self) -> None:
        """Cuts off what a process that died in :meth:`append` left behind."""
        lines_path, vectors_path = self.folder / "windows.jsonl", self.folder / "vectors.f32"
        if vectors_path.exists():
            os.truncate(vectors_path, len(self) * self._row_size)
        if lines_path.exists():
            whole = b"".join(line + b"\n" for line in lines_path.read_bytes().split(b"\n")[: len(self)])
            os.truncate(lines_path, len(whole))

    def _write_description(self) -> None:
        description = {
            "schema": _SCHEMA,
            "identity": dataclasses.asdict(self.identity),
            "footage": self.footage,
        }
        temporary = self.folder / "collection.json.new"
        temporary.write_text(json.dumps(description, indent=1), encoding="utf-8")
        temporary.replace(self.folder / "collection.json")


def kept_collections(root: Path | None = None) -> list[Collection]:
    """Every kept collection, open for reading; one that cannot be read is left out."""
    found = []
    for folder in sorted((root or collections_folder()).glob("*/")):
        if not folder.name.startswith(PREFIX):
            with contextlib.suppress(StoreError, OSError):
                found.append(Collection.read(folder))
    return found


def sweep(root: Path | None = None) -> int:
    """Deletes throwaway collections whose process is gone; returns how many."""
    swept = 0
    for folder in (root or collections_folder()).glob(f"{PREFIX}-*"):
        if not _has_begun(folder):
            continue
        with contextlib.suppress(OSError), (folder / "lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
            swept += 1
    return swept


def _has_begun(folder: Path) -> bool:
    """False while another process may be between making the folder and locking it."""
    with contextlib.suppress(OSError):
        return (folder / "collection.json").exists() or time.time() - folder.stat().st_mtime > 60
    return False


def _damaged(folder: Path, file: str) -> StoreError:
    return StoreError(f"damaged: {file} cannot be read", where=folder, hint="delete that folder")


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def _read_description(folder: Path) -> tuple[CollectionIdentity, dict[str, dict[str, Any]]]:
    try:
        description = json.loads((folder / "collection.json").read_text(encoding="utf-8"))
        fields = description["identity"]
        identity = CollectionIdentity(
            model=fields["model"],
            revision=fields["revision"],
            dimension=int(fields["dimension"]),
            window=WindowGrid(**fields["window"]),
            footage=tuple((name, fingerprint) for name, fingerprint in fields["footage"]),
        )
        if identity.dimension < 1:
            raise ValueError(identity.dimension)
        return identity, dict(description["footage"])
    except FileNotFoundError as error:
        raise StoreError("no such collection", where=folder) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, "collection.json") from error


@contextlib.contextmanager
def _translated(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot write the collection: {error.strerror or error}",
            where=folder,
            hint="make room there, or name another folder in SENTRYSEARCH_DATA",
        ) from error
