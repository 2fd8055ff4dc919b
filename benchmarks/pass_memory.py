"""(c) Peak memory of a conse-lite0 pass over 30 minutes of footage against one over 1 minute.

Run: ``python benchmarks/pass_memory.py``. Each pass runs in a process of its own; prints both peaks, their
difference (target: ≤ 150 MB) and their ratio.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import threading
from pathlib import Path

from looped import looped

from sentrysearch.embedders.conse import Conse
from sentrysearch.passes import embedder_pass
from sentrysearch.store import Collection, CollectionIdentity
from sentrysearch.types import WindowGrid
from sentrysearch.windows import cut


def make_ready(*seconds: int) -> None:
    """Makes the footage and converts the model, before anything is measured."""
    for length in seconds:
        looped(length)
    Conse("conse-lite0").load()


def peak_bytes(seconds: int, grid: WindowGrid) -> int:
    """What the process held at most after a pass over so much footage; run it in a fresh process."""
    footage = looped(seconds)
    embedder = Conse("conse-lite0")
    identity = CollectionIdentity(embedder.name, embedder.revision, embedder.dimension, grid)
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.throwaway(identity, root=Path(folder)) as collection,
    ):
        windows = cut(footage, grid)
        queries = ["car driving on road", "person riding a bicycle"]
        for _ in embedder_pass(
            embedder, [footage], windows, queries, collection, k=5, cancel=threading.Event()
        ):
            pass
        assert len(collection) == len(windows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    options = argparse.ArgumentParser(description="Peak memory of a long pass against a short one.")
    options.add_argument("--long", type=int, default=1800, help="seconds of footage (1800)")
    options.add_argument("--short", type=int, default=60, help="seconds of footage (60)")
    options.add_argument("--length", type=float, default=30.0, help="seconds a window (30)")
    options.add_argument("--overlap", type=float, default=5.0, help="seconds shared by neighbours (5)")
    given = options.parse_args()
    grid = WindowGrid(given.length, given.overlap)
    lengths = (given.short, given.long)
    # This process stays small: what it holds when it starts another counts towards that one's peak.
    fresh = multiprocessing.get_context("spawn")
    with fresh.Pool(1) as pool:
        pool.apply(make_ready, lengths)
    peaks = []
    for seconds in lengths:
        with fresh.Pool(1) as pool:
            peaks.append(pool.apply(peak_bytes, (seconds, grid)))
        print(f"  {seconds} s of footage: at most {peaks[-1] / 1e6:.0f} MB")
    short, long = peaks
    print(f"{(long - short) / 1e6:.0f} MB more (target ≤ 150), {long / short:.2f} times")


if __name__ == "__main__":
    main()
