"""Which player shows the clips: opens one when a clip is wanted, and goes on to the next where one fails."""

from __future__ import annotations

import functools
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

    def __init__(self, turn: int, player: ClipPlayer | None, error: PlayerError | None) -> None:
        super().__init__()
        self.turn = turn
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
        self.turn = 0
        """Which opening the player in use comes from: what one of before has to say counts no more."""
        self._failure: str | None = None
        self._offered = False
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
            return f"{self._opening} opens …"
        return "clips are not played" if not self.routes or self._offered else self.routes[0]

    @property
    def why_not(self) -> str | None:
        """Why clips are not shown, and what can be done about it here; None where they are."""
        if not self.routes:
            return self._failure or "no player here"
        return f"{self._failure}; v shows clips by way of {self.routes[0]}" if self._offered else None

    def show(self, clip: Clip) -> None:
        """Shows a clip as soon as there is a player."""
        self._wanted = clip
        if self.player is not None:
            self.player.show(clip)
        elif self._opening is None and self.why_not is None:
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

    def next_route(self) -> str | None:
        """Leaves the route in use for the next one, round and round.

        Returns:
            The route; None where there is no other.
        """
        if self._opening is not None:
            return self._opening
        if not self._offered:
            if len(self.routes) < 2:
                return None
            self.routes = [*self.routes[1:], self.routes[0]]
        self._close_player()
        self._open(self.routes[0])
        return self.routes[0]

    def give_up(self, error: PlayerError) -> str:
        """The route in use failed: it is taken out. The next one is used where the user left the choice
        open, and offered where not.

        Returns:
            What to tell the user.
        """
        failed = self.route
        self._failure = f"{failed}: {error}"
        self._close_player()
        self.routes = [route for route in self.routes if route != failed]
        self._offered = bool(self.routes) and self._app.options.player is not None
        if self.why_not is not None:
            return self.why_not if self.routes else f"{self._failure}; no other way to show clips is left"
        if self._wanted is not None:
            self._open(self.routes[0])
        return f"{self._failure}; {self.routes[0]} is used instead"

    def opened(self, message: PlayerOpened) -> bool:
        """A route is open, and shows what is wanted by now; whether anybody waited for it."""
        if self._closed or message.turn != self.turn:
            if message.player is not None:
                message.player.close()
            return False
        if message.player is not None:
            self._opening = None
            self.player = message.player
            if self._wanted is not None:
                self.player.show(self._wanted)
        return True

    def close(self) -> None:
        """Ends the player."""
        self._closed = True
        self._close_player()

    def _close_player(self) -> None:
        player, self.player = self.player, None
        self._opening = None
        self.turn += 1
        if player is not None:
            player.close()

    def _open(self, route: str) -> None:
        self._opening, self._offered = route, False
        self.turn += 1
        arguments = route, self.turn
        threading.Thread(target=self._open_there, args=arguments, name=f"open {route}", daemon=True).start()

    def _open_there(self, route: str, turn: int) -> None:
        from accuracy_tui.player.routes import open_player

        try:
            player = open_player(
                route,
                functools.partial(self._event, turn),
                environ=os.environ,
                allowed=self._allowed,
                fps=self._app.options.fps,
                abilities=self._app.abilities,
            )
        except PlayerError as error:
            self._app.post_message(PlayerOpened(turn, None, error))
        else:
            if not self._app.post_message(PlayerOpened(turn, player, None)):  # the console has ended
                player.close()

    def _event(self, turn: int, event: PlayerEvent) -> None:
        """On a player's thread."""
        self._app.post_message(PlayerReported(event, turn))

    def _allowed(self, item: PoolItem) -> bool:
        """Whether a window may be given out: only what the pool holds."""
        return item in self._app.session.pool()
