"""Metrics worked by hand, and the bounds against every way the open verdicts could turn out."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accuracy_tui.averages import Rankings
from accuracy_tui.benchmark import Query
from accuracy_tui.grid import Grid
from accuracy_tui.metrics import (
    FALSE,
    IMPLIED_FALSE,
    IMPLIED_TRUE,
    NO_HIT,
    TRUE,
    UNJUDGED,
    Bounds,
    bounds,
    judged_at,
    precision_at,
    reciprocal_rank,
)
from accuracy_tui.summary import cutoffs, summarise
from support.runs import looker, make_run, window

NAMED = {
    "–": NO_HIT,
    "·": UNJUDGED,
    "○": FALSE,
    "●": TRUE,
    "◌": IMPLIED_FALSE,
    "◐": IMPLIED_TRUE,
}


def outcomes(glyphs):
    return bytes(NAMED[glyph] for glyph in glyphs)


def at(k):
    return lambda relevant: precision_at(relevant, k)


@pytest.mark.parametrize(
    ("glyphs", "k", "low", "high"),
    [
        ("●○●○○", 1, 1.0, 1.0),
        ("●○●○○", 3, 2 / 3, 2 / 3),
        ("●○●○○", 5, 0.4, 0.4),
        ("●○··○", 5, 0.2, 0.6),  # the sketch of the console: 0.20–0.60
        ("●●○◐○", 5, 0.6, 0.6),
        ("◌◐···", 3, 1 / 3, 2 / 3),
        ("●––––", 5, 0.2, 0.2),  # one came back: still out of five
        ("–––––", 3, 0.0, 0.0),
        ("·····", 5, 0.0, 1.0),
        ("●●", 5, 0.4, 0.4),  # a k beyond the depth
    ],
)
def test_precision(glyphs, k, low, high):
    assert bounds(at(k), outcomes(glyphs)) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("glyphs", "low", "high"),
    [
        ("●○●○○", 1.0, 1.0),
        ("○○●○○", 1 / 3, 1 / 3),
        ("○○○○◐", 0.2, 0.2),
        ("○○○○○", 0.0, 0.0),
        ("–––––", 0.0, 0.0),
        ("○·○●○", 0.25, 0.5),
        ("·●○○○", 0.5, 1.0),
        ("●·○○○", 1.0, 1.0),  # an unjudged hit below the first true one leaves nothing open
        ("○○○○○○○●", 0.125, 0.125),
    ],
)
def test_reciprocal_rank(glyphs, low, high):
    assert bounds(reciprocal_rank, outcomes(glyphs)) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("glyphs", "k", "expected"),
    [("●○··○", 5, 0.6), ("●○··○", 3, 2 / 3), ("◐◌·––", 5, 2 / 3), ("●––––", 5, 1.0), ("·····", 5, 0.0)],
)
def test_judged(glyphs, k, expected):
    assert judged_at(outcomes(glyphs), k) == pytest.approx(expected)


def test_judged_of_nothing_has_no_value():
    assert judged_at(outcomes("–––"), 3) is None


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("–·○●◌◐"), min_size=1, max_size=7).map("".join),
    st.integers(1, 8),
)
def test_bounds_are_what_all_ways_to_judge_the_rest_reach(glyphs, k):
    for metric in (at(k), reciprocal_rank):
        open_ranks = [rank for rank, glyph in enumerate(glyphs) if glyph == "·"]
        reached = []
        for choice in itertools.product("○●", repeat=len(open_ranks)):
            judged = list(glyphs)
            for rank, glyph in zip(open_ranks, choice, strict=True):
                judged[rank] = glyph
            settled = bounds(metric, outcomes(judged))
            assert settled.settled
            reached.append(settled.low)
        assert bounds(metric, outcomes(glyphs)) == pytest.approx((min(reached), max(reached)))


@settings(deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(1, 5), st.integers(1, 6))
def test_means_are_the_same_one_by_one_and_all_at_once(data, models, queries, depth):
    ranking = st.lists(st.sampled_from(range(6)), min_size=depth, max_size=depth).map(bytes)
    rows = [[data.draw(ranking) for _ in range(queries)] for _ in range(models)]
    for metric in (at(3), reciprocal_rank):
        for many in (0, 10**9):
            for row, mean in zip(rows, Rankings(rows, many=many).means(metric), strict=True):
                alone = [bounds(metric, ranking) for ranking in row]
                assert mean.low == pytest.approx(sum(value.low for value in alone) / queries)
                assert mean.high == pytest.approx(sum(value.high for value in alone) / queries)


def test_a_thousand_true_ranks_are_not_lost_in_a_small_integer():
    rows = [[bytes([TRUE]) * 1000]]
    for many in (0, 10**9):
        assert Rankings(rows, many=many).means(at(1000)) == [(1.0, 1.0)]


def test_settled():
    assert Bounds(0.1 + 0.2, 0.3).settled
    assert not Bounds(0.3, 0.3 + 1 / 1000).settled


def test_cutoffs():
    assert [cutoffs(k) for k in (1, 2, 3, 5, 10)] == [[1], [1, 2], [1, 3], [1, 3, 5], [1, 3, 5, 10]]


VAN, TRUCK, NEW = Query("van", "fine"), Query("truck", "fine"), Query("added later", "fine")
ROAD = Query("road", "floor")


def test_a_models_row_worked_by_hand():
    """Three fine queries: ●○·○–, failed, not in the run; one floor query: ●."""
    run = make_run(
        "m", {VAN: [window(index) for index in range(4)], TRUCK: "out of memory", ROAD: [window(7)]}
    )
    look = looker(
        {
            ("van", window(0)): True,
            ("van", window(1)): False,
            ("van", window(3)): False,
            ("road", window(7)): True,
        }
    )
    (row, absent) = summarise(Grid([run], [VAN, TRUCK, NEW, ROAD], look, k=5, models=["m", "absent"]))
    assert row.precision[1] == pytest.approx((1 / 3, 1 / 3))
    assert row.precision[3] == pytest.approx((1 / 9, 2 / 9))
    assert row.precision[5] == pytest.approx((0.2 / 3, 0.4 / 3))
    assert row.mrr == pytest.approx((1 / 3, 1 / 3))
    assert row.floor == (1.0, 1.0)
    assert row.judged == pytest.approx((3 / 4 + 1) / 2)
    assert row.failed == ("truck",)
    assert row.missing == ("added later",)
    assert not absent.has_run
    assert set(absent.values.values()) == {None}
    assert absent.judged is None


def test_a_group_without_queries_has_no_value():
    run = make_run("m", {ROAD: [window(1)]})
    (row,) = summarise(Grid([run], [ROAD], looker({}), k=5))
    assert row.mrr is None
    assert row.precision[1] is None
    assert row.floor == (0.0, 1.0)


def test_reciprocal_rank_reaches_to_the_runs_depth():
    run = make_run("m", {VAN: [window(index) for index in range(8)]}, k=8)
    look = looker({("van", window(index)): index == 7 for index in range(8)})
    (row,) = summarise(Grid([run], [VAN], look, k=5))
    assert row.mrr == (0.125, 0.125)
    assert row.precision[5] == (0.0, 0.0)
