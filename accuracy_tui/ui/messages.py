"""What other threads tell the console, and what its screens tell each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from accuracy_tui.player.clip_player import PlayerEvent
    from accuracy_tui.worker_events import WorkerEvent


class WorkerReported(Message):
    """The pass worker has news."""

    def __init__(self, event: WorkerEvent) -> None:
        super().__init__()
        self.event = event


class PlayerReported(Message):
    """A player has news.

    Args:
        event: the news.
        turn: which opening of a player it is of.
    """

    def __init__(self, event: PlayerEvent, turn: int) -> None:
        super().__init__()
        self.event = event
        self.turn = turn

    def can_replace(self, message: Message) -> bool:
        """Only the newest position matters."""
        from accuracy_tui.player.clip_player import Position

        return (
            isinstance(message, PlayerReported)
            and isinstance(message.event, Position)
            and isinstance(self.event, Position)
        )


class RoutesFound(Message):
    """It is known how clips can be shown here."""

    def __init__(self, routes: list[str]) -> None:
        super().__init__()
        self.routes = routes
