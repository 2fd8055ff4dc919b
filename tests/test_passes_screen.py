"""The list of models with their passes, and the line that takes one more query, with real child processes."""

import asyncio
import time

import pytest
from textual.widgets import Input, OptionList, Static

from accuracy_tui.benchmark import Query, load_benchmark
from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.console_state import ConsoleState
from accuracy_tui.live import LiveSession
from accuracy_tui.pass_worker import PassWorker
from accuracy_tui.ui.add_query_screen import AddQueryScreen
from accuracy_tui.ui.app import ConsoleApp
from accuracy_tui.ui.passes_screen import PassesScreen
from accuracy_tui.worker_events import (
    CancelledPass,
    Done,
    EmbeddingWindows,
    Failed,
    Loading,
    NotRun,
    Waiting,
)
from sentrysearch.embedders import catalogue
from support.pass_events import SECONDS
from support.stand_in_models import PROGRAM
from support.video import write_clip

MODELS = ["test/colour", "test/slow", "test/[/loading]"]


@pytest.fixture
def benchmark(tmp_path):
    write_clip(tmp_path / "clip.mp4", seconds=20, fps=5, size=(64, 64))
    file = tmp_path / "benchmark.yaml"
    file.write_text(
        "footage: clip.mp4\nwindow: {length: 2, overlap: 0}\nk: 3\n"
        f"models: {MODELS!r}\nqueries:\n  fine: [green, blue]\n"
    )
    return load_benchmark(file)


@pytest.fixture
def console(benchmark):
    """Runs a test in a console, and ends what it started."""

    def run(act, *, size=(120, 40)):
        async def main():
            worker = PassWorker(benchmark, program=PROGRAM)
            with LiveSession.open(benchmark) as session:
                app = ConsoleApp(session, worker, ConsoleOptions(), state=ConsoleState())
                try:
                    async with app.run_test(size=size) as pilot:
                        await pilot.pause()
                        await act(app, pilot)
                finally:
                    app.close_all()

        asyncio.run(main())

    return run


async def until(pilot, reached):
    end = time.monotonic() + SECONDS
    while not reached():
        assert time.monotonic() < end
        await pilot.pause(0.02)


def shown(app, selector=None):
    if selector is not None:
        return str(app.screen.query_one(selector, Static).visual)
    return "\n".join(
        "".join(segment.text for segment in line) for line in app.screen._compositor.render_strips()
    )


def model_under_cursor(app):
    return app.screen._chosen


async def open_passes(app, pilot):
    await pilot.press("p")
    await until(pilot, lambda: isinstance(app.screen, PassesScreen) and app.screen.is_mounted)
    await pilot.pause()


def test_every_model_is_listed_with_what_keeps_it_from_running(console):
    async def act(app, pilot):
        await open_passes(app, pilot)
        await until(pilot, lambda: all(name in shown(app) for name in [*MODELS, *catalogue()]))
        assert "no key: GEMINI_API_KEY" in shown(app)
        for _ in range(len(MODELS) + list(catalogue()).index("gemini")):
            await pilot.press("j")
        await pilot.pause()
        assert model_under_cursor(app) == "gemini"
        assert "export GEMINI_API_KEY" in shown(app, "#about")

    console(act)


def listed(app):
    return any("test/colour" in line and "no run" in line for line in shown(app).split("\n"))


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_the_list_fits_the_terminal(console, size):
    async def act(app, pilot):
        await open_passes(app, pilot)
        await until(pilot, lambda: listed(app) and "esc close" in shown(app))
        await pilot.resize_terminal(90, 26)
        await until(pilot, lambda: listed(app) and "esc close" in shown(app))

    console(act, size=size)


def test_a_pass_is_started_followed_and_run_again(console):
    async def act(app, pilot):
        states = app.session.passes
        await open_passes(app, pilot)
        await pilot.press("j", "enter")
        assert model_under_cursor(app) == "test/slow"
        await until(pilot, lambda: isinstance(states["test/slow"], EmbeddingWindows))
        await until(pilot, lambda: "windows/s" in shown(app, "#about"))
        await pilot.press("enter")
        assert "running already" in shown(app, "#said")
        await until(pilot, lambda: isinstance(states["test/slow"], Done))
        await pilot.pause()
        assert "done in" in shown(app, "#about")
        await pilot.press("s")
        await until(pilot, lambda: isinstance(states["test/slow"], Loading | EmbeddingWindows))
        await until(pilot, lambda: isinstance(states["test/slow"], Done))
        assert app.session.grid.has_results("test/slow")
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.grid_screen

    console(act)


def test_a_pass_is_cancelled_and_tried_again(console):
    async def act(app, pilot):
        states = app.session.passes
        await open_passes(app, pilot)
        await pilot.press("j", "c")
        assert "not running" in shown(app, "#said")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(states["test/slow"], EmbeddingWindows))
        await pilot.press("c")
        await until(pilot, lambda: isinstance(states["test/slow"], CancelledPass))
        await pilot.pause()
        assert "cancelled" in shown(app, "#about") and not shown(app, "#said")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(states["test/slow"], Done))

    console(act)


def test_all_that_have_no_run_are_started_and_cancelled(console):
    async def act(app, pilot):
        states = app.session.passes
        await open_passes(app, pilot)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(states["test/[/loading]"], Waiting | Failed))
        await pilot.press("C")
        await until(pilot, lambda: not app.worker.busy)
        await pilot.pause()
        assert all(isinstance(states[model], CancelledPass | Done | Failed) for model in MODELS)

    console(act)


def test_any_model_can_be_named(console):
    async def act(app, pilot):
        states = app.session.passes
        await open_passes(app, pilot)
        await pilot.press("n", *"qwen9", "enter")
        await pilot.pause()
        assert "no model named 'qwen9'; did you mean" in shown(app, "#said")
        assert app.screen.query_one(Input).value == "qwen9"  # to be put right
        await pilot.press(*["backspace"] * 5, *"test/other", "enter")
        await until(pilot, lambda: isinstance(states.get("test/other"), Done))
        await pilot.pause()
        assert model_under_cursor(app) == "test/other" and app.session.models[-1] == "test/other"
        assert app.screen.query_one(OptionList).has_focus
        await pilot.press("n", "escape")
        assert isinstance(app.screen, PassesScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.grid_screen

    console(act)


def test_a_model_that_cannot_run_is_not_started(console):
    async def act(app, pilot):
        await open_passes(app, pilot)
        await pilot.press("n", *"gemini", "enter")
        await pilot.pause()
        assert "no key" in shown(app, "#said")
        assert isinstance(app.session.passes.get("gemini", NotRun()), NotRun)
        await until(pilot, lambda: not app.worker.busy)  # with the footage
        assert isinstance(app.session.passes.get("gemini", NotRun()), NotRun)

    console(act)


def test_a_query_is_added_and_searched_by_the_models_that_have_a_run(console, benchmark):
    async def act(app, pilot):
        app.start(["test/colour"])
        await until(pilot, lambda: isinstance(app.session.passes["test/colour"], Done))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AddQueryScreen))
        await pilot.press("enter")
        assert "empty" in shown(app, "#problem")
        await pilot.press(*"blue", "enter")
        assert "it is a fine query already" in shown(app, "#problem")
        await pilot.press(*["backspace"] * 4, *"red", "down", "enter")
        await until(pilot, lambda: app.screen is app.grid_screen)
        assert Query("red", "floor") in app.session.queries
        await until(pilot, lambda: app.session.grid.state("test/colour", "red").name == "RAN")
        await until(pilot, lambda: isinstance(app.session.passes["test/colour"], Done))
        searched = app.session.grid.runs["test/colour"].queries
        assert [query.query for query in searched] == ["green", "blue", "red"]

    console(act)


def test_adding_a_query_can_be_left(console):
    async def act(app, pilot):
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AddQueryScreen))
        await pilot.press(*"red", "escape")
        await pilot.pause()
        assert app.screen is app.grid_screen
        assert [query.text for query in app.session.queries] == ["green", "blue"]

    console(act)
