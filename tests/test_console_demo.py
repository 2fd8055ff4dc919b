"""A whole session on the demo: three real models fill the grid, every open window is judged by keys."""

import asyncio
import json

import yaml

from accuracy_tui.benchmark import load_benchmark
from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.console_state import ConsoleState
from accuracy_tui.demo import prepare
from accuracy_tui.live import LiveSession
from accuracy_tui.pass_worker import PassWorker
from accuracy_tui.runs import load_runs
from accuracy_tui.ui.app import ConsoleApp
from accuracy_tui.ui.grid_screen import GridScreen
from accuracy_tui.ui.judging_screen import JudgingScreen
from accuracy_tui.ui.picture_view import PictureView
from accuracy_tui.worker_events import Done

WAIT_SECONDS = 180


async def until(pilot, condition):
    for _ in range(WAIT_SECONDS * 20):
        await pilot.pause()
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never came true")


def judge_everything(session, worker, keys):
    """Runs the demo's models in a console and answers with ``keys`` until all is judged; pictures drawn."""
    app = ConsoleApp(
        session, worker, ConsoleOptions(player="inline", start=session.benchmark.models), state=ConsoleState()
    )
    drawn = 0

    async def main():
        nonlocal drawn
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: all(isinstance(state, Done) for state in session.passes.values()))
            await pilot.press("J")
            answered = 0
            while isinstance(app.screen, JudgingScreen):
                screen = app.screen
                left, clip = screen.asks.left, screen.clip
                await until(pilot, lambda clip=clip, s=screen: s._seen_at is not None and clip is s.clip)
                await asyncio.sleep(0.3)  # as long as a clip must have been seen
                drawn += screen.query_one(PictureView).pictures_drawn > 0
                await pilot.press(keys[answered % len(keys)])
                answered += 1
                await until(
                    pilot,
                    lambda left=left, s=screen: (
                        not isinstance(app.screen, JudgingScreen) or s.asks.left < left
                    ),
                )
            assert isinstance(app.screen, GridScreen)
            await pilot.press("q")

    try:
        asyncio.run(main())
    finally:
        app.close_all()
    return drawn


def test_from_nothing_to_the_settled_table(command):
    benchmark = load_benchmark(prepare())
    before = yaml.safe_load(benchmark.judgments.read_text())
    with LiveSession.open(benchmark) as session:
        assert session.unjudged() == (0, 0)
        drawn = judge_everything(session, PassWorker(benchmark), "ynn")
        assert session.unjudged()[0] == 0
    after = yaml.safe_load(benchmark.judgments.read_text())
    new = {
        (query, window): value
        for query, windows in after.items()
        for window, value in windows.items()
        if window not in before.get(query, {})
    }
    assert len(new) == drawn == 8
    assert sorted(new.values()) == [False] * 5 + [True] * 3

    # The table's numbers, worked out again from the two kinds of files.
    table = json.loads(command.accuracy("table", "--demo", "--format", "json").out)
    assert table["pool"] == {"items": 139, "unjudged": 0}
    fine = [query.text for query in benchmark.queries if query.group == "fine"]
    for run in load_runs(benchmark.runs).runs:
        ranked = {found.query: found.hits for found in run.queries}
        true = {
            query: [
                after[query].get(f"{hit.window.footage}@{hit.window.start}-{hit.window.end}", False)
                for hit in ranked[query]
            ]
            for query in fine
        }
        row = next(row for row in table["models"] if row["model"] == run.model)
        for k in (1, 3, 5):
            expected = sum(sum(true[query][:k]) / k for query in fine) / len(fine)
            assert abs(row[f"P@{k} fine"]["low"] - expected) < 1e-9
            assert row[f"P@{k} fine"]["low"] == row[f"P@{k} fine"]["high"]
        ranks = [next((1 / rank for rank, hit in enumerate(true[query], 1) if hit), 0.0) for query in fine]
        assert abs(row["MRR fine"]["low"] - sum(ranks) / len(ranks)) < 1e-9
