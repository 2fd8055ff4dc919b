"""Writes what was measured to files: the table in several forms, and what TREC tools read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from accuracy_tui.atomic import write_atomically
from accuracy_tui.live import LiveSession
from accuracy_tui.report import render
from sentrysearch.errors import BadInput

TABLES = {"markdown": "md", "csv": "csv", "json": "json"}
FORMS = (*TABLES, "qrels", "runs")
"""In the order they are offered."""

DESCRIPTIONS = {
    "markdown": "the table for a pull request, with every query",
    "csv": "the table for a spreadsheet, full numbers",
    "json": "the table for programs, full numbers",
    "qrels": "the verdicts for trec_eval and ir_measures",
    "runs": "each model's hits for trec_eval and ir_measures",
}


def export(session: LiveSession, folder: Path, forms: Collection[str], *, implied: bool = True) -> list[Path]:
    """Writes the forms asked for into a folder, each file whole or not at all; earlier ones are replaced.

    Args:
        session: as it stands.
        folder: made where it doesn't exist. Files are named after the benchmark; others stay as they are.
        forms: of ``FORMS``.
        implied: whether the qrels hold verdicts that follow from others.

    Returns:
        The files written.

    Raises:
        BadInput: a form that doesn't exist, or verdicts asked for before they are known; nothing is written.
        SentrySearchError: a file can't be written.
    """
    for form in forms:
        if form not in FORMS:
            raise BadInput(f"no form {form!r}", hint=f"there are {', '.join(FORMS)}")
    if "qrels" in forms and session.judgments is None:
        raise BadInput("the verdicts aren't known yet", hint="wait until the footage is read")
    stem = file_stem(session.benchmark.name)
    written: list[Path] = []
    writers: dict[str, Callable[[], list[Path]]] = {
        "qrels": lambda: _qrels(session, folder / f"{stem}.qrels.txt", implied),
        "runs": lambda: _runs(session, folder / f"{stem}.trec"),
    }
    for form in FORMS:
        if form not in forms:
            continue
        if form in TABLES:
            path = folder / f"{stem}.{TABLES[form]}"
            write_atomically(path, render(session.report(), form, per_query=True))
            written.append(path)
        else:
            written += writers[form]()
    return written


def file_stem(name: str) -> str:
    """A benchmark's name as the beginning of a file's: no separators, no dots in front, short."""
    plain = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name)
    return plain.strip(".-")[:40] or "benchmark"


def _qrels(session: LiveSession, path: Path, implied: bool) -> list[Path]:
    from accuracy_tui import trec

    explicit = [trec.Judged(*item) for item in session.judgments.items()] if session.judgments else []
    runs = list(session.grid.runs.values())
    trec.export_qrels(path, runs, session.queries, session.look, explicit=explicit, implied=implied)
    return [path]


def _runs(session: LiveSession, folder: Path) -> list[Path]:
    from accuracy_tui import trec

    return list(trec.export_runs(folder, list(session.grid.runs.values()), session.queries))
