"""What a verdict is to metrics, grid and table, which take ``Callable[[str, Window], Verdict]``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a window shows its query, as far as is known."""

    value: bool | None
    """None while unjudged."""
    implied: bool = False
    """Follows from another window's verdict and is not on file; False when ``value`` is None."""


UNJUDGED = Verdict(None)
