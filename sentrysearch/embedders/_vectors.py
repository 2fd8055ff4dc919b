"""The one place where what a model returned becomes vectors that can be searched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sentrysearch.errors import EmbedderFailed
from sentrysearch.types import Window


def window_label(window: Window) -> str:
    """How a window is named in an error: ``window clip.mp4@0.0-30.0``."""
    return f"window {window.footage}@{window.start:.1f}-{window.end:.1f}"


def query_label(text: str) -> str:
    """How a query is named in an error."""
    return f"query {text!r}"


def unit_vectors(raw: object, labels: Sequence[str], dimension: int) -> NDArray[np.float32]:
    """Checks what a model returned and scales each vector to length 1.

    Args:
        raw: one vector for each label: an array of shape (len(labels), dimension), or any sequence of
            sequences of numbers as read from a service's JSON. Never trusted.
        labels: what each vector stands for (``window_label``, ``query_label``), for the error.
        dimension: how long each vector must be.

    Returns:
        Shape (len(labels), dimension), float32, every row finite and of length 1.

    Raises:
        EmbedderFailed: names the first window or query whose vector is missing, empty, of another length,
            not of numbers, not finite, or zero.
    """
    rows = list(raw) if isinstance(raw, Sequence | np.ndarray) and not isinstance(raw, str | bytes) else []
    if len(rows) != len(labels):
        named = labels[len(rows)] if len(rows) < len(labels) else labels[-1] if labels else "nothing"
        raise EmbedderFailed(f"{len(rows)} vectors for {len(labels)} inputs", where=named)
    if not rows:
        return np.zeros((0, dimension), np.float32)
    return np.stack([_unit(row, label, dimension) for row, label in zip(rows, labels, strict=True)])


def _unit(row: object, label: str, dimension: int) -> NDArray[np.float32]:
    # The model's output is described, never quoted: it may be anything, and of any length.
    try:
        vector = np.asarray(row)
    except (ValueError, TypeError, OverflowError):  # ragged, or an object that refuses
        raise EmbedderFailed("the vector is not a list of numbers", where=label) from None
    if vector.size == 0:
        raise EmbedderFailed("the vector is empty", where=label)
    if vector.ndim != 1 or vector.dtype.kind not in "fiu":
        raise EmbedderFailed("the vector is not a list of numbers", where=label)
    if len(vector) != dimension:
        raise EmbedderFailed(f"the vector has {len(vector)} numbers, not {dimension}", where=label)
    wide = vector.astype(np.float64)  # a float32 square overflows from 1.8e19 on
    if not np.isfinite(wide).all():
        raise EmbedderFailed("the vector is not finite", where=label)
    largest = np.abs(wide).max()
    if largest == 0:
        raise EmbedderFailed("the vector is zero", where=label)
    wide /= largest
    return np.asarray(wide / np.linalg.norm(wide), dtype=np.float32)
