"""(f) How long ``accuracy-tui table`` takes on 100 queries × 8 runs × 10,000 verdicts.

Run: ``python benchmarks/table_start.py``. Prints its time over that of ``python -c "import numpy, yaml"``
(target: ≤ 2), the two run alternately, the fastest of each: whole processes, start and end included.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from accuracy_tui.runs import Run, RunFootage, RunQuery, save_run
from sentrysearch.types import Hit, Window, WindowGrid

QUERIES, RUNS, VERDICTS, K = 100, 8, 10_000, 5
ROUNDS = 15
FOOTAGE = RunFootage("clip.mp4", "sha256:" + "0" * 64, 2600.0)


def make_benchmark(folder: Path) -> Path:
    """A benchmark with its runs and verdicts, the same at every call."""
    drawn = random.Random(7)
    windows = [
        Window(FOOTAGE.name, index * 25.0, index * 25.0 + 30.0) for index in range(VERDICTS // QUERIES)
    ]
    queries = [f"query number {number}" for number in range(QUERIES)]
    for number in range(RUNS):
        found = []
        for index, query in enumerate(queries):
            scores = sorted((round(drawn.random(), 6) for _ in range(K)), reverse=True)
            chosen = drawn.sample(windows, K)
            hits = tuple(Hit(rank + 1, chosen[rank], scores[rank]) for rank in range(K))
            found.append(RunQuery(query, "floor" if index < 10 else "fine", hits))
        run = Run(
            model=f"model-{number}",
            revision="1",
            options={},
            footage=(FOOTAGE,),
            window=WindowGrid(30.0, 5.0),
            k=K,
            created=f"2025-01-0{number + 1}T00:00:00+00:00",
            timings={},
            queries=tuple(found),
        )
        save_run(run, folder / "accuracy_runs")
    lines = []
    for query in queries:
        lines.append(f'"{query}":\n')
        for window in windows:
            value = "true" if drawn.random() < 0.3 else "false"
            lines.append(f'  "{window.start}-{window.end}": {value}\n')
    (folder / "accuracy_judgments.yaml").write_text("".join(lines))
    path = folder / "benchmark.yaml"
    models = ", ".join(f"model-{number}" for number in range(RUNS))
    path.write_text(
        f"k: {K}\nmodels: [{models}]\nqueries:\n  floor: {json.dumps(queries[:10])}\n"
        f"  fine: {json.dumps(queries[10:])}\n"
    )
    return path


def seconds(command: list[str]) -> tuple[float, str]:
    """How long a process takes, and what it prints."""
    begin = time.perf_counter()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return time.perf_counter() - begin, output


def main() -> None:
    bare = [sys.executable, "-c", "import numpy, yaml"]
    with tempfile.TemporaryDirectory() as folder:
        path = make_benchmark(Path(folder))
        table = [sys.executable, "-m", "accuracy_tui", "table", "--benchmark", str(path), "--format", "json"]
        printed = json.loads(seconds(table)[1])
        if len(printed["models"]) != RUNS or printed["pool"]["unjudged"] or not printed["pool"]["items"]:
            raise SystemExit(f"the table is not that of the {RUNS} runs: {printed['remarks']}")
        seconds(bare)
        pairs = [(seconds(bare)[0], seconds(table)[0]) for _ in range(ROUNDS)]
    least_bare, least_table = (min(column) for column in zip(*pairs, strict=True))
    ratio = least_table / least_bare
    print(f"table {least_table * 1000:.0f} ms, import numpy, yaml {least_bare * 1000:.0f} ms: {ratio:.2f}×")


if __name__ == "__main__":
    main()
