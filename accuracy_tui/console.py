"""``accuracy-tui`` without a command: opens the session and the pass worker, and shows the console."""

from __future__ import annotations

import dataclasses
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from accuracy_tui import options
from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.player.abilities import Question
from sentrysearch import embedders, terminal
from sentrysearch.errors import BadInput

if TYPE_CHECKING:
    from accuracy_tui.benchmark import Benchmark
    from accuracy_tui.live import LiveSession


def open_console(
    *,
    benchmark_file: Path | None,
    demo: bool,
    footage: tuple[Path, ...],
    models: tuple[str, ...],
    run_missing: bool,
    fine: tuple[str, ...],
    floor: tuple[str, ...],
    k: int | None,
    player: str,
    blind: bool,
    mouse: bool,
    pictures: str,
    fps: float,
    keep_index: bool,
    accept_footage: bool,
    implied: bool,
) -> int:
    """Shows the console until the user leaves; says then what is left to judge.

    Raises:
        BadInput: no terminal, no benchmark, judgments that can't be used, a model that doesn't exist.
    """
    if not _on_a_terminal():
        raise BadInput(
            "the console needs a terminal", hint="`accuracy-tui run` and `accuracy-tui judge` do without"
        )
    gc.disable()  # what is loaded now stays: looking through it again and again only takes time
    for model in models:
        embedders.find(model)
    benchmark = options.with_queries(options.find_benchmark(benchmark_file, demo=demo), fine, floor)
    benchmark = dataclasses.replace(benchmark, k=k or benchmark.k)

    with (
        Question(sys.stdin.fileno(), os.environ) as question,  # answered while everything else is loaded
        _opened(benchmark, implied=implied, accept_footage=accept_footage) as session,
    ):
        from accuracy_tui.pass_worker import PassWorker
        from accuracy_tui.ui.app import run_console

        start = models
        if run_missing:
            without = [model for model in benchmark.models if model not in session.grid.runs]
            start = tuple(dict.fromkeys((*models, *without)))
        status = run_console(
            session,
            PassWorker(benchmark, footage=footage, keep_index=keep_index),
            ConsoleOptions(
                player=None if player == "auto" else player,
                blind=blind,
                mouse=mouse,
                pictures=pictures,
                fps=fps,
                start=start,
            ),
            question.answer(),
        )
        unjudged, pooled = session.unjudged()
    if pooled:
        left = f"{unjudged} of {pooled} pool items are left to judge"
        terminal.say(left if unjudged else f"all {pooled} pool items are judged")
    return status


def _opened(benchmark: Benchmark, *, implied: bool, accept_footage: bool) -> LiveSession:
    from accuracy_tui.live import LiveSession

    return LiveSession.open(benchmark, implied=implied, accept_footage=accept_footage)


def _on_a_terminal() -> bool:
    """Keys come from standard input; Textual draws on standard error."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
