"""Pictures in cells as Textual draws them."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from accuracy_tui.player.blocks import QUADRANTS, Cells
from accuracy_tui.player.palette import rgb


def picture_strip(cells: Cells, row: int, colours: str) -> Strip:
    """One row of a picture."""
    segments = [
        Segment(QUADRANTS[glyph], _style(front, back, colours))
        for glyph, front, back in zip(
            cells.glyph[row].tolist(),
            cells.foreground[row].tolist(),
            cells.background[row].tolist(),
            strict=True,
        )
    ]
    return Strip(segments, len(segments))


@lru_cache(1 << 14)
def _style(front: int, back: int, colours: str) -> Style:
    return Style(color=_colour(front, colours), bgcolor=_colour(back, colours))


def _colour(code: int, colours: str) -> Color | None:
    return None if code < 0 else Color.from_rgb(*rgb(code, colours))
