"""One round of judging: which window is asked about now, and which one next.

The round never decides what there is to judge: it asks its supplier again after every verdict, so that an
order that depends on the verdicts, and verdicts that came from elsewhere, are followed at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from accuracy_tui.benchmark import FLOOR
from accuracy_tui.grid import State
from accuracy_tui.judging_order import JudgingOrder, Suggestion
from accuracy_tui.live import LiveSession
from accuracy_tui.pool import Found, PoolItem


class Ask(NamedTuple):
    """A window to be judged."""

    item: PoolItem
    why: str = ""
    """Why this one; "" where the order is just that of the table."""


Asked: TypeAlias = Ask | Suggestion
"""Both say which item and why; the words of a suggestion are made only when they are read."""

Supply: TypeAlias = Callable[[str | None], Iterable[Asked]]
"""What there is to judge now, in order, given the query that was judged last."""


class JudgingRound:
    """Walks through what its supplier has.

    Args:
        supply: asked at the start and after each step.
        blind: a seed: within each query the order is shuffled, so that it says nothing about ranks. None for
            the supplier's own order.
    """

    def __init__(self, supply: Supply, *, blind: str | None = None) -> None:
        self._supply = supply
        self._blind = blind
        self._past: set[PoolItem] = set()  # judged or skipped in this round
        self._judged: set[PoolItem] = set()
        self._asks: list[Asked] = []
        self._digests: dict[PoolItem, bytes] = {}  # what a blind order goes by
        self.current: Asked | None = None
        self.skipped = 0
        self._renew(None)
        self.current = self._asks[0] if self._asks else None

    @property
    def judged(self) -> int:
        """How many were judged in this round."""
        return len(self._judged)

    @property
    def upcoming(self) -> Asked | None:
        """What comes after the current one, unless a verdict changes the order."""
        return self._after(self.current)

    @property
    def left(self) -> int:
        """How many are still to be judged, the current one included."""
        return sum(ask.item not in self._past for ask in self._asks)

    def answer(self) -> None:
        """The current one was judged; on to the next."""
        if self.current is not None:
            self._judged.add(self.current.item)
        self._advance()

    def skip(self) -> None:
        """The current one stays as it is; on to the next."""
        self.skipped += 1
        self._advance()

    def step(self, step: int) -> None:
        """Looks at another one without answering."""
        place = self._place(self.current)
        if place is not None and 0 <= place + step < len(self._asks):
            self.current = self._asks[place + step]

    def undone(self, item: PoolItem) -> None:
        """A verdict was taken back: that window is asked about now, whatever round it was given in."""
        self._past.discard(item)
        self._judged.discard(item)
        self._renew(item.query)
        found = next((ask for ask in self._asks if ask.item == item), None)
        if found is None:
            found = Ask(item)
            self._asks.insert(self._place(self.current) or 0, found)
        self.current = found

    def renew(self) -> None:
        """Something changed elsewhere: the current one stays, what follows may be another."""
        self._renew(self.current.item.query if self.current else None)
        if self.current is None:
            self.current = self._after(None)

    def _advance(self) -> None:
        if self.current is None:
            return
        self._past.add(self.current.item)
        following = self._after(self.current)
        self._renew(self.current.item.query)
        still = following is not None and any(ask.item == following.item for ask in self._asks)
        # What was made ready is shown next, unless it is no longer asked about.
        self.current = following if still else self._after(self.current)

    def _after(self, ask: Asked | None) -> Asked | None:
        place = self._place(ask)
        start = 0 if place is None else place + 1
        for other in [*self._asks[start:], *self._asks[:start]]:
            if other.item not in self._past and (ask is None or other.item != ask.item):
                return other
        return None

    def _place(self, ask: Asked | None) -> int | None:
        if ask is None:
            return None
        return next((place for place, other in enumerate(self._asks) if other.item == ask.item), None)

    def _renew(self, query: str | None) -> None:
        asks = list(self._supply(query))
        self._asks = asks if self._blind is None else self._shuffled(asks, self._blind)

    def _shuffled(self, asks: Sequence[Asked], seed: str) -> list[Asked]:
        """Within each query by a hash, so that it is the same order each time; queries stay in order."""
        queries: dict[str, list[Asked]] = {}
        for ask in asks:
            queries.setdefault(ask.item.query, []).append(ask)
            if ask.item not in self._digests:
                text = f"{seed}\n{ask.item.query}\n{ask.item.window}"
                self._digests[ask.item] = hashlib.sha256(text.encode()).digest()
        return [ask for of in queries.values() for ask in sorted(of, key=lambda ask: self._digests[ask.item])]


class _Unjudged:
    """The pool's unjudged items by query. Only queries whose verdicts or hits changed are gone through again:
    to look up the whole pool after every verdict would keep the next clip waiting."""

    def __init__(self, session: LiveSession, why: str = "") -> None:
        self._session = session
        self._why = why
        self._pool: Mapping[PoolItem, Found] | None = None
        self._items: dict[str, list[PoolItem]] = {}
        self._known: dict[str, tuple[tuple[bytes, ...], list[Ask]]] = {}

    def of(self, queries: Iterable[str] | None = None) -> list[Ask]:
        """Those of these queries, in this order; None for all, in the pool's."""
        pool, grid = self._session.pool(), self._session.grid
        if pool is not self._pool:
            self._pool, self._items = pool, {}
            self._known.clear()
            for item in pool:
                self._items.setdefault(item.query, []).append(item)
        texts = [query.text for query in grid.queries]
        rows = [grid.outcomes(model) for model in grid.models]
        outcomes = dict(zip(texts, zip(*rows, strict=True), strict=False))
        asks: list[Ask] = []
        for query in self._items if queries is None else queries:
            now = outcomes.get(query, ())
            known = self._known.get(query)
            if known is None or known[0] != now:
                known = self._known[query] = now, self._look_up(query)
            asks += known[1]
        return asks

    def _look_up(self, query: str) -> list[Ask]:
        look = self._session.look
        items = self._items.get(query, ())
        return [Ask(item, self._why) for item in items if look(*item).value is None]


def cell_round(session: LiveSession, model: str, query: str, *, blind: str | None = None) -> JudgingRound:
    """The unjudged hits of one cell; all of them where none is unjudged, to look at them again."""
    hits = session.grid.cell(model, query).hits
    everything = all(session.look(query, hit.window).value is not None for hit in hits)

    def supply(_: str | None) -> Iterable[Ask]:
        for hit in session.grid.cell(model, query).hits:
            if everything or session.look(query, hit.window).value is None:
                yield Ask(PoolItem(query, hit.window))

    return JudgingRound(supply, blind=blind)


def pool_round(
    session: LiveSession, queries: Sequence[str] | None = None, *, blind: str | None = None
) -> JudgingRound:
    """All that is unjudged, query by query.

    Args:
        queries: those to judge, in this order; None for all.
    """

    unjudged = _Unjudged(session)
    return JudgingRound(lambda _: unjudged.of(queries), blind=blind)


def decisive_round(
    session: LiveSession, order: Callable[[], JudgingOrder], *, blind: str | None = None
) -> JudgingRound:
    """What decides most between models, the rest after it; weighed anew after every verdict.

    Args:
        order: the order as it stands, kept up to date by whoever records verdicts.
    """

    unjudged = _Unjudged(session, "a floor query: it decides nothing between models")

    def supply(query: str | None) -> Iterable[Asked]:
        floor = [query.text for query in session.queries if query.group == FLOOR]
        return [*order().suggestions(after=query), *unjudged.of(floor)]

    return JudgingRound(supply, blind=blind)


def place_line(session: LiveSession, item: PoolItem, model: str | None) -> str:
    """Where an item stands: "hit 2 of 5 for conse-lite2, also rank 1 for conse-lite0".

    Args:
        model: whose hit it is looked at as; None for the first that returned it.
    """
    found = dict(session.found(item.query, item.window))
    if not found:
        return "returned by no model any more"
    if model not in found:
        model = next(iter(found))
    hits = len(session.grid.cell(model, item.query).hits)
    line = f"hit {found[model]} of {hits} for {model}"
    others = [f"rank {rank} for {other}" for other, rank in found.items() if other != model]
    if others:
        return f"{line}, also {', '.join(others)}"
    ran = sum(session.grid.state(other, item.query) is State.RAN for other in session.models)
    return f"{line}, by no other model" if ran > 1 else line
