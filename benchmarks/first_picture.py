"""From the key that judges a clip to the first picture of the next one, made ready beforehand or not.

Run: ``python benchmarks/first_picture.py``, on a quiet machine; needs libmpv, and Xvfb for the window. The
judging screen is driven without a terminal, the players are the real ones. For clips of a 720p video with a
key frame a second and of a 1080p one with a key frame in 250 pictures, inline and in mpv's window, it prints

- from the key to the first picture of the next clip, which was made ready while the one before was looked at
  (target: at most 150 ms), beside the same clips without that;
- how long making it ready took, where a part of the footage is cut out for it;
- of the 1080p video, the longest time without news of the position while a window loops: when the clip was
  made ready, and when it plays from the footage itself (target: no loop freezes).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

import av
from looped import repeat, sample_clip
from textual import events

from accuracy_tui.benchmark import Benchmark, Query
from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.console_state import ConsoleState
from accuracy_tui.live import LiveSession
from accuracy_tui.pass_worker import PassWorker
from accuracy_tui.player.clip_player import Clip, PlayerEvent, Position, Shown
from accuracy_tui.player.mpv_clips import InlineClips, WindowClips
from accuracy_tui.runs import Run, RunFootage, RunQuery, save_run
from accuracy_tui.ui.app import ConsoleApp
from accuracy_tui.ui.picture_view import PictureView
from accuracy_tui.worker_events import FootageRead
from sentrysearch import locations
from sentrysearch.footage import probe
from sentrysearch.types import Footage, Hit, Window, WindowGrid

if TYPE_CHECKING:
    from accuracy_tui.ui.judging_screen import JudgingScreen

VIDEOS = {"720p, GOP 25": (1280, 720, 25), "1080p, GOP 250": (1920, 1080, 250)}
LONG = "1080p, GOP 250"
ROUTES = ("inline", "window")
SECONDS, CODED_SECONDS, RATE = 240, 20, 25
GRID = WindowGrid(10.0, 0.0)
CLIPS = 8
LOOK_SECONDS = 1.0
"""How long a clip is looked at once the next one is ready."""
LOOP = 2.0
LOOP_SECONDS = 8.0
PATIENCE = 60.0
TARGET = 0.150


def made(name: str) -> Footage:
    """One of the videos: the sample clip made larger, kept in the cache folder."""
    width, height, gop = VIDEOS[name]
    path = locations.cache_folder() / "benchmarks" / f"{height}p-gop{gop}-{SECONDS}.mp4"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        coded, temporary = path.with_suffix(".coded.mp4"), path.with_suffix(".new")
        _encode(coded, width, height, gop)
        repeat(coded, temporary, SECONDS)
        coded.unlink()
        temporary.replace(path)
    return probe(path, path.name)


def _encode(path: Path, width: int, height: int, gop: int) -> None:
    with av.open(str(path), "w") as output:
        options = {
            "preset": "veryfast",
            "x264-params": f"keyint={gop}:min-keyint={gop}:scenecut=0",
        }
        stream = output.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        number = 0
        while number < CODED_SECONDS * RATE:
            with av.open(str(sample_clip())) as source:
                for frame in source.decode(video=0):
                    larger = frame.reformat(width, height, "yuv420p")
                    larger.pts, larger.time_base, larger.pict_type = number, Fraction(1, RATE), 0
                    output.mux(stream.encode(larger))
                    number += 1
        output.mux(stream.encode(None))


def session_over(folder: Path, footage: Footage) -> LiveSession:
    """One query with so many windows to judge, none beginning at a key frame."""
    windows = [Window(footage.name, 8.7 + 19.3 * place, 18.7 + 19.3 * place) for place in range(CLIPS + 2)]
    windows = [Window(window.footage, round(window.start, 1), round(window.end, 1)) for window in windows]
    query = Query("street", "fine")
    hits = tuple(Hit(rank, window, 1.0 - rank / 100) for rank, window in enumerate(windows, 1))
    k = len(windows)
    benchmark = Benchmark(
        "first", folder / "b.yaml", (), GRID, k, ("model",), folder / "j.yaml", folder / "runs", (query,)
    )
    seen = (RunFootage(footage.name, footage.fingerprint, footage.duration),)
    found = (RunQuery(query.text, query.group, hits),)
    save_run(Run("model", "1", {}, seen, GRID, k, "2025-01-01T00:00:00+00:00", {}, found), benchmark.runs)
    return LiveSession.open(benchmark)


async def waited(condition: object) -> float:
    """Seconds until a condition, looked at every millisecond, holds."""
    assert callable(condition)
    began = time.perf_counter()
    while not condition():
        if time.perf_counter() - began > PATIENCE:
            raise SystemExit("a clip was never shown or made ready")
        await asyncio.sleep(0.001)
    return time.perf_counter() - began


async def answers(view: PictureView) -> None:
    """What a terminal does that draws at once: says so for every picture."""
    while True:
        while view._asked:
            view.cursor_reported()
        await asyncio.sleep(0.001)


async def judge(
    session: LiveSession, footage: Footage, route: str, *, ready: bool
) -> tuple[list[float], list[float]]:
    """For each clip after the first: seconds from the key to its picture, and those of making it ready."""
    app = ConsoleApp(
        session, PassWorker(session.benchmark), ConsoleOptions(player=route), state=ConsoleState()
    )
    taken: list[float] = []
    making: list[float] = []
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            app.worker.on_event(FootageRead((footage,)))
            await pilot.pause()
            if not ready:
                app.desk.prefetch = lambda clip: None  # type: ignore[method-assign]
            await pilot.press("A")
            screen = cast("JudgingScreen", app.screen)
            view = screen.query_one(PictureView)

            def seen() -> bool:
                return screen._seen_at is not None and (route != "inline" or view.pictures_drawn > drawn)

            drawn = 0
            terminal = asyncio.create_task(answers(view))
            await waited(seen)
            for _ in range(CLIPS):
                if ready:
                    making.append(await waited(lambda: _is_ready(app, screen)))
                await asyncio.sleep(LOOK_SECONDS)
                clip, drawn = screen.clip, view.pictures_drawn
                begin = time.perf_counter()
                app.post_message(events.Key("n", "n"))
                await waited(lambda clip=clip: screen.clip is not clip)
                drawn = view.pictures_drawn
                await waited(seen)
                taken.append(time.perf_counter() - begin)
            terminal.cancel()
    finally:
        app.close_all()
    return taken, making


def _is_ready(app: ConsoleApp, screen: JudgingScreen) -> bool:
    """Whether the player has been told of the next clip, with its cut made where it needs one."""
    player = app.desk.player
    assert isinstance(player, InlineClips | WindowClips)
    # The window has nothing to load before it is shown, but its cut is made as well.
    return player._next is not None and player._next[0] is screen._next


def longest_gap(route: str, footage: Footage, *, ready: bool) -> float:
    """Seconds between two reports of the position while a window loops."""
    shown: list[Clip] = []
    reports: list[float] = []

    def hear(event: PlayerEvent) -> None:
        if isinstance(event, Shown):
            shown.append(event.clip)
        elif isinstance(event, Position):
            reports.append(time.perf_counter())

    player = InlineClips(hear, os.environ) if route == "inline" else WindowClips(hear, os.environ)
    try:
        clip = Clip(footage, Window(footage.name, 38.7, 38.7 + LOOP), "street")
        if ready:
            player.prefetch(clip)
            deadline = time.perf_counter() + PATIENCE
            while player._next is None and time.perf_counter() < deadline:
                time.sleep(0.01)
        player.show(clip)
        deadline = time.perf_counter() + PATIENCE
        while clip not in shown:
            if time.perf_counter() > deadline:
                raise SystemExit("a clip was never shown")
            time.sleep(0.01)
        reports.clear()
        time.sleep(LOOP_SECONDS)
        return max(later - sooner for sooner, later in itertools.pairwise(reports))
    finally:
        player.close()


@contextlib.contextmanager
def display() -> Iterator[str | None]:
    """A screen for windows that nobody sees; None where there is no Xvfb."""
    if shutil.which("Xvfb") is None:
        yield None
        return
    read, write = os.pipe()
    options = f"-displayfd {write} -screen 0 1920x1200x24 -nolisten tcp".split()
    process = subprocess.Popen(["Xvfb", *options], pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as number:
            yield f":{number.readline().strip()}"
    finally:
        process.kill()
        process.wait()


def said(seconds: Sequence[float]) -> str:
    """Milliseconds."""
    return f"median {statistics.median(seconds) * 1000:4.0f} ms, longest {max(seconds) * 1000:4.0f}"


def measure(name: str, footage: Footage, route: str) -> None:
    """Prints one line for a video and a route."""
    found: dict[bool, tuple[list[float], list[float]]] = {}
    for ready in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["SENTRYSEARCH_DATA"] = folder
            with session_over(Path(folder), footage) as session:
                found[ready] = asyncio.run(judge(session, footage, route, ready=ready))
    (cold, _), (warm, making) = found[False], found[True]
    ratio = statistics.median(warm) / statistics.median(cold)
    print(
        f"{name}, {route:6}: made ready {said(warm)}; not {said(cold)}; {ratio:.2f}× "
        f"(made ready in {statistics.median(making):.2f} s, longest {max(making):.2f}), "
        f"target ≤ {TARGET * 1000:.0f} ms",
        flush=True,
    )


def main() -> None:
    options = argparse.ArgumentParser(description="From a key to the next clip's first picture.")
    options.add_argument("--route", choices=ROUTES, action="append", help="only this one")
    routes = options.parse_args().route or ROUTES
    videos = {name: made(name) for name in VIDEOS}
    with display() as screen:
        for variable in ("WAYLAND_DISPLAY", "SSH_CONNECTION"):
            os.environ.pop(variable, None)
        if screen is None:
            print("no Xvfb: the window is left out")
            routes = [route for route in routes if route != "window"]
        else:
            os.environ["DISPLAY"] = screen
        for name, footage in videos.items():
            for route in routes:
                measure(name, footage, route)
        for route in routes:
            ready, raw = (longest_gap(route, videos[LONG], ready=ready) for ready in (True, False))
            print(
                f"{LONG}, {route:6}: longest time without news in a loop {ready * 1000:.0f} ms made ready, "
                f"{raw * 1000:.0f} from the footage, {ready / raw:.2f}×"
            )


if __name__ == "__main__":
    main()
