"""Where clips can be shown here, in order of preference, and the players for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from accuracy_tui.player import PlayerError
from accuracy_tui.player.clip_player import ClipPlayer, OnEvent
from accuracy_tui.player.display import find_display
from accuracy_tui.pool import PoolItem

if TYPE_CHECKING:
    from accuracy_tui.player.abilities import Abilities

ROUTES = ("window", "inline", "terminal", "browser")

Allowed = Callable[[PoolItem], bool]


def routes_here(environ: Mapping[str, str], wanted: str | None = None) -> list[str]:
    """The routes to try, best first.

    A window is best where a local display answers. Over SSH, and wherever there is none, pictures in the
    console itself come first; a display forwarded over SSH is left for who asks for it: uncompressed video
    through it takes some 50 MB/s. So they do in tmux or screen, whose session may have been begun on a
    display that whoever is attached by now doesn't see.

    Args:
        wanted: the user's choice, which comes first.
    """
    routes = list(ROUTES)
    if not _has_display(environ):
        routes.remove("window")
    elif environ.get("TMUX") or environ.get("STY"):
        routes = ["inline", "window", *(route for route in routes if route not in ("inline", "window"))]
    if wanted is not None:
        routes = [wanted, *(route for route in routes if route != wanted)]
    return routes


def open_player(
    route: str,
    on_event: OnEvent,
    *,
    environ: Mapping[str, str],
    allowed: Allowed,
    fps: float = 8.0,
    abilities: Abilities | None = None,
) -> ClipPlayer:
    """The player of a route; may take a second, and is called on a thread that may wait.

    Args:
        on_event: called on the player's threads.
        allowed: whether an item may be shown at all; what is served to a browser is nothing else.
        fps: pictures a second at most, where the console draws them.
        abilities: what the terminal can show; None for text alone.

    Raises:
        PlayerError: it can't be used here; says what to do.
    """
    if route == "window":
        from accuracy_tui.player.mpv_clips import WindowClips

        return WindowClips(on_event, environ)
    if route == "inline":
        from accuracy_tui.player.mpv_clips import InlineClips

        return InlineClips(on_event, environ, fps=fps)
    if route == "terminal":
        from accuracy_tui.player.terminal import TerminalClips

        return TerminalClips(on_event, environ, abilities)
    if route == "browser":
        from accuracy_tui.player.browser import BrowserClips

        return BrowserClips(on_event, environ, allowed)
    raise PlayerError(f"there is no route {route!r}", hint=f"there are {', '.join(ROUTES)}")


def _has_display(environ: Mapping[str, str]) -> bool:
    if environ.get("SSH_CONNECTION") and not environ.get("WAYLAND_DISPLAY"):
        return False
    try:
        find_display(environ)
    except PlayerError:
        return False
    return True
