"""Reads the text of a run file, strictly: what is not exactly a run is refused with its place in the JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from accuracy_tui.runs import SCHEMA, Run, RunFootage, RunQuery
from sentrysearch.errors import BadInput
from sentrysearch.types import Hit, Window, WindowGrid

_RUN_KEYS = frozenset(
    ("schema", "model", "revision", "options", "footage", "window", "k", "created", "timings", "queries")
)
_QUERY_KEYS = frozenset(("query", "group", "hits"))
_HIT_KEYS = frozenset(("footage", "start", "end", "score"))
_FOOTAGE_KEYS = frozenset(("name", "fingerprint", "duration"))
_MAX_SECONDS = 1e9
_MAX_K = 1_000_000

Windows: TypeAlias = dict[frozenset[str], dict[tuple[str, float, float], Window]]
"""Each window once, by the names of the footage and then by itself."""


def parse_run(data: bytes, path: Path, windows: Windows | None = None) -> Run:
    """The run in ``data``; ``path`` is its name in messages.

    Args:
        windows: those of other runs, to which this one's are added; runs over the same footage share them.

    Raises:
        BadInput: names the file and the place in it.
    """
    text, document = _load(data, path)
    reader = _Reader(path, {} if windows is None else windows, booleans="true" in text or "false" in text)
    # A key that stands twice in an object is in the text but not in what was read. To look at every object
    # while it is read takes as long again as reading it, so that is done only where something is amiss.
    try:
        run = reader.run(document)
        amiss = "\\" in text or text.count('"') != 2 * reader.strings
    except BadInput:
        _load(data, path, object_pairs_hook=_unique)
        raise
    if amiss:
        _load(data, path, object_pairs_hook=_unique)
    return run


def _load(data: bytes, path: Path, **hooks: Any) -> tuple[str, Any]:
    try:
        text = data.decode("utf-8-sig")
        return text, json.loads(text, parse_constant=_refuse_constant, **hooks)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput("is not UTF-8 text", where=f"{path}:{line}") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"is not JSON: {error.msg}", where=f"{path}:{error.lineno}") from None
    except RecursionError:
        raise BadInput("is nested too deeply", where=path) from None
    except ValueError as error:  # of the two hooks below, or a number with thousands of digits
        raise BadInput(f"is not JSON: {error}", where=path) from None


def _strings(value: Any) -> int:
    """How many strings a document is written with, keys included."""
    if isinstance(value, dict):
        return len(value) + sum(map(_strings, value.values()))
    return sum(map(_strings, value)) if isinstance(value, list) else int(isinstance(value, str))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f'"{next(key for key in keys if keys.count(key) > 1)}" stands twice in one object')
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


class _Reader:
    """One file's fields, checked one by one."""

    def __init__(self, path: Path, windows: Windows, *, booleans: bool) -> None:
        self._path = path
        self._all_windows = windows
        self._windows: dict[tuple[str, float, float], Window] = {}
        self._booleans = booleans  # which Python takes for the numbers 0 and 1
        self.strings = 0
        """How many strings were read, keys included."""

    def run(self, document: Any) -> Run:
        fields = self._object(document, "")
        self.strings = _strings({**fields, "queries": ""}) - 1
        if fields.get("schema") != SCHEMA or fields["schema"] is True:
            raise self._error("schema", f"must be {SCHEMA}, not {_shown(fields.get('schema'))}")
        self._keys(fields, "", _RUN_KEYS)
        footage = tuple(
            self._footage(item, f"footage[{index}]")
            for index, item in enumerate(self._list(fields["footage"], "footage"))
        )
        names = {item.name for item in footage}
        if len(names) != len(footage):
            raise self._error("footage", "two have the same name")
        self._windows = self._all_windows.setdefault(frozenset(names), {})
        k = fields["k"]
        if type(k) is not int or not 1 <= k <= _MAX_K:
            raise self._error("k", f"must be a whole number from 1, not {_shown(k)}")
        window = self._object(fields["window"], "window")
        self._keys(window, "window", frozenset(("length", "overlap")))
        return Run(
            model=self._name(fields["model"], "model"),
            revision=self._text(fields["revision"], "revision"),
            options=self._object(fields["options"], "options"),
            footage=footage,
            window=WindowGrid(
                self._seconds(window["length"], "window.length"),
                self._seconds(window["overlap"], "window.overlap"),
            ),
            k=k,
            created=self._text(fields["created"], "created"),
            timings={
                name: self._seconds(value, f"timings.{name}")
                for name, value in self._object(fields["timings"], "timings").items()
            },
            queries=self._queries(fields["queries"], names, k),
        )

    def _footage(self, value: Any, place: str) -> RunFootage:
        fields = self._object(value, place)
        self._keys(fields, place, _FOOTAGE_KEYS)
        return RunFootage(
            self._name(fields["name"], f"{place}.name"),
            self._text(fields["fingerprint"], f"{place}.fingerprint"),
            self._seconds(fields["duration"], f"{place}.duration"),
        )

    def _queries(self, value: Any, names: set[str], k: int) -> tuple[RunQuery, ...]:
        queries: dict[str, RunQuery] = {}
        for index, item in enumerate(self._list(value, "queries")):
            query = self._query(item, index, names, k)
            if query.query in queries:
                raise self._error(f"queries[{index}].query", f'"{query.query}" stands twice')
            queries[query.query] = query
        return tuple(queries.values())

    def _query(self, value: Any, index: int, names: set[str], k: int) -> RunQuery:
        try:
            text, group, hits = value["query"], value["group"], self._plain_hits(value["hits"])
            if len(value) == 3 and type(text) is type(group) is str and text.strip() and len(hits) <= k:
                self.strings += 5 + 5 * len(hits)
                return RunQuery(text, group, hits)
        except (TypeError, KeyError, IndexError):
            pass  # what is wrong is found, and said, one by one
        place = f"queries[{index}]"
        fields = self._object(value, place)
        error = fields.pop("error", None)
        self._keys(fields, place, _QUERY_KEYS)
        text = self._name(fields["query"], f"{place}.query")
        hits = self._hits(fields["hits"], f"{place}.hits", names)
        if len(hits) > k:
            raise self._error(f"{place}.hits", f"has {len(hits)} hits, more than k = {k}")
        if error is not None and hits:
            raise self._error(place, "has an error and hits as well")
        self.strings += 5 + 5 * len(hits) + (0 if error is None else 2)
        group = self._text(fields["group"], f"{place}.group")
        return RunQuery(text, group, hits, None if error is None else self._text(error, f"{place}.error"))

    def _hits(self, value: Any, place: str, names: set[str]) -> tuple[Hit, ...]:
        hits: list[Hit] = []
        seen: set[Window] = set()
        last = math.inf
        for index, item in enumerate(self._list(value, place)):
            window, last = self._checked_hit(item, f"{place}[{index}]", names, last)
            if window in seen:
                what = f"{window.start}–{window.end} of {window.footage} stands twice"
                raise self._error(f"{place}[{index}]", what)
            seen.add(window)
            hits.append(Hit(index + 1, self._windows.setdefault(window, window), last))
        return tuple(hits)

    def _plain_hits(self, value: list[dict[str, Any]]) -> tuple[Hit, ...]:
        """What nearly every query has: windows met before, scores that fall and nothing else.

        Raises:
            TypeError, KeyError, IndexError: it is something else.
        """
        known = self._windows
        windows = [known[item["footage"], item["start"], item["end"]] for item in value]
        scores = [item["score"] for item in value]
        if (
            {*map(type, scores)} != {float}
            or {*map(len, value)} != {4}
            or not -math.inf < scores[-1] <= scores[0] < math.inf
            or sorted(scores, reverse=True) != scores
            or len({*windows}) != len(windows)
            or (self._booleans and {type(item[end]) for item in value for end in ("start", "end")} != {float})
        ):
            raise TypeError
        return tuple(map(Hit, range(1, len(scores) + 1), windows, scores))

    def _checked_hit(self, item: Any, place: str, names: set[str], last: float) -> tuple[Window, float]:
        fields = self._object(item, place)
        self._keys(fields, place, _HIT_KEYS)
        footage = fields["footage"]
        if not isinstance(footage, str) or footage not in names:
            raise self._error(f"{place}.footage", f"{_shown(footage)} is not in the run's footage")
        start = self._tenths(fields["start"], f"{place}.start")
        end = self._tenths(fields["end"], f"{place}.end")
        if end <= start:
            raise self._error(place, f"ends at {end}, not after its start at {start}")
        score = self._number(fields["score"], f"{place}.score")
        if score > last:
            raise self._error(f"{place}.score", f"{score} is above the score before it, {last}")
        return Window(footage, start, end), score

    def _tenths(self, value: Any, place: str) -> float:
        seconds = self._seconds(value, place)
        rounded = round(seconds, 1)
        if abs(seconds - rounded) > 1e-6:
            raise self._error(place, f"{seconds} is not a multiple of 0.1 s")
        return rounded

    def _seconds(self, value: Any, place: str) -> float:
        seconds = self._number(value, place)
        if not 0 <= seconds <= _MAX_SECONDS:
            raise self._error(place, f"{seconds} is no number of seconds")
        return seconds

    def _number(self, value: Any, place: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(place, f"must be a number, not {_shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self._error(place, "must be a finite number")
        return number

    def _text(self, value: Any, place: str) -> str:
        if not isinstance(value, str):
            raise self._error(place, f"must be text, not {_shown(value)}")
        return value

    def _name(self, value: Any, place: str) -> str:
        text = self._text(value, place)
        if not text.strip():
            raise self._error(place, "is empty")
        return text

    def _list(self, value: Any, place: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._error(place, f"must be a list, not {_shown(value)}")
        return value

    def _object(self, value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._error(place, f"must be an object, not {_shown(value)}")
        return value

    def _keys(self, fields: dict[str, Any], place: str, known: frozenset[str]) -> None:
        if fields.keys() == known:
            return
        for key in sorted(known - fields.keys()):
            raise self._error(place, f'"{key}" is missing')
        for key in sorted(fields.keys() - known):
            raise self._error(place, f'unknown key "{key}"')

    def _error(self, place: str, what: str) -> BadInput:
        return BadInput(f"{place}: {what}" if place else what, where=self._path)


def _shown(value: Any) -> str:
    """A JSON value short enough for a message."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except ValueError:  # a whole number with more digits than Python prints
        return "a huge number"
    return text if len(text) <= 40 else f"{text[:40]}…"
