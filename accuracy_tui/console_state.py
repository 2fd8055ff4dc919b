"""Where the console was left: cursor, filter, sort, theme and added queries, by benchmark."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from accuracy_tui.atomic import write_atomically
from accuracy_tui.benchmark import GROUPS, Benchmark
from sentrysearch.errors import SentrySearchError
from sentrysearch.locations import data_folder


@dataclass(frozen=True, slots=True)
class ConsoleState:
    """What is restored at the next start."""

    model: str | None = None
    query: str | None = None
    hit: int = 0
    filter: str = ""
    sort: str = "benchmark"
    theme: str | None = None
    added: tuple[tuple[str, str], ...] = ()
    """Text and group of queries that the benchmark file doesn't have."""


def state_path(benchmark: Benchmark) -> Path:
    """Where a benchmark's state is kept."""
    # Not a strong hash, whose package takes longer to import than all else here: the path is in the file too.
    digest = zlib.crc32(str(benchmark.path).encode("utf-8", "surrogateescape"))
    return data_folder() / "console" / f"{digest:08x}.json"


def load_state(benchmark: Benchmark) -> ConsoleState:
    """The state last saved; that of a first start where there is none that can be read."""
    try:
        found = json.loads(state_path(benchmark).read_bytes())
    except (OSError, ValueError, RecursionError):
        return ConsoleState()
    if not isinstance(found, dict) or found.get("benchmark") != os.fsdecode(benchmark.path):
        return ConsoleState()
    return _checked(found)


def save_state(benchmark: Benchmark, state: ConsoleState) -> None:
    """Keeps the state; a comfort, so that a disk that can't take it stops nothing."""
    with contextlib.suppress(OSError, SentrySearchError, ValueError):
        fields = {"benchmark": os.fsdecode(benchmark.path), **asdict(state)}
        write_atomically(state_path(benchmark), json.dumps(fields, indent=1) + "\n")


def _checked(found: dict[str, Any]) -> ConsoleState:
    """What of a file that anyone may have edited makes sense."""

    def text(name: str) -> str | None:
        value = found.get(name)
        return value if isinstance(value, str) else None

    hit = found.get("hit")
    added = found.get("added")
    pairs = [
        (pair[0], pair[1])
        for pair in (added if isinstance(added, list) else [])
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and pair[1] in GROUPS
    ]
    return ConsoleState(
        model=text("model"),
        query=text("query"),
        hit=hit if isinstance(hit, int) and not isinstance(hit, bool) and hit >= 0 else 0,
        filter=text("filter") or "",
        sort=text("sort") or "benchmark",
        theme=text("theme"),
        added=tuple(pairs),
    )
