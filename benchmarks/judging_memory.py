"""Memory of the console and of its player after many clips were judged, against after a few.

Run: ``python benchmarks/judging_memory.py [CLIPS]`` (default 2,000; some minutes). The judging screen is
driven without a terminal, the player is the real inline one; every clip is another window, waited for and
judged.
Prints the resident memory of both processes after 50 clips, on the way, and at the end (target: flat).
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from looped import looped

from accuracy_tui.benchmark import Benchmark, Query
from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.console_state import ConsoleState
from accuracy_tui.live import LiveSession
from accuracy_tui.pass_worker import PassWorker
from accuracy_tui.player.mpv_clips import InlineClips
from accuracy_tui.runs import Run, RunFootage, RunQuery, save_run
from accuracy_tui.ui import judging_screen
from accuracy_tui.ui.app import ConsoleApp
from accuracy_tui.worker_events import FootageRead
from sentrysearch.types import Footage, Hit, Window, WindowGrid

if TYPE_CHECKING:
    from accuracy_tui.ui.judging_screen import JudgingScreen

CLIPS, FIRST, STEP = 2000, 50, 500
K = 50
GRID = WindowGrid(1.0, 0.5)


def session_over(folder: Path, footage: Footage, clips: int) -> LiveSession:
    """So many windows to judge, 50 a query."""
    windows = [Window(footage.name, place / 2, place / 2 + 1.0) for place in range(K)]
    queries = [Query(f"query {number}", "fine") for number in range(clips // K + 1)]
    hits = tuple(Hit(rank, window, 1.0 - rank / 100) for rank, window in enumerate(windows, 1))
    seen = (RunFootage(footage.name, footage.fingerprint, footage.duration),)
    found = tuple(RunQuery(query.text, query.group, hits) for query in queries)
    benchmark = Benchmark(
        "memory",
        folder / "b.yaml",
        (),
        GRID,
        K,
        ("model",),
        folder / "j.yaml",
        folder / "runs",
        tuple(queries),
    )
    save_run(Run("model", "1", {}, seen, GRID, K, "2025-01-01T00:00:00+00:00", {}, found), benchmark.runs)
    return LiveSession.open(benchmark)


def resident(process: int) -> float:
    """In MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def judge(session: LiveSession, footage: Footage, clips: int) -> list[tuple[int, float, float]]:
    """Clips judged, and the memory of console and player by then."""
    worker = PassWorker(session.benchmark)
    app = ConsoleApp(session, worker, ConsoleOptions(player="inline"), state=ConsoleState())
    measured: list[tuple[int, float, float]] = []
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            worker.on_event(FootageRead((footage,)))
            await pilot.pause()
            await pilot.press("A")
            for number in range(1, clips + 1):
                screen = cast("JudgingScreen", app.screen)
                clip, deadline = screen.clip, time.monotonic() + 30
                while screen._seen_at is None:
                    if time.monotonic() > deadline:
                        raise SystemExit(f"clip {number} was never shown")
                    await asyncio.sleep(0.002)
                await pilot.press("n")
                while screen.clip is clip and app.screen is screen:
                    await asyncio.sleep(0.002)
                if number in (FIRST, clips) or number % STEP == 0:
                    player = app.desk.player
                    assert isinstance(player, InlineClips) and player.process_id is not None
                    measured.append((number, resident(os.getpid()), resident(player.process_id)))
    finally:
        app.close_all()
    return measured


def main() -> None:
    clips = int(sys.argv[1]) if len(sys.argv) > 1 else CLIPS
    judging_screen.GUARD_SECONDS = 0.0  # a person looks a quarter of a second at least
    footage = looped(60)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SENTRYSEARCH_DATA"] = folder
        with session_over(Path(folder), footage, clips) as session:
            began = time.perf_counter()
            measured = asyncio.run(judge(session, footage, clips))
            seconds = time.perf_counter() - began
    for number, console, player in measured:
        print(f"after {number:5} clips: console {console:6.1f} MB, player {player:6.1f} MB")
    (_, first_console, first_player), (_, console, player) = measured[0], measured[-1]
    print(
        f"console {console / first_console:.2f}× and player {player / first_player:.2f}× of {FIRST} clips, "
        f"{seconds / clips * 1000:.0f} ms a clip"
    )


if __name__ == "__main__":
    main()
