"""How late a pass makes the console's event loop: in a child process, and as a thread would.

Run: ``python benchmarks/pass_stall.py``, on a quiet machine. An event loop wakes every 5 ms, as one that
waits for keys does, while a small Qwen is imported, loaded, run over a minute of footage and searched.
Prints, for a loop with nothing beside it, with the pass on a thread, and with the console's pass worker, how
late it woke: median, 99th percentile and longest, until the model is loaded and after that (target: no stall
over 150 ms with the worker). Then how long closing takes while the model loads (target: under 2 s).

Each is measured in an interpreter of its own, in turn, over the repeats.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accuracy_tui.benchmark import Benchmark, load_benchmark
from accuracy_tui.pass_worker import PassWorker

WAYS = ("nothing", "thread", "worker")
TICK = 0.005
"""Seconds from one wake to the next."""
IDLE_SECONDS = 5.0
BUILD_MODEL = (
    "import sys; from pathlib import Path; from support.tiny_qwen import build; build(Path(sys.argv[1]))"
)


def main() -> None:
    options = argparse.ArgumentParser(description="Lateness of an event loop beside a pass.")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--seconds", type=int, default=60, help="footage (60)")
    options.add_argument("--measure", nargs=2, metavar=("WAY", "BENCHMARK"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.measure:
        way, file = given.measure
        benchmark = load_benchmark(Path(file))
        result = closing(benchmark) if way == "closing" else asyncio.run(lateness(way, benchmark))
        print(json.dumps(result))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = prepare(Path(folder), given.seconds)
        found: dict[str, dict[str, list[float]]] = {way: {} for way in WAYS}
        closings = []
        for _ in range(given.repeats):
            for way in WAYS:
                for phase, late in measured(way, file, folder).items():
                    found[way].setdefault(phase, []).extend(late)
            closings += measured("closing", file, folder)["close"]
        for way, phases in found.items():
            for phase, late in phases.items():
                print(f"{way:8} {phase:20} {said(late)}")
    print(f"closing while the model loads: {max(closings):.3f} s at most (target < 2)")


def prepare(folder: Path, seconds: int) -> Path:
    """A benchmark file with a model on disk and some footage; torch is not imported here."""
    from looped import looped

    tests = Path(__file__).parent.parent / "tests"
    environ = os.environ | {"PYTHONPATH": str(tests), "HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, "-c", BUILD_MODEL, str(folder / "model")], check=True, env=environ)
    file = folder / "benchmark.yaml"
    queries = ", ".join(f"a street number {number}" for number in range(50))
    file.write_text(
        f"footage: {looped(seconds).path}\nwindow: {{length: 2, overlap: 0}}\n"
        f"models: ['{folder / 'model'}']\nqueries: {{fine: [{queries}]}}\n"
    )
    return file


def measured(way: str, file: Path, folder: str) -> dict[str, list[float]]:
    """What an interpreter of its own measures."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure", way, str(file)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"SENTRYSEARCH_DATA": f"{folder}/data", "HF_HUB_OFFLINE": "1"},
    )
    result: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return result


async def lateness(way: str, benchmark: Benchmark) -> dict[str, list[float]]:
    """Seconds that each wake was late, until the model was loaded and after."""
    late: dict[str, list[float]] = {}
    phase, over = "until it is loaded", threading.Event()

    def tell(event: Any) -> None:
        nonlocal phase
        name = type(getattr(event, "event", event)).__name__
        if name == "Loaded":
            phase = "embedding, searching"
        elif name in ("ModelFinished", "ModelFailed"):
            if name == "ModelFailed":
                print(event.reason, file=sys.stderr)
            over.set()

    worker = PassWorker(benchmark, tell)
    if way == "worker":
        worker.start(benchmark.models)
    elif way == "thread":
        threading.Thread(target=in_a_thread, args=(benchmark, tell), daemon=True).start()
    else:
        phase = "all the time"
        asyncio.get_running_loop().call_later(IDLE_SECONDS, over.set)
    due = time.perf_counter() + TICK
    while not over.is_set():
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        now = time.perf_counter()
        late.setdefault(phase, []).append(now - due)
        due = now + TICK
    worker.close()
    return late


def in_a_thread(benchmark: Benchmark, tell: Callable[[Any], None]) -> None:
    """The same pass in this process."""
    from accuracy_tui.runner import Job, run_models
    from accuracy_tui.session import read_footage

    job = Job(
        models=benchmark.models,
        footages=read_footage(benchmark),
        window=benchmark.window,
        queries=benchmark.queries,
        k=benchmark.k,
        runs=benchmark.runs,
    )
    for event in run_models(job, cancel=threading.Event()):
        tell(event)


def closing(benchmark: Benchmark) -> dict[str, list[float]]:
    """Seconds that ``close`` takes, at three moments of loading."""
    taken = []
    for moment in (0.05, 0.5, 1.5):
        loads = threading.Event()

        def tell(event: Any, loads: threading.Event = loads) -> None:
            if type(getattr(event, "event", event)).__name__ == "Loading":
                loads.set()

        worker = PassWorker(benchmark, tell)
        worker.start(benchmark.models)
        loads.wait(60)
        time.sleep(moment)
        began = time.perf_counter()
        worker.close()
        taken.append(time.perf_counter() - began)
    return {"close": taken}


def said(late: list[float]) -> str:
    """Milliseconds."""
    ordered = sorted(1000 * seconds for seconds in late)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"p50 {ordered[len(ordered) // 2]:6.1f}  p99 {p99:6.1f}  longest {ordered[-1]:6.1f} ms"


if __name__ == "__main__":
    main()
