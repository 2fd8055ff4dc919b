"""The benchmark file: which footage, windows, models and queries are measured, and where results live.

::

    name: benchmark-clip-v1                      # default: the file's name
    footage: clips/benchmark-clip-v1.mp4         # a file or folder, or a list of them, or
    footage:                                     #   with the sha256 that a file must have:
      - {url: https://example.org/a.mp4, sha256: 9f86d0…}
      - {path: clips/b.mp4, sha256: 60303a…}
    window: {length: 30, overlap: 5}             # seconds; the default
    k: 5                                         # the default
    models: [qwen8b, gemini]                     # default: the embedded models
    judgments: accuracy_judgments.yaml           # the default
    runs: accuracy_runs                          # the default
    queries:
      floor: [car driving on road]               # confirm that the pipeline works
      fine: [white toyota pickup truck]          # measure the model

Relative paths are relative to the file; ``~/`` is the home folder. Model names are checked where models are
made and footage where it is read, so that saved results can be read on a machine that has neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from accuracy_tui.yaml_source import Key, Located, load_with_lines
from sentrysearch.errors import BadInput
from sentrysearch.types import WindowGrid
from sentrysearch.windows import check_grid

FLOOR = "floor"
FINE = "fine"
GROUPS = (FINE, FLOOR)
"""In the order in which grid and table show them."""

DEFAULT_MODELS = ("conse-lite0", "conse-lite1", "conse-lite2")
DEFAULT_JUDGMENTS = "accuracy_judgments.yaml"
DEFAULT_RUNS = "accuracy_runs"
DEFAULT_K = 5
MAX_K = 1000

_KEYS = ("name", "footage", "window", "k", "models", "judgments", "runs", "queries")
_URL = re.compile(r"https?://", re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Query:
    """A sentence to search for, and its group: ``floor`` or ``fine``."""

    text: str
    group: str


@dataclass(frozen=True, slots=True)
class FootageSource:
    """Where footage comes from: ``path`` (a file or folder) or ``url``, one of them None."""

    path: Path | None
    url: str | None
    sha256: str | None
    """64 lower-case hex digits that the file must have; always known for a URL."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark file, checked; every path absolute."""

    name: str
    path: Path
    footage: tuple[FootageSource, ...]
    """Empty where the file names none: the command line must."""
    window: WindowGrid
    k: int
    models: tuple[str, ...]
    judgments: Path
    runs: Path
    queries: tuple[Query, ...]
    """Distinct texts, fine ones first, else in the file's order; at least one."""


def load_benchmark(path: Path) -> Benchmark:
    """Reads a benchmark file.

    Raises:
        BadInput: one line with file, line and reason.
    """
    document = load_with_lines(path)
    if document.value is None:
        raise BadInput("is empty", where=path, hint="it needs at least queries")
    fields = _fields(document, "the benchmark", _KEYS)
    folder = path.absolute().parent
    if "queries" not in fields:
        raise BadInput("has no queries", where=path, hint="add queries: with lists under floor: and fine:")
    return Benchmark(
        name=_text(fields["name"], "name") if "name" in fields else path.stem,
        path=path.absolute(),
        footage=_footage(fields["footage"], folder) if "footage" in fields else (),
        window=_window(fields["window"]) if "window" in fields else WindowGrid(),
        k=_k(fields["k"]) if "k" in fields else DEFAULT_K,
        models=_models(fields["models"]) if "models" in fields else DEFAULT_MODELS,
        judgments=_path(fields["judgments"], "judgments", folder)
        if "judgments" in fields
        else folder / DEFAULT_JUDGMENTS,
        runs=_path(fields["runs"], "runs", folder) if "runs" in fields else folder / DEFAULT_RUNS,
        queries=_queries(fields["queries"]),
    )


def _fields(node: Located, label: str, known: Iterable[str]) -> dict[str, Located]:
    fields: dict[str, Located] = {}
    for key, value in node.as_mapping(label).items():
        if key not in known:
            raise BadInput(f'unknown key "{key}"', where=f"{node.path}:{key.line}", hint=_near(key, known))
        fields[str(key)] = value
    return fields


def _near(key: Key, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"


def _text(node: Located, label: str) -> str:
    text = node.as_text(label)
    if not text.strip():
        raise node.error(f"{label} is empty")
    return text


def _path(node: Located, label: str, folder: Path) -> Path:
    text = _text(node, label)
    if "\0" in text:
        raise node.error(f"{label} is no path: it holds a NUL character")
    if text == "~" or text.startswith("~/"):
        try:
            return Path.home() / text[2:]
        except RuntimeError:
            raise node.error(f"{label}: there is no home folder here", hint="give the whole path") from None
    return folder / text


def _footage(node: Located, folder: Path) -> tuple[FootageSource, ...]:
    entries = node.value if isinstance(node.value, list) else [node]
    if not entries:
        raise node.error("footage is an empty list")
    return tuple(_source(entry, folder) for entry in entries)


def _source(node: Located, folder: Path) -> FootageSource:
    if not isinstance(node.value, dict):
        text = _text(node, "footage")
        if _URL.match(text):
            raise node.error("footage from a URL needs its sha256", hint=f"write {{url: {text}, sha256: …}}")
        return FootageSource(_path(node, "footage", folder), None, None)
    fields = _fields(node, "footage", ("path", "url", "sha256"))
    if ("path" in fields) == ("url" in fields):
        raise node.error("footage needs a path or a url, one of them")
    sha256 = _sha256(fields["sha256"]) if "sha256" in fields else None
    if "path" in fields:
        return FootageSource(_path(fields["path"], "path", folder), None, sha256)
    url = _text(fields["url"], "url").strip()
    if not _URL.match(url):
        raise fields["url"].error("url must begin with http:// or https://")
    if sha256 is None:
        raise node.error("footage from a URL needs its sha256")
    return FootageSource(None, url, sha256)


def _sha256(node: Located) -> str:
    digest = _text(node, "sha256").strip().lower().removeprefix("sha256:")
    if not _SHA256.match(digest):
        raise node.error(
            f"sha256 must be 64 hex digits, not {node.kind}",
            hint="quote it" if not isinstance(node.value, str) else None,
        )
    return digest


def _window(node: Located) -> WindowGrid:
    fields = _fields(node, "window", ("length", "overlap"))
    default = WindowGrid()
    grid = WindowGrid(
        length=fields["length"].as_number("length") if "length" in fields else default.length,
        overlap=fields["overlap"].as_number("overlap") if "overlap" in fields else default.overlap,
    )
    try:
        check_grid(grid)
    except BadInput as error:
        raise node.error(error.what, hint=error.hint) from None
    return grid


def _k(node: Located) -> int:
    k = node.as_integer("k")
    if not 1 <= k <= MAX_K:
        raise node.error(f"k must be from 1 to {MAX_K}, not {k}")
    return k


def _models(node: Located) -> tuple[str, ...]:
    models: dict[str, int] = {}
    for entry in node.as_list("models"):
        _add_once(models, _text(entry, "a model's name"), entry, "model")
    if not models:
        raise node.error("models is an empty list", hint="leave the key out for the embedded models")
    return tuple(models)


def _queries(node: Located) -> tuple[Query, ...]:
    fields = _fields(node, "queries", GROUPS)
    lines: dict[str, int] = {}
    queries: list[Query] = []
    for group in GROUPS:
        if group not in fields or fields[group].value is None:  # "fine:" with all its queries commented out
            continue
        for entry in fields[group].as_list(f"the {group} queries"):
            text = _text(entry, f"a {group} query")
            _add_once(lines, text, entry, "query")
            queries.append(Query(text, group))
    if not queries:
        raise node.error("there is no query", hint="list at least one under floor: or fine:")
    return tuple(queries)


def _add_once(lines: dict[str, int], text: str, node: Located, label: str) -> None:
    if text in lines:
        raise node.error(f'{label} "{text}" stands twice, also on line {lines[text]}')
    lines[text] = node.line
