"""The grid's cells, and which of them a verdict changes."""

import pytest

from accuracy_tui.benchmark import Query
from accuracy_tui.grid import Grid, State
from accuracy_tui.metrics import precision_at, reciprocal_rank
from accuracy_tui.verdicts import Verdict
from support.runs import looker, make_run, window

VAN, ROAD = Query("van", "fine"), Query("road", "floor")


def p_at_5(relevant):
    return precision_at(relevant, 5)


def test_every_glyph():
    verdicts = {
        ("van", window(0)): True,
        ("van", window(1)): False,
        ("van", window(3)): Verdict(True, implied=True),
        ("van", window(4)): Verdict(False, implied=True),
    }
    full = make_run("full", {VAN: [window(index) for index in range(5)]})
    short = make_run("short", {VAN: [window(3)]})
    failed = make_run("failed", {VAN: "service down"})
    grid = Grid([full, short, failed], [VAN, ROAD], looker(verdicts), k=5, models=["waiting"])
    assert grid.models == ("waiting", "full", "short", "failed")
    assert [grid.cell(model, "van").glyphs for model in grid.models] == ["", "●○·◐◌", "◐––––", "!"]
    assert [grid.state(model, "van") for model in grid.models] == [
        State.NO_RUN,
        State.RAN,
        State.RAN,
        State.FAILED,
    ]
    assert grid.cell("failed", "van").error == "service down"
    assert grid.cell("full", "road").state is State.MISSING
    assert grid.cell("full", "van").bounds(p_at_5) == pytest.approx((0.4, 0.6))
    assert grid.cell("full", "van").bounds(reciprocal_rank) == (1.0, 1.0)
    assert grid.cell("failed", "van").bounds(p_at_5) == (0.0, 0.0)
    assert grid.cell("waiting", "van").bounds(p_at_5) is None
    assert [hit.rank for hit in grid.cell("full", "van").hits] == [1, 2, 3, 4, 5]


def test_glyphs_stop_at_k_although_the_run_goes_on():
    run = make_run("m", {VAN: [window(index) for index in range(8)]}, k=8)
    assert Grid([run], [VAN], looker({}), k=3).cell("m", "van").glyphs == "···"


def test_a_verdict_changes_the_cells_that_hold_its_window_and_no_others():
    verdicts = {}
    runs = [
        make_run("a", {VAN: [window(1), window(2)], ROAD: [window(1)]}),
        make_run("b", {VAN: [window(3), window(1)], ROAD: [window(1)]}),
        make_run("c", {VAN: [window(3)], ROAD: [window(1)]}),
    ]
    grid = Grid(runs, [VAN, ROAD], lambda *key: looker(verdicts)(*key), k=5)
    verdicts["van", window(1)] = True
    assert grid.refresh("van") == ["a", "b"]
    assert grid.cell("a", "van").glyphs == "●·–––"
    assert grid.cell("b", "van").glyphs == "·●–––"
    assert grid.cell("a", "road").glyphs == "·––––"
    assert grid.refresh("van") == []
    del verdicts["van", window(1)]
    assert grid.refresh("van") == ["a", "b"]
    assert grid.cell("b", "van").glyphs == "··–––"
    assert grid.refresh("no such query") == []


def test_what_a_verdict_implies_changes_other_windows_of_the_query():
    verdicts = {}
    grid = Grid([make_run("a", {VAN: [window(1), window(2)]})], [VAN], lambda *k: looker(verdicts)(*k), k=2)
    verdicts["van", window(1)] = True
    verdicts["van", window(2)] = Verdict(True, implied=True)
    assert grid.refresh("van") == ["a"]
    assert grid.cell("a", "van").glyphs == "●◐"


def test_each_window_of_a_query_is_looked_up_once():
    asked = []

    def look(query, wanted):
        asked.append((query, wanted))
        return Verdict(None)

    runs = [make_run(model, {VAN: [window(1), window(2)]}) for model in "abc"]
    Grid(runs, [VAN], look, k=5)
    assert sorted(asked) == [("van", window(1)), ("van", window(2))]


def test_unjudged_counts_distinct_items_of_all_ranks():
    runs = [
        make_run("a", {VAN: [window(1), window(2)], ROAD: [window(1)]}),
        make_run("b", {VAN: [window(2), window(3)], ROAD: "failed"}),
    ]
    grid = Grid(runs, [VAN, ROAD], looker({("van", window(2)): False}), k=1)
    assert grid.unjudged() == (3, 4)


def test_an_unknown_cell():
    grid = Grid([make_run("a", {VAN: []})], [VAN], looker({}), k=5)
    with pytest.raises(KeyError):
        grid.cell("b", "van")
    with pytest.raises(KeyError):
        grid.cell("a", "road")


def test_nothing_at_all():
    grid = Grid([], [VAN], looker({}), k=5)
    assert grid.models == ()
    assert grid.unjudged() == (0, 0)
