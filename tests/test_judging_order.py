"""What decides most: bounds of differences against every completion, the order, the leader."""

import itertools
import random

import pytest

from accuracy_tui.benchmark import Query
from accuracy_tui.grid import Grid
from accuracy_tui.judging_order import JudgingOrder
from accuracy_tui.pool import PoolItem
from accuracy_tui.verdicts import Verdict
from support.runs import looker, make_run, window

VAN, BUS, ROAD = Query("van", "fine"), Query("bus", "fine"), Query("road", "floor")


def grid_of(runs, verdicts, queries=(VAN, BUS), k=2):
    return Grid(
        [make_run(model, found, k=k) for model, found in runs.items()],
        queries,
        lambda *key: looker(verdicts)(*key),
        k=k,
    )


def windows(*numbers):
    return [window(number) for number in numbers]


def difference(order, first, second):
    return next(
        pair.difference for pair in order.standing().pairs if (pair.first, pair.second) == (first, second)
    )


def test_a_window_that_both_returned_decides_nothing():
    grid = grid_of({"a": {VAN: windows(0, 1)}, "b": {VAN: windows(1, 0)}}, {}, [VAN])
    order = JudgingOrder(grid)
    assert difference(order, "a", "b") == (0.0, 0.0)
    assert order.standing().pairs[0].settled
    assert [suggestion.weight for suggestion in order.suggestions()] == [0.0, 0.0]
    assert order.standing().leader is None


def test_bounds_worked_by_hand():
    # van: a has 0 (true) and 1 (open), b has 1 (open) and 2 (open): 1 cancels. bus: the same window.
    runs = {"a": {VAN: windows(0, 1), BUS: windows(5)}, "b": {VAN: windows(1, 2), BUS: windows(5)}}
    order = JudgingOrder(grid_of(runs, {("van", window(0)): True}))
    # (1/2 − 0 or 1/2) over two queries
    assert difference(order, "a", "b") == pytest.approx((0.0, 0.25))
    assert order.standing().leader == "a"  # 2 may turn out true: then they are equal
    assert next((one.item, one.weight) for one in order.suggestions()) == (PoolItem("van", window(2)), 0.5)


@pytest.mark.parametrize("seed", range(25))
def test_bounds_are_those_of_all_completions(seed):
    drawn = random.Random(seed)
    k = drawn.choice([1, 2, 3])
    pool = [window(number) for number in range(4)]
    queries = [VAN, BUS]
    runs = {
        model: {query: drawn.sample(pool, drawn.randint(1, 4)) for query in queries}
        for model in ("a", "b", "c")
    }
    items = [(query.text, where) for query in queries for where in pool]
    known = {item: drawn.random() < 0.4 for item in items if drawn.random() < 0.4}
    order = JudgingOrder(grid_of(runs, known, queries, k))
    unknown = [item for item in items if item not in known]

    def value(model, truth):
        return sum(truth[query.text, where] for query in queries for where in runs[model][query][:k]) / (
            k * len(queries)
        )

    seen = {}
    for completion in itertools.product([False, True], repeat=len(unknown)):
        truth = {**known, **dict(zip(unknown, completion, strict=True))}
        for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
            seen.setdefault((first, second), []).append(value(first, truth) - value(second, truth))
    for (first, second), differences in seen.items():
        bounds = difference(order, first, second)
        assert bounds == pytest.approx((min(differences), max(differences)))
    standing = order.standing()
    for pair in standing.pairs:
        differences = seen[pair.first, pair.second]
        if pair.better == pair.first:
            assert min(differences) > 0
        elif pair.better == pair.second:
            assert max(differences) < 0
        else:
            assert min(differences) <= 1e-9 and max(differences) >= -1e-9
    # What decides nothing really can't: fixing it leaves every bound as wide.
    for suggestion in order.suggestions():
        if suggestion.weight == 0:
            fixed = {**known, tuple(suggestion.item): True}
            again = JudgingOrder(grid_of(runs, fixed, queries, k))
            for pair in standing.undecided:
                width = pair.difference.high - pair.difference.low
                other = difference(again, pair.first, pair.second)
                assert other.high - other.low == pytest.approx(width)


def test_refresh_equals_building_anew():
    verdicts = {}
    runs = {"a": {VAN: windows(0, 1), BUS: windows(2, 3)}, "b": {VAN: windows(4, 1), BUS: windows(3, 5)}}
    grid = grid_of(runs, verdicts)
    order = JudgingOrder(grid)
    for query, number in (("van", 0), ("bus", 5), ("van", 4), ("bus", 2)):
        verdicts[query, window(number)] = number % 2 == 0
        grid.refresh(query)
        order.refresh(query)
        anew = JudgingOrder(grid)
        assert order.standing() == anew.standing()
        assert order.suggestions() == anew.suggestions()
    order.refresh("a query that isn't fine")


def test_a_query_that_was_begun_is_finished_first():
    runs = {
        "a": {VAN: windows(0, 1), BUS: windows(2, 3)},
        "b": {VAN: windows(4, 1), BUS: windows(6, 7)},
    }
    order = JudgingOrder(grid_of(runs, {}))
    assert {one.item.query for one in order.suggestions(after="bus")[:4]} == {"bus"}
    assert {one.item.query for one in order.suggestions(after="van")[:2]} == {"van"}
    # what decides nothing (van 1) comes last, also of the query begun
    assert order.suggestions(after="van")[-1].item == PoolItem("van", window(1))


def test_floor_queries_are_not_asked_and_count_for_nothing():
    runs = {"a": {VAN: windows(0), ROAD: windows(8)}, "b": {VAN: windows(1), ROAD: windows(9)}}
    order = JudgingOrder(grid_of(runs, {}, [VAN, ROAD]))
    assert {one.item.query for one in order.suggestions()} == {"van"}


def test_the_leader_is_named_once_nobody_can_pass_it():
    verdicts = {("van", window(0)): True, ("van", window(1)): False, ("bus", window(3)): False}
    runs = {"a": {VAN: windows(0), BUS: windows(2)}, "b": {VAN: windows(1), BUS: windows(3)}}
    order = JudgingOrder(grid_of(runs, verdicts, k=1))
    standing = order.standing()
    assert (standing.leader, standing.left) == ("a", 0)
    assert "settled: a > b" in standing.line()
    verdicts["bus", window(3)] = True
    order = JudgingOrder(grid_of(runs, verdicts, k=1))
    assert order.standing().leader == "a"  # at worst they end equal
    assert order.standing().pairs[0].better is None


def test_a_pass_that_is_searching_leaves_everything_open():
    grid = grid_of({"a": {VAN: windows(0), BUS: windows(1)}, "b": {VAN: windows(2), BUS: windows(3)}}, {})
    grid.begin("b")
    order = JudgingOrder(grid)
    assert difference(order, "a", "b") == pytest.approx((-1.0, 0.5))

    assert order.standing().left is None and "until" not in order.standing().line()


def test_models_that_are_equal_at_the_top_lead_together():
    verdicts = {("van", window(0)): True, ("van", window(1)): True, ("van", window(2)): False}
    runs = {"a": {VAN: windows(0)}, "b": {VAN: windows(1)}, "c": {VAN: windows(2)}}
    standing = JudgingOrder(grid_of(runs, verdicts, [VAN], k=1)).standing()
    assert (standing.leaders, standing.leader, standing.left) == (("a", "b"), None, 0)
    assert standing.line() == "P@1 fine · settled: a = b > c"


def test_all_models_equal_need_no_more_verdicts():
    standing = JudgingOrder(grid_of({"a": {VAN: windows(0)}, "b": {VAN: windows(0)}}, {}, [VAN])).standing()
    assert standing.leaders == ("a", "b") and standing.left == 0
    assert standing.line() == "P@2 fine · settled: a = b"


def test_a_leader_is_named_while_others_are_open():
    verdicts = {("van", window(0)): True, ("van", window(3)): False}
    runs = {"a": {VAN: windows(0, 4)}, "b": {VAN: windows(3, 1)}, "c": {VAN: windows(3, 2)}}
    runs = {model: {**found, BUS: windows(9)} for model, found in runs.items()}
    standing = JudgingOrder(grid_of(runs, {**verdicts, ("van", window(4)): True})).standing()
    assert standing.leaders == ("a",)
    assert standing.line() == (
        "P@2 fine · a leads whatever is to come · settled: a > b, a > c · 1 of 3 pairs open"
    )


@pytest.mark.parametrize("seed", range(20))
def test_how_many_are_left_is_what_expected_verdicts_would_take(seed):
    """Counted in the plain way: one expected verdict after another in the order suggested."""
    drawn = random.Random(seed)
    queries = [Query(f"query {number}", "fine") for number in range(6)]
    pool = windows(*range(8))
    names = "abcd"
    runs = {model: {query: drawn.sample(pool, drawn.randint(0, 4)) for query in queries} for model in names}
    known = {
        (query.text, where): drawn.random() < 0.4
        for query in queries
        for where in pool
        if drawn.random() < 0.5
    }
    k = 3
    order = JudgingOrder(grid_of(runs, known, queries, k))
    standing = order.standing()

    def chance(item, rate):
        return known.get(item, rate)

    seen = [
        known[query.text, where]
        for model in names
        for query in queries
        for where in runs[model][query]
        if (query.text, where) in known
    ]
    rate = (1 + sum(seen)) / (2 + len(seen))
    value = {
        model: sum(chance((query.text, where), rate) for query in queries for where in runs[model][query][:k])
        for model in names
    }
    if standing.leaders:
        assert standing.left == 0
        return
    assert value[standing.expected] == pytest.approx(max(value.values()))
    certain = {}  # of the likely leader over each other, each unjudged window counted against it
    steps = {}
    for other in set(names) - {standing.expected}:
        certain[other] = 0.0
        for query in queries:
            for where in pool:
                step = (where in runs[standing.expected][query][:k]) - (where in runs[other][query][:k])
                item = (query.text, where)
                certain[other] += step * known[item] if item in known else min(0, step)
                steps[other, PoolItem(*item)] = step
    count = 0
    for suggestion in order.suggestions():
        if min(certain.values()) > -1e-6:
            break
        count += 1
        for other in certain:
            step = steps[other, suggestion.item]
            certain[other] += rate * step - min(0, step)
    assert standing.left == count


def test_one_model_has_nothing_to_decide():
    order = JudgingOrder(grid_of({"a": {VAN: windows(0)}}, {}))
    assert order.standing().pairs == () and order.standing().line() == ""
    assert order.suggestions()[0].weight == 0
    assert "nothing" in order.suggestions()[0].why


def test_implied_verdicts_count():
    verdicts = {("van", window(0)): Verdict(True, implied=True), ("van", window(1)): Verdict(False, True)}
    order = JudgingOrder(grid_of({"a": {VAN: windows(0)}, "b": {VAN: windows(1)}}, verdicts, [VAN], k=1))
    assert difference(order, "a", "b") == (1.0, 1.0)


def test_in_this_order_the_leader_is_settled_with_fewer_verdicts_than_in_the_pools():
    """Over random benchmarks; how much fewer is what benchmarks/judging_order.py prints."""
    totals = {"decisive": 0, "pool": 0}
    for seed in range(12):
        drawn = random.Random(seed)
        queries = [Query(f"query {number}", "fine") for number in range(12)]
        pool = windows(*range(12))
        truth = {(query.text, where): drawn.random() < 0.3 for query in queries for where in pool}
        runs = {}
        for model, skill in (("a", 0.8), ("b", 0.4), ("c", 0.1)):
            runs[model] = {
                query: sorted(
                    pool, key=lambda where, q=query, s=skill: -(truth[q.text, where] * s + drawn.random())
                )[:5]
                for query in queries
            }
        for way in totals:
            verdicts = {}
            grid = grid_of(runs, verdicts, queries, k=5)
            order = JudgingOrder(grid)
            after = None
            while order.standing().leader is None:
                asked = order.suggestions(after=after)
                item = asked[0].item if way == "decisive" else min(one.item for one in asked)
                verdicts[item.query, item.window] = truth[item.query, item.window]
                grid.refresh(item.query)
                order.refresh(item.query)
                after = item.query
                totals[way] += 1
                if len(asked) == 1:
                    break
    assert totals["decisive"] < totals["pool"]
