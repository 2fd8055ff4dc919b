"""Which player shows the clips: opens one when a clip is wanted, and goes on to the next where one fails."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from textual.message import Message

from accuracy_tui.player import PlayerError
from accuracy_tui.player.clip_player import Clip, ClipPlayer, Control, PlayerEvent
from accuracy_tui.pool import PoolItem
from accuracy_tui.ui.messages import PlayerReported

if TYPE_CHECKING:
    from accuracy_tui.ui.app import ConsoleApp


class PlayerOpened(Message):
    """A route was opened, or could not be."""

    def __init__(self, route: str, player: ClipPlayer | None, error: PlayerError | None) -> None:
        super().__init__()
        self.route = route
        self.player = player
        self.error = error


class PlayerDesk:
    """Used on the app's thread; opening a player, which may wait for a display, has a thread of its own."""

    def __init__(self, app: ConsoleApp) -> None:
        from accuracy_tui.player.routes import routes_here

        self._app = app
        self.routes = list(app.routes or routes_here(os.environ, app.options.player))
        """In order of preference; one that failed is taken out."""
        self.player: ClipPlayer | None = None
        self.failure: str | None = None
        """Why the last route could not be used."""
        self._opening: str | None = None
        self._wanted: Clip | None = None
        self._closed = False

    @property
    def route(self) -> str | None:
        """The route in use or being opened."""
        return self.player.route if self.player is not None else self._opening

    @property
    def route_line(self) -> str:
        """For the screen."""
        if self.player is not None:
            return self.player.line
        if self._opening is not None:
            return f"{self._opening} opens"
        return "clips are not played" if not self.routes else self.routes[0]

    def show(self, clip: Clip) -> None:
        """Shows a clip as soon as there is a player."""
        self._wanted = clip
        if self.player is not None:
            self.player.show(clip)
        elif self._opening is None and self.routes:
            self._open(self.routes[0])

    def prefetch(self, clip: Clip) -> None:
        """Makes the next clip ready."""
        if self.player is not None:
            self.player.prefetch(clip)

    def control(self, control: Control) -> None:
        """Does something to the clip."""
        if self.player is not None:
            self.player.control(control)

    def hide(self) -> None:
        """Nothing is to be shown any more; the player stays ready."""
        self._wanted = None
        if self.player is not None:
            self.player.hide()

    def next_route(self) -> None:
        """Leaves the route in use for the next one, round and round."""
        if len(self.routes) < 2 or self._opening is not None:
            return
        self.routes = [*self.routes[1:], self.routes[0]]
        self._close_player()
        self._open(self.routes[0])

    def give_up(self, route: str, error: PlayerError) -> str:
        """A route failed: it is taken out, the next one opened where the choice was left open; says so."""
        self._close_player()
        self.routes = [other for other in self.routes if other != route]
        self.failure = f"{route}: {error}"
        if not self.routes:
            return f"{self.failure}; the mpv command below plays the clip by hand"
        if self._app.options.player is None:
            self._open(self.routes[0])
            return f"{self.failure}; {self.routes[0]} is used instead"
        return f"{self.failure}; v shows clips by way of {self.routes[0]}"

    def opened(self, message: PlayerOpened) -> None:
        """A route is open: what is wanted by now is shown."""
        if self._closed or message.route != self._opening:
            if message.player is not None:
                message.player.close()
            return
        self._opening = None
        self.player = message.player
        if self.player is not None and self._wanted is not None:
            self.player.show(self._wanted)

    def close(self) -> None:
        """Ends the player."""
        self._closed = True
        self._close_player()

    def _close_player(self) -> None:
        player, self.player = self.player, None
        self._opening = None
        if player is not None:
            player.close()

    def _open(self, route: str) -> None:
        self._opening = route
        threading.Thread(target=self._open_there, args=(route,), name=f"open {route}", daemon=True).start()

    def _open_there(self, route: str) -> None:
        from accuracy_tui.player.routes import open_player

        try:
            player = open_player(
                route,
                self._event,
                environ=os.environ,
                allowed=self._allowed,
                fps=self._app.options.fps,
                abilities=self._app.abilities,
            )
        except PlayerError as error:
            self._app.post_message(PlayerOpened(route, None, error))
        else:
            self._app.post_message(PlayerOpened(route, player, None))

    def _event(self, event: PlayerEvent) -> None:
        """On a player's thread."""
        self._app.post_message(PlayerReported(event))

    def _allowed(self, item: PoolItem) -> bool:
        """Whether a window may be given out: only what the pool holds."""
        return item in self._app.session.pool()
