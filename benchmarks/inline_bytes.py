"""Bytes a second that clips drawn in the terminal take, and how soon a key counts on a slow line.

Run: ``python benchmarks/inline_bytes.py``. The real console plays the demo's street inline on a
pseudo-terminal.

- At 80×24, 120×40 and 200×60: bytes a second over ten seconds (target: under 1 MB/s at 120×40), and the share
  of one core that the console and its player take; and at 4 pictures a second.
- With the terminal read at 400 kB/s, and everything written but not yet read lying in a deep buffer as in an
  SSH connection: from the key ``?`` to the help on the screen, with flow control and without (target: under
  0.5 s).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

import psutil
from looped import looped

from accuracy_tui.runs import Run, RunFootage, RunQuery, save_run
from sentrysearch.types import Footage, Hit, Window, WindowGrid

SIZES = ((80, 24), (120, 40), (200, 60))
SECONDS = 10.0
LINE = 400_000
KEYS = 6
QUESTION = b"\x1b[6n"
GRID = WindowGrid(10.0, 0.0)

NO_FLOW_CONTROL = """
import sys
from accuracy_tui.player import pacing
pacing.MOST_UNANSWERED = 1_000_000
pacing.BYTES_PER_SECOND = 1e12
pacing.Pacing.most = property(lambda self: pacing.MOST_UNANSWERED)
from accuracy_tui.cli import main
main()
"""


class Console:
    """The console on a pseudo-terminal whose reader may be slow.

    Args:
        rate: bytes a second that get through; None for all at once.
    """

    def __init__(self, folder: Path, size: tuple[int, int], *options: str, rate: float | None = None) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        program = ["-m", "accuracy_tui"]
        if "--unchecked" in options:
            program = ["-c", NO_FLOW_CONTROL]
            options = tuple(option for option in options if option != "--unchecked")
        self.process = subprocess.Popen(
            [sys.executable, *program, "-b", str(folder / "b.yaml"), "--player", "inline", *options],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={
                **os.environ,
                "TERM": "xterm-256color",
                "COLORTERM": "truecolor",
                "SENTRYSEARCH_DATA": str(folder / "data"),
            },
        )
        os.close(slave)
        self.written = 0
        self.arrived = b""
        self._rate = rate
        self._buffer = bytearray()
        self._lock = threading.Condition()
        threading.Thread(target=self._take, daemon=True).start()
        threading.Thread(target=self._deliver, daemon=True).start()

    def _take(self) -> None:
        """Like the near end of a connection: takes whatever is written, at once."""
        with contextlib.suppress(OSError):
            while data := os.read(self._master, 65536):
                with self._lock:
                    self.written += len(data)
                    self._buffer += data
                    self._lock.notify()

    def _deliver(self) -> None:
        """Like the far end: a terminal that reads at the line's rate and answers when it gets there."""
        step = 0.01
        with contextlib.suppress(OSError):
            while True:
                with self._lock:
                    while not self._buffer:
                        self._lock.wait()
                    count = len(self._buffer) if self._rate is None else int(self._rate * step)
                    data = bytes(self._buffer[:count])
                    del self._buffer[:count]
                if self._rate is not None:
                    time.sleep(step)
                self.arrived = (self.arrived + data)[-200_000:]
                for _ in range(data.count(QUESTION)):
                    os.write(self._master, b"\x1b[1;1R")
                if b"\x1b[c" in data:
                    os.write(self._master, b"\x1b[?62;22c")

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str, seconds: float = 60.0) -> float:
        """Seconds until some text arrives."""
        began = time.perf_counter()
        while text.encode() not in self.arrived:
            if time.perf_counter() - began > seconds:
                raise SystemExit(f"“{text}” never came")
            time.sleep(0.002)
        return time.perf_counter() - began

    def play(self) -> None:
        """Opens the first cell and waits until pictures move."""
        self.wait_for("quit")
        time.sleep(2)  # the footage is read
        self.type("\r")
        self.wait_for("\x1b[6n")
        time.sleep(1)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


def prepare(folder: Path, footage: Footage) -> None:
    """A benchmark with one saved run over real moving footage."""
    windows = [Window(footage.name, start * 10.0, start * 10.0 + 10.0) for start in range(5)]
    hits = tuple(Hit(rank, window, 1.0 - rank / 100) for rank, window in enumerate(windows, 1))
    seen = (RunFootage(footage.name, footage.fingerprint, footage.duration),)
    run = Run(
        "model", "1", {}, seen, GRID, 5, "2025-01-01T00:00:00+00:00", {}, (RunQuery("street", "fine", hits),)
    )
    save_run(run, folder / "runs")
    (folder / "b.yaml").write_text(
        f"footage: {footage.path}\nwindow: {{length: 10, overlap: 0}}\nmodels: [model]\nruns: runs\n"
        "queries: {fine: [street]}\n"
    )


def busy_seconds(process: int) -> float:
    """Of a processor, by a process and its children so far."""
    family = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    return sum(sum(one.cpu_times()[:2]) for one in family)


def load(folder: Path, size: tuple[int, int], *options: str) -> tuple[float, float]:
    """Bytes a second, and the share of a core."""
    console = Console(folder, size, *options)
    try:
        console.play()
        before, busy, began = console.written, busy_seconds(console.process.pid), time.perf_counter()
        time.sleep(SECONDS)
        seconds = time.perf_counter() - began
        share = (busy_seconds(console.process.pid) - busy) / seconds
        return (console.written - before) / seconds, share
    finally:
        console.close()


def key_seconds(folder: Path, *options: str) -> list[float]:
    """From a key to its effect at the far end of a slow line, while a clip plays."""
    console = Console(folder, (120, 40), *options, rate=LINE)
    try:
        console.play()
        time.sleep(3)  # as long as it takes a buffer to fill
        found = []
        for _ in range(KEYS):
            console.arrived = b""
            console.type("?")
            found.append(console.wait_for("move the cursor"))
            console.type("\x1b")
            time.sleep(1.5)
        return found
    finally:
        console.close()


def main() -> None:
    footage = looped(60)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, footage)
        loads = {size: load(folder, size) for size in SIZES}
        usual, _ = loads[120, 40]
        for (width, height), (rate, share) in loads.items():
            print(
                f"{width}×{height}: {rate / 1000:.0f} kB/s, {rate / usual:.2f}× of 120×40, "
                f"{share * 100:.0f} % of a core"
            )
        slow, share = load(folder, (120, 40), "--fps", "4")
        print(
            f"120×40 at 4 pictures a second: {slow / 1000:.0f} kB/s, {slow / usual:.2f}× of 8, "
            f"{share * 100:.0f} % of a core"
        )
        checked = key_seconds(folder)
        unchecked = key_seconds(folder, "--unchecked", "--fps", "25")
        steady = key_seconds(folder, "--fps", "25")
        median = statistics.median
        print(
            f"key at {LINE // 1000} kB/s: median {median(checked):.2f} s, longest {max(checked):.2f}; "
            f"at 25 pictures a second {median(steady):.2f} s, longest {max(steady):.2f}; "
            f"without flow control {median(unchecked):.2f} s, {median(unchecked) / median(steady):.1f}×"
        )


if __name__ == "__main__":
    main()
