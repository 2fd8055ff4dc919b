"""(b) How near a pass comes to the work it has to do.

Run: ``python benchmarks/conse_pass.py``, on a quiet machine. Prints

- the seconds of a conse-lite0 pass over its bound: CPU seconds of decoding alone plus CPU seconds of the
  model alone, over the cores (target: ≤ 1.1);
- with a stand-in for a model on an accelerator, which only waits, the seconds of a pass over the longer of
  decoding alone and waiting alone, for waits shorter than decoding, as long, and longer (target: ≤ 1.1).

Everything is measured in this one run, in turn, a median of the repeats.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from looped import looped
from numpy.typing import NDArray

from sentrysearch.embedders.conse import Conse
from sentrysearch.frames import sample
from sentrysearch.machine import cores
from sentrysearch.passes import embedder_pass
from sentrysearch.store import Collection, CollectionIdentity
from sentrysearch.types import Embedder, Footage, Window, WindowFrames, WindowGrid
from sentrysearch.windows import cut

GRID = WindowGrid(2.0, 0.0)


def main() -> None:
    options = argparse.ArgumentParser(description="A pass against the work it has to do.")
    options.add_argument("--seconds", type=int, default=600, help="footage (600)")
    options.add_argument("--repeats", type=int, default=3)
    given = options.parse_args()
    footage = looped(given.seconds)
    windows = cut(footage, GRID)
    count = cores()
    print(
        f"{footage.duration:.0f} s of {footage.width}x{footage.height}, {len(windows)} windows, {count} cores"
    )

    ratios = []
    for _ in range(given.repeats):
        decoding, model, whole = conse_spans(footage, windows)
        bound = (decoding.cpu + model.cpu) / count
        ratios.append(whole.wall / bound)
        print(
            f"  CPU s: decoding {decoding.cpu:.2f}, model {model.cpu:.2f}; pass {whole.wall:.2f} s, "
            f"{whole.cpu / whole.wall:.2f} cores busy, {ratios[-1]:.3f} of the bound"
        )
    print(f"conse-lite0 pass: {statistics.median(ratios):.3f} times its work bound (target ≤ 1.1)")

    for share in (0.5, 1.0, 2.0):
        ratios = []
        for _ in range(given.repeats):
            decoding = spent(lambda: decoded(Conse("conse-lite0"), footage, windows))
            waiting = Waiting(share * decoding.wall / len(windows))
            whole = spent(partial(run, waiting, footage, windows))
            ratios.append(whole.wall / max(decoding.wall, waiting.seconds * len(windows)))
        print(
            f"waiting {share:g} times as long as decoding: {statistics.median(ratios):.3f} times the longer "
            "(target ≤ 1.1)"
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds."""

    wall: float
    cpu: float


def spent(work: Callable[[], object]) -> Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def conse_spans(footage: Footage, windows: Sequence[Window]) -> tuple[Spent, Spent, Spent]:
    """Decoding alone, the model alone on as many threads as a pass gives it, and the pass."""
    embedder = Conse("conse-lite0")
    embedder.load()
    found: list[WindowFrames] = []
    decoding = spent(lambda: found.extend(decoded(embedder, footage, windows)))
    with ThreadPoolExecutor(embedder.concurrency) as pool:
        model = spent(lambda: list(pool.map(lambda item: embedder.embed_windows([item]), found)))
    fresh = Conse("conse-lite0")  # remembers no picture
    fresh.load()
    whole = spent(lambda: run(fresh, footage, windows))
    return decoding, model, whole


def decoded(embedder: Embedder, footage: Footage, windows: Sequence[Window]) -> list[WindowFrames]:
    assert embedder.sampling is not None
    sampled = sample([footage], windows, embedder.sampling, embedder.prepare, cancel=threading.Event())
    return [item for item in sampled if isinstance(item, WindowFrames)]


def run(embedder: Embedder, footage: Footage, windows: Sequence[Window]) -> None:
    identity = CollectionIdentity(embedder.name, embedder.revision, embedder.dimension, GRID)
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.throwaway(identity, root=Path(folder)) as collection,
    ):
        cancel = threading.Event()
        with closing(
            embedder_pass(embedder, [footage], windows, [], collection, k=1, cancel=cancel)
        ) as events:
            for _ in events:
                pass
        assert len(collection) == len(windows)


class Waiting(Conse):
    """Takes the pictures that conse-lite0 takes, and then only waits, as the CPU does for an accelerator."""

    concurrency = 1

    def __init__(self, seconds: float) -> None:
        super().__init__("conse-lite0")
        self.seconds = seconds
        self._vector = np.eye(1, self.dimension, dtype=np.float32)

    def load(self) -> None:
        pass

    def embed_windows(self, batch: Sequence[WindowFrames]) -> NDArray[np.float32]:
        time.sleep(self.seconds * len(batch))
        return np.repeat(self._vector, len(batch), axis=0)


if __name__ == "__main__":
    main()
