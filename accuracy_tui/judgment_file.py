"""The judgment YAML as parsed: its verdicts, and its lines by query so that an edit touches only few.

A file of nothing but double-quoted keys, one verdict a line, comments and blank lines is read by a strict
parser of exactly that shape, some twenty times as fast as the C YAML loader; the first line that is anything
else sends the whole file through ``yaml_source``, which also words every refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from accuracy_tui.judged_footage import FootageIdentity, Header, Ownership, decide_ownership, read_headers
from accuracy_tui.window_keys import split_window_key
from accuracy_tui.yaml_quoting import unquoted
from accuracy_tui.yaml_source import Key, Located, decode, load_with_lines
from sentrysearch.errors import BadInput

_BOM = b"\xef\xbb\xbf"
_INSIDE_QUOTES = re.compile(r'(?:[^"\\]|\\.)*\Z')
_WITH_COMMENT = re.compile(r'(  )?"((?:[^"\\]|\\.)*)":(?: (true|false))?(?:[ ]+(?:#.*)?)?\Z')
# A YAML parser gives up on a key without "?" before it after 1024 characters.
MAX_PLAIN_KEY = 1000


@dataclass(frozen=True, slots=True)
class JudgmentFile:
    """One state of the file. Never changed in place: an edit makes another, sharing what stays."""

    path: Path
    verdicts: dict[str, dict[str, bool]]
    """Query → window key (``Ownership.key``) → verdict."""
    headers: dict[str, Header]
    preamble: list[str]
    """The lines before the first query, without line feeds (carriage returns stay)."""
    chunks: dict[str, list[str]]
    """Query → its lines up to the next query; empty for a file that an edit must write anew."""
    regular: bool
    """Of the one shape that the strict parser reads."""
    rewrite: bool
    """In braces, indented, …: no line of it can be edited, an edit writes it in the seed format."""
    crlf: bool
    bom: bool

    @property
    def lines(self) -> list[str]:
        return [*self.preamble, *(line for chunk in self.chunks.values() for line in chunk)]

    def encode(self) -> bytes:
        """The file's bytes; it ends with a line end."""
        lines = self.lines
        if self.crlf and lines and not lines[-1].endswith("\r"):
            lines[-1] += "\r"
        text = "\n".join(lines)
        return (_BOM if self.bom else b"") + (text + "\n" if lines else "").encode()


def parse(
    path: Path, data: bytes, footages: Sequence[FootageIdentity], *, accept_footage: bool = False
) -> tuple[JudgmentFile, Ownership]:
    """A judgment file's bytes and whose windows its bare keys are.

    Raises:
        BadInput: with file, line and reason; nothing that could be misread is let through.
    """
    text = decode(path, data)
    lines = text.split("\n")
    if lines[-1] == "":
        del lines[-1]
    clean = lines
    if crlf := "\r" in text:
        clean = [line.removesuffix("\r") for line in lines]
        for number, line in enumerate(clean, 1):
            if "\r" in line:
                raise BadInput("a carriage return without a line feed", where=f"{path}:{number}")
    headers = read_headers(path, clean)

    def own(bare_line: int | None) -> Ownership:
        return decide_ownership(path, headers, footages, bare_line=bare_line, accept_footage=accept_footage)

    found = _strict(clean, own) or _full(path, text, clean, own)
    verdicts, starts, ownership, regular = found
    first = min(starts.values(), default=len(lines))
    ends = [*list(starts.values())[1:], len(lines)][: len(starts)]
    # A query in the middle of a line, or not at a line's beginning, leaves no lines to edit.
    rewrite = not regular and not _has_lines(clean, starts, verdicts)
    chunks = (
        {}
        if rewrite
        else {query: lines[start:end] for (query, start), end in zip(starts.items(), ends, strict=True)}
    )
    preamble = lines if rewrite else lines[:first]
    return (
        JudgmentFile(
            path, verdicts, headers, preamble, chunks, regular, rewrite, crlf, data.startswith(_BOM)
        ),
        ownership,
    )


def read_verdicts(path: Path, lines: Sequence[str], ownership: Ownership) -> dict[str, dict[str, bool]]:
    """What some lines of a judgment file say. Raises BadInput."""
    clean = [line.removesuffix("\r") for line in lines]

    def own(_: int | None) -> Ownership:
        return ownership

    return (_strict(clean, own) or _full(path, "\n".join(clean), clean, own))[0]


_Found = tuple[dict[str, dict[str, bool]], dict[str, int], Ownership, bool]


def _strict(lines: Sequence[str], own: Callable[[int | None], Ownership]) -> _Found | None:
    """Reads the one shape; None at the first line that is anything else or at fault in any way."""
    by_file_key: dict[str, dict[str, bool]] = {}
    starts: dict[str, int] = {}
    current: dict[str, bool] | None = None
    count = 0
    for index, line in enumerate(lines):
        query: str | None = None
        if line[:3] == '  "' and line.endswith('": true'):
            key, value = line[3:-7], True
        elif line[:3] == '  "' and line.endswith('": false'):
            key, value = line[3:-8], False
        elif line[:1] == '"' and line.endswith('":'):
            query = line[1:-2]
        elif not (bare := line.lstrip(" ")) or bare[0] == "#":
            continue
        elif match := _WITH_COMMENT.match(line):
            if match[1]:
                if match[3] is None:
                    return None
                key, value = match[2], match[3] == "true"
            elif match[3] is None:
                query = match[2]
            else:
                return None
        else:
            return None
        if query is None:
            if current is None:
                return None
            current[key] = value
            count += 1
            continue
        if '"' in query or "\\" in query or len(query) > MAX_PLAIN_KEY:
            if not _INSIDE_QUOTES.match(query) or len(query) > MAX_PLAIN_KEY:
                return None
            try:
                query = unquoted(query)
            except ValueError:
                return None
        if query in by_file_key:
            return None
        starts[query] = index
        current = by_file_key[query] = {}
    return _resolve(lines, by_file_key, starts, count, own)


def _resolve(
    lines: Sequence[str],
    by_file_key: dict[str, dict[str, bool]],
    starts: dict[str, int],
    count: int,
    own: Callable[[int | None], Ownership],
) -> _Found | None:
    """Turns file keys into this program's, checking each different one once; None when anything is wrong."""
    if sum(map(len, by_file_key.values())) != count:
        return None  # the same window twice
    different: set[str] = set().union(*by_file_key.values())
    if any('"' in key or "\\" in key or len(key) > MAX_PLAIN_KEY for key in different):
        return None
    bare_line = None
    if any("@" not in key for key in different):
        bare_line = next(i for i, line in enumerate(lines, 1) if line[:3] == '  "' and "@" not in line)
    ownership = own(bare_line)
    if ownership.are_keys(different):
        return by_file_key, starts, ownership, True
    try:
        other = {file_key: key for file_key in different if (key := ownership.key(file_key)) != file_key}
    except BadInput:
        return None
    if other:
        for query, verdicts in by_file_key.items():
            by_file_key[query] = {other.get(key, key): value for key, value in verdicts.items()}
        if sum(map(len, by_file_key.values())) != count:
            return None
    return by_file_key, starts, ownership, True


def _full(path: Path, text: str, lines: Sequence[str], own: Callable[[int | None], Ownership]) -> _Found:
    root = load_with_lines(path, text)
    queries = {} if root.value is None else root.as_mapping("the file")
    windows = {
        query: {} if located.value is None else located.as_mapping(f'query "{query}"')
        for query, located in queries.items()
    }
    bare = [key.line for entries in windows.values() for key in entries if _is_bare(key)]
    ownership = own(min(bare, default=None))
    verdicts: dict[str, dict[str, bool]] = {}
    for query, entries in windows.items():
        of_query = verdicts[str(query)] = {}
        for file_key, located in entries.items():
            try:
                key = ownership.key(file_key)
            except BadInput as error:
                raise BadInput(error.what, where=f"{path}:{file_key.line}", hint=error.hint) from None
            if key in of_query:
                raise BadInput(
                    f'window "{file_key}" of query "{query}" stands twice', where=f"{path}:{file_key.line}"
                )
            of_query[key] = _verdict(located, file_key)
    starts = {} if root.flow else {str(query): query.line - 1 for query in queries}
    return verdicts, starts, ownership, False


def _verdict(located: Located, key: Key) -> bool:
    if not isinstance(located.value, bool):
        raise located.error(f'verdict of window "{key}" must be true or false, not {located.kind}')
    return located.value


def _is_bare(key: str) -> bool:
    try:
        return split_window_key(key)[0] is None
    except BadInput:
        return False  # refused where it is read


def _has_lines(lines: Sequence[str], starts: dict[str, int], verdicts: dict[str, dict[str, bool]]) -> bool:
    """Whether every query begins a line of its own, at column 0."""
    if not starts:
        return all(not line.strip() or line.startswith(("#", "%", "---")) for line in lines) and not any(
            line.startswith("---") and line.strip("-").strip() for line in lines
        )
    places = list(starts.values())
    return len(set(places)) == len(places) and all(
        lines[place][:1] not in (" ", "{", "\t", "") and not lines[place].startswith("---")
        for place in places
    )
