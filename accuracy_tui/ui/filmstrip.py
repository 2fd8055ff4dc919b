"""Stills of a window, one below the other, beside the moving picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from accuracy_tui.judging import clock

if TYPE_CHECKING:
    from accuracy_tui.player.blocks import Cells
    from accuracy_tui.player.clip_player import Clip, Picture, PictureSource


class Filmstrip(Widget):
    """Shows pictures with their times; drawn by Textual, as they don't move."""

    DEFAULT_CSS = """
    Filmstrip { width: 25%; min-width: 16; max-width: 36; height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Strip] = []

    def ask(self, source: PictureSource, clip: Clip, count: int) -> None:
        """Asks for as many stills as there is room for, ``count`` at most."""
        width = max(8, self.size.width or 30) - 2
        room = max(6, self.size.height or 20)
        shape = clip.footage.height / max(1, clip.footage.width)
        rows = max(2, round(width * shape / 2))
        fit = max(1, min(count, room // (rows + 1)))
        source.filmstrip(clip, fit, width * 2, rows * 2)

    def show(self, pictures: Sequence[Picture]) -> None:
        """Shows these, in order."""
        from accuracy_tui.player.blocks import quadrants

        self._lines = []
        for picture in pictures:
            self._lines += _strips(quadrants(picture.pixels))
            self._lines.append(Strip([Segment(f" {clock(picture.time)}")]))
        self.refresh()

    def clear(self) -> None:
        """Shows nothing, and makes room."""
        self._lines = []
        self.remove_class("open")

    def render_line(self, y: int) -> Strip:
        if y < len(self._lines):
            return self._lines[y].adjust_cell_length(self.size.width)
        return Strip.blank(self.size.width)


def _strips(cells: Cells) -> list[Strip]:
    from accuracy_tui.player.blocks import QUADRANTS

    strips = []
    for glyphs, fronts, backs in zip(cells.glyph, cells.foreground, cells.background, strict=True):
        segments = [Segment(" ")]
        for glyph, front, back in zip(glyphs.tolist(), fronts.tolist(), backs.tolist(), strict=True):
            style = Style(color=_colour(front), bgcolor=_colour(back))
            segments.append(Segment(QUADRANTS[glyph], style))
        strips.append(Strip(segments))
    return strips


def _colour(code: int) -> Color | None:
    return None if code < 0 else Color.from_rgb(code >> 16, code >> 8 & 255, code & 255)
