"""A round of judging: what is asked, in which order, and how it goes on."""

from pathlib import Path

import pytest

from accuracy_tui.benchmark import Query
from accuracy_tui.judging_order import JudgingOrder
from accuracy_tui.judging_round import (
    Ask,
    JudgingRound,
    cell_round,
    decisive_round,
    place_line,
    pool_round,
)
from accuracy_tui.pool import PoolItem
from accuracy_tui.run_events import ModelFinished
from support.grids import open_session
from support.runs import make_run, window

VAN, BUS, ROAD = Query("van", "fine"), Query("bus", "fine"), Query("road", "floor")


def items(*numbers, query="van"):
    return [PoolItem(query, window(number)) for number in numbers]


@pytest.fixture
def session(tmp_path):
    runs = {
        "a": {VAN: [window(0), window(1)], BUS: [window(2)], ROAD: [window(3)]},
        "b": {VAN: [window(1), window(4)], BUS: [window(2)], ROAD: [window(5)]},
    }
    with open_session(tmp_path, runs, [VAN, BUS, ROAD]) as opened:
        yield opened


def fixed(*asked):
    return JudgingRound(lambda _: [Ask(item) for item in asked])


def starts(asks):
    """The windows in the order in which they are asked, none answered."""
    found = []
    while asks.current is not None:
        found.append((asks.current.item.query, asks.current.item.window.start))
        asks.skip()
    return found


def test_one_after_the_other():
    asks = fixed(*items(0, 1, 2))
    assert (asks.current.item, asks.upcoming.item, asks.left) == (*items(0, 1), 3)
    asks.answer()
    assert (asks.current.item, asks.upcoming.item, asks.left) == (*items(1, 2), 2)
    asks.skip()
    assert (asks.current.item, asks.upcoming, asks.left) == (items(2)[0], None, 1)
    asks.answer()
    assert (asks.current, asks.left, asks.judged, asks.skipped) == (None, 0, 2, 1)
    asks.answer()
    asks.skip()
    asks.step(1)
    assert asks.current is None


def test_looking_about_answers_nothing():
    asks = fixed(*items(0, 1, 2))
    asks.step(1)
    asks.step(1)
    asks.step(1)
    assert asks.current.item == items(2)[0]
    asks.answer()
    assert asks.current.item == items(0)[0]  # those passed over are asked again
    asks.step(-1)
    assert asks.current.item == items(0)[0]
    assert asks.left == 2


def test_what_was_undone_is_asked_again():
    asks = fixed(*items(0, 1, 2))
    asks.answer()
    asks.answer()
    asks.undone(items(0)[0])
    assert (asks.current.item, asks.judged, asks.left) == (items(0)[0], 1, 2)
    asks.answer()
    assert asks.current.item == items(2)[0]


def test_a_verdict_of_another_round_that_was_undone_is_asked_too():
    asks = fixed(*items(0, 1))
    other = PoolItem("bus", window(7))
    asks.undone(other)
    assert asks.current.item == other
    asks.answer()
    assert asks.current.item in items(0, 1)


def test_what_was_judged_elsewhere_is_not_asked():
    open_ones = items(0, 1, 2)
    asks = JudgingRound(lambda _: [Ask(item) for item in open_ones])
    open_ones.remove(items(1)[0])
    asks.renew()
    assert asks.current.item == items(0)[0]
    asks.answer()
    assert asks.current.item == items(2)[0]


def test_a_cell_asks_its_unjudged_hits_in_order_of_rank(session):
    session.put("van", window(0), True)
    assert starts(cell_round(session, "a", "van")) == [("van", 10.0)]
    assert starts(cell_round(session, "b", "van")) == [("van", 10.0), ("van", 40.0)]


def test_a_judged_cell_is_gone_through_whole(session):
    session.put("van", window(0), True)
    session.put("van", window(1), False)
    asks = cell_round(session, "a", "van")
    assert asks.left == 2
    session.put("van", window(0), False)
    asks.answer()
    assert asks.current.item.window == window(1)


def test_the_pool_query_by_query(session):
    assert [query for query, _ in starts(pool_round(session))] == ["van", "van", "van", "bus", "road", "road"]
    assert [query for query, _ in starts(pool_round(session, ["road", "bus"]))] == ["road", "road", "bus"]


@pytest.mark.parametrize("blind", [None, "seed"])
def test_the_pool_follows_verdicts_from_elsewhere(session, blind):
    asks = pool_round(session, blind=blind)
    first, left = asks.current.item, asks.left
    session.put("bus", window(2), True)
    session.put("road", window(3), False)
    asks.renew()
    assert (asks.current.item, asks.left) == (first, left - 2)
    session.undo()
    asks.renew()
    assert asks.left == left - 1
    assert {query for query, _ in starts(asks)} == {"van", "road"}


def test_a_verdict_that_implies_others_leaves_fewer_to_ask(tmp_path):
    wide = window(0)._replace(end=20.0)
    with open_session(tmp_path, {"a": {VAN: [window(0), wide]}}, [VAN]) as session:
        asks = pool_round(session)
        session.put("van", window(0), True)
        asks.answer()
        assert (asks.current, asks.judged) == (None, 1)


def test_hits_of_a_run_that_arrives_are_asked_too(session):
    asks = pool_round(session)
    left = asks.left
    late = make_run("c", {VAN: [window(8)], BUS: [window(2)], ROAD: [window(9)]})
    session.apply(ModelFinished("c", late, Path("c.json")))
    asks.renew()
    assert asks.left == left + 2


def test_what_decides_most_comes_first_and_floor_queries_last(session):
    order = JudgingOrder(session.grid)
    asks = decisive_round(session, lambda: order)
    assert "decides a against b" in asks.current.why
    found = starts(asks)
    assert set(found[:2]) == {("van", 0.0), ("van", 40.0)}
    assert {query for query, _ in found[-2:]} == {"road"}
    assert len(found) == 6


def test_every_verdict_is_weighed_anew(session):
    order = JudgingOrder(session.grid)
    asks = decisive_round(session, lambda: order)
    first = asks.current.item
    session.put(*first, True)
    order.refresh(first.query)
    asks.answer()
    assert asks.current.item.query == "van" and asks.current.item != first


def test_a_verdict_of_before_taken_back_was_not_judged_here(session):
    first, second = PoolItem("van", window(0)), PoolItem("van", window(1))
    for item in (second, first):
        session.put(*item, True)
    asks = cell_round(session, "a", "van")
    assert asks.current.item == first
    asks.skip()
    session.undo()
    asks.undone(first)
    assert (asks.judged, asks.current.item) == (0, first)


def test_blind_the_order_within_a_query_says_nothing(session):
    plain = list(starts(pool_round(session)))
    orders = {tuple(starts(pool_round(session, blind=str(seed)))) for seed in range(20)}
    assert len(orders) > 1
    for order in orders:
        assert sorted(order) == sorted(plain)
        assert [query for query, _ in order] == [query for query, _ in plain]
    assert starts(pool_round(session, blind="1")) == starts(pool_round(session, blind="1"))


def test_where_a_window_stands(session):
    van = PoolItem("van", window(1))
    assert place_line(session, van, "a") == "hit 2 of 2 for a, also rank 1 for b"
    assert place_line(session, van, None) == "hit 2 of 2 for a, also rank 1 for b"
    assert place_line(session, PoolItem("van", window(4)), "a") == "hit 2 of 2 for b, by no other model"
    assert place_line(session, PoolItem("van", window(9)), None) == "returned by no model any more"
