"""From the key that judges a clip to the first picture of the next one, made ready beforehand or not.

Run: ``python benchmarks/first_picture.py``, on a quiet machine; needs libmpv, and Xvfb for the window. The
judging screen is driven without a terminal, the players are the real ones. For clips of a 720p video with a
key frame a second and of a 1080p one with a key frame in 250 pictures, inline and in mpv's window, it prints

- from the key to the first picture of the next clip, which was made ready while the one before was looked at
  (target: at most 150 ms), beside the same clips without that. Where seeking in the footage is slow, what is
  around a window is cut out of it beforehand: once after looking for two seconds, which is too short for
  that, and once when the cut is made;
- of the 1080p video, the longest time without news of the position while a window loops: once it plays from
  its cut, and from the footage itself (target: no loop freezes).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import enum
import functools
import itertools
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
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
CLIPS = 6
LOOK_SECONDS = 2.0
"""How long a clip is looked at."""
LOOP = 2.0
LOOP_SECONDS = 8.0
PATIENCE = 60.0
TARGET = 0.150


class Way(enum.Enum):
    """How far the next clip is when the key comes."""

    COLD = "not made ready"
    READY = "made ready"
    CUT = "cut out"


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


async def waited(condition: Callable[[], object]) -> float:
    """Seconds until a condition, looked at every millisecond, holds."""
    began = time.perf_counter()
    while not condition():
        if time.perf_counter() - began > PATIENCE:
            raise SystemExit("a clip was never shown or made ready")
        await asyncio.sleep(0.001)
    return time.perf_counter() - began


async def answers(view: PictureView) -> None:
    """What a terminal does that draws at once: says so for every picture."""
    while True:
        while view.unanswered:
            view.cursor_reported()
        await asyncio.sleep(0.001)


async def judge(
    session: LiveSession, footage: Footage, route: str, way: Way
) -> tuple[list[float], list[float]]:
    """For each clip after the first: seconds from the key to its picture, and until its cut was made."""
    app = ConsoleApp(
        session, PassWorker(session.benchmark), ConsoleOptions(player=route), state=ConsoleState()
    )
    taken: list[float] = []
    making: list[float] = []
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            app.worker.on_event(FootageRead((footage,)))
            await pilot.pause()
            if way is Way.COLD:
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
                await asyncio.sleep(LOOK_SECONDS)
                if way is Way.CUT:
                    making.append(LOOK_SECONDS + await waited(lambda: _is_cut(app, screen)))
                clip, drawn = screen.clip, view.pictures_drawn
                begin = time.perf_counter()
                app.post_message(events.Key("n", "n"))
                await waited(functools.partial(_has_left, screen, clip))
                drawn = view.pictures_drawn
                await waited(seen)
                taken.append(time.perf_counter() - begin)
            terminal.cancel()
    finally:
        app.close_all()
    return taken, making


def _has_left(screen: JudgingScreen, clip: Clip | None) -> bool:
    return screen.clip is not clip


def _is_cut(app: ConsoleApp, screen: JudgingScreen) -> bool:
    """Whether the next clip has its cut, or needs none."""
    player = app.desk.player
    assert isinstance(player, InlineClips | WindowClips)
    return any(clip is screen._next for clip in player._looked_at)


def longest_gap(route: str, footage: Footage, way: Way) -> tuple[float, float]:
    """Seconds between two reports of the position while a window loops, and until it was cut out."""
    shown: list[Clip] = []
    reports: list[float] = []

    def hear(event: PlayerEvent) -> None:
        if isinstance(event, Shown):
            shown.append(event.clip)
        elif isinstance(event, Position):
            reports.append(time.perf_counter())

    def wait(condition: Callable[[], object]) -> float:
        began = time.perf_counter()
        while not condition():
            if time.perf_counter() - began > PATIENCE:
                raise SystemExit("a clip was never shown or cut")
            time.sleep(0.01)
        return time.perf_counter() - began

    player = InlineClips(hear, os.environ) if route == "inline" else WindowClips(hear, os.environ)
    try:
        clip, after = (Clip(footage, Window(footage.name, at, at + LOOP), "street") for at in (38.7, 58.7))
        player.show(clip)
        wait(lambda: clip in shown)
        cutting = 0.0
        if way is Way.CUT:  # what is looked at first, then the one after it
            player.prefetch(after)
            cutting = wait(lambda: any(made is clip for made in player._looked_at))
            wait(lambda: any(made is after for made in player._looked_at))
            time.sleep(1.0)
        reports.clear()
        time.sleep(LOOP_SECONDS)
        return max(later - sooner for sooner, later in itertools.pairwise(reports)), cutting
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
    found: dict[Way, tuple[list[float], list[float]]] = {}
    for way in Way:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["SENTRYSEARCH_DATA"] = folder
            with session_over(Path(folder), footage) as session:
                found[way] = asyncio.run(judge(session, footage, route, way))
    cold = statistics.median(found[Way.COLD][0])
    print(
        f"{name}, {route:6}: not made ready {said(found[Way.COLD][0])}; "
        f"after {LOOK_SECONDS:g} s {said(found[Way.READY][0])}, "
        f"{statistics.median(found[Way.READY][0]) / cold:.2f}×; "
        f"once cut {said(found[Way.CUT][0])}, {statistics.median(found[Way.CUT][0]) / cold:.2f}×, "
        f"which took {statistics.median(found[Way.CUT][1]):.1f} s; target ≤ {TARGET * 1000:.0f} ms",
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
            (raw, _), (smooth, cutting) = (
                longest_gap(route, videos[LONG], way) for way in (Way.COLD, Way.CUT)
            )
            print(
                f"{LONG}, {route:6}: longest time without news in a loop {smooth * 1000:.0f} ms "
                f"from its cut, made {cutting:.1f} s after it was shown, {raw * 1000:.0f} from the footage, "
                f"{smooth / raw:.2f}×"
            )


if __name__ == "__main__":
    main()
