"""The grid and the pane below it on a screen: moving, drawing only what changed, sizes and the mouse."""

import pytest

from accuracy_tui.benchmark import Query
from accuracy_tui.runner import ModelFinished, ModelProgress
from accuracy_tui.worker_events import ModelWaiting
from sentrysearch import passes
from support.grids import GridApp, drive, open_session
from support.runs import make_run, ranked, window

FINE = [Query(f"query {number:02}", "fine") for number in range(40)]
FLOOR = [Query("road", "floor"), Query("a [/b] \x1b[31m bus", "floor")]
QUERIES = (*FINE, *FLOOR)


def found(*numbers):
    return {query: [window(number) for number in numbers] for query in QUERIES}


@pytest.fixture
def session(tmp_path):
    runs = {"a": found(0, 1, 2, 3, 4), "b": found(1, 5), "c": found(6)}
    with open_session(tmp_path, runs, QUERIES) as opened:
        yield opened


def pointed_at(app):
    """The row that the screen points at, without its marker; None where none is seen."""
    return next((line[1:].strip() for line in app.lines() if line.startswith("▸")), None)


def line_with(app, text):
    return next(line for line in app.lines() if text in line)


def test_the_cursor_moves_over_cells_and_stops_at_the_edges(session):
    app = GridApp(session)

    async def script(pilot):
        assert app.grid.cursor == ("a", "query 00")
        app.grid.move(1, 1)
        assert (app.grid.cursor, app.grid.hit) == (("b", "query 01"), 0)
        app.grid.move(-5, 9)
        assert app.grid.cursor == ("c", "query 00")
        app.grid.move(1000, -9)
        assert app.grid.cursor == ("a", FLOOR[1].text)
        await pilot.pause()
        assert app.highlighted[-1] == ("a", FLOOR[1].text)
        assert pointed_at(app).startswith(r"a [/b] \x1b[31m")

    drive(app, script)


def test_hits_are_selected_one_by_one(session):
    app = GridApp(session)

    async def script(pilot):
        for _ in range(9):
            app.grid.move_hit(1)
        assert app.grid.hit == 4
        await pilot.pause()
        assert any(line.lstrip().startswith("▸ 5") for line in app.lines())
        app.grid.move(0, 1)
        assert app.grid.hit == 0
        app.grid.move_hit(-1)
        assert app.grid.hit == 0
        app.grid.move_to("a", "query 03", 2)
        assert (app.grid.cursor, app.grid.hit) == (("a", "query 03"), 2)
        app.grid.move_to("a", "no such query")
        assert app.grid.cursor == ("a", "query 03")

    drive(app, script)


def test_the_next_unjudged_hit_is_found_round_the_end_and_back(session):
    for query in QUERIES:
        for number in range(7):
            if (query.text, number) not in {("query 02", 1), ("road", 6)}:
                session.put(query.text, window(number), False)
    app = GridApp(session)

    async def script(pilot):
        places = []
        for _ in range(4):
            assert app.grid.next_unjudged()
            places.append((*app.grid.cursor, app.grid.hit))
        # One window, which both a and b returned; then the one of the last group; then round.
        assert places == [("a", "query 02", 1), ("b", "query 02", 0), ("c", "road", 0), ("a", "query 02", 1)]
        assert app.grid.next_unjudged(-1)
        assert app.grid.cursor == ("c", "road")
        session.put("query 02", window(1), True)
        session.put("road", window(6), True)
        assert not app.grid.next_unjudged()
        assert app.grid.cursor == ("c", "road")

    drive(app, script)


def test_hits_of_one_cell_come_before_the_next_cell(session):
    app = GridApp(session)

    async def script(pilot):
        seen = []
        for _ in range(6):
            app.grid.next_unjudged()
            seen.append((app.grid.cursor[0], app.grid.hit))
        assert seen == [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 0), ("b", 1)]

    drive(app, script)


def test_a_verdict_draws_its_row_and_the_numbers_only(session):
    app = GridApp(session)

    async def script(pilot):
        header = 8
        app.grid.drawn.clear()
        app.grid.session_changed(session.put("query 03", window(1), True))
        await pilot.pause()
        rule = 1
        unmoved = 6  # P@1 floor: the query is a fine one
        assert app.grid.drawn == {*range(2, header), header + rule + 3} - {unmoved}
        line = line_with(app, "query 03")
        assert "·●···" in line and "●·–––" in line
        app.grid.drawn.clear()
        app.grid.session_changed(session.put("query 39", window(1), True))  # below the screen's end
        await pilot.pause()
        assert app.grid.drawn and app.grid.drawn <= set(range(2, header)) - {unmoved}
        app.grid.drawn.clear()
        app.grid.passes_changed()
        await pilot.pause()
        assert app.grid.drawn == {1}

    drive(app, script)


def test_a_move_draws_two_rows(session):
    app = GridApp(session)

    async def script(pilot):
        app.grid.drawn.clear()
        app.grid.move(1, 0)
        await pilot.pause()
        assert app.grid.drawn == {9, 10}
        app.grid.drawn.clear()
        app.grid.move(0, 1)
        await pilot.pause()
        assert app.grid.drawn == {0, 10}  # the model's name too

    drive(app, script)


def test_header_and_first_column_stay_while_the_rest_scrolls(tmp_path):
    runs = {f"model-{number}": found(number) for number in range(8)}
    with open_session(tmp_path, runs, QUERIES) as session:
        app = GridApp(session)

        async def script(pilot):
            assert app.lines()[0].split() == [
                "models",
                "1–3",
                "of",
                "8",
                "›",
                "model-0",
                "model-1",
                "model-2",
            ]
            app.grid.move(35, 4)
            await pilot.pause()
            lines = app.lines()
            assert lines[0].split()[-3:] == ["model-2", "model-3", "model-4"]
            assert lines[2].startswith(" P@1 fine")
            assert pointed_at(app).startswith("query 35")
            app.grid.move(-100, 0)
            await pilot.pause()
            assert app.lines()[8].startswith(" ── fine · 40")  # the first row's group comes along
            app.grid.page(1)
            app.grid.page(1)
            await pilot.pause()
            assert pointed_at(app).startswith("query 28")
            app.grid.move(0, -9)
            await pilot.pause()
            assert app.lines()[0].split()[-3:] == ["model-0", "model-1", "model-2"]

        drive(app, script)


def test_a_cursor_that_a_pass_or_a_filter_moves_stays_on_its_query(session):
    app = GridApp(session)

    async def script(pilot):
        app.grid.move_to("b", "query 30")
        app.grid.show_queries([query for query in QUERIES if query.text != "query 03"], grouped=False)
        await pilot.pause()
        assert app.grid.cursor == ("b", "query 30")
        assert pointed_at(app).startswith("query 30")
        assert not any("── fine" in line for line in app.lines())
        app.grid.show_queries(FLOOR)
        await pilot.pause()
        assert app.grid.cursor == ("b", "road")
        assert app.highlighted[-1] == ("b", "road")
        app.grid.show_queries([])
        await pilot.pause()
        assert app.grid.cursor is None
        assert app.highlighted[-1] == (None, None)
        assert not app.grid.next_unjudged()
        app.grid.move(1, 1)
        app.grid.page(1)
        app.grid.move_hit(1)
        app.grid.show_queries(QUERIES)
        assert app.grid.cursor is not None

    drive(app, script)


def test_cells_fill_in_while_a_pass_delivers(session, tmp_path):
    app = GridApp(session)

    async def script(pilot):
        def take(event):
            app.grid.session_changed(session.apply(event))
            app.grid.passes_changed()

        take(ModelWaiting("d"))
        take(ModelProgress("d", passes.Embedding(1, 4, 2.0, 1.5)))
        await pilot.pause()
        assert app.lines()[0].split()[-1] == "d"
        assert "25% 2.0/s 2s" in app.lines()[1]
        take(ModelProgress("d", passes.Searched("query 00", ranked([window(0), window(6)]))))
        await pilot.pause()
        assert "searching 1/42" in app.lines()[1]
        assert line_with(app, "query 00").endswith("··–––  0.00–0.40")
        assert line_with(app, "query 01").endswith("…")
        run = make_run("d", found(0))
        take(ModelFinished("d", run, tmp_path / "d.json"))
        await pilot.pause()
        assert "done in" in app.lines()[1]
        assert line_with(app, "query 01").endswith("·––––  0.00–0.20")

    drive(app, script, size=(110, 30))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (40, 14), (24, 10)])
def test_resizing_keeps_the_cursor_in_sight(session, size):
    app = GridApp(session)

    async def script(pilot):
        app.grid.move_to("c", "query 25")
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert pointed_at(app).startswith("query 25"[: size[0] - 30])
        assert app.lines()[0].endswith("c")

    drive(app, script)


def test_a_click_selects_a_hit_and_a_double_click_asks_for_the_cell(session):
    app = GridApp(session)

    async def script(pilot):
        lines = app.lines()
        row = next(y for y, line in enumerate(lines) if "query 02" in line)
        column = lines[0].index("a")
        await pilot.click(app.grid, offset=(column + 3, row))
        await pilot.pause()
        assert (app.grid.cursor, app.grid.hit) == (("a", "query 02"), 3)
        assert app.chosen == []
        await pilot.click(app.grid, offset=(lines[0].index("b") + 8, row))
        await pilot.pause()
        assert (app.grid.cursor, app.grid.hit) == (("b", "query 02"), 0)
        await pilot.click(app.grid, offset=(lines[0].index("b") + 8, row), times=2)
        await pilot.pause()
        assert app.chosen == [("b", "query 02")]
        await pilot.click(app.grid, offset=(3, row + 1))  # the query's name
        assert app.grid.cursor == ("b", "query 03")
        for nowhere in ((column, 0), (column, 8), (79, 9)):
            await pilot.click(app.grid, offset=nowhere)
        assert app.grid.cursor == ("b", "query 03")

    drive(app, script)


def test_keys_that_scroll_are_left_to_the_screen(session):
    assert not GridApp(session).grid._bindings.key_to_bindings


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "nord"])
def test_every_theme_shows_the_same_text(session, theme):
    app = GridApp(session)

    async def script(pilot):
        before = app.lines()
        app.theme = theme if theme in app.available_themes else "textual-ansi"
        await pilot.pause()
        assert app.lines() == before

    drive(app, script)


def test_the_pane_shows_the_hits_of_the_cell(session):
    session.put("query 00", window(1), True)
    session.put("query 00", window(2), False)
    app = GridApp(session)

    async def script(pilot):
        app.grid.move_hit(1)
        await pilot.pause()
        pane = app.lines()[-7:]
        assert pane[0].split(" · ")[0].strip() == "query 00"
        assert pane[1].split() == ["1", "·", "0:00.0–0:10.0", "0.900", "unjudged"]
        assert pane[2].split() == ["▸", "2", "●", "0:10.0–0:20.0", "0.890", "true", "also", "b", "#1"]
        assert pane[3].split() == ["3", "○", "0:20.0–0:30.0", "0.880", "false"]

    drive(app, script)


def test_the_pane_shows_where_in_the_footage_every_models_hits_lie(session):
    app = GridApp(session)

    async def script(pilot):
        await pilot.pause()
        bars = [line[60:].rstrip() for line in app.lines()[-7:]]
        assert bars[0].split() == ["0:00", "clip.mp4", "15:00"]
        assert [bar.split()[0] for bar in bars[1:4]] == ["▸a", "b", "c"]
        bar = bars[1].split()[1]
        assert bar[0] == "·" and set(bar) == {"·", "─"}  # 50 s of 900 at the beginning
        places = [bars[row].split()[1].index("·") for row in (1, 2, 3)]
        assert places[0] <= places[1] <= places[2] == int(65 / 900 * len(bar))

    drive(app, script, size=(120, 30))


def test_on_a_narrow_screen_one_line_has_the_hits_of_all_models(session):
    app = GridApp(session)

    async def script(pilot):
        await pilot.pause()
        title = app.lines()[-7]
        assert title.startswith(" query 00 · a  0:00 ·") and title.endswith("15:00")

    drive(app, script)


def test_the_pane_says_why_there_is_nothing(tmp_path):
    runs = {"a": {QUERIES[0]: [], QUERIES[1]: "service \x1b down"}}
    with open_session(tmp_path, runs, QUERIES[:3], models=("b",)) as session:
        app = GridApp(session)

        async def script(pilot):
            async def second_line(model, query):
                app.grid.move_to(model, query.text)
                app.detail.show(app.grid.cursor, app.grid.hit)
                await pilot.pause()
                return app.lines()[-6].strip()

            assert await second_line("a", QUERIES[0]) == "nothing came back"
            assert await second_line("a", QUERIES[1]) == r"failed: service \x1b down"
            assert (await second_line("a", QUERIES[2])).startswith("not searched by this run")
            assert (await second_line("b", QUERIES[0])).startswith("no run")
            session.apply(ModelProgress("b", passes.Embedding(1, 4, 2.0, 1.5)))
            assert await second_line("b", QUERIES[0]) == "embedding 1 of 4 windows, 2.0 windows/s, 2s left"

        drive(app, script)
