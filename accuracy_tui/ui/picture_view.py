"""The moving picture: drawn past Textual, straight to the terminal, and never faster than it can take it.

Each picture ends with the question where the cursor is. A terminal answers it after it has drawn what came
before, so unanswered questions say how far behind a slow line is: with two of them open nothing more is sent,
and keys are answered at once instead of after seconds of pictures.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual.content import Content
from textual.geometry import Region
from textual.timer import Timer
from textual.widget import Widget

from accuracy_tui.ui.safe_text import plain

if TYPE_CHECKING:
    from accuracy_tui.player.abilities import Abilities
    from accuracy_tui.player.blocks import Cells
    from accuracy_tui.player.clip_player import Picture, PictureSource

MOST_UNANSWERED = 2
SILENT_SECONDS = 1.0
"""A terminal that doesn't answer in this time counts as having taken the picture."""

BYTES_PER_SECOND = 900_000
_CURSOR_WHERE = "\x1b[6n"


class PictureView(Widget):
    """Draws the pictures of a source, or a text where there is none.

    Args:
        pictures: quadrants, halves, kitty, sixel, or auto for the best that the terminal has.
        fps: pictures a second at most.
        abilities: the terminal's; None for blocks in true colours.
    """

    DEFAULT_CSS = """
    PictureView { content-align: center middle; text-align: center; color: $text-muted; }
    """

    def __init__(
        self, *, pictures: str = "auto", fps: float = 8.0, abilities: Abilities | None = None
    ) -> None:
        super().__init__()
        self._mode = _mode(pictures, abilities)
        self._colours = abilities.colours if abilities is not None else "truecolor"
        self._cell = abilities.cell if abilities is not None else (8, 16)
        self._interval = 1 / fps
        self._source: PictureSource | None = None
        self._text: str | None = ""
        self._before: Cells | None = None
        self._drawn: Picture | None = None
        self._asked: list[float] = []
        self._not_before = 0.0
        self._later: Timer | None = None
        """What draws the picture that has to wait."""
        self.bytes_written = 0
        self.pictures_drawn = 0

    def attach(self, source: PictureSource | None) -> None:
        """Takes pictures from this source from now on; None for none."""
        self._source = source
        self._forget()
        self._resize_source()

    def show_text(self, text: str) -> None:
        """Shows a text, or "" for the pictures."""
        if text:
            self._text = text
            self._wipe()
            self.refresh()
        elif self._text:
            self._text = None
            self._forget()
            self.refresh()
            self.call_after_refresh(self.draw)
        else:
            self._text = None

    def picture_ready(self) -> None:
        """There is a new picture; it is drawn as soon as the line and the clock allow."""
        self._text = None
        self.draw()

    @property
    def behind(self) -> bool:
        """Whether the terminal has not drawn yet what was sent."""
        return len(self._asked) >= MOST_UNANSWERED

    def cursor_reported(self) -> None:
        """The terminal answered: it has drawn one more picture."""
        if self._asked:
            self._asked.pop(0)
        if self._later is not None:  # which reckoned with this answer coming later
            self._waited()

    def render(self) -> Content:
        return plain(self._text or "")

    def on_resize(self) -> None:
        self._resize_source()
        self._forget()
        self.call_after_refresh(self.draw)

    def on_show(self) -> None:
        self._forget()

    def on_unmount(self) -> None:
        self._wipe()

    def redraw(self) -> None:
        """Something else was drawn over it."""
        self._forget()
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Draws the newest picture, unless that has to wait."""
        if self._text or self._source is None or not self.is_attached or self.app.screen is not self.screen:
            return
        picture = self._source.picture()
        if picture is None or picture is self._drawn:
            return
        wait = self._wait()
        if wait > 0:
            if self._later is None:
                self._later = self.set_timer(wait, self._waited)
            return
        self._write(picture)

    def _waited(self) -> None:
        if self._later is not None:
            self._later.stop()
            self._later = None
        self.draw()

    def _wait(self) -> float:
        """Seconds until the next picture may be sent."""
        now = time.monotonic()
        while self._asked and now - self._asked[0] > SILENT_SECONDS:
            self._asked.pop(0)
        if len(self._asked) >= MOST_UNANSWERED:
            return max(0.01, SILENT_SECONDS - (now - self._asked[0]))
        return self._not_before - now

    def _write(self, picture: Picture) -> None:
        region = self.content_region
        if not region.width or not region.height:
            return
        text = self._encoded(picture, region)
        driver = self.app._driver
        self._drawn = picture
        if driver is None or not text:  # nothing in it differs from what is there
            return
        self.pictures_drawn += 1
        now = time.monotonic()
        data = text + _CURSOR_WHERE
        size = len(data.encode())
        self.bytes_written += size
        self._asked.append(now)
        self._not_before = now + max(self._interval, size / BYTES_PER_SECOND)
        driver.write(data)
        driver.flush()

    def _encoded(self, picture: Picture, region: Region) -> str:
        from accuracy_tui.player import blocks, pictures

        height, width = picture.pixels.shape[:2]
        across, down = self._pixels_per_cell
        columns, rows = min(region.width, -(-width // across)), min(region.height, -(-height // down))
        x = region.x + (region.width - columns) // 2
        y = region.y + (region.height - rows) // 2
        if self._mode == "kitty":
            return f"\x1b[{y + 1};{x + 1}H" + pictures.kitty(picture.pixels, columns, rows)
        if self._mode == "sixel":
            return f"\x1b[{y + 1};{x + 1}H" + pictures.sixel(picture.pixels[: region.height * self._cell[1]])
        draw = blocks.halves if self._mode == "halves" else blocks.quadrants
        cells = draw(picture.pixels[: rows * down, : columns * across], self._colours)
        text = blocks.encode(cells, self._before, y, x, self._colours)
        self._before = cells
        return text

    @property
    def _pixels_per_cell(self) -> tuple[int, int]:
        if self._mode in ("kitty", "sixel"):
            return self._cell
        return (1, 2) if self._mode == "halves" else (2, 2)

    def _resize_source(self) -> None:
        if self._source is None or not self.size.width:
            return
        across, down = self._pixels_per_cell
        width, height = self.size.width * across, self.size.height * down
        if self._mode in ("kitty", "sixel"):
            # As many pixels as the line carries at this rate; the terminal scales kitty pictures up.
            most = BYTES_PER_SECOND * self._interval / 1.5
            scale = min(1.0, (most / max(1, width * height)) ** 0.5)
            width, height = int(width * scale), int(height * scale)
        self._source.resize(width, height)

    def _forget(self) -> None:
        """What is on the terminal isn't known any more."""
        self._before = None
        self._drawn = None

    def _wipe(self) -> None:
        self._forget()
        if self._mode == "kitty" and self.app._driver is not None and self.pictures_drawn:
            from accuracy_tui.player.pictures import kitty_gone

            self.app._driver.write(kitty_gone())


def _mode(pictures: str, abilities: Abilities | None) -> str:
    if pictures != "auto":
        return pictures
    if abilities is not None and abilities.kitty:
        return "kitty"
    return "sixel" if abilities is not None and abilities.sixel else "quadrants"
