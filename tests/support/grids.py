"""Live sessions over small runs made by hand, and an app that shows nothing but the grid and one cell."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from accuracy_tui.benchmark import Benchmark, Query
from accuracy_tui.live import LiveSession
from accuracy_tui.runs import save_run
from accuracy_tui.ui.detail import DetailPane
from accuracy_tui.ui.grid_view import GridView
from sentrysearch.types import Window, WindowGrid
from support.runs import make_run

Found = Mapping[Query, Sequence[Window] | str]


def open_session(
    folder: Path,
    runs: Mapping[str, Found],
    queries: Sequence[Query],
    *,
    k: int = 5,
    models: Sequence[str] = (),
) -> LiveSession:
    """A session over these runs; ``models`` are columns that have none."""
    benchmark = Benchmark(
        name="trial",
        path=folder / "benchmark.yaml",
        footage=(),
        window=WindowGrid(10.0, 0.0),
        k=k,
        models=(*runs, *models),
        judgments=folder / "judgments.yaml",
        runs=folder / "runs",
        queries=tuple(queries),
    )
    for model, found in runs.items():
        save_run(make_run(model, found, k=k), benchmark.runs)
    return LiveSession.open(benchmark)


class GridApp(App[None]):
    """The two widgets, and what the grid said; which lines were drawn since ``drawn`` was emptied."""

    CSS = "GridView { height: 1fr; }"

    def __init__(self, session: LiveSession) -> None:
        super().__init__()
        self.grid = WatchedGrid(session)
        self.detail = DetailPane(session)
        self.highlighted: list[tuple[str | None, str | None]] = []
        self.chosen: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        yield self.grid
        yield self.detail

    def on_mount(self) -> None:
        self.detail.show(self.grid.cursor, self.grid.hit)

    def on_grid_view_cell_highlighted(self, message: GridView.CellHighlighted) -> None:
        self.highlighted.append((message.model, message.query))
        self.detail.show(self.grid.cursor, self.grid.hit)

    def on_grid_view_cell_chosen(self, message: GridView.CellChosen) -> None:
        self.chosen.append((message.model, message.query))

    def lines(self) -> list[str]:
        """The screen as text, a string a line, without the scroll bar at its right."""
        strips = self.screen._compositor.render_strips()
        return [strip.text.rstrip(" ▁▂▃▄▅▆▇█") for strip in strips]


class WatchedGrid(GridView):
    """Notes which of its lines are drawn."""

    def __init__(self, session: LiveSession) -> None:
        super().__init__(session)
        self.drawn: set[int] = set()

    def render_line(self, y: int):
        self.drawn.add(y)
        return super().render_line(y)


def drive(
    app: GridApp, script: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (80, 30)
) -> None:
    """Runs the app without a terminal and plays a script on it."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())
