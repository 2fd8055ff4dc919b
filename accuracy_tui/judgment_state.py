"""The verdicts in memory: what the file was last seen to say, and over it what it does not say yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from accuracy_tui.implied import Implications
from accuracy_tui.journal import Entry
from accuracy_tui.judged_footage import Ownership
from accuracy_tui.judgment_file import JudgmentFile
from accuracy_tui.verdicts import UNJUDGED, Verdict
from accuracy_tui.window_keys import split_window_key
from sentrysearch.types import Window

_GIVEN = {value: Verdict(value) for value in (True, False)}


@dataclass(frozen=True, slots=True)
class Conflict:
    """A pool item that was judged here and changed otherwise in the file. ``mine`` counts until a new
    verdict decides; the file keeps ``theirs``."""

    query: str
    window: Window
    mine: bool | None
    theirs: bool | None


@dataclass(frozen=True, slots=True)
class Pending:
    """A verdict that the file does not say yet."""

    value: bool | None
    on_file: bool | None
    number: int

    def conflicts(self, theirs: bool | None) -> bool:
        """Whether the file came to say something that whoever gave this verdict had not seen."""
        return theirs not in (self.value, self.on_file)


class JudgmentState:
    """File and pending verdicts merged three ways, item by item.

    The base is what was known when the verdict was given (it is in the journal, so it outlives a crash),
    mine is the verdict, theirs what the file says now.

    Reading is safe while another thread calls ``folded``: the file's verdicts are exchanged first, the
    pending ones dropped after.
    """

    def __init__(self, file: JudgmentFile, ownership: Ownership) -> None:
        self.file = file
        self.ownership = ownership
        self._pending: dict[str, dict[str, Pending]] = {}
        self._implications: dict[str, dict[str, Implications]] = {}

    def get(self, query: str, key: str) -> bool | None:
        """The verdict in effect, None for unjudged."""
        pending = self._pending.get(query)
        if pending and (entry := pending.get(key)):
            return entry.value
        return self.on_file(query, key)

    def on_file(self, query: str, key: str) -> bool | None:
        """What the file was last seen to say."""
        entries = self.file.verdicts.get(query)
        return entries.get(key) if entries else None

    def look(self, query: str, key: str) -> Verdict:
        """The verdict in effect, or the one implied."""
        if query not in self.file.verdicts and query not in self._pending:
            return UNJUDGED
        value = self.get(query, key)
        if value is not None:
            return _GIVEN[value]
        by_footage = self._implications.get(query)
        if by_footage is None:
            by_footage = self._implications[query] = self._implied_by(query)
        name, start, end = split_window_key(key)
        implications = by_footage.get(name or "")
        value = implications.look(start, end) if implications else None
        return UNJUDGED if value is None else Verdict(value, implied=True)

    def items(self) -> Iterator[tuple[str, str, bool]]:
        """Query, window key and verdict of everything judged, in the file's order, new ones last."""
        for query in self.queries():
            for key, value in self.of_query(query).items():
                yield query, key, value

    def queries(self) -> list[str]:
        """Every query with verdicts, the file's first."""
        return [*self.file.verdicts, *(query for query in self._pending if query not in self.file.verdicts)]

    def of_query(self, query: str) -> dict[str, bool]:
        """Window key → verdict in effect."""
        entries = self.file.verdicts.get(query, {})
        pending = self._pending.get(query)
        if not pending:
            return entries
        merged = {**entries, **{key: entry.value for key, entry in pending.items()}}
        return {key: value for key, value in merged.items() if value is not None}

    def apply(self, entry: Entry) -> None:
        """Takes in a verdict from the journal."""
        key = self.ownership.key(entry.window)
        pending = Pending(entry.value, entry.on_file, entry.number)
        self._pending.setdefault(entry.query, {})[key] = pending
        self._implications.pop(entry.query, None)

    def pending(self) -> Iterator[tuple[str, str, Pending, bool | None]]:
        """Query, window key, verdict not on file, and what the file says."""
        for query, entries in self._pending.items():
            for key, entry in entries.items():
                yield query, key, entry, self.on_file(query, key)

    def conflict(self, query: str, key: str) -> bool:
        entry = self._pending.get(query, {}).get(key)
        return entry is not None and entry.conflicts(self.on_file(query, key))

    def conflicts(self) -> list[Conflict]:
        return [
            Conflict(query, self.ownership.window(key), entry.value, theirs)
            for query, key, entry, theirs in self.pending()
            if entry.conflicts(theirs)
        ]

    def to_write(self) -> dict[str, dict[str, bool | None]]:
        """What the file lacks, conflicts aside: query → window key → verdict."""
        changes: dict[str, dict[str, bool | None]] = {}
        for query, key, entry, theirs in self.pending():
            if theirs != entry.value and not entry.conflicts(theirs):
                changes.setdefault(query, {})[key] = entry.value
        return changes

    def folded(self, file: JudgmentFile, upto: int) -> list[int]:
        """Takes the file that now holds every verdict up to a number; returns the numbers still waiting."""
        written = [(query, key) for query, key, entry, theirs in self.pending() if entry.number > upto]
        known = {(query, key): self.on_file(query, key) for query, key in written}
        self.file = file
        waiting: list[int] = []
        for query, key, entry, theirs in list(self.pending()):
            if entry.number > upto:
                if theirs != known[query, key]:  # an earlier verdict on the same item was just written
                    self._pending[query][key] = replace(entry, on_file=theirs)
            elif entry.conflicts(theirs):
                waiting.append(entry.number)
            else:
                del self._pending[query][key]
                if not self._pending[query]:
                    del self._pending[query]
        return waiting

    def with_file(self, file: JudgmentFile, ownership: Ownership) -> JudgmentState:
        """These pending verdicts over the file as someone else changed it."""
        other = JudgmentState(file, ownership)
        for query, key, entry, _ in self.pending():
            # Bare keys may have become another footage's.
            new_key = ownership.key_of(self.ownership.window(key))
            other._pending.setdefault(query, {})[new_key] = entry
        return other

    def _implied_by(self, query: str) -> dict[str, Implications]:
        by_footage: dict[str, list[tuple[int, int, bool]]] = {}
        for key, value in self.of_query(query).items():
            name, start, end = split_window_key(key)
            by_footage.setdefault(name or "", []).append((start, end, value))
        return {name: Implications(verdicts) for name, verdicts in by_footage.items()}


def changed_items(before: JudgmentState, after: JudgmentState) -> list[tuple[str, Window]]:
    """The items on which two states differ."""
    same_owner = before.ownership.owner == after.ownership.owner
    changed: list[tuple[str, Window]] = []
    for query in dict.fromkeys([*before.queries(), *after.queries()]):
        old, new = before.of_query(query), after.of_query(query)
        if same_owner and (old is new or old == new):
            continue
        old_windows = {before.ownership.window(key): value for key, value in old.items()}
        new_windows = {after.ownership.window(key): value for key, value in new.items()}
        changed += [
            (query, window)
            for window in dict.fromkeys([*old_windows, *new_windows])
            if old_windows.get(window) != new_windows.get(window)
        ]
    return changed
