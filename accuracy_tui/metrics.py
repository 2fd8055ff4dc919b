"""The metrics, one function each, over many rankings at once.

A ranking is the outcomes of its ranks (``UNJUDGED``, ``TRUE`` …) along the last axis of an array of any
shape; queries, models and whatever else lie along the others. A metric takes what is relevant (bool, same
shape) and reduces that last axis. ``bounds`` evaluates a metric twice, with every unjudged hit false and
with every one true: within one query a window has one rank, so both can happen, and every metric here only
rises when a hit turns true, so nothing lies outside.

Adding a metric is adding a function here, and a line in ``accuracy_tui.summary`` to give it a column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Outcomes: TypeAlias = NDArray[np.uint8]
Relevant: TypeAlias = NDArray[np.bool_]
Values: TypeAlias = NDArray[np.float64]
Metric: TypeAlias = Callable[[Relevant], Values]

NO_HIT, UNJUDGED, FALSE, TRUE, IMPLIED_FALSE, IMPLIED_TRUE = range(6)
"""What is known of one rank: nothing came back, or its window's verdict."""

_IS_TRUE = np.array([False, False, False, True, False, True])
_MAY_BE_TRUE = np.array([False, True, False, True, False, True])
_IS_JUDGED = np.array([False, False, True, True, True, True])


class Bounds(NamedTuple):
    """A value with every unjudged window false, and with every one true."""

    low: float
    high: float

    @property
    def settled(self) -> bool:
        """Whether no further verdict can change the value (by more than rounding does)."""
        return self.high - self.low < 1e-12


def precision_at(relevant: Relevant, k: int) -> Values:
    """P@k: the number of true windows in the first k, divided by k also when fewer came back.

    trec_eval's rule (m_P.c: ``P_5`` divides by 5 whatever the run's length).
    """
    values: Values = np.add.reduce(relevant[..., :k], axis=-1, dtype=np.uint16) / k
    return values


def reciprocal_rank(relevant: Relevant) -> Values:
    """RR: 1 / rank of the first true window, 0 where there is none; its mean over queries is MRR.

    Voorhees, "The TREC-8 Question Answering Track Report" (1999); trec_eval's ``recip_rank``.
    """
    ranks = np.arange(1, relevant.shape[-1] + 1, dtype=np.float64)
    values: Values = np.maximum.reduce(relevant / ranks, axis=-1, initial=0.0)  # the first is the largest
    return values


def judged_at(outcomes: Outcomes, k: int) -> Values:
    """Judged@k: the share of the first k hits that have a verdict, implied ones included; NaN without hits.

    Divides by the hits there are, as ir_measures' Judged does, so that 1 means nothing is left to judge.
    """
    first = outcomes[..., :k]
    hits = np.add.reduce(first != NO_HIT, axis=-1, dtype=np.uint16)
    judged = np.add.reduce(np.take(_IS_JUDGED, first), axis=-1, dtype=np.uint16)
    return np.divide(judged, hits, out=np.full(hits.shape, np.nan), where=hits > 0)


def surely_relevant(outcomes: Outcomes) -> Relevant:
    """What is relevant when every unjudged window is false."""
    return np.take(_IS_TRUE, outcomes)


def possibly_relevant(outcomes: Outcomes) -> Relevant:
    """What is relevant when every unjudged window is true."""
    return np.take(_MAY_BE_TRUE, outcomes)


def bounds(metric: Metric, outcomes: Outcomes) -> Bounds:
    """A metric's mean over all rankings in ``outcomes``, which must hold at least one."""
    return Bounds(
        float(metric(surely_relevant(outcomes)).mean()), float(metric(possibly_relevant(outcomes)).mean())
    )
