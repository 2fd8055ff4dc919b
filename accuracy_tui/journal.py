"""The verdicts as they were given, one synced line each, beside the judgment YAML.

A line is the CRC-32 of a JSON text, a space, the text::

    1c291ca3 {"n": 7, "op": "put", "query": "red car", "window": "a.mp4@1.0-2.0", "value": true, …}

``put`` and ``undo`` entries are numbered. A ``fold`` entry says up to which number the YAML has them, save
those in ``waiting`` (conflicts that nobody has resolved). The journal outlives a fold: it is the history
that undo walks back through. Once long it is written anew with the last ``KEPT`` verdicts that can be undone.

What makes it safe: a line is acknowledged after its sync. A crash can tear only what was never synced, the
last line; it is cut off before the next is written. A line that is damaged anywhere else is reported.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from accuracy_tui.durable import put_in_place, sync_folder, write_all, write_beside
from accuracy_tui.window_keys import split_window_key
from sentrysearch.errors import BadInput

KEPT = 1000
LONG = 1 << 20
"""Bytes from which a journal is written anew."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One verdict given or undone."""

    number: int
    query: str
    window: str
    """``name@start-end``: always with the footage's name."""
    value: bool | None
    """The verdict from here on; None is unjudged."""
    before: bool | None
    """The verdict until here: what undo goes back to."""
    on_file: bool | None
    """What the YAML was known to say when the verdict was given: the base of a three-way merge."""
    undoes: int | None = None
    """The number of the entry that this one undid; entries between were passed over for good."""

    def encode(self) -> bytes:
        operation = "put" if self.undoes is None else "undo"
        fields: dict[str, Any] = {"n": self.number, "op": operation, "query": self.query}
        fields |= {"window": self.window, "value": self.value, "before": self.before}
        fields |= {"on_file": self.on_file}
        if self.undoes is not None:
            fields["undoes"] = self.undoes
        return _line(fields)


@dataclass(slots=True)
class History:
    """What a journal says."""

    unfolded: dict[int, Entry] = field(default_factory=dict)
    """Those that the YAML may not have yet."""
    undoable: list[Entry] = field(default_factory=list)
    """Verdicts given and not undone, the last one last."""
    last: int = 0
    """The highest number given out."""
    damage: list[int] = field(default_factory=list)
    """1-based numbers of damaged lines (a torn last one is none)."""
    good_bytes: int = 0
    """Length of the file less a torn last line."""

    def add(self, entry: Entry) -> None:
        """Takes in the next entry."""
        self.unfolded[entry.number] = entry
        self.last = max(self.last, entry.number)
        if entry.undoes is None:
            self.undoable.append(entry)
        else:
            while self.undoable and self.undoable[-1].number >= entry.undoes:
                self.undoable.pop()

    def fold(self, upto: int, waiting: Iterable[int]) -> None:
        """The YAML has everything up to a number, save some."""
        still = set(waiting)
        on_file: dict[tuple[str, str], bool | None] = {}
        for number, entry in list(self.unfolded.items()):
            item = (entry.query, entry.window)
            if number > upto:
                if item in on_file:  # given while the fold was writing an earlier verdict on the same item
                    self.unfolded[number] = replace(entry, on_file=on_file[item])
            elif number not in still:
                on_file[item] = entry.value
                del self.unfolded[number]
        self.last = max(self.last, upto)

    def encode(self) -> bytes:
        """A journal of what still matters: the undoable and the unfolded."""
        kept = {entry.number: entry for entry in [*self.undoable[-KEPT:], *self.unfolded.values()]}
        lines = [kept[number].encode() for number in sorted(kept)]
        return b"".join(lines) + _fold_line(self.last, self.unfolded)


def read_history(path: Path) -> History:
    """Reads a journal; one that does not exist is empty.

    Raises:
        OSError: it can't be read.
    """
    history = History()
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for, a device never ends
            raise OSError(errno.EINVAL, "is not a file")
        data = path.read_bytes()
    except FileNotFoundError:
        return history
    lines = data.split(b"\n")
    torn = len(lines) - 1  # what follows the last line feed, usually nothing
    if torn and not lines[torn] and _parse(lines[torn - 1]) is None:
        torn -= 1  # a power cut may keep the line's length and end, and lose what was between
    for number, line in enumerate(lines[:torn], 1):
        fields = _parse(line)
        if fields is None:
            history.damage.append(number)
        elif isinstance(fields, Entry):
            history.add(fields)
        else:
            history.fold(*fields)
    history.good_bytes = sum(len(line) + 1 for line in lines[:torn])
    return history


class JournalWriter:
    """Appends to a journal, which it cleans of a torn last line first.

    Args:
        path: the journal; made with the first line.
        history: what was read from it; kept up to date.

    Raises:
        OSError: it can't be opened for writing.
    """

    def __init__(self, path: Path, history: History) -> None:
        self._path = path
        self._history = history
        self._descriptor: int | None = None
        self._size = history.good_bytes
        self._clean = False
        if history.damage:
            self._set_aside()
        elif path.exists():
            self._open()

    def append(self, entry: Entry) -> None:
        """Makes an entry durable, then takes it into the history.

        Raises:
            OSError: disk full, …; the journal is as it was and the entry is not in it.
        """
        self._write(entry.encode())
        self._history.add(entry)

    def mark_folded(self, upto: int, waiting: Iterable[int]) -> None:
        """Notes that the YAML has everything up to a number, save some.

        Without this note (a crash before it) the entries are applied again, which changes nothing.

        Raises:
            OSError: disk full, …
        """
        waiting = list(waiting)
        self._write(_fold_line(upto, waiting))
        self._history.fold(upto, waiting)
        if self._size > LONG:
            self._write_anew()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, line: bytes) -> None:
        if self._descriptor is None or not self._is_ours():
            self._write_anew()  # new, or deleted by someone while we ran: then nothing in it may be lost
        assert self._descriptor is not None
        if not self._clean:
            os.ftruncate(self._descriptor, self._size)
            self._clean = True
        try:
            write_all(self._descriptor, line)
            _sync(self._descriptor)
        except BaseException:
            # Half a line would spoil the next one. Should even this fail, it is tried before the next line.
            self._clean = False
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
                self._clean = True
            raise
        self._size += len(line)

    def _is_ours(self) -> bool:
        assert self._descriptor is not None
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._descriptor))
        except OSError:
            return False

    def _open(self) -> None:
        self.close()
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._clean = False

    def _write_anew(self) -> None:
        data = self._history.encode() if self._history.last else b""
        put_in_place(write_beside(self._path, data, ".new"), self._path)
        sync_folder(self._path.parent)
        self._size = len(data)
        self._open()

    def _set_aside(self) -> None:
        """Keeps a damaged journal for a person to look at, and goes on with what is whole in it."""
        aside = self._path.with_name(self._path.name + ".damaged")
        number = 1
        while aside.exists():
            number += 1
            aside = self._path.with_name(f"{self._path.name}.damaged-{number}")
        aside.hardlink_to(self._path)
        self._write_anew()


def _sync(descriptor: int) -> None:
    # The length of the file is synced too, its times needn't be.
    os.fdatasync(descriptor) if hasattr(os, "fdatasync") else os.fsync(descriptor)


def _line(fields: dict[str, Any]) -> bytes:
    text = json.dumps(fields, ensure_ascii=True).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def _fold_line(upto: int, waiting: Iterable[int]) -> bytes:
    return _line({"op": "fold", "upto": upto, "waiting": sorted(waiting)})


def _parse(line: bytes) -> Entry | tuple[int, list[int]] | None:
    """A line's entry, or the arguments of a fold; None when damaged."""
    checksum, space, text = line.partition(b" ")
    if len(checksum) != 8 or not space or checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        fields = json.loads(text)
        if fields["op"] == "fold":
            return int(fields["upto"]), [int(number) for number in fields["waiting"]]
        verdicts = (fields["value"], fields["before"], fields["on_file"])
        query, window = fields["query"], fields["window"]
        undoes = int(fields["undoes"]) if fields["op"] == "undo" else None
        if any(value not in (True, False, None) for value in verdicts) or not isinstance(query, str):
            return None
        if split_window_key(window)[0] is None:
            return None
        return Entry(int(fields["n"]), query, window, *verdicts, undoes)
    except (ValueError, KeyError, TypeError, RecursionError, BadInput):
        return None
