"""mpv in a window of its own for judging on a plain terminal, which waits until each clip is there."""

from __future__ import annotations

import os
import queue
from collections.abc import Mapping

from accuracy_tui.player.clip_player import Clip, PlayerEvent, PlayerLost, Position, ShowFailed, Shown
from accuracy_tui.player.mpv_clips import WindowClips
from sentrysearch.types import Footage, Window


class WindowPlayer:
    """Plays in an mpv window; one that was lost is opened again at the next clip.

    Args:
        environ: where the display is named, and what the child process is given.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._clips: WindowClips | None = None
        self._events: queue.SimpleQueue[PlayerEvent] = queue.SimpleQueue()
        self.position: Position | None = None
        """Where the clip is; None until it plays."""
        self._clip: Clip | None = None

    def start(self) -> str:
        """Starts mpv, without a picture yet; what is used, in words.

        Raises:
            PlayerError: no display, or no libmpv.
        """
        self.close()
        self._clips = WindowClips(self._heard, self._environ)
        return self._clips.line

    def show(self, footage: Footage, window: Window) -> None:
        if self._clips is None:
            self.start()
        assert self._clips is not None
        clip = self._clip = Clip(footage, window, "")
        self.position = None
        self._clips.show(clip)
        while True:
            event = self._events.get()  # the player sees to it that there is one
            if isinstance(event, PlayerLost):
                self.close()
                raise event.error
            if isinstance(event, Shown) and event.clip is clip:
                return
            if isinstance(event, ShowFailed) and event.clip is clip:
                raise event.error

    @property
    def process_id(self) -> int | None:
        """Of the child that holds mpv, while there is one."""
        return self._clips.process_id if self._clips is not None else None

    def close(self) -> None:
        if self._clips is not None:
            self._clips.close()
            self._clips = None

    def _heard(self, event: PlayerEvent) -> None:
        if isinstance(event, Position):
            if event.clip is self._clip:
                self.position = event
        else:
            self._events.put(event)
