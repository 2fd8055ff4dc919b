"""A window as the judgments name it: ``124.0-151.0``, with several footages ``name@124.0-151.0``."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from functools import lru_cache

from sentrysearch.errors import BadInput
from sentrysearch.types import Window

# Nine digits of seconds are thirty years; more would only be a mistake that float rounding blurs.
_KEY = re.compile(r"(?:(.*)@)?([0-9]{1,9})(?:\.([0-9]))?-([0-9]{1,9})(?:\.([0-9]))?\Z", re.DOTALL)
_CANONICAL = re.compile(
    r"^(?:(.*)@)?(0|[1-9][0-9]{0,8})\.([0-9])-(0|[1-9][0-9]{0,8})\.([0-9])$", re.MULTILINE
)
_LIMIT = 10**10 - 1


def window_key(window: Window, single: bool) -> str:
    """The key of a window, its times rounded to 0.1 s; without the footage's name when ``single``.

    Raises:
        BadInput: times that are negative, not finite or, once rounded, not in order; or a nameless footage.
    """
    start, end = tenths(window.start), tenths(window.end)
    if end <= start:
        raise BadInput(f"window {window.start}-{window.end} does not end after it starts")
    times = times_key(start, end)
    if single:
        return times
    if not window.footage:
        raise BadInput(f"window {times} has no footage name")
    return f"{window.footage}@{times}"


def times_key(start: int, end: int) -> str:
    """``124.0-151.0`` from tenths of a second."""
    return f"{start // 10}.{start % 10}-{end // 10}.{end % 10}"


def tenths(seconds: float) -> int:
    """Seconds in whole tenths. Raises BadInput when negative, not finite or absurdly large."""
    if not math.isfinite(seconds) or not 0 <= seconds * 10 < _LIMIT:
        raise BadInput(f"{seconds} is no time in footage")
    return round(seconds * 10)


def parse_window_key(key: str) -> tuple[str | None, float, float]:
    """A key's footage name (None when it has none), start and end; the name may itself hold ``@``.

    Raises:
        BadInput: says why the key can't be a window's.
    """
    name, start, end = split_window_key(key)
    return name, start / 10, end / 10


@lru_cache(maxsize=1 << 16)  # every query is judged on the same windows
def split_window_key(key: str) -> tuple[str | None, int, int]:
    """``parse_window_key`` in tenths of a second."""
    match = _KEY.match(key)
    if match is None:
        raise BadInput(
            f'window key "{key}" is not start-end in seconds with at most one decimal, like "124.0-151.0"'
        )
    name, start_seconds, start_tenth, end_seconds, end_tenth = match.groups()
    start = int(start_seconds + (start_tenth or "0"))
    end = int(end_seconds + (end_tenth or "0"))
    if name == "":
        raise BadInput(f'window key "{key}" has no footage name before the @')
    if end <= start:
        raise BadInput(f'window key "{key}" does not end after it starts')
    return name, start, end


def canonical_names(keys: Collection[str]) -> set[str] | None:
    """The footage names ("" for none) in many keys, if each is just as ``window_key`` writes it; else None.

    One search over all of them is five times as fast as parsing each.
    """
    found = _CANONICAL.findall("\n".join(keys))
    if len(found) != len(keys):
        return None
    if any(int(start + tenth) >= int(end + last) for _, start, tenth, end, last in found):
        return None
    return {name for name, *_ in found}
