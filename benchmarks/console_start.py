"""How long until the console's first full picture: 500 queries × 6 saved runs, beside a bare Textual app.

Run: ``python benchmarks/console_start.py``, on a quiet machine. Whole processes on a pseudo-terminal that
answers questions as terminals do, bytecode of both cached, started alternately; from the start of the process
to the last line of its first full picture. Prints the fastest and the median of each and their ratio (target:
≤ 1.3), with verdicts on half of the pool, then with 100,000 verdicts on file; and which heavy packages the
console had imported by the time it was left (target: none).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from console_repaint import MODELS, QUERIES, SIZE, Terminal, prepare
from looped import looped

from sentrysearch.types import Footage

ROUNDS = 15
POOL_VERDICTS = 15 * QUERIES // 2
"""As many as there are when half of the pool is judged."""
MANY_VERDICTS = 100_000
HEAVY = ("torch", "transformers", "onnxruntime", "av", "numpy", "mpv", "google.genai", "dashscope")

BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("bare app")
Bare().run(mouse=False)
"""
CONSOLE = """
import atexit, os, sys
atexit.register(lambda: open(os.environ["MODULES"], "w").write("\\n".join(sys.modules)))
from accuracy_tui.cli import main
sys.exit(main())
"""
"""The program, which writes down what was imported when it is left."""


class AnsweringTerminal(Terminal):
    """Answers what a program asks a terminal about itself, as real ones do at once."""

    def _read(self, patience: float) -> bool:
        before = len(self.last)
        found = super()._read(patience)
        for _ in range(self.last.count(b"\x1b[c", max(0, before - 2))):
            os.write(self._file, b"\x1b[?62;22c")
        return found


def first_picture(command: Sequence[str], environment: dict[str, str], patterns: Sequence[bytes]) -> float:
    """Seconds until everything that the patterns name is on the screen; then leaves the program."""
    begin = time.perf_counter()
    terminal = AnsweringTerminal(command, environment)
    try:
        for pattern in patterns:
            terminal.wait_for(pattern, 60)
        taken = time.perf_counter() - begin
        terminal.press(b"\x11", rb"\x1b\[\?1049l")  # ctrl+q, and the terminal is given back
        terminal.process.wait(10)
    finally:
        terminal.close()
    return taken


def measure(footage: Footage, verdicts: int, rounds: int, target: str) -> set[str]:
    """Prints one ratio; the heavy packages that the console imported."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = prepare(folder, footage, verdicts=verdicts)
        modules = folder / "modules"
        environment = {
            **os.environ,
            "SENTRYSEARCH_DATA": str(folder / "data"),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "MODULES": str(modules),
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        }
        for name in ("NO_COLOR", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        bare = [sys.executable, "-c", BARE]
        console = [sys.executable, "-c", CONSOLE, "-b", str(path), "--no-mouse"]
        # The header's first row, the last row of the grid that fits, the detail pane and the last line.
        shown = [b"model-5", "▸query 000".encode(), rb"query 02\d", b"also ", b"quit"]
        pairs = [
            (first_picture(bare, environment, [b"bare app"]), first_picture(console, environment, shown))
            for _ in range(rounds + 2)
        ]
        loaded = set(modules.read_text().split())
    columns = list(zip(*pairs[2:], strict=True))  # the first ones compile and read from the disk
    least = [min(column) for column in columns]
    middle = [statistics.median(column) for column in columns]
    print(
        f"{QUERIES} queries × {MODELS} runs, {verdicts:,} verdicts: console {least[1] * 1000:.0f} ms "
        f"(median {middle[1] * 1000:.0f}), bare app {least[0] * 1000:.0f} ms ({middle[0] * 1000:.0f}): "
        f"{least[1] / least[0]:.2f}× (medians {middle[1] / middle[0]:.2f}×){target}"
    )
    return loaded & set(HEAVY)


def main() -> None:
    options = argparse.ArgumentParser(description="How long until the console's first full picture.")
    options.add_argument("--rounds", type=int, default=ROUNDS, help=f"of each ({ROUNDS})")
    rounds = options.parse_args().rounds
    footage = looped(600)
    print(f"on {SIZE[0]}×{SIZE[1]}")
    heavy = measure(footage, POOL_VERDICTS, rounds, ", target ≤ 1.3")
    heavy |= measure(footage, MANY_VERDICTS, rounds, "")
    print(f"heavy packages imported: {', '.join(sorted(heavy)) or 'none'}")


if __name__ == "__main__":
    main()
