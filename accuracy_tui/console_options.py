"""What the command line tells the console."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """Each with its default."""

    player: str | None = None
    """The route that clips are shown by; None to choose by what is here."""
    blind: bool = False
    """Judge without seeing models and ranks."""
    mouse: bool = True
    pictures: str = "auto"
    """How clips are drawn in the terminal: quadrants, halves, kitty, sixel or auto."""
    fps: float = 8.0
    """Pictures a second at most, drawn in the terminal."""
    start: tuple[str, ...] = ()
    """Models whose passes begin at once."""
