"""Who is ahead of whom, as far as the verdicts say, and how to say it in one line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from accuracy_tui.benchmark import FINE
from accuracy_tui.metrics import Bounds

EXACT = 1e-9
"""Differences smaller than this are rounding."""

_PAIRS_SAID = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models, and by how much the mean of the first one is above that of the second."""

    first: str
    second: str
    difference: Bounds

    @property
    def better(self) -> str | None:
        """The model that is ahead whatever the unjudged windows turn out to be; None while that is open."""
        if self.difference.low > EXACT:
            return self.first
        return self.second if self.difference.high < -EXACT else None

    @property
    def settled(self) -> bool:
        """Whether no verdict can change who is ahead, or that neither is."""
        return self.better is not None or self.difference.high - self.difference.low < EXACT


@dataclass(frozen=True, slots=True)
class Standing:
    """Every pair of models, and who leads."""

    k: int
    pairs: tuple[Pair, ...]
    leaders: tuple[str, ...]
    """The models that no other can pass; several are equal for sure. Empty while that is open."""
    expected: str | None
    """The model that is likely to lead; None with fewer than two models."""
    left: int | None
    """About how many verdicts until a leader is settled; None while hits are still to come."""

    @property
    def leader(self) -> str | None:
        """The one model that no other can pass; None while that is open, or where several are equal."""
        return self.leaders[0] if len(self.leaders) == 1 else None

    @property
    def undecided(self) -> tuple[Pair, ...]:
        """The pairs whose order is open."""
        return tuple(pair for pair in self.pairs if not pair.settled)

    def line(self) -> str:
        """One line for the screen, what matters most first; "" with fewer than two models."""
        if not self.pairs:
            return ""
        parts = [self._settled_line()]
        undecided = len(self.undecided)
        if undecided:
            if self.leaders:
                lead = "leads" if len(self.leaders) == 1 else "lead"
                parts.insert(0, f"{' and '.join(self.leaders)} {lead} whatever is to come")
            elif self.left is not None:
                verdicts = "verdict" if self.left == 1 else "verdicts"
                parts.insert(0, f"about {self.left} more {verdicts} until the leader is settled")
            parts.append(f"{undecided} of {len(self.pairs)} pairs open")
        return f"P@{self.k} {FINE} · {' · '.join(parts)}"

    def _settled_line(self) -> str:
        signs = {(pair.first, pair.second): _sign(pair) for pair in self.pairs if pair.settled}
        if not signs:
            return "no pair of models is settled yet"
        if len(signs) == len(self.pairs):  # a whole order: one chain says it all
            models = dict.fromkeys(model for pair in self.pairs for model in (pair.first, pair.second))
            wins = {model: sum(pair.better == model for pair in self.pairs) for model in models}
            order = sorted(models, key=lambda model: -wins[model])
            chain = order[0]
            for above, below in pairwise(order):
                chain += f" {'>' if wins[above] > wins[below] else '='} {below}"
            return f"settled: {chain}"
        said = [
            f"{second} > {first}" if sign == "<" else f"{first} {sign} {second}"
            for (first, second), sign in signs.items()
        ]
        more = f" and {len(said) - _PAIRS_SAID} more" if len(said) > _PAIRS_SAID else ""
        return f"settled: {', '.join(said[:_PAIRS_SAID])}{more}"


def _sign(pair: Pair) -> str:
    if pair.better is None:
        return "="
    return ">" if pair.better == pair.first else "<"
