"""TREC qrels and run files, with which trec_eval, pytrec_eval, ir_measures and ranx give the table's numbers.

What those tools read differently from a person, and what is written because of it:

- They split lines at white space, and some take ``#`` for a comment. So a topic id is the query with every
  byte but letters, digits and ``-._~`` percent-encoded, spaces as ``+``; a document id is the footage's
  name encoded likewise (``/`` kept), ``@``, and the window's times: ``clips/a.mp4@124.0-151.0``. Both read
  well and turn back into what they were, without a third file.
- They ignore the rank column, sort by score (read as float32), then by document id descending. So the
  score is the rank counted from the end, which falls strictly; the cosine stays in the run's JSON.
- They leave a topic out of the mean when it has no line in the run, or none in the qrels. So a query for
  which nothing came back has one line in the run, and every query one line of relevance 0 in the qrels,
  with the document ``no-hit``, which no window can be (it has no ``@``).
- They count every qrels line. So an implied verdict has one too (the table counts it), with ``implied``
  in the iteration column, which no tool reads: ``read_qrels`` leaves those lines out again.
- An unjudged window has no line and counts as not relevant: the tools' numbers are the table's lower ends.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from accuracy_tui.atomic import write_atomically
from accuracy_tui.benchmark import Query
from accuracy_tui.grid import Look
from accuracy_tui.pool import pool
from accuracy_tui.runs import Run, run_file_name
from accuracy_tui.window_keys import parse_window_key, window_key
from accuracy_tui.yaml_source import read_bytes
from sentrysearch.errors import BadInput
from sentrysearch.types import Window

NO_HIT = "no-hit"
EXPLICIT = "0"
IMPLIED = "implied"

_RELEVANCE = re.compile(r"-?[0-9]{1,9}\Z", re.ASCII)


class Judged(NamedTuple):
    """A verdict as it travels between files."""

    query: str
    window: Window
    value: bool


def topic_id(query: str) -> str:
    """The query as a topic id."""
    return _encode(query, "").replace("%20", "+")


def document_id(window: Window) -> str:
    """The window as a document id."""
    times = window_key(window, single=True)
    return f"{_encode(window.footage, '/')}@{times}"


def format_qrels(
    runs: Sequence[Run],
    queries: Sequence[Query],
    look: Look,
    *,
    explicit: Iterable[Judged] = (),
    implied: bool = True,
) -> str:
    """Qrels of every pool item with a verdict, all ranks of the runs.

    Args:
        runs: whose windows are looked up.
        queries: the benchmark's; verdicts of others are left out, since tools would average them in.
        look: what is known of a window.
        explicit: more verdicts to write, for windows that no run returned: those on file.
        implied: whether implied verdicts are written; without them tools count those windows as unjudged.
    """
    lines: dict[str, dict[Window, tuple[str, bool]]] = {query.text: {} for query in queries}
    for judged in explicit:
        if judged.query in lines:
            lines[judged.query][judged.window] = (EXPLICIT, judged.value)
    for item in pool(runs, None, queries):
        verdict = look(item.query, item.window)
        if verdict.value is not None and (implied or not verdict.implied):
            mark = IMPLIED if verdict.implied else EXPLICIT
            lines[item.query][item.window] = (mark, verdict.value)
    out = []
    for text, verdicts in lines.items():
        topic = topic_id(text)
        out.append(f"{topic} {EXPLICIT} {NO_HIT} 0\n")
        for window, (mark, value) in sorted(verdicts.items()):
            out.append(f"{topic} {mark} {document_id(window)} {int(value)}\n")
    return "".join(out)


def format_trec_run(run: Run, queries: Sequence[Query]) -> str:
    """One model's run; a benchmark query that is missing, failed or empty has the one document ``no-hit``."""
    searched = {query.query: query for query in run.queries}
    tag = topic_id(run.model)
    out = []
    for query in queries:
        hits = searched[query.text].hits if query.text in searched else ()
        documents = [document_id(hit.window) for hit in hits] or [NO_HIT]
        topic = topic_id(query.text)
        out += [
            f"{topic} Q0 {document} {rank} {len(documents) - rank + 1} {tag}\n"
            for rank, document in enumerate(documents, start=1)
        ]
    return "".join(out)


def export_qrels(
    path: Path,
    runs: Sequence[Run],
    queries: Sequence[Query],
    look: Look,
    *,
    explicit: Iterable[Judged] = (),
    implied: bool = True,
) -> None:
    """Writes ``format_qrels`` to a file. Raises SentrySearchError when it can't be written."""
    write_atomically(path, format_qrels(runs, queries, look, explicit=explicit, implied=implied))


def export_runs(folder: Path, runs: Sequence[Run], queries: Sequence[Query]) -> list[Path]:
    """Writes one TREC run file a model; their paths. Raises SentrySearchError when one can't be written."""
    paths = []
    for run in runs:
        path = folder / f"{run_file_name(run.model).removesuffix('.json')}.run"
        write_atomically(path, format_trec_run(run, queries))
        paths.append(path)
    return paths


def import_qrels(
    path: Path, *, queries: Collection[str] | None = None, footage: Collection[str] | None = None
) -> list[Judged]:
    """Reads verdicts back from qrels with this module's ids; relevance above 0 is true.

    Lines of implied verdicts and of ``no-hit`` are left out.

    Args:
        path: the qrels file.
        queries: the queries that may occur; None takes any.
        footage: the names of footage that may occur; None takes any.

    Raises:
        BadInput: file, line and reason for the first line that is not one of a qrels file, whose ids are not
            ids of this module or are unknown, or which gives a verdict a second time.
    """
    lines: dict[tuple[str, Window], int] = {}
    verdicts = []
    for number, raw in enumerate(read_bytes(path).removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        if not raw.strip():
            continue
        try:
            judged = _parse(raw, queries, footage)
            if judged is None:
                continue
            key = (judged.query, judged.window)
            if key in lines:
                raise BadInput(f"the window was judged for this topic on line {lines[key]} already")
        except BadInput as error:
            raise BadInput(error.what, where=f"{path}:{number}", hint=error.hint) from None
        lines[key] = number
        verdicts.append(judged)
    return verdicts


def _parse(raw: bytes, queries: Collection[str] | None, footage: Collection[str] | None) -> Judged | None:
    try:
        columns = raw.decode("utf-8").split()
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text") from None
    if len(columns) != 4:
        raise BadInput(
            f"{len(columns)} columns, not the 4 of a qrels line: topic, iteration, document, relevance"
        )
    topic, mark, document, relevance = columns
    if not _RELEVANCE.match(relevance):
        raise BadInput(f'relevance "{relevance}" is not a whole number')
    if int(relevance) < 0:
        raise BadInput(f"relevance {relevance} is neither true nor false", hint="0 is false, 1 is true")
    query = _decode(topic.replace("+", "%20"))
    if topic_id(query) != topic:
        raise BadInput(f'"{topic}" is no topic id that accuracy-tui writes')
    if queries is not None and query not in queries:
        raise BadInput(f'unknown topic "{topic}"', hint="it must be a query of the benchmark")
    if document == NO_HIT or mark == IMPLIED:
        return None
    window = _window(document)
    if footage is not None and window.footage not in footage:
        raise BadInput(f'unknown document "{document}"', hint=f"footage is {', '.join(sorted(footage))}")
    return Judged(query, window, int(relevance) > 0)


def _window(document: str) -> Window:
    encoded, _, times = document.rpartition("@")
    name = _decode(encoded)
    try:
        _, start, end = parse_window_key(times)
        window = Window(name, start, end)
        if name and document_id(window) == document:
            return window
    except BadInput:
        pass
    raise BadInput(f'"{document}" is no window id', hint="one is footage@start-end, like a.mp4@124.0-151.0")


def _encode(text: str, safe: str) -> str:
    return quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe=safe)


def _decode(text: str) -> str:
    try:
        return unquote_to_bytes(text).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise BadInput(f'"{text}" is not percent-encoded UTF-8') from None
