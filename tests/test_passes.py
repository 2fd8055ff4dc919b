"""An embedder's pass: what is embedded, searched and kept, whatever ends it."""

import threading
from pathlib import Path

import numpy as np
import pytest

from sentrysearch import footage as footage_module
from sentrysearch.errors import Cancelled, EmbedderFailed, EmbedderUnavailable, FootageError
from sentrysearch.passes import (
    Damaged,
    Embedding,
    Finished,
    Loaded,
    Loading,
    Searched,
    embedder_pass,
)
from sentrysearch.store import Collection, CollectionIdentity
from sentrysearch.types import Footage, Sampling, Window, WindowGrid
from support.video import read_number, write_clip

WAIT = 20  # seconds after which a test that would hang fails
FOOTAGE = Footage("a.mp4", Path("a.mp4"), "sha256:00", 60.0, 0.0, 160, 96, 0, "h264", 25.0)
AXES = np.eye(3, dtype=np.float32)


def windows(count, length=1.0):
    return [Window("a.mp4", n * length, (n + 1) * length) for n in range(count)]


class StandIn:
    """Puts window n on axis n mod 3, and a query "axis n" on axis n. ``work`` sees each batch first."""

    name, revision, dimension = "stand-in", "1", 3

    def __init__(self, *, sampling=None, batch_size=1, concurrency=1, work=lambda batch: None):
        self.sampling, self.batch_size, self.concurrency, self.work = sampling, batch_size, concurrency, work
        self.batches = []
        self.closed = False

    def load(self):
        pass

    def prepare(self, picture):
        return picture.rgb(picture.width, picture.height)

    def embed_windows(self, batch):
        self.batches.append([item.window for item in batch])
        replaced = self.work(batch)
        return [AXES[int(item.window.start) % 3] for item in batch] if replaced is None else replaced

    def embed_query(self, text):
        return AXES[int(text.removeprefix("axis "))]

    def close(self):
        self.closed = True

    def embedded(self):
        return [window for batch in self.batches for window in batch]


@pytest.fixture
def collection():
    identity = CollectionIdentity("stand-in", "1", 3, WindowGrid(1.0, 0.0))
    with Collection.throwaway(identity) as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test():
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(WAIT)
        assert not thread.is_alive(), thread.name


def start(embedder, collection, wanted, queries=(), *, footages=(FOOTAGE,), k=5, cancel=None):
    cancel = cancel or threading.Event()
    return embedder_pass(embedder, footages, wanted, list(queries), collection, k=k, cancel=cancel)


def of_kind(kind, events):
    return [event for event in events if isinstance(event, kind)]


def test_windows_are_embedded_and_queries_ranked(collection):
    events = list(start(StandIn(), collection, windows(4), ["axis 1", "axis 0"], k=2))
    assert [type(event) for event in events[:3]] == [Loading, Loaded, Embedding]
    assert type(events[-1]) is Finished
    first, second = of_kind(Searched, events)
    assert (first.query, first.error) == ("axis 1", None)
    assert [(hit.rank, hit.window.start, hit.score) for hit in first.hits] == [(1, 1.0, 1.0), (2, 0.0, 0.0)]
    # Windows 0 and 3 lie on the same axis; ties go by start.
    assert [(hit.window.start, hit.score) for hit in second.hits] == [(0.0, 1.0), (3.0, 1.0)]


def test_progress_counts_from_what_is_there_to_the_end(collection):
    collection.append(windows(2), AXES[:2])
    embedder = StandIn()
    told = of_kind(Embedding, start(embedder, collection, windows(5)))
    assert (told[0].done, told[0].total, told[0].eta_seconds) == (2, 5, None)
    assert (told[-1].done, told[-1].total, told[-1].eta_seconds) == (5, 5, 0.0)
    assert told[-1].windows_per_second > 0
    assert sorted(embedder.embedded()) == windows(5)[2:]


def test_progress_comes_at_most_four_times_a_second(collection):
    import time

    began = time.monotonic()
    told = of_kind(Embedding, start(StandIn(work=lambda _: time.sleep(0.002)), collection, windows(200)))
    assert len(told) <= 2 + 4 * (time.monotonic() - began)


def test_a_collection_that_has_everything_is_only_searched(collection):
    collection.append(windows(3), AXES)
    embedder = StandIn()
    events = list(start(embedder, collection, windows(3), ["axis 2"]))
    assert embedder.batches == []
    assert of_kind(Searched, events)[0].hits[0].window == windows(3)[2]


def test_batches_are_as_large_as_the_embedder_wants(collection):
    embedder = StandIn(batch_size=4)
    list(start(embedder, collection, windows(10)))
    assert [len(batch) for batch in embedder.batches] == [4, 4, 2]
    assert embedder.embedded() == windows(10)


def test_a_window_given_twice_is_embedded_once(collection):
    list(start(StandIn(), collection, windows(3) * 2))
    assert collection.windows() == windows(3)


def test_as_many_calls_run_at_once_as_the_embedder_allows(collection):
    together = threading.Barrier(3, timeout=WAIT)  # passes only if three are inside at the same time
    running, most, lock = 0, 0, threading.Lock()

    def work(batch):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()
        with lock:
            running -= 1

    list(start(StandIn(concurrency=3, work=work), collection, windows(12)))
    assert most == 3
    assert len(collection) == 12


def test_what_is_in_flight_is_kept_when_a_batch_fails(collection):
    together, failing = threading.Barrier(3, timeout=WAIT), []

    def work(batch):
        if batch[0].window.start == 1:
            failing.append(threading.current_thread())
        together.wait()
        if batch[0].window.start == 1:
            raise EmbedderFailed("service down", where="window a.mp4@1.0-2.0")
        failing[0].join(WAIT)  # the others end after the failure

    embedder = StandIn(concurrency=3, work=work)
    with pytest.raises(EmbedderFailed, match=r"a\.mp4@1\.0-2\.0: service down"):
        list(start(embedder, collection, windows(30)))
    assert sorted(window.start for window in collection.windows()) == [0, 2]
    assert len(embedder.batches) == 3  # no further batch was begun


def test_batches_before_a_failure_are_kept(collection):
    def work(batch):
        if batch[0].window.start == 5:
            raise ValueError("cannot\nread")

    with pytest.raises(EmbedderFailed) as caught:
        list(start(StandIn(work=work), collection, windows(9)))
    assert str(caught.value) == "window a.mp4@5.0-6.0: ValueError: cannot read"
    assert collection.windows() == windows(5)


def out_of_memory_errors():
    import torch

    return [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried …"),
        RuntimeError("MPS out of memory"),
    ]


@pytest.mark.parametrize("number", range(3))
def test_out_of_memory_is_said_so(number, collection):
    def work(batch):
        raise out_of_memory_errors()[number]

    with pytest.raises(EmbedderFailed, match=r"window a\.mp4@0\.0-1\.0: out of memory;"):
        list(start(StandIn(work=work), collection, windows(2)))


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ([[]], "empty"),
        ([[1.0, 2.0]], "2 numbers, not 3"),
        ([[1.0, float("nan"), 0.0]], "not finite"),
        ([[0.0, 0.0, 0.0]], "zero"),
        ([], "0 vectors for 1"),
    ],
)
def test_an_unusable_vector_names_its_window(vectors, reason, collection):
    with pytest.raises(EmbedderFailed, match=rf"a\.mp4@0\.0-1\.0: .*{reason}"):
        list(start(StandIn(work=lambda batch: vectors), collection, windows(1)))
    assert len(collection) == 0


def test_stored_vectors_have_length_one(collection):
    list(start(StandIn(work=lambda batch: [[3.0, 0.0, 4.0]]), collection, windows(1)))
    np.testing.assert_allclose(collection.vectors(), [[0.6, 0.0, 0.8]], rtol=1e-6)


def test_a_query_that_fails_is_told_and_the_rest_go_on(collection):
    class Forgetful(StandIn):
        def embed_query(self, text):
            if text == "bad":
                raise ConnectionError("gone")
            return super().embed_query(text)

    events = list(start(Forgetful(), collection, windows(3), ["axis 0", "bad", "axis 2"]))
    found = of_kind(Searched, events)
    assert [(item.query, bool(item.hits)) for item in found] == [
        ("axis 0", True),
        ("bad", False),
        ("axis 2", True),
    ]
    assert found[1].error == "query 'bad': ConnectionError: gone"


def test_timings_tell_what_was_timed(collection):
    (finished,) = of_kind(Finished, start(StandIn(), collection, windows(3), ["axis 0"]))
    assert set(finished.timings.as_dict()) == {"load", "decode", "embed", "cold_query"}
    (finished,) = of_kind(Finished, start(StandIn(), collection, windows(3), ["axis 0", "axis 1", "axis 2"]))
    assert set(finished.timings.as_dict()) == {"load", "decode", "embed", "cold_query", "warm_query"}


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (EmbedderUnavailable("no key"), EmbedderUnavailable, "no key"),
        (
            OSError("weights.bin: truncated"),
            EmbedderFailed,
            "loading stand-in: OSError: weights.bin: truncated",
        ),
    ],
)
def test_a_model_that_does_not_load(raised, kind, message, collection):
    class Broken(StandIn):
        def load(self):
            raise raised

    with pytest.raises(kind) as caught:
        list(start(Broken(), collection, windows(1)))
    assert str(caught.value) == message


def test_cancelling_does_not_wait_for_a_call_that_hangs(collection, monkeypatch):
    monkeypatch.setattr("sentrysearch.embed_crew._GRACE_SECONDS", 0.1)
    cancel, release = threading.Event(), threading.Event()

    def work(batch):
        if batch[0].window.start == 3:
            cancel.set()
            assert release.wait(WAIT)

    embedder = StandIn(work=work)
    with pytest.raises(Cancelled):
        list(start(embedder, collection, windows(9), cancel=cancel))
    assert not release.is_set()  # the call still hangs
    assert collection.windows() == windows(3)
    assert not embedder.closed
    release.set()  # the thread ends by itself, without another call: see the fixture
    for thread in threading.enumerate():
        if thread.name.startswith("stand-in"):
            thread.join(WAIT)
    assert len(embedder.batches) == 4


def test_cancelling_between_queries(collection):
    cancel = threading.Event()
    found = []
    with pytest.raises(Cancelled):
        for event in start(StandIn(), collection, windows(3), ["axis 0", "axis 1"], cancel=cancel):
            if isinstance(event, Searched):
                found.append(event)
                cancel.set()
    assert len(found) == 1


def test_closing_the_pass_keeps_what_is_finished(collection):
    third = threading.Event()

    def work(batch):
        if batch[0].window.start == 2:
            third.set()

    events = start(StandIn(work=work), collection, windows(1000))
    while not isinstance(next(events), Embedding):
        pass
    next(events)  # at least one batch is in, and the thread works on
    assert third.wait(WAIT)
    events.close()
    assert collection.windows() == windows(1000)[: len(collection)]
    assert len(collection) >= 2


def test_an_embedder_closed_under_the_pass_does_not_lose_windows_silently(collection):
    def work(batch):
        raise Cancelled

    with pytest.raises(Cancelled):
        list(start(StandIn(work=work), collection, windows(3)))


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / "a.mp4"
    write_clip(path, seconds=12.0, fps=10.0, gop=10, noise=0)
    return footage_module.probe(path, "a.mp4")


def test_frames_reach_the_embedder_prepared_and_in_order(clip, collection):
    seen = {}

    def work(batch):
        for item in batch:
            seen[item.window] = [read_number(frame.data) for frame in item.frames]

    embedder = StandIn(sampling=Sampling(fps=1.0), concurrency=2, work=work)
    list(start(embedder, collection, windows(6, 2.0), footages=(clip,)))
    # Pictures come ten a second and samples lie at the half seconds.
    assert seen == {
        window: [int(window.start) * 10 + 5, int(window.start) * 10 + 15] for window in windows(6, 2.0)
    }


def test_decoding_goes_on_while_the_model_works(clip, collection):
    pictures, ahead = [], threading.Event()

    class Eager(StandIn):
        def prepare(self, picture):
            pictures.append(1)
            if len(pictures) >= 4:
                ahead.set()
            return super().prepare(picture)

    # The first window needs one picture; its embedding ends only when three more have been decoded.
    embedder = Eager(sampling=Sampling(fps=1.0), work=lambda batch: None if ahead.wait(WAIT) else [[]])
    list(start(embedder, collection, windows(12), footages=(clip,)))
    assert len(collection) == 12


def test_closing_while_decoding_ends_every_thread(clip, collection):
    events = start(StandIn(sampling=Sampling(fps=10.0)), collection, windows(12), footages=(clip,))
    while not (isinstance(event := next(events), Embedding) and event.done == 0):
        pass
    next(events)
    events.close()
    assert len(collection) >= 1  # and the fixture: no decoder is left either


def test_footage_that_ends_early_is_told_and_the_rest_is_used(clip, collection):
    longer = Footage(
        clip.name,
        clip.path,
        clip.fingerprint,
        20.0,
        0.0,
        clip.width,
        clip.height,
        0,
        clip.codec,
        clip.frame_rate,
    )
    events = list(start(StandIn(sampling=Sampling()), collection, windows(20), footages=(longer,)))
    assert sorted(collection.windows()) == windows(12)
    damage = of_kind(Damaged, events)[0].damage
    assert (damage.footage, damage.end) == ("a.mp4", 20.0)
    assert damage.start == pytest.approx(12.0, abs=0.2)
    assert of_kind(Embedding, events)[-1].done == 12


def test_footage_of_which_nothing_can_be_decoded(tmp_path, collection):
    path = tmp_path / "a.mp4"
    path.write_bytes(bytes(1000))
    broken = Footage("a.mp4", path, "sha256:00", 4.0, 0.0, 160, 96, 0, "h264", 25.0)
    with pytest.raises(FootageError, match=r"a\.mp4"):
        list(start(StandIn(sampling=Sampling()), collection, windows(4), ["axis 0"], footages=(broken,)))


def test_a_clip_that_cannot_be_encoded_is_told_and_the_rest_is_used(collection):
    def work(batch):
        if batch[0].window.start == 1.0:
            raise FootageError("no picture in the window can be decoded", where="a.mp4")

    events = list(start(StandIn(work=work), collection, windows(3), ["axis 0"]))
    assert [window.start for window in sorted(collection.windows())] == [0.0, 2.0]
    [damaged] = of_kind(Damaged, events)
    assert (damaged.damage.start, damaged.damage.end) == (1.0, 2.0)
    assert damaged.damage.reason == "no picture in the window can be decoded"
