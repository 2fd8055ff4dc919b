"""(d) What a durable verdict costs with 100,000 on file, and what opening them costs.

Run: ``python benchmarks/verdicts.py [FOLDER]`` (a folder on the disk to measure; the current one by default).
Prints three ratios, each of two things done alternately in this one run:

- a verdict against what it replaces: dump everything with the C dumper, sync, rename (target: ≥ 200 times);
- the 99th percentile of a verdict against that of a bare append of as many bytes with fsync (target: ≤ 3);
- opening the judgments against ``yaml.load`` with the C safe loader (target: ≥ 5 times).
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from accuracy_tui.judgments import Judgments
from accuracy_tui.runs import RunFootage
from sentrysearch.types import Window

QUERIES, WINDOWS = 1000, 100
VERDICTS = 2000
ROUNDS = 5
FOOTAGE = [RunFootage("benchmark-clip-v1.mp4", "sha256:" + "0" * 64, 2600.0)]


def window(number: int) -> Window:
    return Window("benchmark-clip-v1.mp4", number * 25.0, number * 25.0 + 30.0)


def seconds(action: Callable[[], Any]) -> float:
    """Seconds that an action takes, what it returns being freed outside of them."""
    gc.collect()
    begin = time.perf_counter()
    result = action()
    taken = time.perf_counter() - begin
    del result
    return taken


def rewrite(path: Path, verdicts: dict[str, dict[str, bool]]) -> None:
    """The way without a journal."""
    beside = path.with_suffix(".new")
    with beside.open("w") as file:
        yaml.dump(verdicts, file, Dumper=yaml.CSafeDumper, sort_keys=False)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def measure(folder: Path) -> None:
    path = folder / "accuracy_judgments.yaml"
    lines: list[str] = []
    for row in range(QUERIES):
        lines.append(f'"query number {row}":\n')
        lines += [
            f'  "{number * 25}.0-{number * 25 + 30}.0": {"true" if (row + number) % 3 else "false"}\n'
            for number in range(WINDOWS)
        ]
    path.write_text("".join(lines))

    def load() -> Any:
        return yaml.load(path.read_bytes(), yaml.CSafeLoader)

    def opened() -> list[Judgments]:
        return [Judgments.open(path, FOOTAGE, write=False)]

    opening = [(seconds(load), seconds(opened)) for _ in range(ROUNDS)]
    ratio = statistics.median(theirs / ours for theirs, ours in opening)
    best = min(ours for _, ours in opening)
    print(f"opening 100,000 verdicts: {ratio:.1f} times as fast as CSafeLoader ({best * 1e3:.0f} ms)")

    verdicts = load()
    copy = folder / "copy.yaml"
    rewriting = statistics.median(seconds(lambda: rewrite(copy, verdicts)) for _ in range(ROUNDS))

    with Judgments.open(path, FOOTAGE, write=True) as judgments:
        journal = folder / ".accuracy_judgments.yaml.journal"
        judgments.put("query number 0", window(0), not judgments.get("query number 0", window(0)))
        line = b"x" * (journal.stat().st_size - 1) + b"\n"
        bare = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        puts: list[float] = []
        appends: list[float] = []
        for number in range(VERDICTS):
            begin = time.perf_counter()
            os.write(bare, line)
            os.fsync(bare)
            appends.append(time.perf_counter() - begin)
            query, where = f"query number {number * 7 % QUERIES}", window(number % WINDOWS)
            value = not judgments.get(query, where)
            begin = time.perf_counter()
            judgments.put(query, where, value)
            puts.append(time.perf_counter() - begin)
        os.close(bare)
    typical = statistics.median(puts)
    print(
        f"a durable verdict: {rewriting / typical:,.0f} times as fast as dump, fsync and rename"
        f" ({typical * 1e3:.2f} ms against {rewriting * 1e3:.0f} ms)"
    )
    ours, theirs = percentile(puts, 0.99), percentile(appends, 0.99)
    print(
        f"its 99th percentile: {ours / theirs:.2f} times a bare append with fsync"
        f" ({ours * 1e3:.2f} ms against {theirs * 1e3:.2f} ms)"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else ".") as name:
        measure(Path(name))
