"""The moving picture: drawn past Textual, straight to the terminal, and never faster than it can take it.

Only what changes from picture to picture is written, and the pace is kept by ``player.pacing``. When Textual
itself has to draw where the picture is (a dialog has closed, the terminal was another's), it draws the same.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from textual.app import App
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from accuracy_tui.player import pacing
from accuracy_tui.player.pacing import Pacing
from accuracy_tui.ui.safe_text import plain

if TYPE_CHECKING:
    from accuracy_tui.player.abilities import Abilities
    from accuracy_tui.player.blocks import Cells
    from accuracy_tui.player.clip_player import Picture, PictureSource

_BYTES_PER_PIXEL = {"kitty": 0.9, "sixel": 0.75}
"""Of a street, about."""


class Place(NamedTuple):
    """Where a picture is within the view, in cells."""

    x: int
    y: int
    columns: int
    rows: int


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
        self._fps = fps
        self._pacing = Pacing(fps)
        self._source: PictureSource | None = None
        self._text: str | None = ""
        self._cells: Cells | None = None
        """What is on the terminal, in blocks; None where that isn't known."""
        self._place: Place | None = None
        self._drawn: Picture | None = None
        self._pixels_shown = False
        self._covered = False
        """Whether a dialog is in front."""
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
            self._begin_anew()
        else:
            self._text = None

    def picture_ready(self) -> None:
        """There is a new picture; it is drawn as soon as the line and the clock allow."""
        if self._text:
            self.show_text("")
        self._text = None
        self.draw()

    @property
    def unanswered(self) -> int:
        """Pictures that the terminal has not said to have drawn."""
        return self._pacing.unanswered

    @property
    def behind(self) -> bool:
        """Whether the terminal has not drawn yet what was sent."""
        return self._pacing.behind

    def cursor_reported(self) -> None:
        """The terminal answered: it has come to one more of the questions."""
        self._pacing.answered()
        if self._later is not None:  # which reckoned with this answer coming later
            self._waited()

    def render(self) -> Content:
        return plain(self._text or "")

    def render_lines(self, crop: Region) -> list[Strip]:
        """What Textual draws here is what was drawn past it, or nothing while a dialog is in front."""
        if self._text:
            return super().render_lines(crop)
        was_covered, self._covered = self._covered, self.app.screen is not self.screen
        if self._covered:
            self._take_pixels_away()
        elif self._mode in ("kitty", "sixel"):  # Textual's blanks go over it
            self._drawn = None
            self.call_after_refresh(self.draw)
        elif was_covered:  # a newer one may have come meanwhile
            self.call_after_refresh(self.draw)
        return [self._line(y).crop(crop.x, crop.right) for y in crop.line_range]

    def _line(self, y: int) -> Strip:
        style = self.visual_style.rich_style
        place, width = self._place, self.size.width
        if self._covered or self._cells is None or place is None or not place.y <= y < place.y + place.rows:
            return Strip.blank(width, style)
        from accuracy_tui.ui.picture_strips import picture_strip

        return Strip.join(
            [
                Strip.blank(place.x, style),
                picture_strip(self._cells, y - place.y, self._colours),
                Strip.blank(max(0, width - place.x - place.columns), style),
            ]
        )

    def on_mount(self) -> None:
        self.call_after_refresh(self._prepare)
        self.app.app_suspend_signal.subscribe(self, self._before_suspending)
        self.app.app_resume_signal.subscribe(self, self._after_suspending)

    def _prepare(self) -> None:
        """What takes its time is made while the player opens."""
        from accuracy_tui.player import blocks

        blocks.prepare(self._colours)

    def on_resize(self) -> None:
        self._resize_source()
        self._forget()
        self.call_after_refresh(self.draw)

    async def on_unmount(self) -> None:
        self._take_pixels_away()
        if self.app._exit:
            await asyncio.sleep(self._pacing.farewell())

    def _before_suspending(self, _app: App[object]) -> None:
        self._take_pixels_away()
        time.sleep(self._pacing.farewell())  # the answers are read meanwhile, on the driver's thread

    def _after_suspending(self, _app: App[object]) -> None:
        self._pacing.forget()
        self._drawn = None

    def draw(self) -> None:
        """Draws the newest picture, unless that has to wait."""
        if self._text or self._source is None or not self.is_attached or self.app.screen is not self.screen:
            return
        picture = self._source.picture()
        if picture is None or picture is self._drawn:
            return
        wait = self._pacing.wait()
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

    def _write(self, picture: Picture) -> None:
        region = self.region
        if not region.width or not region.height:
            return
        place = self._place_of(picture)
        if self._place is not None and place != self._place:
            # Something of the one before would be left beside it.
            self._begin_anew()
            self._place = place
            return
        self._place = place
        text = self._encoded(picture, region.x + place.x, region.y + place.y)
        driver = self.app._driver
        self._drawn = picture
        if driver is None or not text:  # nothing in it differs from what is there
            return
        self.pictures_drawn += 1
        data = pacing.with_questions(text)
        size = len(data.encode())
        self.bytes_written += size
        self._pacing.sent(size)
        driver.write(data)
        driver.flush()

    def _place_of(self, picture: Picture) -> Place:
        """In the middle; kitty's pictures are made as large as the view by the terminal."""
        height, width = picture.pixels.shape[:2]
        across, down = self._pixels_per_cell
        scale = 1.0
        if self._mode == "kitty":
            scale = min(self.size.width * across / width, self.size.height * down / height)
        columns = max(1, min(self.size.width, -(-round(width * scale) // across)))
        rows = max(1, min(self.size.height, -(-round(height * scale) // down)))
        return Place((self.size.width - columns) // 2, (self.size.height - rows) // 2, columns, rows)

    def _encoded(self, picture: Picture, x: int, y: int) -> str:
        """The picture for the terminal, from this cell on."""
        from accuracy_tui.player import blocks, pictures

        assert self._place is not None
        across, down = self._pixels_per_cell
        columns, rows = self._place.columns, self._place.rows
        if self._mode == "kitty":
            self._pixels_shown = True
            return f"\x1b[{y + 1};{x + 1}H" + pictures.kitty(picture.pixels, columns, rows)
        pixels = picture.pixels[: rows * down, : columns * across]
        if self._mode == "sixel":
            self._pixels_shown = True
            return f"\x1b[{y + 1};{x + 1}H" + pictures.sixel(pixels)
        pixels = blocks.padded(pixels, columns * across, rows * down)
        draw = blocks.halves if self._mode == "halves" else blocks.quadrants
        cells = draw(pixels, self._colours)
        text = blocks.encode(cells, self._cells, y, x, self._colours)
        self._cells = cells
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
        if self._mode in _BYTES_PER_PIXEL:
            # As many pixels as the line carries at this rate.
            most = pacing.BYTES_PER_SECOND / self._fps / _BYTES_PER_PIXEL[self._mode]
            scale = min(1.0, (most / max(1, width * height)) ** 0.5)
            width, height = int(width * scale), int(height * scale)
        shape = (self._cell[0] / across) / (self._cell[1] / down)
        self._source.resize(width, height, shape)

    def _begin_anew(self) -> None:
        """Textual clears the view, then the newest picture is drawn."""
        self._forget()
        self.refresh()
        self.call_after_refresh(self.draw)

    def _forget(self) -> None:
        """What is on the terminal isn't known any more."""
        self._cells = None
        self._place = None
        self._drawn = None

    def _wipe(self) -> None:
        self._forget()
        self._take_pixels_away()

    def _take_pixels_away(self) -> None:
        """Kitty's pictures lie over the text; sixel's are gone where something else is written."""
        shown, self._pixels_shown = self._pixels_shown, False
        if shown and self._mode == "kitty" and self.app._driver is not None:
            from accuracy_tui.player.pictures import kitty_gone

            self.app._driver.write(kitty_gone())


def _mode(pictures: str, abilities: Abilities | None) -> str:
    if pictures != "auto":
        return pictures
    if abilities is None:
        return "quadrants"
    if abilities.kitty:
        return "kitty"
    return "sixel" if abilities.sixel else "quadrants" if abilities.quadrants else "halves"
