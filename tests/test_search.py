"""Exact ranking, checked by hand and against a full sort."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sentrysearch.search import rank
from sentrysearch.types import Hit, Window


def unit(*values):
    vector = np.array(values, np.float32)
    return vector / np.linalg.norm(vector)


def test_hits_come_nearest_first_with_their_cosines():
    windows = [Window("a.mp4", 0.0, 2.0), Window("a.mp4", 2.0, 4.0), Window("b.mp4", 0.0, 2.0)]
    vectors = np.stack([unit(1, 0), unit(3, 4), unit(0, 1)])
    [hits] = rank(windows, vectors, unit(1, 0)[None], k=2)
    assert hits == [Hit(1, windows[0], 1.0), Hit(2, windows[1], 0.6)]


def test_ties_are_broken_by_footage_name_then_start_whatever_the_order_of_the_rows():
    windows = [Window("b.mp4", 0.0, 2.0), Window("a.mp4", 4.0, 6.0), Window("a.mp4", 0.0, 2.0)]
    vectors = np.stack([unit(1, 1)] * 3)
    [hits] = rank(windows, vectors, unit(1, 0)[None], k=2)
    assert [hit.window for hit in hits] == [windows[2], windows[1]]


def test_fewer_windows_than_k_and_none_at_all():
    window = Window("a.mp4", 0.0, 1.0)
    assert len(rank([window], unit(1, 0)[None], unit(0, 1)[None], k=5)[0]) == 1
    assert rank([], np.empty((0, 2), np.float32), unit(0, 1)[None], k=5) == [[]]


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 60), k=st.integers(1, 8))
def test_equals_sorting_every_window(seed, count, k):
    random = np.random.default_rng(seed)
    # Few distinct vectors, so that ties are common.
    vectors = np.stack([unit(*random.integers(1, 4, 3)) for _ in range(count)])
    windows = [Window(f"{random.integers(3)}.mp4", float(start), start + 1.0) for start in range(count)]
    query = unit(*random.integers(1, 4, 3))
    expected = sorted(
        ((round(float(score), 6), window) for score, window in zip(vectors @ query, windows, strict=True)),
        key=lambda pair: (-pair[0], pair[1].footage, pair[1].start),
    )[:k]
    [hits] = rank(windows, vectors, query[None], k)
    assert [(hit.score, hit.window) for hit in hits] == expected
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


def test_blocks_give_the_same_as_one_product(monkeypatch):
    random = np.random.default_rng(7)
    vectors = random.normal(size=(50, 4)).astype(np.float32)
    windows = [Window("a.mp4", float(start), start + 1.0) for start in range(50)]
    queries = random.normal(size=(3, 4)).astype(np.float32)
    whole = rank(windows, vectors, queries, k=5)
    monkeypatch.setattr("sentrysearch.search._BLOCK", 7)
    in_blocks = rank(windows, vectors, queries, k=5)
    assert [[hit.window for hit in hits] for hits in in_blocks] == [
        [hit.window for hit in hits] for hits in whole
    ]
