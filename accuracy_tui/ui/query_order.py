"""Which queries are rows, and in which order: the filter and the sorts."""

from __future__ import annotations

from accuracy_tui.benchmark import FINE, Query
from accuracy_tui.grid import State
from accuracy_tui.live import LiveSession
from accuracy_tui.summary import precision

SORTS = ("benchmark", "name", "precision", "unjudged", "disagreement")
SORT_LABELS = {
    "benchmark": "",
    "name": "by name",
    "precision": "lowest P@k of the model first",
    "unjudged": "most unjudged first",
    "disagreement": "most disagreement between models first",
}
SPECIAL = {":unjudged", ":failed", ":differ", ":fine", ":floor"}


def matching(session: LiveSession, text: str) -> list[Query]:
    """The queries that hold every word, whatever its case; ``:unjudged`` and the like are conditions."""
    words = text.lower().split()
    return [query for query in session.queries if all(_matches(session, query, word) for word in words)]


def ordered(session: LiveSession, queries: list[Query], sort: str, model: str | None) -> list[Query]:
    """The queries in one of ``SORTS``; ``model`` is the one whose P@k counts."""
    if sort == "name":
        return sorted(queries, key=lambda query: query.text.casefold())
    if sort == "precision" and model is not None:
        return sorted(queries, key=lambda query: _precision(session, model, query.text))
    if sort == "unjudged":
        return sorted(queries, key=lambda query: -session.grid.unjudged_of(query.text)[0])
    if sort == "disagreement":
        return sorted(queries, key=lambda query: -_spread(session, query.text))
    return queries


def _matches(session: LiveSession, query: Query, word: str) -> bool:
    if word == ":unjudged":
        return session.grid.unjudged_of(query.text)[0] > 0
    if word == ":failed":
        return any(session.grid.state(model, query.text) is State.FAILED for model in session.models)
    if word == ":differ":
        return _spread(session, query.text) > 0
    if word in SPECIAL:
        return query.group == word[1:]
    return word in query.text.lower()


def _precision(session: LiveSession, model: str, query: str) -> float:
    bounds = session.grid.cell(model, query).bounds(precision(session.k, FINE).metric)
    return -1.0 if bounds is None else bounds.low


def _spread(session: LiveSession, query: str) -> float:
    values = [
        _precision(session, model, query)
        for model in session.models
        if session.grid.state(model, query) is State.RAN
    ]
    return max(values) - min(values) if values else 0.0
