"""What a model returned, and what becomes of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sentrysearch.embedders._vectors import query_label, unit_vectors, window_label
from sentrysearch.errors import EmbedderFailed
from sentrysearch.types import Window


def test_vectors_have_length_one() -> None:
    vectors = unit_vectors([[3.0, 4.0], [0, -2]], ["a", "b"], 2)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0.0, -1.0]], atol=1e-7)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_no_scale_is_too_small_or_large(scale: float) -> None:
    np.testing.assert_allclose(unit_vectors([[3 * scale, 4 * scale]], ["a"], 2), [[0.6, 0.8]], atol=1e-7)


@given(arrays(np.float32, 5, elements=st.floats(-(2.0**126), 2.0**126, width=32)))
def test_the_direction_stays(row: np.ndarray) -> None:
    if not row.any():
        with pytest.raises(EmbedderFailed, match="zero"):
            unit_vectors([row], ["a"], 5)
        return
    length = math.hypot(*row.tolist())
    np.testing.assert_allclose(unit_vectors([row], ["a"], 5)[0], row.astype(float) / length, atol=1e-6)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([], "empty"),
        (None, "not a list of numbers"),
        ("[1, 2, 3]", "not a list of numbers"),
        (5.0, "not a list of numbers"),
        ([[1.0, 2.0, 3.0]], "not a list of numbers"),
        ([1.0, [2.0], 3.0], "not a list of numbers"),
        ([1.0, "\x1b[2J", 3.0], "not a list of numbers"),
        ([1.0, None, 3.0], "not a list of numbers"),
        ([True, False, True], "not a list of numbers"),
        ([1.0, 2.0], "has 2 numbers, not 3"),
        ([1.0, 2.0, 3.0, 4.0], "has 4 numbers, not 3"),
        ([1.0, float("nan"), 3.0], "not finite"),
        ([1.0, float("inf"), 3.0], "not finite"),
        ([0.0, 0.0, 0.0], "zero"),
    ],
)
def test_a_vector_that_cannot_be_used_names_its_window(row: object, reason: str) -> None:
    labels = ["window a.mp4@0.0-30.0", "window a.mp4@25.0-55.0"]
    with pytest.raises(EmbedderFailed, match=reason) as caught:
        unit_vectors([[1.0, 2.0, 3.0], row], labels, 3)
    assert str(caught.value).startswith("window a.mp4@25.0-55.0: ")
    assert "\x1b" not in str(caught.value)
    assert "2J" not in str(caught.value), "what the model wrote is not repeated"


def test_vectors_that_are_missing_name_the_first_window_without_one() -> None:
    with pytest.raises(EmbedderFailed, match=r"^b: 1 vectors for 3 inputs"):
        unit_vectors([[1.0]], ["a", "b", "c"], 1)
    with pytest.raises(EmbedderFailed, match=r"^a: 2 vectors for 1 inputs"):
        unit_vectors([[1.0], [1.0]], ["a"], 1)
    with pytest.raises(EmbedderFailed, match=r"^a: 0 vectors for 1 inputs"):
        unit_vectors(None, ["a"], 1)


def test_no_inputs_give_no_vectors() -> None:
    assert unit_vectors([], [], 7).shape == (0, 7)


def test_labels() -> None:
    assert window_label(Window("drive.mp4", 30, 60.5)) == "window drive.mp4@30.0-60.5"
    assert query_label("red\ncar") == "query 'red\\ncar'"
