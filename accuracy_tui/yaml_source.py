"""Reads YAML that people and git wrote, keeping the line of everything, refusing what can be misread.

One document, UTF-8, plain data. Refused with file, line and reason: duplicate keys, merge-conflict markers,
anchors, aliases and merge keys (an alias bomb needs them), tags, control characters, more than one document,
nesting deeper than ``MAX_DEPTH``. Unquoted words are read by YAML 1.2's core schema, not by PyYAML's 1.1:
``no``, ``on``, ``1:30``, ``010`` and dates stay the text that their writer saw.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from sentrysearch.errors import BadInput
from sentrysearch.text import holds_surrogate

MAX_DEPTH = 32
MAX_BYTES = 256 * 1024 * 1024

# The C parser hands out events without recursion; the pure one, used where PyYAML was built without
# libyaml, does too.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What YAML calls printable, less the three characters that only YAML 1.1 takes for line breaks. Compiled
# where it is needed: that takes longer than anything else on the way to a table whose files are ASCII.
_UNPRINTABLE = "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
_PRINTABLE_ASCII = bytes((9, 10, 13, *range(0x20, 0x7F)))
_CONFLICT = re.compile(r"^(?:<{7}|>{7}|\|{7})(?:[ \t].*)?$|^={7}\r?$", re.MULTILINE)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?\Z")
_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{sign + word: float(sign + "inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
}


class Key(str):
    """A mapping's key as its writer's text, with where it stands."""

    __slots__ = ("column", "line")
    line: int
    """1-based."""
    column: int
    """0-based."""


Scalar: TypeAlias = str | bool | int | float | None


@dataclass(frozen=True, slots=True)
class Located:
    """A value and where it was written."""

    value: Scalar | list[Located] | dict[Key, Located]
    """A mapping's keys are always text: ``2024:`` and ``no:`` are "2024" and "no"."""
    path: Path
    line: int
    """1-based, where the value begins."""
    text: str | None = None
    """A scalar as its writer's text ("010" where ``value`` would be a number); None for the others."""
    flow: bool = False
    """Written in brackets or braces."""

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"

    def error(self, what: str, *, hint: str | None = None) -> BadInput:
        """The error to raise when this value is wrong."""
        return BadInput(what, where=self.where, hint=hint)

    def as_mapping(self, label: str) -> dict[Key, Located]:
        """The mapping that ``label`` must be. Raises BadInput."""
        if not isinstance(self.value, dict):
            raise self.error(f"{label} must be a mapping, not {self.kind}")
        return self.value

    def as_list(self, label: str) -> list[Located]:
        """The list that ``label`` must be. Raises BadInput."""
        if not isinstance(self.value, list):
            raise self.error(f"{label} must be a list, not {self.kind}")
        return self.value

    def as_text(self, label: str) -> str:
        """The text that ``label`` must be; an unquoted word or number stays as written. Raises BadInput."""
        if self.text is None or self.value is None:
            raise self.error(f"{label} must be text, not {self.kind}")
        return self.text

    def as_number(self, label: str) -> float:
        """The finite number that ``label`` must be. Raises BadInput."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.error(f"{label} must be a number, not {self.kind}")
        if self.value != self.value or abs(self.value) == float("inf"):
            raise self.error(f"{label} must be a finite number")
        return float(self.value)

    def as_integer(self, label: str) -> int:
        """The whole number that ``label`` must be. Raises BadInput."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.error(f"{label} must be a whole number, not {self.kind}")
        return self.value

    def as_boolean(self, label: str) -> bool:
        """The true or false that ``label`` must be. Raises BadInput."""
        if not isinstance(self.value, bool):
            raise self.error(f"{label} must be true or false, not {self.kind}")
        return self.value

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        if self.value is None:
            return "nothing"
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return "a list"
        text = self.text or ""
        return f'"{text}"' if len(text) <= 40 else f'"{text[:40]}…"'


def load_with_lines(path: Path, text: str | None = None) -> Located:
    """Loads the one document in ``path``, or in ``text`` with ``path`` as its name; empty is None, line 1.

    Raises:
        BadInput: the file can't be read, or is not YAML of the kind the module's docstring allows.
    """
    if text is None:
        text = decode(path, read_bytes(path))
    else:
        _check_characters(path, text)
    if conflict := _CONFLICT.search(text):
        raise BadInput(
            "merge-conflict marker",
            where=f"{path}:{line_of(text, conflict.start())}",
            hint="resolve the merge, then try again",
        )
    loader = _Loader(text)
    try:
        return _Composer(path, loader).compose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = path if mark is None else f"{path}:{mark.line + 1}"
        what = ", ".join(part for part in (error.context, error.problem) if part)
        raise BadInput(f"not valid YAML: {what}", where=where) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise BadInput(f"not valid YAML: {error}", where=path) from None
    finally:
        loader.dispose()


def read_bytes(path: Path) -> bytes:
    """The whole of a regular file; a pipe or device is refused rather than waited for. Raises BadInput."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise BadInput("is not a file", where=path)
            if status.st_size > MAX_BYTES:
                raise BadInput(f"is larger than {MAX_BYTES >> 20} MB", where=path)
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise BadInput("no such file", where=path) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"cannot be read: {reason}", where=path) from None


def decode(path: Path, data: bytes) -> str:
    """The text of a YAML file without its byte order mark. Raises BadInput when not UTF-8 or unprintable."""
    body = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise BadInput("is not UTF-8 text", where=f"{path}:{line}", hint="save it as UTF-8") from None
    if not (body.isascii() and not body.translate(None, _PRINTABLE_ASCII)):
        _check_characters(path, text)
    return text


def line_of(text: str, offset: int) -> int:
    """The 1-based line of a character; lines end at LF, CR LF or CR, as in YAML and in editors."""
    return len(re.findall(r"\r\n|\n|\r", text[:offset])) + 1


def _check_characters(path: Path, text: str) -> None:
    if found := re.search(_UNPRINTABLE, text):
        code = ord(found.group())
        escape = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
        raise BadInput(
            f"character {escape}",
            where=f"{path}:{line_of(text, found.start())}",
            hint=f'inside double quotes write "{escape}"',
        )


class _Composer:
    """Builds located values from a parser's events, on a stack of its own so that no depth can overflow."""

    def __init__(self, path: Path, loader: Any) -> None:
        self._path = path
        self._events: Iterator[Any] = iter(loader.get_event, None)

    def compose(self) -> Located:
        open_nodes: list[_Open] = []
        result: Located | None = None
        documents = 0
        for event in self._events:
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._error(line, "a second document", "keep one document in the file")
                if event.tags:
                    raise self._error(line, "a tag directive")
                continue
            if isinstance(event, yaml.AliasEvent):
                raise self._error(line, "an alias (*)", "write the value out, or quote the text")
            if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                closed = open_nodes.pop()
                node = Located(closed.value, self._path, closed.line, flow=closed.flow)
            elif isinstance(event, yaml.NodeEvent):
                self._check_node(event, line)
                if isinstance(event, yaml.CollectionStartEvent):
                    if len(open_nodes) >= MAX_DEPTH:
                        raise self._error(line, f"nested more than {MAX_DEPTH} deep")
                    self._check_place(open_nodes, line)
                    open_nodes.append(_Open(event, line))
                    continue
                node = self._scalar(event, line)
            else:
                continue
            if open_nodes:
                self._add(open_nodes[-1], node, event)
            else:
                result = node
        return result or Located(None, self._path, 1, text="")

    def _check_node(self, event: Any, line: int) -> None:
        if event.anchor is not None:
            raise self._error(line, "an anchor (&)", "write the value out, or quote the text")
        if event.tag is not None:
            raise self._error(line, f"a tag ({event.tag})", "leave it out, or quote the text")

    def _check_place(self, open_nodes: list[_Open], line: int) -> None:
        if open_nodes and isinstance(open_nodes[-1].value, dict) and open_nodes[-1].key is None:
            raise self._error(line, "a list or mapping as a key", "quote the text")

    def _scalar(self, event: Any, line: int) -> Located:
        text = event.value
        if holds_surrogate(text):
            raise self._error(line, "half a surrogate pair", "write the character itself or \\U escapes")
        value: Scalar = text
        if event.style is None or event.style == "":  # plain; the two parsers say it differently
            if text in _WORDS:
                value = _WORDS[text]
            elif _INTEGER.match(text):
                value = int(text)
            elif _NUMBER.match(text):
                value = float(text)
        return Located(value, self._path, line, text=text)

    def _add(self, parent: _Open, node: Located, event: Any) -> None:
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif parent.key is None:
            key = Key(node.text)
            key.line, key.column = node.line, event.start_mark.column
            if key == "<<" and not event.style:
                raise self._error(node.line, "a merge key (<<)", "write the entries out")
            if key in parent.value:
                earlier = next(known for known in parent.value if known == key)
                raise self._error(node.line, f'"{key}" stands twice, first on line {earlier.line}')
            parent.key = key
        else:
            parent.value[parent.key] = node
            parent.key = None

    def _error(self, line: int, what: str, hint: str | None = None) -> BadInput:
        return BadInput(what, where=f"{self._path}:{line}", hint=hint)


class _Open:
    """A mapping or list whose end has not been met."""

    __slots__ = ("flow", "key", "line", "value")

    def __init__(self, event: Any, line: int) -> None:
        self.value: list[Located] | dict[Key, Located] = (
            {} if isinstance(event, yaml.MappingStartEvent) else []
        )
        self.line = line
        self.flow = bool(event.flow_style)
        self.key: Key | None = None
