"""The pool: one item for what several models returned, in the order in which it is best judged."""

from accuracy_tui.benchmark import Query
from accuracy_tui.pool import PoolItem, pool
from support.runs import make_run, window

VAN = Query("van", "fine")
ROAD = Query("road", "floor")


def test_shared_windows_are_one_item_with_every_model_and_rank():
    runs = [
        make_run("a", {VAN: [window(1), window(2), window(3)]}),
        make_run("b", {VAN: [window(3), window(1), window(4)]}),
    ]
    assert pool(runs, 3, [VAN]) == {
        PoolItem("van", window(1)): (("a", 1), ("b", 2)),
        PoolItem("van", window(3)): (("a", 3), ("b", 1)),
        PoolItem("van", window(2)): (("a", 2),),
        PoolItem("van", window(4)): (("b", 3),),
    }


def test_order_is_queries_then_best_rank_then_votes():
    runs = [
        make_run("a", {ROAD: [window(8)], VAN: [window(1), window(2)]}),
        make_run("b", {ROAD: [window(9)], VAN: [window(5), window(6)]}),
        make_run("c", {ROAD: [window(9)], VAN: [window(5), window(2)]}),
    ]
    items = list(pool(runs, 5, [VAN, ROAD]))
    assert items == [
        PoolItem("van", window(5)),
        PoolItem("van", window(1)),
        PoolItem("van", window(2)),
        PoolItem("van", window(6)),
        PoolItem("road", window(9)),
        PoolItem("road", window(8)),
    ]


def test_depth():
    run = make_run("a", {VAN: [window(index) for index in range(5)]})
    assert len(pool([run], 2, [VAN])) == 2
    assert len(pool([run], None, [VAN])) == 5
    assert len(pool([run], 50, [VAN])) == 5


def test_queries_that_are_not_asked_for_failed_or_found_nothing():
    other = Query("removed from the benchmark", "fine")
    run = make_run("a", {VAN: "service down", ROAD: [], other: [window(1)]})
    assert pool([run], 5, [VAN, ROAD]) == {}


def test_the_same_times_of_two_footages_are_two_items():
    run = make_run("a", {VAN: [window(1, "x.mp4"), window(1, "y.mp4")]}, footage=["x.mp4", "y.mp4"])
    assert len(pool([run], 5, [VAN])) == 2
