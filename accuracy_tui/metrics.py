"""The metrics, one function each, with bounds for what nobody has judged yet.

A ranking is bytes, one outcome (``UNJUDGED``, ``TRUE`` …) a rank. A metric takes what is relevant: ones and
zeros by rank, first rank first. That is bytes for one ranking and gives a float; or an array whose first axis
is the rank and gives an array of the shape of the others. So the functions here do arithmetic that both can,
and a small table does not wait for numpy to be imported, which takes longer than all the rest of it.

``bounds`` evaluates a metric twice, with every unjudged hit false and with every one true: within one query a
window has one rank, so both can happen, and every metric here only rises when a hit turns true, so nothing
lies outside.

Adding a metric is adding a function here, and a line in ``accuracy_tui.summary`` to give it a column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Metric: TypeAlias = Callable[[Any], Any]
"""From what is relevant (bytes, or an array of zeros and ones) to a float or an array of them."""

NO_HIT, UNJUDGED, FALSE, TRUE, IMPLIED_FALSE, IMPLIED_TRUE = range(6)
"""What is known of one rank: nothing came back, or its window's verdict."""

_IS_TRUE = bytes(outcome in (TRUE, IMPLIED_TRUE) for outcome in range(256))
_MAY_BE_TRUE = bytes(outcome in (TRUE, IMPLIED_TRUE, UNJUDGED) for outcome in range(256))


class Bounds(NamedTuple):
    """A value with every unjudged window false, and with every one true."""

    low: float
    high: float

    @property
    def settled(self) -> bool:
        """Whether no further verdict can change the value (by more than rounding does)."""
        return self.high - self.low < 1e-12


@overload
def precision_at(relevant: bytes, k: int) -> float: ...
@overload
def precision_at(relevant: NDArray[np.float64], k: int) -> NDArray[np.float64]: ...
def precision_at(relevant: Any, k: int) -> Any:
    """P@k: the number of true windows in the first k, divided by k also when fewer came back.

    trec_eval's rule (m_P.c: ``P_5`` divides by 5 whatever the run's length).
    """
    return sum(relevant[:k]) / k


@overload
def reciprocal_rank(relevant: bytes) -> float: ...
@overload
def reciprocal_rank(relevant: NDArray[np.float64]) -> NDArray[np.float64]: ...
def reciprocal_rank(relevant: Any) -> Any:
    """RR: 1 / rank of the first true window, 0 where there is none; its mean over queries is MRR.

    Voorhees, "The TREC-8 Question Answering Track Report" (1999); trec_eval's ``recip_rank``. Computed from
    the last rank up, each true one replacing what lies below it.
    """
    value: Any = 0.0
    for rank in range(len(relevant), 0, -1):
        here = relevant[rank - 1]
        value = here / rank + (1 - here) * value
    return value


def judged_at(outcomes: bytes, k: int) -> float | None:
    """Judged@k: the share of the first k hits that have a verdict, implied ones included; None without hits.

    Divides by the hits there are, as ir_measures' Judged does, so that 1 means nothing is left to judge.
    """
    first = outcomes[:k]
    hits = len(first) - first.count(NO_HIT)
    return (hits - first.count(UNJUDGED)) / hits if hits else None


def surely_relevant(outcomes: bytes) -> bytes:
    """What is relevant when every unjudged window is false."""
    return outcomes.translate(_IS_TRUE)


def possibly_relevant(outcomes: bytes) -> bytes:
    """What is relevant when every unjudged window is true."""
    return outcomes.translate(_MAY_BE_TRUE)


def bounds(metric: Metric, outcomes: bytes) -> Bounds:
    """A metric of one ranking."""
    return Bounds(metric(surely_relevant(outcomes)), metric(possibly_relevant(outcomes)))
