"""The console over small runs made by hand, with a worker and players that do what a test tells them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
from textual.pilot import Pilot

from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.console_state import ConsoleState
from accuracy_tui.live import LiveSession
from accuracy_tui.player import PlayerError, routes
from accuracy_tui.player.clip_player import (
    Clip,
    Control,
    FilmstripReady,
    KeyPressed,
    Picture,
    PictureReady,
    PlayerLost,
    Position,
    ShowFailed,
    Shown,
)
from accuracy_tui.ui.app import ConsoleApp
from accuracy_tui.worker_events import FootageRead
from sentrysearch.types import Footage
from support.runs import FOOTAGE


def footage(fingerprint=f"sha256:{0:064x}"):
    """What ``support.runs`` says its runs were made on."""
    return Footage(FOOTAGE, Path(FOOTAGE), fingerprint, 900.0, 0.0, 320, 240, 0, "h264", 25.0)


class FakeWorker:
    """Notes what is asked of it; the footage is there at once unless told otherwise."""

    def __init__(self, *, reads: bool = True) -> None:
        self.on_event = lambda event: None
        self.started: list[str] = []
        self.added: list[tuple[str, ...]] = []
        self.cancelled: list[str] = []
        self.closed = False
        self.reads = reads

    def read_footage(self) -> None:
        if self.reads:
            self.on_event(FootageRead((footage(),)))

    def start(self, models, queries=None) -> None:
        self.started += models

    def add_queries(self, queries, models) -> None:
        self.added += [(query.text, query.group, *models) for query in queries]

    def cancel(self, model) -> None:
        self.cancelled.append(model)

    def cancel_all(self) -> None:
        self.cancelled.append("all")

    busy = False

    def close(self) -> None:
        self.closed = True


class FakePlayer:
    """Shows every clip at once, unless told to wait; what was asked is kept in ``asked``."""

    def __init__(self, route: str, on_event) -> None:
        self.route = route
        self.line = f"fake {route}"
        self.asked: list[tuple[str, object]] = []
        self.waits = False
        self.closed = False
        self.clip: Clip | None = None
        self.ready: Clip | None = None
        self._on_event = on_event

    def show(self, clip: Clip) -> None:
        self.asked.append(("ready" if clip is self.ready else "show", clip.window.start))
        self.clip = clip
        if not self.waits:
            self.shown()

    def prefetch(self, clip: Clip) -> None:
        self.asked.append(("prefetch", clip.window.start))
        self.ready = clip

    def control(self, control: Control) -> None:
        self.asked.append(("control", control))

    def hide(self) -> None:
        self.asked.append(("hide", None))

    def close(self) -> None:
        self.closed = True

    def picture(self) -> Picture:
        return Picture(np.full((40, 60, 3), 90, np.uint8), 1.0)

    def resize(self, width: int, height: int, pixel_shape: float = 1.0) -> None:
        self.asked.append(("resize", (width, height)))

    def filmstrip(self, clip: Clip, count: int, width: int, height: int, pixel_shape: float = 1.0) -> None:
        pictures = tuple(Picture(np.full((height, width, 3), 60 * n, np.uint8), n) for n in range(count))
        self._on_event(FilmstripReady(clip, pictures))

    def shown(self) -> None:
        self._on_event(Shown(self.clip))
        if self.route == "inline":
            self._on_event(PictureReady(self.clip))

    def at(self, seconds: float, **state) -> None:
        state = {"paused": False, "speed": 1.0, "around": False, **state}
        self._on_event(Position(self.clip, seconds, **state))

    def press(self, key: str, clip: Clip | None = None) -> None:
        self._on_event(KeyPressed(clip or self.clip, key))

    def fail(self, reason: str) -> None:
        self._on_event(ShowFailed(self.clip, PlayerError(reason)))

    def lose(self, reason: str) -> None:
        self._on_event(PlayerLost(PlayerError(reason, hint="do this")))


class Players:
    """The routes that a test has, and the players that were opened."""

    def __init__(self) -> None:
        self.routes = ["inline", "browser"]
        self.broken: dict[str, str] = {}
        self.opened: list[FakePlayer] = []
        self.waits = False

    @property
    def last(self) -> FakePlayer:
        return self.opened[-1]

    def routes_here(self, environ, wanted=None):
        chosen = [wanted] if wanted else []
        return [*chosen, *(route for route in self.routes if route != wanted)]

    def open_player(self, route, on_event, **options):
        if route in self.broken:
            raise PlayerError(self.broken[route], hint="install it")
        player = FakePlayer(route, on_event)
        player.waits = self.waits
        self.opened.append(player)
        return player


@pytest.fixture
def players(monkeypatch) -> Players:
    """Players that show nothing, in place of the real ones."""
    fake = Players()
    monkeypatch.setattr(routes, "routes_here", fake.routes_here)
    monkeypatch.setattr(routes, "open_player", fake.open_player)
    return fake


class Clock:
    """A clock that a test moves on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Console:
    """One console under test."""

    def __init__(self, app: ConsoleApp, pilot: Pilot[int], worker: FakeWorker) -> None:
        self.app = app
        self.pilot = pilot
        self.worker = worker

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def settle(self) -> None:
        """Until what was asked of players and screens has happened."""
        for _ in range(4):
            await asyncio.sleep(0.005)
            await self.pilot.pause()

    def lines(self) -> list[str]:
        """The screen as text."""
        return [strip.text.rstrip() for strip in self.app.screen._compositor.render_strips()]

    def shows(self, text: str) -> bool:
        return any(text in line for line in self.lines())

    async def until(self, condition: Callable[[], object], seconds: float = 10.0) -> None:
        for _ in range(int(seconds / 0.02)):
            if condition():
                return
            await asyncio.sleep(0.02)
            await self.pilot.pause()
        raise AssertionError("it never came true")


def drive_console(
    session: LiveSession,
    act: Callable[[Console], Awaitable[None]],
    *,
    size: tuple[int, int] = (120, 40),
    options: ConsoleOptions | None = None,
    state: ConsoleState | None = None,
    worker: FakeWorker | None = None,
) -> ConsoleApp:
    """Runs a test's script in a console; the app, when it is over."""
    worker = worker or FakeWorker()
    app = ConsoleApp(session, worker, options or ConsoleOptions(), state=state or ConsoleState())

    async def main() -> None:
        try:
            async with app.run_test(size=size) as pilot:
                console = Console(app, pilot, worker)
                await console.settle()
                await act(console)
        finally:
            app.close_all()

    asyncio.run(main())
    return app
