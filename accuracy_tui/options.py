"""The options that several subcommands share, and what they come to: which benchmark is meant."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from sentrysearch import embedders, terminal
from sentrysearch.errors import BadInput

if TYPE_CHECKING:
    from accuracy_tui.benchmark import Benchmark

DEFAULT_BENCHMARKS = (Path("benchmark.yaml"), Path("tests/data/benchmark.yaml"))
"""Looked for, in this order, below the current folder when no benchmark is named."""

PLAYERS = ("auto", "window", "inline", "terminal", "browser")
PICTURES = ("auto", "quadrants", "halves", "kitty", "sixel")

Command = TypeVar("Command", bound=Callable[..., Any])


class ModelName(click.ParamType[str]):
    """A model name; completes the listed ones."""

    name = "model"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [
            CompletionItem(entry.name, help=entry.summary)
            for entry in embedders.catalogue().values()
            if entry.name.startswith(incomplete)
        ]


class BackendName(click.ParamType[str]):
    """A backend; the catalogue is read only when one is given."""

    name = "backend"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in embedders.backends():
            self.fail(f"{value!r} is not one of {', '.join(embedders.backends())}", param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in embedders.backends() if name.startswith(incomplete)]


def benchmark_options(command: Command) -> Command:
    """``--benchmark`` and ``--demo``."""
    command = click.option("--demo", is_flag=True, help="The benchmark that comes with the package.")(command)
    return click.option(
        "--benchmark",
        "-b",
        "benchmark_file",
        type=click.Path(path_type=Path),
        help=f"The benchmark file.  [default: {' or '.join(map(str, DEFAULT_BENCHMARKS))}]",
    )(command)


def footage_option(command: Command) -> Command:
    """``--footage``, repeatable."""
    return click.option(
        "--footage",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Footage (file or folder) instead of the benchmark's; repeatable.",
    )(command)


def accept_footage_option(command: Command) -> Command:
    """``--accept-footage``."""
    return click.option(
        "--accept-footage", is_flag=True, help="Use the judgments although they were made on another file."
    )(command)


def console_options(command: Command) -> Command:
    """How the console shows clips and takes keys."""
    for option in (
        click.option(
            "--fps",
            type=click.FloatRange(0.5, 60),
            default=8.0,
            show_default=True,
            help="Pictures a second at most, for clips drawn in the terminal.",
        ),
        click.option(
            "--pictures",
            type=click.Choice(PICTURES),
            default="auto",
            show_default=True,
            help="How clips are drawn in the terminal.",
        ),
        click.option("--mouse/--no-mouse", default=True, show_default=True, help="Take the mouse."),
        click.option("--blind", is_flag=True, help="Judge without seeing models and ranks."),
        click.option(
            "--player",
            type=click.Choice(PLAYERS),
            default="auto",
            show_default=True,
            help="Where clips are shown.",
        ),
    ):
        command = option(command)
    return command


def format_option(command: Command) -> Command:
    """``--format``."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "markdown", "csv", "json"]),
        default="text",
        show_default=True,
        help="How the table is printed.",
    )(command)


def model_option(command: Command) -> Command:
    """``--model``, repeatable."""
    return click.option(
        "--model", "-m", "models", multiple=True, type=ModelName(), help="Only this model; repeatable."
    )(command)


def query_options(command: Command) -> Command:
    """``--query`` and ``--floor-query``, repeatable."""
    command = click.option("--floor-query", "floor", multiple=True, help="One more floor query; repeatable.")(
        command
    )
    return click.option("--query", "-q", "fine", multiple=True, help="One more fine query; repeatable.")(
        command
    )


def implied_option(command: Command) -> Command:
    """``--no-implied``."""
    return click.option(
        "--implied/--no-implied",
        default=True,
        show_default=True,
        help="Count verdicts that follow from those of windows inside or around.",
    )(command)


def find_benchmark(benchmark_file: Path | None, *, demo: bool) -> Benchmark:
    """The benchmark meant.

    Raises:
        BadInput: none is named or found, or it is malformed.
    """
    from accuracy_tui.benchmark import load_benchmark

    if demo and benchmark_file is not None:
        raise BadInput("--demo is itself a benchmark", hint="leave out --benchmark")
    if demo:
        from accuracy_tui.demo import prepare

        return load_benchmark(prepare())
    if benchmark_file is None:
        benchmark_file = next((path for path in DEFAULT_BENCHMARKS if path.exists()), None)
    if benchmark_file is None:
        raise BadInput("no benchmark file", where="--benchmark", hint="name one, or try the demo with --demo")
    return load_benchmark(benchmark_file)


def chosen_models(benchmark: Benchmark, models: Sequence[str], backend: str | None) -> tuple[str, ...]:
    """The models to run: those named, else the benchmark's; of one backend where that is named.

    Where none of the benchmark's models is of the backend, all listed models of the backend are meant.

    Raises:
        BadInput: a model that doesn't exist or isn't of the backend.
    """
    if backend is None:
        chosen = list(models or benchmark.models)
    elif models:
        chosen = list(models)
        for model in models:
            if embedders.find(model).backend != backend:
                raise BadInput(f"model {model!r} is not of the {backend} backend", where="--model")
    else:
        listed = [entry.name for entry in embedders.catalogue().values() if entry.backend == backend]
        chosen = [model for model in benchmark.models if embedders.find(model).backend == backend] or listed
    for model in chosen:
        embedders.find(model)
    return tuple(dict.fromkeys(chosen))


def with_queries(benchmark: Benchmark, fine: Sequence[str], floor: Sequence[str]) -> Benchmark:
    """The benchmark with queries from the command line added at the end of their groups.

    Raises:
        BadInput: an empty query, or one that is already in the other group.
    """
    from accuracy_tui.benchmark import Query

    groups = {query.text: query.group for query in benchmark.queries}
    for text, group in [*((text, "fine") for text in fine), *((text, "floor") for text in floor)]:
        terminal.checked_query(text)
        if groups.setdefault(text, group) != group:
            raise BadInput(f"query {text!r} is already a {groups[text]} query of the benchmark")
    return dataclasses.replace(benchmark, queries=tuple(Query(*pair) for pair in groups.items()))
