"""Runs on disk: one model's ranked hits for every query, with what produced them.

The order of hits in the file is the ranking, frozen: pool, grid, metrics and exports all read that one
order. One hit a line, keys in a fixed order and scores to six decimals, so that a diff shows what changed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accuracy_tui.atomic import write_atomically
from sentrysearch.errors import BadInput, SentrySearchError
from sentrysearch.types import Hit, WindowGrid

if TYPE_CHECKING:
    from accuracy_tui.run_format import Windows

SCHEMA = 1

# What a file system takes as it is, and keeps apart even where it ignores case. "~" is left for the names
# that are not plain, so that no plain name can be one of theirs.
_PLAIN = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,79}\Z")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|\Z)")


@dataclass(frozen=True, slots=True)
class RunFootage:
    """Footage as a run saw it; ``duration`` in seconds."""

    name: str
    fingerprint: str
    duration: float


@dataclass(frozen=True, slots=True)
class RunQuery:
    """One query's ranked hits, rank 1 first; none and an ``error`` where it failed."""

    query: str
    group: str
    hits: tuple[Hit, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One model's pass over the footage and queries."""

    model: str
    revision: str
    options: Mapping[str, Any]
    footage: tuple[RunFootage, ...]
    window: WindowGrid
    k: int
    """The run's depth: no query has more hits."""
    created: str
    """When, in ISO 8601 with the offset from UTC."""
    timings: Mapping[str, float]
    """Seconds by name."""
    queries: tuple[RunQuery, ...]


@dataclass(frozen=True, slots=True)
class LoadedRuns:
    """A folder's runs by file name, and why the others could not be read."""

    runs: tuple[Run, ...]
    problems: tuple[SentrySearchError, ...]


def load_run(path: Path, windows: Windows | None = None) -> Run:
    """Reads a run file; ``windows`` are those that runs share, as for ``parse_run``.

    Raises:
        BadInput: names the file and the place in it.
    """
    from accuracy_tui.run_format import parse_run
    from accuracy_tui.yaml_source import read_bytes

    return parse_run(read_bytes(path), path, windows)


def load_runs(folder: Path) -> LoadedRuns:
    """Reads every run in a folder; a file that can't be read, or a model's second file, is a problem.

    Of a model's files the one that ``save_run`` writes is taken, else the first by name.

    A folder that doesn't exist has no runs.

    Raises:
        BadInput: the folder can't be listed.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".")
    except FileNotFoundError:
        return LoadedRuns((), ())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"cannot be listed: {reason}", where=folder) from None
    runs: dict[str, Run] = {}
    files: dict[str, Path] = {}
    problems: list[SentrySearchError] = []
    windows: Windows = {}
    for path in paths:
        try:
            run = load_run(path, windows)
        except BadInput as error:
            problems.append(error)
            continue
        taken, ignored = files.get(run.model), path
        if taken is None or path.name == run_file_name(run.model):  # which a copy beside it must not hide
            runs[run.model], files[run.model], ignored = run, path, taken or path
        if taken is not None:
            what = f"a second run of {run.model}, ignored; the one taken is {files[run.model].name}"
            problems.append(BadInput(what, where=ignored, hint="keep one of them"))
    return LoadedRuns(tuple(runs.values()), tuple(problems))


def save_run(run: Run, folder: Path) -> Path:
    """Writes ``run`` into ``folder`` in place of the model's earlier one, or leaves that as it was.

    Raises:
        BadInput: the run breaks a rule of the format, so that it could not be read back.
        SentrySearchError: it can't be written.
    """
    from accuracy_tui.run_format import parse_run

    path = folder / run_file_name(run.model)
    text = format_run(run)
    parse_run(text.encode(), path)
    write_atomically(path, text)
    return path


def check_writable(folder: Path) -> None:
    """Says before the hours of a pass that its run could not be saved; makes nothing.

    Raises:
        BadInput: ``folder`` is no folder, cannot be made or cannot be written to.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise BadInput(
            "runs cannot be written here", where=folder, hint="allow it, or name another folder under runs:"
        )


def run_file_name(model: str) -> str:
    """A file name for a model's run: different for different models, also where case is ignored.

    Plain names stay readable (``qwen8b@4bit.json``); a hub id, a path or any other text is shortened to what
    is safe, then told apart by a hash of the whole (``qwen-qwen3-vl-embedding-8b~1f0c….json``).
    """
    if _PLAIN.match(model) and not _RESERVED.match(model):
        return f"{model}.json"
    import hashlib  # here, since reading results must start fast

    slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[-60:].strip("-")
    return f"{slug}~{hashlib.sha256(model.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.json"


def format_run(run: Run) -> str:
    """The text of a run file."""
    footage = ",\n    ".join(
        f'{{"name": {_text(item.name)}, "fingerprint": {_text(item.fingerprint)}, '
        f'"duration": {_number(item.duration, 3)}}}'
        for item in run.footage
    )
    window = f'{{"length": {_number(run.window.length, 3)}, "overlap": {_number(run.window.overlap, 3)}}}'
    timings = ", ".join(f"{_text(name)}: {_number(run.timings[name], 6)}" for name in sorted(run.timings))
    queries = ",\n    ".join(_format_query(query) for query in run.queries)
    return (
        "{\n"
        f'  "schema": {SCHEMA},\n'
        f'  "model": {_text(run.model)},\n'
        f'  "revision": {_text(run.revision)},\n'
        f'  "options": {json.dumps(dict(run.options), sort_keys=True)},\n'
        f'  "footage": {_list(footage, "  ")},\n'
        f'  "window": {window},\n'
        f'  "k": {run.k},\n'
        f'  "created": {_text(run.created)},\n'
        f'  "timings": {{{timings}}},\n'
        f'  "queries": {_list(queries, "  ")}\n'
        "}\n"
    )


def _format_query(query: RunQuery) -> str:
    hits = ",\n      ".join(
        f'{{"footage": {_text(hit.window.footage)}, "start": {_number(hit.window.start, 1)}, '
        f'"end": {_number(hit.window.end, 1)}, "score": {_number(hit.score, 6)}}}'
        for hit in query.hits
    )
    error = "" if query.error is None else f', "error": {_text(query.error)}'
    head = f'"query": {_text(query.query)}, "group": {_text(query.group)}'
    return f'{{{head}, "hits": {_list(hits, "    ")}{error}}}'


def _list(lines: str, indent: str) -> str:
    return f"[\n{indent}  {lines}\n{indent}]" if lines else "[]"


def _text(text: str) -> str:
    """As JSON; text with anything an editor or a diff would not show is escaped throughout."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _number(value: float, decimals: int) -> str:
    return json.dumps(round(float(value), decimals) + 0.0)  # + 0.0 makes -0.0 0.0
