"""What a verdict is to metrics, grid and table, which take ``Callable[[str, Window], Verdict]``."""

from __future__ import annotations

from dataclasses import dataclass

from sentrysearch.errors import SentrySearchError


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a window shows its query, as far as is known."""

    value: bool | None
    """None while unjudged."""
    implied: bool = False
    """Follows from another window's verdict and is not on file; False when ``value`` is None."""


UNJUDGED = Verdict(None)


class JudgmentsError(SentrySearchError):
    """A verdict could not be recorded, or the file not be written; what was acknowledged is safe."""
