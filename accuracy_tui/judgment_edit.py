"""Edits of the judgment YAML: one line a verdict; comments, order and everything else stay as written.

A new verdict goes below the last one of its query that begins earlier, so that time order grows by itself
and two branches that judge different windows merge. Whatever is written otherwise than one verdict a line
(braces, keys over two lines, uneven indents) is written anew in the seed format as far as it must be: that
query, or the whole file where everything is in braces. Comments survive that too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from accuracy_tui.judged_footage import Ownership, header_line, read_headers
from accuracy_tui.judgment_file import MAX_PLAIN_KEY, JudgmentFile, read_verdicts
from accuracy_tui.verdicts import JudgmentsError
from accuracy_tui.window_keys import split_window_key
from accuracy_tui.yaml_quoting import quoted, unquoted
from sentrysearch.errors import BadInput

_DOUBLE = r'"((?:[^"\\]|\\.)*)"'
_SINGLE = r"'((?:[^']|'')*)'"
_PLAIN = r"""([^\s"'#{}\[\],&*!|>%@`?:-][^\s:#"'\[\]{},]*)"""
_KEY = f"(?:{_DOUBLE}|{_SINGLE}|{_PLAIN})"
_QUERY_LINE = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'{\[&*!|>%@`?-][^:#]*):\s*(?:#.*)?\Z""")
_VERDICT_LINE = re.compile(rf"( +){_KEY} *: +([A-Za-z]+)(?:[ \t]+(?:#.*)?)?\r?\Z")
_COMMENT = re.compile(r"""(?:[^"'#]|"(?:[^"\\]|\\.)*"|'[^']*'|(?<!\s)#)*(?:^|\s)(#.*?)\r?\Z""")

Changes = Mapping[str, Mapping[str, bool | None]]
"""Query → window key → verdict, None to take one out."""


class _CannotEdit(Exception):
    """A query's lines are not one verdict a line."""


def edited(file: JudgmentFile, ownership: Ownership, changes: Changes) -> JudgmentFile:
    """The file with verdicts changed and its footage lines brought up to date.

    Raises:
        JudgmentsError: the result does not read back as it must; better no edit than a wrong one.
    """
    after = {query: _changed(file.verdicts.get(query, {}), entries) for query, entries in changes.items()}
    verdicts = {**file.verdicts, **after}
    edit = _Edit(file, ownership)
    if file.rewrite:
        verdicts = {query: entries for query, entries in verdicts.items() if entries}
        edit.rewrite(verdicts)
    else:
        for query, entries in changes.items():
            edit.change_query(query, entries, after[query])
            if query not in edit.chunks:
                del verdicts[query]
    edit.update_headers()
    result = replace(
        file,
        verdicts=verdicts,
        headers=read_headers(file.path, edit.preamble),
        preamble=edit.preamble,
        chunks=edit.chunks,
        regular=file.regular or file.rewrite,
        rewrite=False,
    )
    if not _reads_back(result, ownership, after):
        raise JudgmentsError(
            "cannot be edited without risk",
            where=file.path,
            hint='write its verdicts one a line, "start-end": true, below "query":',
        )
    return result


def _changed(before: Mapping[str, bool], changes: Mapping[str, bool | None]) -> dict[str, bool]:
    merged = {**before, **changes}
    return {key: value for key, value in merged.items() if value is not None}


def _reads_back(result: JudgmentFile, ownership: Ownership, after: Mapping[str, Mapping[str, bool]]) -> bool:
    """Whether what was edited says what it must; only the changed queries of a file of the one shape."""
    try:
        if not result.regular:
            return read_verdicts(result.path, result.lines, ownership) == result.verdicts
        return all(
            read_verdicts(result.path, result.chunks[query], ownership) == {query: entries}
            for query, entries in after.items()
            if query in result.chunks
        )
    except BadInput:
        return False


class _Edit:
    """The lines of a file while they change. New lines end as the file's do."""

    def __init__(self, file: JudgmentFile, ownership: Ownership) -> None:
        self._path = file.path
        self._ownership = ownership
        self._end = "\r" if file.crlf else ""
        self.preamble = list(file.preamble)
        self.chunks = dict(file.chunks)
        if file.chunks:
            last = next(reversed(self.chunks))
            self.chunks[last] = self._ended(self.chunks[last])
        else:
            self.preamble = self._ended(self.preamble)

    def change_query(self, query: str, changes: Mapping[str, bool | None], after: Mapping[str, bool]) -> None:
        """Edits one query's lines so that it holds ``after``."""
        lines = self.chunks.get(query)
        if lines is None:
            if after:
                self.chunks[query] = self._rendered(query, after)
            return
        try:
            self.chunks[query] = self._line_edited(lines, changes)
        except _CannotEdit:
            self.chunks[query] = self._rendered(query, after, lines)
        # With its last verdict gone the query's line goes too, unless someone commented below it.
        rest = self.chunks[query][1:]
        if not after and not any(line.startswith((" ", "\t")) and line.strip() for line in rest):
            self._delete(query, rest)

    def rewrite(self, verdicts: Mapping[str, Mapping[str, bool]]) -> None:
        """Writes the whole file in the seed format, its comments at the top."""
        comments = [found[1] for line in self.preamble if (found := _COMMENT.match(line))]
        self.preamble = [comment + self._end for comment in comments]
        self.chunks = {query: self._rendered(query, entries) for query, entries in verdicts.items()}

    def update_headers(self) -> None:
        """Adds and changes footage lines; the first of them owns the bare keys, so it stays first."""
        owned = self._ownership
        places = {name: header.line - 1 for name, header in read_headers(self._path, self.preamble).items()}
        for name, fingerprint in owned.changed.items():
            self.preamble[places[name]] = header_line(name, fingerprint) + self._end
        added = [header_line(name, mark) + self._end for name, mark in owned.missing]
        place = max(places.values(), default=-1) + 1
        self.preamble[place:place] = added
        if owned.first:
            self.preamble.insert(min(places.values(), default=0), header_line(*owned.first) + self._end)

    def _ended(self, lines: list[str]) -> list[str]:
        """Lines of which the last, too, ends as the file's do (the file's last line may have no end)."""
        if self._end and lines and not lines[-1].endswith("\r"):
            return [*lines[:-1], lines[-1] + "\r"]
        return lines

    def _delete(self, query: str, rest: list[str]) -> None:
        """Takes out a query; the blank lines and comments below it stay, below what comes before it."""
        queries = list(self.chunks)
        place = queries.index(query)
        del self.chunks[query]
        if place:
            before = queries[place - 1]
            self.chunks[before] = [*self.chunks[before], *rest]
        else:
            self.preamble = [*self.preamble, *rest]

    def _line_edited(self, lines: list[str], changes: Mapping[str, bool | None]) -> list[str]:
        if not _QUERY_LINE.match(lines[0]):
            raise _CannotEdit
        places: dict[str, tuple[int, int, int]] = {}  # window key → line, start and end of the verdict in it
        indents: set[str] = set()
        for place, line in enumerate(lines):
            if place == 0 or not (bare := line.strip()) or bare[0] == "#":
                continue
            if (match := _VERDICT_LINE.match(line)) is None:
                raise _CannotEdit
            places[self._key(match)] = (place, *match.span(5))
            indents.add(match[1])
        if len(indents) > 1:
            raise _CannotEdit
        indent = indents.pop() if indents else "  "
        result: list[list[str]] = [[line] for line in lines]
        new: list[tuple[tuple[str, int, int], str, bool]] = []
        for key, value in changes.items():
            if key in places:
                place, start, end = places[key]
                line = lines[place]
                result[place] = [] if value is None else [line[:start] + _word(value) + line[end:]]
            elif value is not None:
                new.append((_order(key), key, value))
        if new:
            orders = {key: _order(key) for key in places}
            for order, key, value in sorted(new):
                earlier = (places[other][0] for other, known in orders.items() if known < order)
                result[max(earlier, default=0)].extend(self._verdict_lines(key, value, indent))
        return [line for part in result for line in part]

    def _key(self, match: re.Match[str]) -> str:
        double, single, plain = match[2], match[3], match[4]
        try:
            if double is not None:
                return self._ownership.key(unquoted(double))
            return self._ownership.key(plain if single is None else single.replace("''", "'"))
        except (ValueError, BadInput):
            raise _CannotEdit from None

    def _verdict_lines(self, key: str, value: bool, indent: str) -> list[str]:
        text = quoted(self._ownership.file_key(key))
        if len(text) > MAX_PLAIN_KEY:
            return [f"{indent}? {text}{self._end}", f"{indent}: {_word(value)}{self._end}"]
        return [f"{indent}{text}: {_word(value)}{self._end}"]

    def _rendered(self, query: str, verdicts: Mapping[str, bool], old: list[str] | None = None) -> list[str]:
        """A query's lines in the seed format, with the comments that its old lines held."""
        old = old or []
        kept = len(old)
        while kept > 1 and (not old[kept - 1].strip() or old[kept - 1].startswith("#")):
            kept -= 1
        text = quoted(query)
        head = [f"? {text}", ":"] if len(text) > MAX_PLAIN_KEY else [f"{text}:"]
        lines = [line + self._end for line in head]
        lines += [f"  {found[1]}{self._end}" for line in old[:kept] if (found := _COMMENT.match(line))]
        for key, value in verdicts.items():
            lines += self._verdict_lines(key, value, "  ")
        return lines + old[kept:]


def _word(value: bool) -> str:
    return "true" if value else "false"


def _order(key: str) -> tuple[str, int, int]:
    name, start, end = split_window_key(key)
    return name or "", start, end
