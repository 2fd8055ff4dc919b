"""How soon a key shows on the terminal: the real console on a pseudo-terminal, beside a bare Static.

Run: ``python benchmarks/console_repaint.py``, on a quiet machine. The console shows 500 queries × 6 models
with 100,000 verdicts on file. From the key's byte going in to the redrawn row coming out, it prints, for
moving the cursor and for ``y`` (durable: the journal has grown by then), the median and high percentiles

- with nothing else going on, alternating with an app of one Static that counts (target: p95 of ``y`` at most
  3 times the Static's);
- while a pass imports torch, loads a small Qwen, embeds windows and searches (target: at most 4 times, and
  no key later than 150 ms).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from looped import looped

from accuracy_tui.runs import Run, RunFootage, RunQuery, save_run
from accuracy_tui.window_keys import window_key
from sentrysearch.types import Footage, Hit, Window, WindowGrid
from sentrysearch.windows import cut

QUERIES, MODELS, VERDICTS, K = 500, 6, 100_000, 5
GRID = WindowGrid(2.0, 0.0)
PRESSES = 150
BUSY_SECONDS = 240.0
"""The pass is to be over by then."""
PATIENCE = 10.0
"""Seconds to wait for what a key should show."""
SIZE = (160, 45)

BUILD_MODEL = """
import sys
from pathlib import Path
from support.tiny_qwen import build
build(Path(sys.argv[1]))
"""
STATIC = """
from textual.app import App
from textual.widgets import Static
class Counter(App):
    count = 0
    def compose(self):
        yield Static("count 0")
    def on_key(self, event):
        self.count += 1
        self.query_one(Static).update(f"count {self.count}.")
Counter().run(mouse=False)
"""


class Terminal:
    """A program on a pseudo-terminal of its own."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        )
        os.close(theirs)
        self._file = ours
        self.last = b""
        """What came out since the last key."""

    def press(self, key: bytes, pattern: bytes, *, patience: float = PATIENCE) -> float:
        """Seconds from the key to output that matches; raises TimeoutError."""
        self.drain()
        self.last = b""
        begin = time.perf_counter()
        os.write(self._file, key)
        self.wait_for(pattern, patience)
        return time.perf_counter() - begin

    def wait_for(self, pattern: bytes, patience: float = PATIENCE) -> None:
        """Reads until the output since the last key matches."""
        end = time.perf_counter() + patience
        while re.search(pattern, self.last) is None:
            if not self._read(end - time.perf_counter()):
                shown = self.last[-300:]
                raise TimeoutError(f"{pattern!r} did not come within {patience:.0f} s, but {shown!r}")

    def drain(self, quiet: float = 0.0, patience: float = 60.0) -> None:
        """Reads what there is, until nothing has come for ``quiet`` seconds."""
        end = time.perf_counter() + patience
        while time.perf_counter() < end and self._read(quiet):
            pass

    def _read(self, patience: float) -> bool:
        if patience >= 0 and select.select([self._file], [], [], patience)[0]:
            with contextlib.suppress(OSError):  # the program has ended
                found = os.read(self._file, 1 << 16)
                self.last += found
                return bool(found)
        return False

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._file)


def prepare(folder: Path, footage: Footage, *, verdicts: int = VERDICTS) -> Path:
    """A benchmark with its saved runs and its verdicts: every hit of every second query is unjudged."""
    drawn = random.Random(11)
    windows = cut(footage, GRID)
    seen = RunFootage(footage.name, footage.fingerprint, footage.duration)
    queries = [f"query {number:03}" for number in range(QUERIES)]
    hits = {query: drawn.sample(windows, 3 * K) for query in queries}
    for number in range(MODELS):
        found = []
        for index, query in enumerate(queries):
            chosen = drawn.sample(hits[query], K)
            ranked = tuple(Hit(rank + 1, chosen[rank], 0.9 - rank / 50) for rank in range(K))
            found.append(RunQuery(query, "fine" if index < QUERIES - 20 else "floor", ranked))
        created = f"2026-01-0{number + 1}T00:00:00+00:00"
        run = Run(f"model-{number}", "1", {}, (seen,), GRID, K, created, {}, tuple(found))
        save_run(run, folder / "accuracy_runs")
    _write_verdicts(folder / "accuracy_judgments.yaml", queries, windows, hits, drawn, verdicts)
    path = folder / "benchmark.yaml"
    path.write_text(
        f"name: repaint\nfootage: {json.dumps(str(footage.path))}\n"
        f"window: {{length: {GRID.length}, overlap: {GRID.overlap}}}\nk: {K}\n"
        f"models: [{', '.join(f'model-{number}' for number in range(MODELS))}]\n"
        f"queries:\n  fine: {json.dumps(queries[:-20])}\n  floor: {json.dumps(queries[-20:])}\n"
    )
    return path


def _write_verdicts(
    path: Path,
    queries: Sequence[str],
    windows: Sequence[Window],
    hits: dict[str, list[Window]],
    drawn: random.Random,
    verdicts: int,
) -> None:
    lines = []
    for index, query in enumerate(queries):
        others = [window for window in windows if window not in set(hits[query])]
        judged = [*([] if index % 2 else hits[query]), *others][: verdicts // QUERIES]
        lines.append(f'"{query}":\n')
        for window in judged:
            value = "true" if drawn.random() < 0.3 else "false"
            lines.append(f'  "{window_key(window, single=True)}": {value}\n')
    path.write_text("".join(lines))


ROW = "▸query "


def on_row(line: bytes) -> int | None:
    """The row that the output points at last."""
    found = re.findall(ROW.encode() + rb"(\d+)", line)
    return int(found[-1]) if found else None


def move(console: Terminal, row: int) -> float:
    """Down a row."""
    return console.press(b"\x1b[B", f"{ROW}{row:03}".encode())


def judge(console: Terminal, journal: Path) -> float:
    """On to the next unjudged hit, then ``y``; the seconds until its cell shows the verdict."""
    console.press(b"\t", ROW.encode())
    console.drain(0.1)  # its later pictures hold the row too
    row = on_row(console.last)
    assert row is not None
    before = journal.stat().st_size if journal.exists() else 0
    taken = console.press(b"y", f"{ROW}{row:03}.*●".encode())
    if journal.stat().st_size <= before:
        raise SystemExit("a verdict was on the screen before it was in the journal")
    console.wait_for(f"✓ yes: query {row:03}".encode())
    return taken


def summary(values: Sequence[float]) -> str:
    """Milliseconds."""
    shown = (
        (name, percentile(values, share)) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    )
    parts = [f"{name} {value * 1000:6.1f}" for name, value in shown]
    return f"{'  '.join(parts)}  most {max(values) * 1000:6.1f} ms  ({len(values)} keys)"


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@contextlib.contextmanager
def console(path: Path, environment: dict[str, str], *more: str) -> Iterator[Terminal]:
    terminal = Terminal(
        [sys.executable, "-m", "accuracy_tui", "-b", str(path), "--no-mouse", *more], environment
    )
    try:
        terminal.wait_for(f"{ROW}000".encode(), 60)
        yield terminal
    finally:
        terminal.close()


def idle(path: Path, environment: dict[str, str], journal: Path) -> float:
    """Prints what keys take with nothing else going on; the Static's p95."""
    counter = Terminal([sys.executable, "-c", STATIC], environment)
    static: list[float] = []
    moves: list[float] = []
    verdicts: list[float] = []
    try:
        with console(path, environment) as terminal:
            counter.wait_for(b"count 0", 30)
            terminal.drain(3.0)  # until the footage is read
            for press in range(PRESSES):
                static.append(counter.press(b"x", f"count {press + 1}[.]".encode()))
                moves.append(move(terminal, press + 1))
            for press in range(PRESSES):
                static.append(counter.press(b"x", f"count {PRESSES + press + 1}[.]".encode()))
                verdicts.append(judge(terminal, journal))
    finally:
        counter.close()
    base = percentile(static, 0.95)
    print(f"a Static            {summary(static)}")
    print(f"idle: cursor        {summary(moves)}  p95 {percentile(moves, 0.95) / base:.2f}× the Static's")
    print(
        f"idle: y, durable    {summary(verdicts)}  p95 {percentile(verdicts, 0.95) / base:.2f}×, target ≤ 3"
    )
    return base


def busy(path: Path, environment: dict[str, str], journal: Path, model: Path, base: float) -> None:
    """Prints what keys take from the moment a pass begins until it ends."""
    moves: list[float] = []
    verdicts: list[float] = []
    seen: dict[str, int] = {}
    with console(path, environment, "--model", str(model)) as terminal:
        end = time.perf_counter() + BUSY_SECONDS
        row = 0
        while time.perf_counter() < end:
            if row == QUERIES - 1:  # to the top, and on from there
                terminal.press(b"g", f"{ROW}000".encode())
                row = 0
            row += 1
            moves.append(move(terminal, row))
            verdicts.append(judge(terminal, journal))
            row = on_row(terminal.last) or row
            time.sleep(0.02)  # a person's pace; lets the pass's news come in between
            terminal.drain()
            for state in (b"loading", b"windows/s", b"% ", b"searching", b"done in", b"failed"):
                seen[state.decode()] = seen.get(state.decode(), 0) + (state in terminal.last)
            if seen.get("done in") or seen.get("failed"):
                break
    states = ", ".join(f"{state.strip()} {count}" for state, count in seen.items() if count)
    print(f"in a pass: cursor   {summary(moves)}  target: none over 150 ms")
    print(
        f"in a pass: y        {summary(verdicts)}  p95 {percentile(verdicts, 0.95) / base:.2f}× the idle "
        f"Static's, target ≤ 4; states seen: {states}"
    )
    if not seen.get("done in"):
        raise SystemExit("the pass did not end well")


def main() -> None:
    options = argparse.ArgumentParser(description="How soon a key shows on the terminal.")
    options.add_argument("--seconds", type=int, default=600, help="footage (600)")
    options.add_argument("--no-pass", action="store_true", help="only with nothing else going on")
    given = options.parse_args()
    footage = looped(given.seconds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = prepare(folder, footage)
        journal = folder / ".accuracy_judgments.yaml.journal"
        environment = {
            **os.environ,
            "SENTRYSEARCH_DATA": str(folder / "data"),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "HF_HUB_OFFLINE": "1",
        }
        environment.pop("NO_COLOR", None)
        base = idle(path, environment, journal)
        if not given.no_pass:
            root = Path(__file__).resolve().parents[1]
            model = folder / "tiny-qwen"
            subprocess.run([sys.executable, "-c", BUILD_MODEL, str(model)], check=True, cwd=root / "tests")
            # A data folder of its own, or the console would come back to where it was left.
            environment["SENTRYSEARCH_DATA"] = str(folder / "other-data")
            busy(path, environment, journal, model, base)


if __name__ == "__main__":
    main()
