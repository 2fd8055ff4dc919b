"""What all ways of showing clips in the console have in common: told what to show, they say what happened.

A player never keeps its caller waiting: ``show`` returns at once, and what comes of it is an event. Events
come on threads of the player's own; whoever takes them hands them to the thread that draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from accuracy_tui.player import PlayerError
from sentrysearch.text import printable
from sentrysearch.types import Footage, Window

if TYPE_CHECKING:  # a console that shows no pictures needs no numpy
    import numpy as np
    from numpy.typing import NDArray

AROUND_SECONDS = 5.0
"""How much is seen before and after a window on request."""

SPEEDS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
KEYS = "ynusq"
"""Those that a player's own window or page takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """One showing of a window; two of the same window are two clips."""

    footage: Footage
    window: Window
    query: str

    @property
    def caption(self) -> str:
        """The query as it may be shown with the picture."""
        return printable(self.query)


def around(footage: Footage, window: Window) -> Window:
    """The window with ``AROUND_SECONDS`` before and after it, as far as the footage goes."""
    end = min(window.end + AROUND_SECONDS, max(window.end, footage.duration))
    return Window(window.footage, max(0.0, window.start - AROUND_SECONDS), end)


class Control(Enum):
    """What the one who judges may do to the clip."""

    PAUSE = "pause"
    """Or go on."""
    FASTER = "faster"
    SLOWER = "slower"
    NORMAL_SPEED = "normal speed"
    STEP = "step"
    """One picture on, paused."""
    STEP_BACK = "step back"
    FORWARD = "forward"
    """One second on, within the loop."""
    BACK = "back"
    RESTART = "restart"
    AROUND = "around"
    """Loop with some seconds before and after the window, or without them again."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A clip's first picture is up."""

    clip: Clip


@dataclass(frozen=True, slots=True)
class Position:
    """Where the loop is; at most some ten a second."""

    clip: Clip
    seconds: float
    paused: bool
    speed: float
    around: bool


@dataclass(frozen=True, slots=True)
class ShowFailed:
    """A clip could not be shown; the next one may be."""

    clip: Clip
    error: PlayerError


@dataclass(frozen=True, slots=True)
class KeyPressed:
    """One of ``KEYS``, pressed in the player's own window or page while it showed ``clip``."""

    clip: Clip
    key: str


@dataclass(frozen=True, slots=True)
class PictureReady:
    """A ``PictureSource`` has a new picture."""

    clip: Clip


@dataclass(frozen=True, slots=True)
class FilmstripReady:
    """The stills asked for, in time order."""

    clip: Clip
    pictures: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class PlayerLost:
    """The player is gone for good: no display any more, or what shows the clips crashes again and again."""

    error: PlayerError


PlayerEvent: TypeAlias = (
    Shown | Position | ShowFailed | KeyPressed | PictureReady | FilmstripReady | PlayerLost
)
OnEvent: TypeAlias = Callable[[PlayerEvent], None]


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """One picture of a clip."""

    pixels: NDArray[np.uint8]
    """(height, width, 3), RGB."""
    time: float
    """Seconds from the footage's start."""


class ClipPlayer(Protocol):
    """Shows one clip at a time, looping, until the next one."""

    @property
    def route(self) -> str:
        """``window``, ``inline``, ``terminal`` or ``browser``."""
        ...

    @property
    def line(self) -> str:
        """What is used, for the screen."""
        ...

    def show(self, clip: Clip) -> None:
        """Begins to show a clip; ``Shown`` or ``ShowFailed`` follows."""
        ...

    def prefetch(self, clip: Clip) -> None:
        """Makes ready what is likely to be shown next."""
        ...

    def control(self, control: Control) -> None:
        """Does something to the clip being shown."""
        ...

    def hide(self) -> None:
        """Takes the picture away; the player stays ready."""
        ...

    def close(self) -> None:
        """Ends within half a second; never fails, may be called twice."""
        ...


class PictureSource(ClipPlayer, Protocol):
    """A player whose pictures are drawn by the console."""

    def picture(self) -> Picture | None:
        """The newest picture; None before the first."""
        ...

    def resize(self, width: int, height: int, pixel_shape: float = 1.0) -> None:
        """How many pixels a picture may have each way, and how wide one is shown over its height."""
        ...

    def filmstrip(self, clip: Clip, count: int, width: int, height: int, pixel_shape: float = 1.0) -> None:
        """Asks for so many stills of the window, evenly apart; ``FilmstripReady`` follows."""
        ...


def next_speed(speed: float, control: Control) -> float:
    """The speed after FASTER, SLOWER or NORMAL_SPEED."""
    if control is Control.NORMAL_SPEED:
        return 1.0
    nearest = min(range(len(SPEEDS)), key=lambda index: abs(SPEEDS[index] - speed))
    step = 1 if control is Control.FASTER else -1
    return SPEEDS[max(0, min(len(SPEEDS) - 1, nearest + step))]
