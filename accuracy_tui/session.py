"""A benchmark with its saved runs and its verdicts: what the table, judging and the exports read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accuracy_tui.benchmark import Benchmark, FootageSource
from accuracy_tui.runs import Run, RunFootage, load_runs
from sentrysearch.errors import BadInput, FootageError

if TYPE_CHECKING:
    from accuracy_tui.judged_footage import FootageIdentity
    from accuracy_tui.judgments import Judgments
    from sentrysearch.types import Footage

Progress = Callable[[str, int, int | None], None]
"""What is worked on, bytes or files done, how many in all (None while unknown)."""


def read_footage(
    benchmark: Benchmark,
    override: Sequence[Path] = (),
    *,
    progress: Progress | None = None,
    skipped: Callable[[FootageError], None] | None = None,
) -> tuple[Footage, ...]:
    """Finds and probes the benchmark's footage, downloading what is given by URL.

    Args:
        benchmark: where footage is named.
        override: files and folders to use instead of the benchmark's.
        progress: told of downloads, and of files read.
        skipped: told of files in a folder that cannot be used; None to let the first one raise.

    Raises:
        FootageError: missing, unreadable, or not the file whose sha256 the benchmark names.
    """
    from sentrysearch.footage import scan_all

    sources = [FootageSource(path, None, None) for path in override] or list(benchmark.footage)
    if not sources:
        raise BadInput("names no footage", where=benchmark.path, hint="add footage: or give --footage")
    paths = [_local(source, progress) for source in sources]
    reading = (lambda done, total: progress("reading footage", done, total)) if progress else None
    return tuple(scan_all(paths, progress=reading, skipped=skipped))


def _local(source: FootageSource, progress: Progress | None) -> Path:
    from sentrysearch.download import fetch
    from sentrysearch.footage import fingerprint

    if source.url is not None:
        assert source.sha256 is not None  # load_benchmark refuses a URL without one
        url = source.url
        return fetch(
            url,
            source.sha256,
            progress=(lambda done, total: progress(url, done, total)) if progress else None,
        )
    assert source.path is not None
    if source.sha256 is not None:
        if not source.path.is_file():
            raise FootageError("no such file", where=source.path)
        found = fingerprint(source.path)
        if found != f"sha256:{source.sha256}":
            raise FootageError(
                f"not the file that the benchmark means: {found}, expected sha256:{source.sha256}",
                where=source.path,
            )
    return source.path


def open_judgments(
    benchmark: Benchmark,
    footage: Sequence[FootageIdentity],
    *,
    write: bool,
    implied: bool,
    accept_footage: bool = False,
) -> Judgments:
    """Opens the benchmark's judgments; ``implied`` False leaves out verdicts that follow from others.

    Raises:
        BadInput: the file is malformed, or its verdicts belong to another clip.
    """
    from accuracy_tui.judgments import Judgments

    judgments = Judgments.open(benchmark.judgments, footage, write=write, accept_footage=accept_footage)
    judgments.implied = implied
    return judgments


def load_saved(benchmark: Benchmark) -> tuple[list[Run], list[str]]:
    """The benchmark's saved runs, and a line for each file that could not be read."""
    loaded = load_runs(benchmark.runs)
    return list(loaded.runs), [str(problem) for problem in loaded.problems]


def comparable(
    runs: Iterable[Run], benchmark: Benchmark, footage: Sequence[RunFootage] | None = None
) -> tuple[list[Run], list[str]]:
    """The runs that can stand in one table: same windows, same footage.

    Args:
        runs: saved runs.
        benchmark: whose window grid counts.
        footage: what counts as the footage; None for that of the newest run with that window grid.

    Returns:
        The runs in the benchmark's order of models, then by name; and a line for each one left out.
    """
    kept: list[Run] = []
    left_out: list[Run] = []
    for run in runs:
        (kept if run.window == benchmark.window else left_out).append(run)
    notes = [
        f"run of {run.model} left out: its windows are {run.window.length:g}/{run.window.overlap:g} s, "
        f"the benchmark's {benchmark.window.length:g}/{benchmark.window.overlap:g} s"
        for run in left_out
    ]
    if kept:
        newest = max(kept, key=lambda run: run.created)
        wanted = _prints(newest.footage if footage is None else footage)
        for run in kept:
            if _prints(run.footage) != wanted:
                reference = f"{newest.model}'s" if footage is None else "the benchmark's"
                notes.append(f"run of {run.model} left out: its footage is not {reference}; run it again")
        kept = [run for run in kept if _prints(run.footage) == wanted]
    places = {model: place for place, model in enumerate(benchmark.models)}
    kept.sort(key=lambda run: (places.get(run.model, len(places)), run.model))
    return kept, notes


def _prints(footage: Iterable[RunFootage]) -> frozenset[tuple[str, str]]:
    return frozenset((item.name, item.fingerprint) for item in footage)


def as_run_footage(footages: Iterable[Footage]) -> tuple[RunFootage, ...]:
    """What a run file and the judgments note of footage."""
    return tuple(RunFootage(item.name, item.fingerprint, item.duration) for item in footages)
