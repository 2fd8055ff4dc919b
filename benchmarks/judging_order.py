"""How much of the pool must be judged until the models' order is known, by the order of judging.

Run: ``python benchmarks/judging_order.py [TRIALS]``. Each trial draws a benchmark: queries, which windows
show them, models of different skill that each return their k best (the pool is about as much smaller than all
hits as the demo's). It is judged in five orders with the same truth: decisive; by query from the first to the
last; the item that most models returned first; at random; and query by query at random. Prints for each order

- the share of the pool from which on the likely leader is the true one in 95 % of the trials;
- the share after which no verdict can change the leader any more, on average;
- how often a query is begun, since a judge who keeps one in mind is quicker.

Then the others' shares against those of decisive (target: above 1), and what a verdict costs the order at 500
queries of six models, against building it.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from accuracy_tui.benchmark import FINE, Query
from accuracy_tui.grid import Grid
from accuracy_tui.judging_order import JudgingOrder
from accuracy_tui.pool import PoolItem, pool
from accuracy_tui.runs import Run, RunFootage, RunQuery
from accuracy_tui.verdicts import Verdict
from sentrysearch.types import Hit, Window, WindowGrid

TRIALS = 100
QUERIES, WINDOWS, K = 40, 40, 5
SKILLS = (1.25, 1.0, 0.85, 0.7)
"""How far a window that shows the query stands out for each model."""
SHARED = 0.8
"""How much of the noise is the window's own and so the same for every model."""
SHOWN = (1, 6)
"""How many windows show a query, at least and at most."""
OFTEN = 0.95

Truth = dict[tuple[str, Window], bool]
Choose = Callable[[JudgingOrder, str | None], PoolItem | None]


def draw(drawn: random.Random, queries: int, skills: Sequence[float]) -> tuple[list[Run], list[Query], Truth]:
    """One benchmark's runs and what is true."""
    asked = [Query(f"query {number:03}", FINE) for number in range(queries)]
    windows = [Window("clip.mp4", number * 25.0, number * 25.0 + 30.0) for number in range(WINDOWS)]
    truth: Truth = {}
    found: list[list[RunQuery]] = [[] for _ in skills]
    for query in asked:
        shown = set(drawn.sample(range(WINDOWS), drawn.randint(*SHOWN)))
        truth |= {(query.text, window): number in shown for number, window in enumerate(windows)}
        common = [drawn.gauss(0, 1) for _ in windows]
        for model, skill in enumerate(skills):
            scores = [
                skill * 2 * (number in shown) + SHARED * common[number] + (1 - SHARED) * drawn.gauss(0, 2)
                for number in range(WINDOWS)
            ]
            best = sorted(range(WINDOWS), key=lambda number: -scores[number])[:K]
            hits = tuple(Hit(rank, windows[number], scores[number]) for rank, number in enumerate(best, 1))
            found[model].append(RunQuery(query.text, FINE, hits, None))
    runs = [
        Run(
            model=f"model {model}",
            revision="1",
            options={},
            footage=(RunFootage("clip.mp4", "sha256:" + "0" * 64, WINDOWS * 25.0 + 5),),
            window=WindowGrid(30.0, 5.0),
            k=K,
            created="2025-01-31T12:00:00+00:00",
            timings={},
            queries=tuple(searched),
        )
        for model, searched in enumerate(found)
    ]
    return runs, asked, truth


@dataclass(frozen=True)
class Round:
    """What one order came to in one trial; shares of the pool."""

    right: tuple[bool, ...]
    """After each hundredth of the pool: whether the likely leader is the true one."""
    settled: float
    """The share of the pool after which it is sure."""
    turns: int
    """How often a query was begun, each time that it was."""


def in_order(items: Sequence[PoolItem]) -> Choose:
    """Whatever the verdicts."""
    rest = iter(items)
    return lambda order, after: next(rest, None)


def decisive(order: JudgingOrder, after: str | None) -> PoolItem | None:
    """What the console asks."""
    return next((suggestion.item for suggestion in order.suggestions(after=after)), None)


def judge(runs: list[Run], queries: list[Query], truth: Truth, choose: Choose) -> Round:
    """Judges everything; each verdict is the truth."""
    verdicts: Truth = {}
    grid = Grid(runs, queries, lambda *key: Verdict(verdicts.get(key)), k=K)
    order = JudgingOrder(grid)
    values = {
        run.model: sum(truth[one.query, hit.window] for one in run.queries for hit in one.hits)
        for run in runs
    }
    best = {model for model, value in values.items() if value == max(values.values())}
    right: list[bool] = []
    settled = turns = 0
    after = None
    while True:
        standing = order.standing()
        right.append(standing.expected in best)
        if not standing.leaders:
            settled = len(right)
        item = choose(order, after)
        if item is None:
            break
        turns += item.query != after
        after = item.query
        verdicts[item] = truth[item]
        grid.refresh(item.query)
        order.refresh(item.query)
    total = len(verdicts)
    assert total == len(pool(runs, None, queries)), "every order ends with the whole pool judged"
    hundredths = tuple(right[math.ceil(total * share / 100)] for share in range(101))
    return Round(hundredths, settled / total, turns)


def trial(seed: int) -> dict[str, Round]:
    """All orders over one benchmark."""
    drawn = random.Random(seed)
    runs, queries, truth = draw(drawn, QUERIES, SKILLS)
    found = pool(runs, None, queries)
    by_query = list(found)
    voted = sorted(found, key=lambda item: -len(found[item]))
    anyhow = drawn.sample(by_query, len(by_query))
    places = {query.text: place for place, query in enumerate(drawn.sample(queries, len(queries)))}
    mixed = sorted(anyhow, key=lambda item: places[item.query])
    return {
        "decisive": judge(runs, queries, truth, decisive),
        "by query": judge(runs, queries, truth, in_order(by_query)),
        "most voted": judge(runs, queries, truth, in_order(voted)),
        "random": judge(runs, queries, truth, in_order(anyhow)),
        "random by query": judge(runs, queries, truth, in_order(mixed)),
    }


def compare(trials: int) -> None:
    with ProcessPoolExecutor() as processes:
        rounds = list(processes.map(trial, range(trials)))
    right: dict[str, float] = {}
    settled: dict[str, float] = {}
    print(f"{trials} benchmarks of {QUERIES} queries, {len(SKILLS)} models, k {K}:")
    for name in rounds[0]:
        every = [one[name] for one in rounds]
        shares = [statistics.mean(rights) for rights in zip(*(one.right for one in every), strict=True)]
        right[name] = max((share + 1 for share in range(100) if shares[share] < OFTEN), default=0) / 100
        settled[name] = statistics.mean(one.settled for one in every)
        turns = statistics.mean(one.turns for one in every) / QUERIES
        print(
            f"  {name}: the leader is right in {OFTEN:.0%} after {right[name]:.0%} of the pool, settled after"
            f" {settled[name]:.0%} on average; each query begun {turns:.1f} times"
        )
    for name in right:
        if name != "decisive":
            print(
                f"{name} against decisive: {right[name] / right['decisive']:.2f} times the verdicts until the"
                f" leader is right, {settled[name] / settled['decisive']:.2f} until it is settled"
            )


def cost() -> None:
    """A verdict at the size of a large benchmark."""
    runs, queries, truth = draw(random.Random(0), 500, (1.2, 1.1, 1.0, 0.9, 0.8, 0.7))
    verdicts: Truth = {}
    grid = Grid(runs, queries, lambda *key: Verdict(verdicts.get(key)), k=K)
    begin = time.perf_counter()
    order = JudgingOrder(grid)
    order.suggestions()
    first = time.perf_counter() - begin
    taken: list[float] = []
    after = None
    for _ in range(500):
        item = decisive(order, after)
        assert item is not None
        verdicts[item] = truth[item]
        grid.refresh(item.query)
        begin = time.perf_counter()
        order.refresh(item.query)
        order.standing()
        order.suggestions(after=item.query)
        taken.append(time.perf_counter() - begin)
        after = item.query
    typical = statistics.median(taken)
    late = sorted(taken)[int(len(taken) * 0.99)]
    print(
        f"a verdict costs the order {typical / first:.3f} times what building it does, 500 queries × 6 models"
        f" ({typical * 1e3:.1f} ms, p99 {late * 1e3:.1f}, against {first * 1e3:.0f} ms)"
    )


if __name__ == "__main__":
    compare(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
    cost()
