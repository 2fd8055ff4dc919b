"""``accuracy-tui``: what each subcommand does, in a few lines each; the work is in the modules it calls."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from accuracy_tui import options
from sentrysearch import __version__, embedders, terminal
from sentrysearch.errors import BadInput
from sentrysearch.text import printable

if TYPE_CHECKING:
    from accuracy_tui.benchmark import Benchmark
    from accuracy_tui.judgments import Judgments
    from accuracy_tui.report import Report
    from accuracy_tui.runner import Job
    from accuracy_tui.runs import Run, RunFootage
    from sentrysearch.types import Footage

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group(
    name="accuracy-tui",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 done, 1 some model or query failed, 2 bad usage or bad input.",
)
@click.version_option(__version__, prog_name="accuracy-tui")
@options.benchmark_options
@options.footage_option
@click.option(
    "--model", "-m", "models", multiple=True, type=options.ModelName(), help="Run this model; repeatable."
)
@click.option("--run", "run_missing", is_flag=True, help="Run every model of the benchmark that has no run.")
@options.query_options
@click.option("-k", "k", type=click.IntRange(1, 1000), help="Hits a query.  [default: the benchmark's]")
@options.console_options
@click.option("--keep-index", is_flag=True, help="Keep the vectors, and reuse those of an earlier run.")
@options.accept_footage_option
@options.implied_option
@click.pass_context
def cli(context: click.Context, /, **choices: Any) -> int | None:
    """Measure whether video search finds the right moments.

    Without a command this opens the console: the table of models and queries, filling in live, and every
    window to judge with y or n. Try it with `accuracy-tui --demo --run`.
    """
    if context.invoked_subcommand is not None:
        for name in choices:
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                option = next(param.opts[-1] for param in context.command.params if param.name == name)
                command = context.invoked_subcommand
                raise click.UsageError(
                    f"{option} before {command} is for the console; give it after {command}"
                )
        return None
    from accuracy_tui.console import open_console

    return open_console(**choices)


@cli.command()
@options.benchmark_options
@options.footage_option
@options.model_option
@click.option(
    "--backend",
    type=options.BackendName(),
    help="Only models of this backend: local, conse, qwen-cloud or gemini.",
)
@options.query_options
@click.option("-k", "k", type=click.IntRange(1, 1000), help="Hits a query.  [default: the benchmark's]")
@click.option("--judge", is_flag=True, help="Then ask for a verdict on every pool item without one.")
@click.option("--keep-index", is_flag=True, help="Keep the vectors, and reuse those of an earlier run.")
@options.accept_footage_option
@options.implied_option
@options.format_option
def run(
    benchmark_file: Path | None,
    demo: bool,
    footage: tuple[Path, ...],
    models: tuple[str, ...],
    backend: str | None,
    fine: tuple[str, ...],
    floor: tuple[str, ...],
    k: int | None,
    judge: bool,
    keep_index: bool,
    accept_footage: bool,
    implied: bool,
    form: str,
) -> int:
    """Run the models over the footage and queries, and print the table.

    Each model's ranked hits are saved beside the benchmark, so that `accuracy-tui table` prints the table
    again in no time.
    """
    from accuracy_tui.runner import Job
    from accuracy_tui.runs import check_writable
    from accuracy_tui.session import as_run_footage, comparable, load_saved, open_judgments
    from sentrysearch.store import sweep

    benchmark = options.with_queries(options.find_benchmark(benchmark_file, demo=demo), fine, floor)
    benchmark = dataclasses.replace(benchmark, k=k or benchmark.k)
    chosen = options.chosen_models(benchmark, models, backend)
    check_writable(benchmark.runs)
    footages = _read_footage(benchmark, footage)
    watched = as_run_footage(footages)
    write = judge or accept_footage  # what is accepted is noted in the file, for the other commands
    with open_judgments(
        benchmark, watched, write=write, accept_footage=accept_footage, implied=implied
    ) as judgments:
        _say_state(judgments, write)
        sweep()
        job = Job(
            models=chosen,
            footages=footages,
            window=benchmark.window,
            queries=benchmark.queries,
            k=benchmark.k,
            runs=benchmark.runs,
            keep_index=keep_index,
        )
        failures = _run_models(job)
        saved, notes = load_saved(benchmark)
        kept, left_out = comparable(saved, benchmark, watched)
        kept = [run for run in kept if run.model in chosen]
        judging_failed = judge and not _judge(benchmark, kept, judgments, footages)
        report = _report(benchmark, kept, judgments, chosen, failures, [*notes, *left_out])
        _print(report, form)
        if report.unjudged and not judge:
            same = ["--demo"] if demo else ["-b", str(benchmark_file)] if benchmark_file else []
            for option, values in (("--footage", footage), ("-q", fine), ("--floor-query", floor)):
                same += [word for value in values for word in (option, str(value))]
            command = printable(shlex.join(["accuracy-tui", "judge", *same]))
            terminal.say(f"`{command}` asks for the missing verdicts")
    incomplete = any(summary.failed or not summary.has_run for summary in report.summaries)
    failed = failures or judging_failed or incomplete
    return terminal.FAILED if failed else terminal.DONE


@cli.command()
@options.benchmark_options
@options.model_option
@options.query_options
@click.option("-k", "k", type=click.IntRange(1, 1000), help="Ranks to look at.  [default: the benchmark's]")
@click.option("--per-query", is_flag=True, help="Add a row for every query and model.")
@options.implied_option
@options.format_option
def table(
    benchmark_file: Path | None,
    demo: bool,
    models: tuple[str, ...],
    fine: tuple[str, ...],
    floor: tuple[str, ...],
    k: int | None,
    per_query: bool,
    implied: bool,
    form: str,
) -> int:
    """Print the table of saved runs and verdicts; loads no model and needs no footage."""
    benchmark = options.with_queries(options.find_benchmark(benchmark_file, demo=demo), fine, floor)
    benchmark = dataclasses.replace(benchmark, k=k or benchmark.k)
    with ExitStack() as stack:
        runs, judgments, notes = _saved(stack, benchmark, models, implied=implied)
        rows = models or [run.model for run in runs]
        _print(_report(benchmark, runs, judgments, rows, {}, notes), form, per_query=per_query)
    return terminal.DONE


@cli.command()
@options.benchmark_options
@options.model_option
@options.query_options
@click.option(
    "--footage", multiple=True, type=click.Path(path_type=Path), help="Where the benchmark's footage is."
)
@click.option("--decisive", is_flag=True, help="Ask first what decides most between the models.")
@options.implied_option
def judge(
    benchmark_file: Path | None,
    demo: bool,
    models: tuple[str, ...],
    fine: tuple[str, ...],
    floor: tuple[str, ...],
    footage: tuple[Path, ...],
    decisive: bool,
    implied: bool,
) -> int:
    """Ask for a verdict on every hit of the saved runs that has none, one key each."""
    from accuracy_tui.session import as_run_footage

    benchmark = options.with_queries(options.find_benchmark(benchmark_file, demo=demo), fine, floor)
    footages = _read_footage(benchmark, footage)
    with ExitStack() as stack:
        runs, judgments, notes = _saved(
            stack, benchmark, models, implied=implied, write=True, footage=as_run_footage(footages)
        )
        for note in notes:
            terminal.say(printable(note))
        judged = _judge(benchmark, runs, judgments, footages, decisive=decisive)
        _print(_report(benchmark, runs, judgments, [run.model for run in runs], {}, []), "text")
    return terminal.DONE if judged else terminal.FAILED


@cli.command()
@options.benchmark_options
@click.option("--qrels", type=_FILE, help="Write the verdicts to this TREC qrels file.")
@click.option("--runs", "folder", type=_FOLDER, help="Write a TREC run file for each model to this folder.")
@options.implied_option
def export(
    benchmark_file: Path | None, demo: bool, qrels: Path | None, folder: Path | None, implied: bool
) -> int:
    """Write verdicts and runs as TREC files, with which trec_eval gives the table's numbers."""
    from accuracy_tui import trec

    if qrels is None and folder is None:
        raise BadInput("nothing to write", hint="give --qrels FILE, --runs FOLDER or both")
    benchmark = options.find_benchmark(benchmark_file, demo=demo)
    with ExitStack() as stack:
        runs, judgments, notes = _saved(stack, benchmark, (), implied=implied)
        for note in notes:
            terminal.say(printable(note))
        if qrels is not None:
            explicit = [trec.Judged(*item) for item in judgments.items()]
            trec.export_qrels(
                qrels, runs, benchmark.queries, judgments.look, explicit=explicit, implied=implied
            )
            terminal.say(f"verdicts written to {printable(qrels)}")
        if folder is not None:
            paths = trec.export_runs(folder, runs, benchmark.queries)
            terminal.say(f"{len(paths)} runs written to {printable(folder)}")
    return terminal.DONE


@cli.command("import-qrels")
@options.benchmark_options
@click.argument("file", type=_FILE)
@click.option("--overwrite", is_flag=True, help="Take the file's verdict where it contradicts one on file.")
def import_qrels(benchmark_file: Path | None, demo: bool, file: Path, overwrite: bool) -> int:
    """Read verdicts from a TREC qrels file that `accuracy-tui export` wrote."""
    from accuracy_tui import trec

    benchmark = options.find_benchmark(benchmark_file, demo=demo)
    with ExitStack() as stack:
        runs, judgments, _ = _saved(stack, benchmark, (), implied=True, write=True)
        names = {item.name for run in runs for item in run.footage}
        verdicts = trec.import_qrels(file, queries={query.text for query in benchmark.queries}, footage=names)
        held = {item: judgments.get(item.query, item.window) for item in verdicts}
        contradicted = [item for item, value in held.items() if value is (not item.value)]
        if contradicted and not overwrite:
            first = contradicted[0]
            raise BadInput(
                f"{len(contradicted)} verdicts contradict those on file, the first on "
                f"{first.query!r} {first.window.start}-{first.window.end}; nothing was changed",
                where=file,
                hint="--overwrite takes the file's",
            )
        new = [item for item, value in held.items() if value is not item.value]
        for item in new:
            judgments.put(item.query, item.window, item.value)
        terminal.say(f"{len(new)} verdicts read, {len(verdicts) - len(new)} were on file already")
    return terminal.DONE


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def models(as_json: bool) -> int:
    """List every model, whether it can run here, and if not why and what changes that."""
    listed = [(entry, entry.missing() or entry.not_downloaded()) for entry in embedders.catalogue().values()]
    if as_json:
        document = [
            {
                "name": entry.name,
                "backend": entry.backend,
                "summary": entry.summary,
                "available": missing is None,
                "reason": None if missing is None else missing.what,
                "command": None if missing is None else missing.hint,
            }
            for entry, missing in listed
        ]
        click.echo(json.dumps(document, indent=1))
    else:
        for entry, missing in listed:
            click.echo(
                f"{'✓' if missing is None else '✗'} {entry.name:12} {entry.backend:10} {entry.summary}"
            )
            if missing is not None:
                click.echo(f"{'':27}{missing}")
    return terminal.DONE


def _saved(
    stack: ExitStack,
    benchmark: Benchmark,
    models: Sequence[str],
    *,
    implied: bool,
    write: bool = False,
    footage: Sequence[RunFootage] | None = None,
) -> tuple[list[Run], Judgments, list[str]]:
    """The saved runs that can stand in one table, the judgments (closed with the stack), and notes."""
    from accuracy_tui.session import comparable, load_saved, open_judgments

    saved, problems = load_saved(benchmark)
    runs, left_out = comparable(saved, benchmark, footage)
    if models:
        for model in set(models) - {run.model for run in saved}:
            embedders.find(model)
        runs = [run for run in runs if run.model in models]
    notes = [*problems, *left_out]
    if not runs:
        more = f" ({notes[0]})" if notes else ""
        raise BadInput(f"no runs to show{more}", where=benchmark.runs, hint="`accuracy-tui run` makes them")
    judgments = stack.enter_context(open_judgments(benchmark, runs[0].footage, write=write, implied=implied))
    _say_state(judgments, write)
    return runs, judgments, notes


def _read_footage(benchmark: Benchmark, override: Sequence[Path]) -> tuple[Footage, ...]:
    """The benchmark's footage, with progress; files of a folder that cannot be used are said and left out."""
    from accuracy_tui.session import read_footage

    with terminal.ProgressLine() as line:
        return read_footage(
            benchmark,
            override,
            progress=lambda what, done, total: line.show(what, done=done, total=total),
            skipped=lambda error: line.say(f"left out: {error}"),
        )


def _run_models(job: Job) -> dict[str, str]:
    """Runs the job with progress on stderr; the reasons of the models that failed."""
    from accuracy_tui.runner import ModelFailed, ModelProgress, run_models
    from sentrysearch.progress import show

    failures: dict[str, str] = {}
    events = run_models(job, cancel=threading.Event())
    with closing(events), terminal.ProgressLine() as line:
        for event in events:
            if isinstance(event, ModelProgress):
                show(line, event.model, event.event)
            elif isinstance(event, ModelFailed):
                failures[event.model] = event.reason
                line.say(f"{printable(event.model)} failed: {printable(event.reason)}")
    return failures


def _report(
    benchmark: Benchmark,
    runs: Sequence[Run],
    judgments: Judgments,
    models: Sequence[str],
    failures: dict[str, str],
    notes: Sequence[str],
) -> Report:
    from accuracy_tui.grid import Grid
    from accuracy_tui.report import build_report

    grid = Grid(runs, benchmark.queries, judgments.look, k=benchmark.k, models=models)
    return build_report(grid, failures=failures, notes=notes)


def _print(report: Report, form: str, *, per_query: bool = False) -> None:
    from accuracy_tui.report import render

    click.echo(render(report, form, per_query=per_query), nl=False)


def _judge(
    benchmark: Benchmark,
    runs: Sequence[Run],
    judgments: Judgments,
    footages: Sequence[Footage],
    *,
    decisive: bool = False,
) -> bool:
    """Asks for the verdicts that are missing; False where none could be taken."""
    from accuracy_tui.asking_order import DecisiveOrder
    from accuracy_tui.grid import Grid
    from accuracy_tui.judging import judge as ask
    from accuracy_tui.player import find_player, play_command
    from accuracy_tui.pool import pool

    if judgments.read_only:
        terminal.say(f"not judging: {judgments.why_read_only}")
        return False
    conflicts = {(conflict.query, conflict.window) for conflict in judgments.conflicts}
    items = [
        item
        for item in pool(runs, None, benchmark.queries)
        if judgments.look(item.query, item.window).value is None or item in conflicts
    ]
    if not items:
        terminal.say("nothing to judge: every pool item has its verdict")
        return True
    order = None
    if decisive:
        grid = Grid(runs, benchmark.queries, judgments.look, k=benchmark.k)
        order = DecisiveOrder(grid, judgments.look)
    route = find_player()
    terminal.say(route.line)
    try:
        outcome = ask(
            items,
            judgments,
            {footage.name: footage for footage in footages},
            read_key=_read_key,
            say=terminal.say,
            clips=route.player,
            command=play_command,
            order=order,
        )
    finally:
        if route.player is not None:
            route.player.close()
    terminal.say(f"{outcome.judged} judged, {outcome.left} left")
    _say_state(judgments, False)
    return True


def _say_state(judgments: Judgments, write: bool) -> None:
    """Says what the user should know of the judgments before leaning on them."""
    from accuracy_tui.judging import describe, said

    if write and judgments.read_only:
        terminal.say(judgments.why_read_only)
    while judgments.notices:
        terminal.say(printable(judgments.notices.pop(0)))
    for conflict in judgments.conflicts:
        mine, theirs = said(conflict.mine), said(conflict.theirs)
        terminal.say(
            f"conflict: {printable(conflict.query)} · {describe(conflict.window)} was judged {mine} here and "
            f"is {theirs} in the file; {mine} counts until it is judged again"
        )


def _read_key() -> str:
    """A key from the terminal without Enter; from a pipe the first letter of a line. "" at the end."""
    if sys.stdin is None:  # started with it closed (`<&-`)
        return ""
    if sys.stdin.isatty():
        try:
            return click.getchar().lower()
        except EOFError:
            return ""
    line = sys.stdin.readline()
    return line.strip().lower()[:1] or "?" if line else ""


def main() -> None:
    """The console script."""
    sys.exit(terminal.run(cli))


if __name__ == "__main__":
    main()
