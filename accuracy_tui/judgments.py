"""The judgments: verdicts that, once ``put`` has returned, no crash, full disk or outside edit can lose.

Beside ``accuracy_judgments.yaml`` (a link to it is followed) stand ``.accuracy_judgments.yaml.journal``, to
which each verdict is appended and synced, and, while a writer runs, ``.accuracy_judgments.yaml.lock``. A
fold brings the YAML up to the journal: by itself when judging pauses, and on ``sync`` and ``close``.

Decisions:

- The journal outlives folds: it is what ``undo`` walks back through, also into earlier sessions, its last
  1,000 verdicts at least. A verdict that the file no longer agrees with is passed over, with a notice.
- A conflict (judged here, changed otherwise in the file) counts as judged here; the file keeps its own value
  until a new ``put``, of either value, decides. Both outlive a restart. ``undo`` of it yields to the file.
- A file that becomes malformed while we run is waited for; one that is deleted or emptied is written again
  from what was last seen: a half-saved file must not become the truth. To start over, delete it while nothing
  runs.
- Writing waits until the file has been left alone for a moment after an outside edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from accuracy_tui.file_lock import LockHolder
from accuracy_tui.folder import Folder
from accuracy_tui.judged_footage import FootageIdentity
from accuracy_tui.judgment_state import Conflict
from accuracy_tui.judgment_store import SETTLED, JudgmentStore
from accuracy_tui.verdicts import JudgmentsError, Verdict
from sentrysearch.errors import BadInput
from sentrysearch.text import holds_surrogate
from sentrysearch.types import Window

__all__ = ["Changes", "Conflict", "Judgments", "JudgmentsError", "LockHolder"]


@dataclass(frozen=True, slots=True)
class Changes:
    """What ``poll`` found."""

    items: tuple[tuple[str, Window], ...] = ()
    """Pool items whose verdict is another than before."""
    conflicts: tuple[Conflict, ...] = ()
    """All that are open."""
    problem: str | None = None
    """Why the file can't be read or written just now; verdicts are kept in the journal meanwhile."""


class Judgments:
    """One judgment file, open. Made by ``open``; a context manager. Used by one thread.

    ``look`` is what consumers of verdicts take. Windows are ``sentrysearch.types.Window``; times are rounded
    to 0.1 s.
    """

    def __init__(self, store: JudgmentStore) -> None:
        self.implied = True
        """Whether ``look`` derives verdicts from others."""
        self._store = store
        self._folder = Folder(store.fold_when_idle)
        if store.writes and store.history.unfolded:
            self._folder.poke()

    @classmethod
    def open(
        cls,
        path: Path,
        footages: Sequence[FootageIdentity],
        *,
        write: bool,
        accept_footage: bool = False,
    ) -> Self:
        """Opens judgments; a file that does not exist yet is made by the first fold.

        Where another process is writing, or the folder can't be written, they are ``read_only``; ``put``
        tries again to become the writer.

        Args:
            footages: the benchmark's, with names and fingerprints.
            accept_footage: take these to be the clips that the verdicts were given on, whatever the
                fingerprints on file say; they are updated.

        Raises:
            BadInput: the file is malformed, or its verdicts belong to another clip.
        """
        return cls(JudgmentStore(path, footages, write, accept_footage))

    @property
    def read_only(self) -> bool:
        return not self._store.writes

    @property
    def why_read_only(self) -> str | None:
        """For the user; None when writable."""
        return self._store.why_read_only

    @property
    def lock_holder(self) -> LockHolder | None:
        """Who writes these judgments, when it is another process."""
        return self._store.holder

    @property
    def problem(self) -> str | None:
        """Why the file can't be read or written just now; verdicts are kept in the journal meanwhile."""
        return self._store.problem

    @property
    def notices(self) -> list[str]:
        """What the user should be told once: whoever shows them empties the list."""
        return self._store.notices

    @property
    def conflicts(self) -> list[Conflict]:
        """Items judged here and changed otherwise in the file; ``put`` decides."""
        with self._store.mutex:
            return self._store.state.conflicts()

    def get(self, query: str, window: Window) -> bool | None:
        """The verdict someone gave, None for unjudged. Raises BadInput for an impossible window."""
        state = self._store.state
        return state.get(query, state.ownership.key_of(window))

    def look(self, query: str, window: Window) -> Verdict:
        """The verdict given, or implied by others. Raises BadInput for an impossible window."""
        with self._store.mutex:
            state = self._store.state
            key = state.ownership.key_of(window)
            return state.look(query, key) if self.implied else Verdict(state.get(query, key))

    def items(self) -> Iterator[tuple[str, Window, bool]]:
        """Query, window and verdict of everything judged (not implied), in the file's order."""
        with self._store.mutex:
            ownership = self._store.state.ownership
            every = list(self._store.state.items())
        for query, key, value in every:
            yield query, ownership.window(key), value

    def put(self, query: str, window: Window, value: bool | None) -> None:
        """Records a verdict (None takes one back); returns once it is durable.

        Raises:
            BadInput: an impossible window, or text that no file can hold.
            JudgmentsError: it could not be recorded, and is not in effect.
        """
        if holds_surrogate(query + window.footage):
            raise BadInput("holds half a surrogate pair, which no text file can keep", where=f'"{query}"')
        with self._store.mutex:
            self._store.require_writer()
            state = self._store.state
            key = state.ownership.key_of(window)
            if state.get(query, key) != value or state.conflict(query, key):
                self._store.record(query, key, value)
                self._folder.poke()

    def undo(self) -> tuple[str, Window, bool | None] | None:
        """Takes back the last verdict that still stands, of earlier sessions too; durable when it returns.

        Returns:
            Query, window and the verdict that is in effect again; None when there is nothing to undo.

        Raises:
            JudgmentsError: it could not be recorded, and nothing changed.
        """
        with self._store.mutex:
            self._store.require_writer()
            state, history = self._store.state, self._store.history
            for entry in reversed(history.undoable):
                key = state.ownership.key(entry.window)
                current, before = state.get(entry.query, key), entry.before
                if current != entry.value:
                    self.notices.append(
                        f'"{entry.query}" {entry.window} is not undone: it was changed outside since'
                    )
                    continue
                if state.conflict(entry.query, key):
                    before = state.on_file(entry.query, key)
                if before != current:
                    self._store.record(entry.query, key, before, undoes=entry.number)
                    self._folder.poke()
                    return entry.query, state.ownership.window(key), before
            history.undoable.clear()
            return None

    def poll(self) -> Changes:
        """Takes in what others changed: an edit of the file, for a reader also the writer's verdicts."""
        items = self._store.look_outside()
        return Changes(tuple(items), tuple(self.conflicts), self.problem)

    def sync(self) -> None:
        """Brings the file up to date.

        Raises:
            JudgmentsError: it can't be written, or must not be just now; verdicts stay in the journal.
        """
        self._store.require_writer()
        self._store.fold(SETTLED)

    def close(self) -> None:
        """Folds and lets go of the lock.

        Raises:
            JudgmentsError: the fold failed; the next start makes up for it. All is closed anyway.
        """
        self._folder.stop()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except JudgmentsError:
            if error is None:  # else the first error is the one to see, and the verdicts are safe
                raise
