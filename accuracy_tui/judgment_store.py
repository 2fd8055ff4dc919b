"""What keeps the judgments on disk: lock, journal, the YAML, and the fold of one into the other.

Order of a fold, which is what makes a crash or power cut at any point harmless: the new YAML is written and
synced under another name, renamed over the old, the folder synced, and only then does the journal note that
its entries are in the YAML. Without the note they are applied again, which changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from accuracy_tui.file_lock import FileLock, LockedError, LockHolder
from accuracy_tui.journal import Entry, JournalWriter, read_history
from accuracy_tui.judged_footage import FootageIdentity, Ownership
from accuracy_tui.judgment_edit import edited
from accuracy_tui.judgment_file import JudgmentFile, parse
from accuracy_tui.judgment_state import JudgmentState, changed_items
from accuracy_tui.verdicts import JudgmentsError
from accuracy_tui.watched_file import WatchedFile
from accuracy_tui.window_keys import window_key
from sentrysearch.errors import BadInput
from sentrysearch.types import Window

SETTLED = 0.1
"""Seconds that an outside edit must have rested before a fold that someone waits for."""
RESTED = 2.0
"""The same for a fold that nobody waits for."""
_TRIES = 50

Items = list[tuple[str, Window]]


class JudgmentStore:
    """The files of one set of judgments, and the verdicts in them.

    One thread records, refreshes and reloads; another may fold. ``mutex`` guards ``state`` and ``history``
    and is held for no longer than one synced journal line.

    Raises:
        BadInput: the file is malformed or belongs to another clip.
    """

    def __init__(self, path: Path, footages: Sequence[FootageIdentity], write: bool, accept: bool) -> None:
        self.mutex = threading.RLock()
        self.notices: list[str] = []
        self.holder: LockHolder | None = None
        self.why_read_only: str | None = "opened for reading only"
        self._given_path = path
        # A link stays a link: what it points to is replaced, and what stands beside that is shared.
        self._path = Path(os.path.realpath(path))  # unlike resolve(), no error where links go in circles
        self._journal_path = self._path.with_name(f".{self._path.name}.journal")
        self._footages = tuple(footages)
        self._accept = accept
        self._wants_to_write = write
        self._lock: FileLock | None = None
        self._journal: JournalWriter | None = None
        self._file_mutex = threading.Lock()  # one at a time looks at the YAML or writes it
        self._malformed: str | None = None
        self._failed: str | None = None
        self._unreported: Items = []
        if write and not path.parent.is_dir():
            raise BadInput("no such folder", where=path.parent)
        if not write or not self._become_writer():
            self._load()

    @property
    def problem(self) -> str | None:
        """Why the YAML can't be read or written just now."""
        return self._malformed or self._failed

    @property
    def writes(self) -> bool:
        return self._journal is not None

    def require_writer(self) -> None:
        """Tries to become the writer if it isn't yet. Raises JudgmentsError if it can't."""
        if self._journal is None and not (self._wants_to_write and self._become_writer()):
            raise JudgmentsError(f"read-only: {self.why_read_only}", where=self._given_path)

    def record(self, query: str, key: str, value: bool | None, *, undoes: int | None = None) -> None:
        """Makes a verdict durable, then puts it into effect.

        Raises:
            JudgmentsError: it could not be recorded, and nothing changed.
        """
        assert self._journal is not None, "require_writer comes first"
        state = self.state
        window = window_key(state.ownership.window(key), single=False)
        before, on_file = state.get(query, key), state.on_file(query, key)
        entry = Entry(self.history.last + 1, query, window, value, before, on_file, undoes)
        try:
            self._journal.append(entry)
        except OSError as error:
            raise JudgmentsError(
                f"verdict not recorded: {error.strerror}",
                where=self._journal_path,
                hint="make room or make the folder writable, then judge it again",
            ) from None
        state.apply(entry)

    def look_outside(self) -> Items:
        """Takes in what others changed; the items whose verdict is another now. Skipped during a fold."""
        if self._file_mutex.acquire(blocking=False):
            try:
                if self._journal is None:
                    self._reload()
                else:
                    self._refresh()
            finally:
                self._file_mutex.release()
        with self.mutex:
            items, self._unreported = self._unreported, []
        return items

    def fold(self, rest: float, *, wait: bool = True, closing: bool = False) -> bool:
        """Brings the YAML up to date once an outside edit has rested for so many seconds.

        Returns:
            False, unless told to wait, when it has not rested yet.

        Raises:
            JudgmentsError: it can't be written, or must not be just now; verdicts stay in the journal.
        """
        with self._file_mutex:
            for _ in range(_TRIES):
                self._refresh()
                if self._malformed:
                    raise self._kept(self._malformed)
                if (short := rest - self._watched.rest()) > 0:
                    if not wait:
                        return False
                    time.sleep(short)
                elif self._write(closing):
                    self._failed = None
                    return True
            raise self._kept(f"{self._given_path}: someone else keeps changing it")

    def fold_when_idle(self) -> bool:
        """``fold`` for a thread nobody waits for; False when it should be tried again."""
        try:
            return self.fold(RESTED, wait=False)
        except JudgmentsError as error:
            self._failed = str(error)
            return False

    def close(self) -> None:
        """Folds, then lets go. Raises JudgmentsError when the fold failed; the next start makes up for it."""
        journal = self._journal
        if journal is None:
            return
        try:
            self.fold(SETTLED, closing=True)
        finally:
            journal.close()
            self._journal = None
            self._wants_to_write = False
            self.why_read_only = "closed"
            if self._lock:
                self._lock.close()

    def _become_writer(self) -> bool:
        self.holder = None
        try:
            lock = FileLock(self._path.with_name(f".{self._path.name}.lock"))
        except LockedError as error:
            self.holder = error.holder
            self.why_read_only = f"{error.holder} is writing these judgments"
            return False
        except OSError as error:
            self.why_read_only = f"cannot be written: {error.strerror}"
            return False
        try:
            if self._path.exists() and not os.access(self._path, os.W_OK):
                raise PermissionError(0, "the file is write-protected")
            self._load()
            self._journal = JournalWriter(self._journal_path, self.history)
        except OSError as error:
            self.why_read_only = f"cannot be written: {error.strerror}"
            return False
        finally:
            if self._journal is None:
                lock.close()
        self._lock = lock
        self.why_read_only = None
        return True

    def _load(self) -> None:
        # The journal first: what a fold moves to the YAML between the two readings is then seen twice, which
        # changes nothing, and not missed.
        self._read_journal()
        self._watched = WatchedFile(self._path)
        file, ownership = parse(
            self._given_path, self._watched.data, self._footages, accept_footage=self._accept
        )
        self._take(JudgmentState(file, ownership), replay=True)

    def _read_journal(self) -> None:
        self._journal_signature = self._sign_journal()
        try:
            self.history = read_history(self._journal_path)
        except OSError as error:
            raise BadInput(f"cannot be read: {error.strerror}", where=self._journal_path) from None
        for line in self.history.damage:
            notice = f"{self._journal_path}:{line}: damaged; the verdict on it is not known"
            if notice not in self.notices:
                self.notices.append(notice)

    def _sign_journal(self) -> tuple[int, int, int] | None:
        try:
            status = self._journal_path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _take(self, state: JudgmentState, *, replay: bool = False) -> None:
        """Exchanges the state, noting what is different."""
        with self.mutex:
            if replay:
                for entry in self.history.unfolded.values():
                    state.apply(entry)
            if hasattr(self, "state"):
                self._unreported += changed_items(self.state, state)
            self.state: JudgmentState = state

    def _refresh(self) -> None:
        """Takes in an outside edit of the YAML; a malformed one is noted and waited for."""
        parsed = self._news()
        if parsed is not None:
            with self.mutex:
                self._take(self.state.with_file(*parsed))

    def _reload(self) -> None:
        """Takes in what the writer and others did."""
        if moved := self._sign_journal() != self._journal_signature:
            self._read_journal()
        parsed = self._news()
        if moved or parsed is not None:
            state = self.state
            self._take(JudgmentState(*(parsed or (state.file, state.ownership))), replay=True)

    def _news(self) -> tuple[JudgmentFile, Ownership] | None:
        """The YAML as someone else changed it, None when nobody did or it can't be used."""
        try:
            data = self._watched.news()
            if data is None:
                if self._watched.gone:
                    self._malformed = None  # it will be written again
                return None
            parsed = parse(self._given_path, data, self._footages, accept_footage=self._accept)
        except BadInput as error:
            self._malformed = str(error)
            return None
        self._malformed = None
        return parsed

    def _write(self, closing: bool) -> bool:
        """Puts what is pending into the YAML; False when someone changed it meanwhile."""
        assert self._journal is not None
        with self.mutex:
            file, ownership = self.state.file, self.state.ownership
            changes, upto = self.state.to_write(), self.history.last
        # A footage line is no reason to touch the file before there is a verdict, unless the user accepted
        # another clip; nor is its absence, when it is to be written again anyway.
        headers = closing and bool(ownership.first or ownership.changed)
        again = closing and self._watched.gone and bool(file.lines)
        if changes or headers or again:
            try:
                file = edited(file, ownership, changes)
                if not self._watched.replace(file.encode()):
                    return False
            except JudgmentsError as error:
                raise self._kept(str(error)) from None
            except OSError as error:
                raise self._kept(f"{self._given_path}: cannot be written: {error.strerror}") from None
            ownership.headers_written()
        with self.mutex:
            waiting = self.state.folded(file, upto)
            if any(number <= upto and number not in waiting for number in self.history.unfolded):
                with contextlib.suppress(OSError):  # noted by the next fold, then
                    self._journal.mark_folded(upto, waiting)
        return True

    def _kept(self, reason: str) -> JudgmentsError:
        count = len(self.history.unfolded)
        if not count:
            return JudgmentsError(reason)
        verdicts = "1 verdict is" if count == 1 else f"{count} verdicts are"
        return JudgmentsError(f"{reason}; {verdicts} safe in {self._journal_path} and will be written later")
