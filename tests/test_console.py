"""The console's first screen: every key, what passes and other hands change, and where it was left."""

import json

import pytest

from accuracy_tui.benchmark import Query
from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.console_state import ConsoleState, load_state, save_state
from accuracy_tui.judgments import Judgments
from accuracy_tui.runner import ModelFailed, ModelFinished, ModelProgress
from accuracy_tui.ui.confirm_screen import ConfirmScreen
from accuracy_tui.ui.export_screen import ExportScreen
from accuracy_tui.ui.grid_screen import GridScreen
from accuracy_tui.ui.help_screen import HelpScreen
from accuracy_tui.ui.judging_screen import JudgingScreen
from accuracy_tui.ui.keys import GRID, JUDGING
from accuracy_tui.worker_events import ModelWaiting
from sentrysearch import pass_events as passes
from support.console import FakeWorker, drive_console
from support.console import players as players  # a fixture
from support.grids import open_session
from support.runs import make_run, ranked, window

pytestmark = pytest.mark.usefixtures("players")

VAN, BUS, ROAD = Query("white van", "fine"), Query("red [/b] bus", "fine"), Query("road", "floor")
QUERIES = (VAN, BUS, ROAD)


def found(*numbers):
    return {query: [window(number) for number in numbers] for query in QUERIES}


@pytest.fixture
def session(tmp_path):
    runs = {"a": found(0, 1, 2), "b": {**found(1, 5), BUS: "service down"}}
    with open_session(tmp_path, runs, QUERIES, models=["c"]) as opened:
        yield opened


def verdicts(tmp_path):
    with Judgments.open(tmp_path / "judgments.yaml", (), write=False) as reader:
        return {(query, where.start): value for query, where, value in reader.items()}


def test_saved_runs_are_on_the_first_screen(session):
    async def act(console):
        assert console.shows("white van") and console.shows("red [/b] bus") and console.shows("···")
        assert console.shows("trial · 3 models · 3 queries · k 5")
        assert console.shows("judged 0/11")
        assert console.shows("! failed")

    drive_console(session, act)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_every_size_shows_grid_cell_and_keys(session, size):
    async def act(console):
        lines = console.lines()
        assert len(lines) == size[1]
        assert console.shows("white van") and console.shows("MRR fine") and console.shows("? help")
        assert console.shows("q quit") and console.shows("unjudged")

    drive_console(session, act, size=size)


def test_arrows_and_letters_move(session):
    async def act(console):
        grid = console.app.grid_screen.grid
        assert grid.cursor == ("a", "white van")
        await console.press("l")
        assert grid.cursor == ("b", "white van")
        await console.press("j")
        assert grid.cursor == ("b", BUS.text)
        await console.press("left", "up")
        assert grid.cursor == ("a", "white van")
        await console.press("G")
        assert grid.cursor == ("a", "road")
        await console.press("g", "right_square_bracket", "right_square_bracket", "right_square_bracket")
        assert (grid.cursor, grid.hit) == (("a", "white van"), 2)
        await console.press("left_square_bracket")
        assert grid.hit == 1
        await console.press("pagedown")
        assert grid.cursor == ("a", "road")
        await console.press("pageup")
        assert grid.cursor == ("a", "white van")

    drive_console(session, act)


def test_a_verdict_on_the_selected_hit_stays_there_and_counts_everywhere(session, tmp_path):
    async def act(console):
        await console.press("right_square_bracket", "y")
        grid = console.app.grid_screen.grid
        assert (grid.cursor, grid.hit) == (("a", "white van"), 1)
        assert session.grid.cell("a", "white van").glyphs == "·●·––"
        assert session.grid.cell("b", "white van").glyphs == "●·–––"
        assert console.shows("✓ yes: white van") and console.shows("judged 1/11")
        assert verdicts(tmp_path) == {("white van", 10.0): True}
        await console.press("n")
        assert console.shows("✓ no, was yes: white van")  # a verdict that is changed is said to be
        await console.press("n", "n")
        assert verdicts(tmp_path) == {("white van", 10.0): False}

    drive_console(session, act)


def test_undo_goes_back_through_the_session_and_earlier_ones(session, tmp_path):
    session.put("road", window(5), True)

    async def act(console):
        await console.press("y")
        await console.press("u")
        assert verdicts(tmp_path) == {("road", 50.0): True}
        await console.press("u")
        assert verdicts(tmp_path) == {}
        assert console.app.grid_screen.grid.cursor == ("b", "road")
        assert console.shows("undone: road")
        await console.press("u")
        assert console.shows("nothing to undo")

    drive_console(session, act)


def test_tab_goes_over_every_unjudged_hit_and_round_again(session):
    async def act(console):
        grid = console.app.grid_screen.grid
        seen = []
        for _ in range(13):
            seen.append((*grid.cursor, grid.hit))
            await console.press("tab")
        assert len(set(seen)) == 13  # 9 of a, 4 of b; c has no run, one query of b failed
        assert (*grid.cursor, grid.hit) == seen[0]
        await console.press("shift+tab")
        assert (*grid.cursor, grid.hit) == seen[-1]
        await console.press("s")
        assert (*grid.cursor, grid.hit) == seen[0]

    drive_console(session, act)


def test_there_may_be_nothing_to_judge(session):
    async def act(console):
        await console.press("l", "l", "y")
        assert console.shows("there is no hit here to judge")
        await console.press("enter")
        assert console.shows("there is no hit here to play")

    drive_console(session, act)


def test_filter_and_sort(session):
    async def act(console):
        grid = console.app.grid_screen.grid
        await console.press("slash", "v", "a", "n")
        assert [query.text for query in grid.shown] == ["white van"]
        await console.press("enter", "y")  # Enter closes the field, so y is a verdict again
        assert session.grid.cell("a", "white van").glyphs == "●··––"
        assert console.shows("“van”")
        await console.press("escape")
        assert len(grid.shown) == 3
        await console.press("o")
        assert [query.text for query in grid.shown] == [BUS.text, "road", "white van"]
        await console.press("o", "o", "o", "o")
        assert [query.text for query in grid.shown] == ["white van", BUS.text, "road"]

    drive_console(session, act)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (":failed", [BUS.text]),
        (":floor", ["road"]),
        (":unjudged", ["white van", BUS.text]),
        ("WHITE", ["white van"]),
        ("[/b]", [BUS.text]),
        ("nothing like it", []),
    ],
)
def test_filters(session, text, left):
    for number in (0, 1, 2, 5):
        session.put("road", window(number), False)

    async def act(console):
        assert [query.text for query in console.app.grid_screen.grid.shown] == left
        await console.press("y", "u", "tab", "j", "o", "escape")
        assert len(console.app.grid_screen.grid.shown) == 3

    drive_console(session, act, state=ConsoleState(filter=text))


def test_help_names_every_key(session):
    async def act(console):
        await console.press("question_mark")
        assert isinstance(console.app.screen, HelpScreen)
        text = "\n".join(console.lines())
        for key in (*GRID, *JUDGING):
            if key.shown:
                assert key.help.split()[0] in text
        await console.press("escape")
        assert isinstance(console.app.screen, GridScreen)

    drive_console(session, act, size=(100, 80))


def test_the_palette_runs_what_has_a_title(session):
    async def act(console):
        await console.press("ctrl+p", *"judge what")
        await console.until(lambda: console.shows("Judge what decides most"))
        await console.press("enter", "enter")
        await console.until(lambda: isinstance(console.app.screen, JudgingScreen))

    drive_console(session, act)


def test_export_writes_what_is_chosen(session, tmp_path):
    async def act(console):
        await console.press("e")
        assert isinstance(console.app.screen, ExportScreen)
        await console.press(
            "down", "space", "down", "space", "down", "space", "down", "space", "down", "space"
        )
        await console.press("enter")
        assert isinstance(console.app.screen, GridScreen)
        await console.until(lambda: (tmp_path / "export" / "trial.svg").exists())

    drive_console(session, act)
    folder = tmp_path / "export"
    written = {path.name for path in folder.iterdir()}
    assert {"trial.md", "trial.csv", "trial.json", "trial.qrels.txt", "trial.trec", "trial.svg"} == written
    assert (folder / "trial.md").read_text().startswith("| model")
    assert json.loads((folder / "trial.json").read_text())["k"] == 5
    svg = (folder / "trial.svg").read_text()
    assert "white&#160;van" in svg and "Export" not in svg and "font-face" not in svg


def test_a_folder_that_cannot_be_written_is_said_in_the_dialog(session, tmp_path):
    (tmp_path / "export").write_text("a file")

    async def act(console):
        await console.press("e", "enter")
        assert isinstance(console.app.screen, ExportScreen)
        assert console.shows("cannot be written")
        await console.press("space", "enter")
        assert console.shows("nothing is chosen")

    drive_console(session, act)


def test_a_pass_fills_its_cells_as_queries_come(session):
    async def act(console):
        post = console.worker.on_event
        post(ModelWaiting("c"))
        await console.settle()
        assert console.shows("waiting")
        post(ModelProgress("c", passes.Loading()))
        await console.settle()
        assert console.shows("loading")
        post(ModelProgress("c", passes.Embedding(5, 10, 2.5, 2.0)))
        await console.settle()
        assert console.shows("50 %") or console.shows("50%")
        post(ModelProgress("c", passes.Searched("white van", ranked([window(7)]), None)))
        await console.settle()
        assert session.grid.cell("c", "white van").glyphs == "·––––"
        assert console.shows("searching 1/3")
        post(ModelFinished("c", make_run("c", found(7)), None))
        await console.settle()
        assert console.shows("done in")
        assert session.unjudged() == (14, 14)

    drive_console(session, act)


def test_seconds_of_loading_are_the_same_above_and_below(session):
    async def act(console):
        await console.press("l", "l")
        console.worker.on_event(ModelProgress("c", passes.Loading()))
        await console.until(lambda: sum("loading 1" in line for line in console.lines()) == 2)

    drive_console(session, act)


def test_wide_characters_leave_the_title_its_end(session):
    async def act(console):
        assert console.lines()[0].endswith("judged 0/11 · clips: inline")

    drive_console(session, act, state=ConsoleState(filter="車" * 40))


def test_a_failed_pass_says_why(session):
    async def act(console):
        console.worker.on_event(ModelFailed("c", "no key: [bold]set\x1b[31m KEY"))
        await console.settle()
        await console.press("l", "l")
        assert console.shows("no key: [bold]set")
        assert not any("\x1b" in line for line in console.lines())

    drive_console(session, act)


def test_models_named_on_the_command_line_start(session):
    async def act(console):
        assert console.worker.started == ["c", "d"]
        assert session.models == ("a", "b", "c", "d")

    drive_console(session, act, options=ConsoleOptions(start=("c", "d")))


def test_an_added_query_is_searched_by_models_with_a_run_and_kept(session, tmp_path):
    async def act(console):
        await console.press("a", *"red car", "enter")
        assert [query.text for query in session.queries] == ["white van", BUS.text, "red car", "road"]
        assert console.worker.added == [("red car", "fine", "a", "b")]
        assert console.app.grid_screen.grid.cursor == ("a", "red car")

    drive_console(session, act)
    assert load_state(session.benchmark).added == (("red car", "fine"),)


def test_edits_from_outside_arrive(session, tmp_path):
    async def act(console):
        (tmp_path / "judgments.yaml").write_text('"road":\n  "0.0-10.0": true\n')
        await console.until(lambda: session.grid.cell("a", "road").glyphs == "●··––")
        assert console.shows("judged 1/11")

    drive_console(session, act)


def test_a_second_console_says_who_writes_and_takes_no_verdict(session, tmp_path):
    with open_session(tmp_path, {}, QUERIES, models=["a", "b"]) as second:
        assert second.judgments is not None and second.judgments.read_only

        async def act(console):
            assert console.shows("read only") and console.shows("is writing these judgments")
            await console.press("y")
            assert console.shows("not recorded")
            assert verdicts(tmp_path) == {}

        drive_console(second, act)


def test_the_console_comes_back_where_it_was_left(session):
    async def act(console):
        await console.press("o", "o", "slash", *"a", "enter")
        console.app.grid_screen.grid.move_to("b", "road", 1)
        await console.settle()
        await console.press("q")

    app = drive_console(session, act)
    assert app.return_code == 0
    state = load_state(session.benchmark)
    assert (state.model, state.query, state.hit, state.filter, state.sort) == (
        "b",
        "road",
        1,
        "a",
        "precision",
    )

    async def again(console):
        screen = console.app.grid_screen
        assert (screen.grid.cursor, screen.grid.hit) == (("b", "road"), 1)
        assert (screen.filter_text, screen.sort_name) == ("a", "precision")

    drive_console(session, again, state=state)


def test_a_state_that_makes_no_sense_is_passed_over(session):
    save_state(session.benchmark, ConsoleState(model="gone", query="gone", hit=99, sort="?", theme="none"))

    async def act(console):
        assert console.app.grid_screen.grid.cursor == ("a", "white van")

    drive_console(session, act, state=load_state(session.benchmark))


def test_quitting_asks_only_where_a_pass_would_be_stopped(session):
    async def act(console):
        console.worker.on_event(ModelWaiting("c"))
        await console.settle()
        await console.press("q")
        assert isinstance(console.app.screen, ConfirmScreen)
        await console.press("n")
        assert isinstance(console.app.screen, GridScreen)
        await console.press("q", "y")

    worker = FakeWorker()
    app = drive_console(session, act, worker=worker)
    assert app.return_code == 0
    assert worker.closed


def test_without_a_run_it_says_how_to_get_one(tmp_path):
    with open_session(tmp_path, {}, QUERIES, models=["a"]) as empty:

        async def act(console):
            assert console.shows("no run yet: p chooses models to run")
            await console.press("y", "enter", "J", "tab", "u")

        drive_console(empty, act)
