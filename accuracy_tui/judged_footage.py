"""Which footage the verdicts in a judgment file belong to.

A comment line per footage at the top of the file keeps its fingerprint, so that the seed format stays as it
is and a diff stays readable::

    # footage "benchmark-clip-v1.mp4" sha256:9f86d0…

Window keys without a footage's name belong to the footage of the first such line (to the only footage, in a
file without any). A footage that was merely renamed is known again by its fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from accuracy_tui.window_keys import canonical_names, split_window_key, tenths, times_key
from accuracy_tui.yaml_quoting import quoted, unquoted
from sentrysearch.errors import BadInput
from sentrysearch.types import Window

_HEADER = re.compile(r'#[ \t]*footage[ \t]+"((?:[^"\\]|\\.)*)"[ \t]+(\S+)[ \t]*\r?\Z')


class FootageIdentity(Protocol):
    """What is needed of a footage here: ``Footage`` and ``RunFootage`` both have it."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str:
        """``sha256:<hex>``; empty where it isn't known, and then not checked."""
        ...


@dataclass(frozen=True, slots=True)
class Header:
    """One footage line of a judgment file."""

    name: str
    fingerprint: str
    line: int
    """1-based."""


def read_headers(path: Path, lines: Iterable[str]) -> dict[str, Header]:
    """The footage lines among the comments that open a file, by name, in order.

    Raises:
        BadInput: two lines give one footage different fingerprints.
    """
    headers: dict[str, Header] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith(("#", "---", "%")):
            break
        if (match := _HEADER.match(line)) is None:
            continue
        try:
            header = Header(unquoted(match[1]), match[2], number)
        except ValueError as error:
            raise BadInput(f"footage line: {error}", where=f"{path}:{number}") from None
        known = headers.setdefault(header.name, header)
        if known.fingerprint != header.fingerprint:
            raise BadInput(
                f'footage "{header.name}" has another fingerprint here than on line {known.line}',
                where=f"{path}:{number}",
                hint="delete the line that is wrong",
            )
    return headers


def header_line(name: str, fingerprint: str) -> str:
    return f"# footage {quoted(name)} {fingerprint}"


@dataclass(slots=True)
class Ownership:
    """Translates between window keys as a file holds them, keys as this program holds them, and windows.

    This program's key is the bare ``124.0-151.0`` for the owner's windows, ``name@124.0-151.0`` for others'.
    """

    owner: str | None
    """The footage that bare keys belong to; None when nothing says which."""
    bare: bool
    """Whether new keys of the owner are written without its name: it is the benchmark's only footage."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Names in the file → today's name of the same clip."""
    first: tuple[str, str] | None = None
    """Name and fingerprint of a footage line to put before all others."""
    missing: tuple[tuple[str, str], ...] = ()
    """Names and fingerprints of footage lines to add."""
    changed: Mapping[str, str] = field(default_factory=dict)
    """Name → new fingerprint of footage lines to change."""
    _keys: dict[str, str] = field(default_factory=dict)
    _window_keys: dict[Window, str] = field(default_factory=dict)
    """By window: a table looks up the same ones for every query."""

    def key(self, file_key: str) -> str:
        """This program's key for a key in the file.

        Raises:
            BadInput: an impossible window, or a bare key with nothing to say whose it is.
        """
        key = self._keys.get(file_key)
        if key is None:
            name, start, end = split_window_key(file_key)
            if name is None and self.owner is None:
                raise BadInput(
                    f'window key "{file_key}" does not say which footage it belongs to',
                    hint='name it ("clip.mp4@124.0-151.0"), or put a line like '
                    '# footage "clip.mp4" sha256:… at the top',
                )
            key = self._key(name, start, end)
            self._keys[file_key] = key
        return key

    def are_keys(self, file_keys: Collection[str]) -> bool:
        """Whether all of a file's keys are this program's as they stand. False where in doubt."""
        names = canonical_names(file_keys)
        if names is None or self.owner in names or not names.isdisjoint(self.renamed):
            return False
        return "" not in names or (
            not any(key.startswith("@") for key in file_keys) and self.owner is not None
        )

    def key_of(self, window: Window) -> str:
        """This program's key for a window. Raises BadInput for impossible times or a nameless footage."""
        key = self._window_keys.get(window)
        if key is None:
            key = self._window_keys[window] = self._key_of(window)
        return key

    def _key_of(self, window: Window) -> str:
        start, end = tenths(window.start), tenths(window.end)
        if end <= start:
            raise BadInput(f"window {window.start}-{window.end} does not end after it starts")
        if not window.footage:
            raise BadInput(f"window {times_key(start, end)} has no footage name")
        return self._key(window.footage, start, end)

    def file_key(self, key: str) -> str:
        """The key to write for a new verdict."""
        return f"{self.owner}@{key}" if "@" not in key and not self.bare else key

    def window(self, key: str) -> Window:
        name, start, end = split_window_key(key)
        return Window(name or self.owner or "", start / 10, end / 10)

    def headers_written(self) -> None:
        """The file's footage lines are up to date."""
        self.first, self.missing, self.changed = None, (), {}

    @property
    def headers_to_write(self) -> bool:
        return bool(self.first or self.missing or self.changed)

    def _key(self, name: str | None, start: int, end: int) -> str:
        times = times_key(start, end)
        if name is None:
            return times
        name = self.renamed.get(name, name)
        return times if name == self.owner else f"{name}@{times}"


def decide_ownership(
    path: Path,
    headers: Mapping[str, Header],
    footages: Sequence[FootageIdentity],
    *,
    bare_line: int | None,
    accept_footage: bool,
) -> Ownership:
    """Compares a file's footage lines with the footage at hand.

    Args:
        bare_line: line of the file's first key without a footage name, None when there is none.
        accept_footage: take the footage at hand to be what the verdicts were given on.

    Raises:
        BadInput: the verdicts were given on a different clip.
    """
    given = {footage.name: footage.fingerprint for footage in footages}
    by_fingerprint = {fingerprint: name for name, fingerprint in reversed(given.items()) if fingerprint}
    changed: dict[str, str] = {}
    renamed: dict[str, str] = {}
    for name, header in headers.items():
        if name not in given:
            if header.fingerprint in by_fingerprint:
                renamed[name] = by_fingerprint[header.fingerprint]
        elif given[name] and given[name] != header.fingerprint:
            if not accept_footage:
                raise _different(path, header.line, f'footage "{name}" is not the clip')
            changed[name] = given[name]
    missing = tuple((name, mark) for name, mark in given.items() if mark and name not in headers)
    only = next(iter(given)) if len(given) == 1 else None
    if not headers:
        return Ownership(only, only is not None, renamed, None, missing, changed)
    first = next(iter(headers.values()))
    owner = renamed.get(first.name, first.name)
    if only is not None and owner != only and bare_line is not None and given[only]:
        if not accept_footage:
            raise _different(path, first.line, f'footage "{only}" is neither by name nor by content the clip')
        return Ownership(only, True, renamed, (only, given[only]), (), changed)
    return Ownership(owner, owner == only, renamed, None, missing, changed)


def _different(path: Path, line: int, what: str) -> BadInput:
    return BadInput(
        f"{what} that these verdicts were given on",
        where=f"{path}:{line}",
        hint="use the clip they were given on, another judgments file, or accept the new clip "
        "for them with `accuracy-tui run --accept-footage`",
    )
