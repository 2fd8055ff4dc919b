"""A program that shows still pictures as the console shows clips; keys change what is shown.

Run: ``python -m support.picture_app [how pictures are drawn]``.
"""

from __future__ import annotations

import sys
from typing import ClassVar

import numpy as np
from textual.app import App
from textual.screen import ModalScreen
from textual.widgets import Static

from accuracy_tui.player.clip_player import Picture
from accuracy_tui.ui.picture_view import PictureView

RED, GREEN = (206, 49, 33), (49, 165, 66)
WIDE, NARROW = (16, 120), (40, 12)
"""Heights and widths in the pixels of quadrant blocks."""


class Dialog(ModalScreen[None]):
    BINDINGS: ClassVar = [("escape", "dismiss", ""), ("n", "app.show('narrow')", "")]
    DEFAULT_CSS = "Dialog { align: center middle; } Dialog Static { width: 20; height: 5; }"

    def compose(self):
        yield Static("a dialog")


class PictureApp(App[None]):
    BINDINGS: ClassVar = [
        ("w", "show('wide')", ""),
        ("n", "show('narrow')", ""),
        ("t", "text", ""),
        ("d", "dialog", ""),
        ("ctrl+z", "suspend_process", ""),
        ("m", "move", ""),
    ]

    def __init__(self, pictures: str) -> None:
        super().__init__()
        self._pictures = pictures
        self._picture: Picture | None = None
        self._moves = 0

    def compose(self):
        yield PictureView(pictures=self._pictures, fps=50.0)

    def on_mount(self) -> None:
        self._view.attach(self)

    @property
    def _view(self) -> PictureView:
        return self.screen_stack[0].query_one(PictureView)

    def picture(self):
        return self._picture

    def resize(self, width: int, height: int, pixel_shape: float = 1.0) -> None:
        """Every picture has the size it has."""

    def action_show(self, which: str) -> None:
        size, colour = (WIDE, RED) if which == "wide" else (NARROW, GREEN)
        self._picture = Picture(np.full((*size, 3), colour, np.uint8), 0.0)
        self._view.picture_ready()

    def action_text(self) -> None:
        self._view.show_text("no picture")

    def action_dialog(self) -> None:
        self.push_screen(Dialog())

    def action_move(self) -> None:
        """Pictures that go on changing."""
        self.set_interval(0.02, self._move)

    def _move(self) -> None:
        self._moves += 1
        pixels = np.full((40, 120, 3), self._moves * 40 % 256, np.uint8)
        self._picture = Picture(pixels, 0.0)
        self._view.picture_ready()

    def on_cursor_position(self) -> None:
        for screen in self.screen_stack:
            for view in screen.query(PictureView):
                view.cursor_reported()


if __name__ == "__main__":
    PictureApp(*sys.argv[1:] or ["quadrants"]).run()
