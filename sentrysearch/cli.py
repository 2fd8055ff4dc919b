"""``sentrysearch index`` and ``sentrysearch search``: the engine by hand, on a kept collection."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sentrysearch import __version__, embedders, terminal
from sentrysearch.errors import BadInput, EmbedderFailed
from sentrysearch.text import printable
from sentrysearch.types import Embedder, Footage, Window, WindowGrid

if TYPE_CHECKING:
    from sentrysearch.store import Collection, CollectionIdentity

DEFAULT_MODEL = "conse-lite0"

_model_option = click.option(
    "--model",
    "-m",
    default=DEFAULT_MODEL,
    show_default=True,
    help="The embedder; `accuracy-tui models` lists them.",
)
_window_options = [
    click.option("--window", type=float, help="Seconds a window is long.  [default: 30]"),
    click.option("--overlap", type=float, help="Seconds neighbouring windows share.  [default: 5]"),
]


@click.group(name="sentrysearch", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sentrysearch")
def cli() -> None:
    """Find moments in video footage from a sentence."""


@cli.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_model_option
@_window_options[0]
@_window_options[1]
def index(paths: tuple[Path, ...], model: str, window: float | None, overlap: float | None) -> None:
    """Embed every window of the footage in PATHS (files or folders) and keep the vectors.

    Footage that is already indexed costs nothing; a file that changed is embedded anew.
    """
    from sentrysearch.footage import scan
    from sentrysearch.store import Collection
    from sentrysearch.windows import check_grid, cut

    grid = _grid(window, overlap)
    check_grid(grid)
    with closing(embedders.create(model)) as embedder:
        footages = [
            # By absolute path, since a kept collection holds footage of many folders.
            dataclasses.replace(footage, name=os.fspath(footage.path.absolute()))
            for path in paths
            for footage in scan(path, skipped=lambda error: terminal.say(f"left out: {error}"))
        ]
        with Collection.open(_identity(embedder, grid)) as collection:
            for footage in footages:
                collection.add_footage(footage)
            windows = [window for footage in footages for window in cut(footage, grid)]
            new = sum(window not in collection for window in windows)
            if new:
                _embed(embedder, footages, windows, collection)
            terminal.say(
                f"{len(footages)} footage, {len(windows)} windows, {new} of them new; "
                f"{len(collection)} windows are indexed with {printable(model)}"
            )


@cli.command()
@click.argument("query")
@_model_option
@_window_options[0]
@_window_options[1]
@click.option("-k", "k", type=click.IntRange(1, 10_000), default=5, show_default=True, help="Hits to print.")
@click.option("--json", "as_json", is_flag=True, help="Print the hits as JSON.")
def search(
    query: str, model: str, window: float | None, overlap: float | None, k: int, as_json: bool
) -> None:
    """Print the windows nearest to QUERY, best first.

    Searches what `sentrysearch index` embedded with the same model; of several window lengths the one
    indexed last, unless --window names another.
    """
    from sentrysearch.passes import load_embedder, search_query

    terminal.checked_query(query)
    with closing(embedders.create(model)) as embedder:
        collection = _find_collection(embedder, window, overlap)
        load_embedder(embedder)
        found = search_query(embedder, query, collection.windows(), collection.vectors(), k)
        if found.error is not None:
            raise EmbedderFailed(found.error)
        hits = found.hits
        if as_json:
            document = {
                "query": query,
                "model": embedder.name,
                "revision": embedder.revision,
                "window": dataclasses.asdict(collection.identity.window),
                "hits": [
                    {
                        "rank": hit.rank,
                        "footage": hit.window.footage,
                        "start": hit.window.start,
                        "end": hit.window.end,
                        "score": hit.score,
                    }
                    for hit in hits
                ],
            }
            click.echo(json.dumps(document, indent=1))
        else:
            for hit in hits:
                span = f"{hit.window.start:.1f}–{hit.window.end:.1f} s"
                click.echo(f"{hit.rank:>3}  {hit.score:.4f}  {span:>17}  {printable(hit.window.footage)}")


def _grid(window: float | None, overlap: float | None) -> WindowGrid:
    default = WindowGrid()
    return WindowGrid(
        default.length if window is None else window, default.overlap if overlap is None else overlap
    )


def _identity(embedder: Embedder, grid: WindowGrid) -> CollectionIdentity:
    from sentrysearch.store import CollectionIdentity

    return CollectionIdentity(embedder.name, embedder.revision, embedder.dimension, grid)


def _find_collection(embedder: Embedder, window: float | None, overlap: float | None) -> Collection:
    """The newest collection of this model, or the one of the window length and overlap named."""
    from sentrysearch.store import kept_collections

    found = [
        collection
        for collection in kept_collections()
        if collection.identity == _identity(embedder, collection.identity.window)
        and (window is None or collection.identity.window.length == window)
        and (overlap is None or collection.identity.window.overlap == overlap)
    ]
    if not found:
        raise BadInput(
            f"nothing is indexed with model {embedder.name}"
            + (" and such windows" if window or overlap else ""),
            hint=f"`sentrysearch index PATH --model {embedder.name}` does that",
        )
    return max(found, key=lambda collection: collection.written)


def _embed(
    embedder: Embedder, footages: list[Footage], windows: list[Window], collection: Collection
) -> None:
    from sentrysearch.passes import embedder_pass
    from sentrysearch.progress import show

    events = embedder_pass(embedder, footages, windows, [], collection, k=1, cancel=threading.Event())
    with closing(events), terminal.ProgressLine() as line:
        for event in events:
            show(line, embedder.name, event)


def main() -> None:
    """The console script."""
    sys.exit(terminal.run(cli))


if __name__ == "__main__":
    main()
