"""Stills of a window, one below the other, beside the moving picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from accuracy_tui.judging import clock

if TYPE_CHECKING:
    from accuracy_tui.player.abilities import Abilities
    from accuracy_tui.player.clip_player import Clip, Picture, PictureSource


class Filmstrip(Widget):
    """Shows pictures with their times; drawn by Textual, as they don't move.

    Args:
        abilities: the terminal's; None for true colours.
    """

    DEFAULT_CSS = """
    Filmstrip { width: 25%; min-width: 16; max-width: 36; height: 1fr; }
    """

    def __init__(self, abilities: Abilities | None = None) -> None:
        super().__init__()
        self._colours = abilities.colours if abilities is not None else "truecolor"
        self._halves = abilities is not None and not abilities.quadrants
        self._cell = abilities.cell if abilities is not None else (8, 16)
        self._lines: list[Strip] = []

    def ask(self, source: PictureSource, clip: Clip, count: int) -> None:
        """Asks for as many stills as there is room for, ``count`` at most."""
        width = max(8, self.size.width or 30) - 2
        room = max(6, self.size.height or 20)
        across = 1 if self._halves else 2
        shape = self._cell[0] / across / (self._cell[1] / 2)
        rows = max(
            2, round(width * self._cell[0] * clip.footage.height / max(1, clip.footage.width) / self._cell[1])
        )
        fit = max(1, min(count, room // (rows + 1)))
        source.filmstrip(clip, fit, width * across, min(rows, room - 1) * 2, shape)

    def show(self, pictures: Sequence[Picture]) -> None:
        """Shows these, in order."""
        from accuracy_tui.player.blocks import halves, padded, quadrants
        from accuracy_tui.ui.picture_strips import picture_strip

        draw = halves if self._halves else quadrants
        self._lines = []
        for picture in pictures:
            height, width = picture.pixels.shape[:2]
            cells = draw(padded(picture.pixels, width + width % 2, height + height % 2), self._colours)
            margin = Strip([Segment(" ")], 1)
            for row in range(len(cells.glyph)):
                self._lines.append(Strip.join([margin, picture_strip(cells, row, self._colours)]))
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
