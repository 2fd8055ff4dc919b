"""Clips in the maintainer's own browser, through ``ssh -L``: in full picture, nothing to install there."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from accuracy_tui.judging import describe
from accuracy_tui.player import PlayerError
from accuracy_tui.player.browser_server import PageServer
from accuracy_tui.player.clip_player import (
    AROUND_SECONDS,
    Clip,
    Control,
    KeyPressed,
    OnEvent,
    ShowFailed,
    Shown,
    around,
)
from accuracy_tui.pool import PoolItem
from sentrysearch.errors import Cancelled, SentrySearchError
from sentrysearch.text import printable

if TYPE_CHECKING:
    from accuracy_tui.player.routes import Allowed

_WAIT_SECONDS = 25.0
"""How long a page's question what is new may stay open."""

_SIDE = 960
_KEPT = 4
_KEPT_CONTROLS = 20


class BrowserClips:
    """Serves one page, which shows what the console asks for.

    Args:
        allowed: whether an item may be served.

    Raises:
        PlayerError: no port on the loopback address can be had.
    """

    route = "browser"

    def __init__(self, on_event: OnEvent, environ: Mapping[str, str], allowed: Allowed) -> None:
        self._on_event = on_event
        self._allowed = allowed
        self._changed = threading.Condition()
        self._numbers: dict[int, int] = {}  # by clip's identity
        self._clips: dict[int, Clip] = {}
        self._made: dict[tuple[int, bool], bytes | PlayerError] = {}  # by number, and whether with its around
        self._shown = self._next = 0
        self._around = False
        # Later than any version that a page of an earlier player may know.
        self._version = int(time.time() * 1000)
        self._controls: list[tuple[int, str]] = []
        self._told: set[int] = set()
        self._closed = False
        self._server = PageServer(self)
        self.token, self.port, self.address = self._server.token, self._server.port, self._server.address
        self.line = f"browser: {_way(environ, self.port)}{self.address}"
        threading.Thread(target=self._work, name="clips", daemon=True).start()

    # The console's side

    def show(self, clip: Clip) -> None:
        number = self._take(clip)
        if number is None:
            self._on_event(ShowFailed(clip, PlayerError("this window isn't in the pool any more")))
            return
        with self._changed:
            self._next = 0 if self._next == number else self._next
            self._shown, self._around = number, False
            self._told.discard(number)
            self._new_version()
            failed = self._made.get((number, False))
        if isinstance(failed, PlayerError):  # while nobody waited for it
            self._on_event(ShowFailed(clip, failed))

    def prefetch(self, clip: Clip) -> None:
        number = self._take(clip)
        if number is not None:
            with self._changed:
                self._next = number
                self._changed.notify_all()

    def control(self, control: Control) -> None:
        with self._changed:
            if control is Control.AROUND:
                self._around = not self._around
            else:
                self._controls = [*self._controls[-_KEPT_CONTROLS:], (self._version + 1, control.value)]
            self._new_version()

    def hide(self) -> None:
        with self._changed:
            self._shown = self._next = 0
            self._new_version()

    def close(self) -> None:
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self._server.close()

    def _take(self, clip: Clip) -> int | None:
        """The clip's number; None where it may not be served."""
        if not self._allowed(PoolItem(clip.query, clip.window)):
            return None
        with self._changed:
            known = self._numbers.get(id(clip))
            if known is not None:
                return known
            number = max(self._clips, default=0) + 1
            self._numbers[id(clip)] = number
            self._clips[number] = clip
            for old in [one for one in self._clips if one <= number - _KEPT and one != self._shown]:
                self._numbers.pop(id(self._clips.pop(old)), None)
                self._told.discard(old)
                self._made.pop((old, False), None)
                self._made.pop((old, True), None)
        return number

    def _new_version(self) -> None:
        self._version += 1
        self._changed.notify_all()

    # Making the videos, on a thread of their own: one at a time, what is waited for first

    def _work(self) -> None:
        from accuracy_tui.player.window_video import yield_to_others

        yield_to_others()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._to_make() is not None)
                making = self._to_make()
                if self._closed or making is None:
                    return
                clip = self._clips[making[0]]
            made = self._make(making, clip)
            with self._changed:
                if made is None or making[0] not in self._clips:
                    continue
                self._made[making] = made
                told = making[0] == self._shown and not self._closed
                self._changed.notify_all()
            if told and isinstance(made, PlayerError):
                self._on_event(ShowFailed(clip, made))

    def _to_make(self) -> tuple[int, bool] | None:
        wanted = [(self._shown, self._around), (self._shown, False), (self._next, False)]
        return next((one for one in wanted if one[0] in self._clips and one not in self._made), None)

    def _make(self, making: tuple[int, bool], clip: Clip) -> bytes | PlayerError | None:
        """The video, or why there is none; None where it isn't wanted any more."""
        from accuracy_tui.player.window_video import window_video

        window = clip.window
        if making[1]:
            window = around(clip.footage, window)

        def wanted() -> bool:
            return making[0] in (self._shown, self._next) and not self._closed

        try:
            return window_video(clip.footage, window, max_side=_SIDE, wanted=wanted)
        except Cancelled:
            return None
        except SentrySearchError as error:
            return PlayerError(error.what, where=clip.footage.name)
        except Exception as error:  # PyAV's errors are many; each is why this clip can't be shown
            return PlayerError(str(error) or type(error).__name__, where=clip.footage.name)

    # The page's side, on the server's threads

    def state(self, since: int) -> dict[str, Any]:
        """What is shown, as soon as it is other than version ``since``, or after a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._version > since or self._closed, _WAIT_SECONDS)
            clip = self._clips.get(self._shown)
            more = f" ±{AROUND_SECONDS:g} s" if self._around else ""
            return {
                "version": self._version,
                "clip": self._shown if clip is not None else 0,
                "video": f"clip/{self._shown}{'-around' if self._around else ''}.mp4",
                "query": clip.caption if clip is not None else "",
                "place": describe(clip.window) + more if clip is not None else "",
                # A page just opened begins where the clip begins.
                "controls": [control for version, control in self._controls if 0 <= since < version],
            }

    def video(self, number: int, *, around: bool) -> bytes | None:
        """A clip's MP4, waited for while it is being made; None where there is none."""
        with self._changed:
            self._changed.wait_for(
                lambda: (number, around) in self._made or number not in self._clips or self._closed,
                _WAIT_SECONDS,
            )
            made = self._made.get((number, around))
            return made if isinstance(made, bytes) else None

    def event(self, told: dict[str, Any]) -> None:
        """The page plays a clip, or a key was pressed there; only for what is shown now."""
        key = told.get("key")
        with self._changed:
            number = told.get("clip")
            clip = self._clips.get(self._shown)
            if clip is None or number != self._shown or isinstance(number, bool):
                return
            playing = told.get("playing") is True
            first = playing and number not in self._told
            if playing:
                self._told.add(self._shown)
        if first:
            self._on_event(Shown(clip))
        elif key == "w":
            self.control(Control.AROUND)
        elif isinstance(key, str) and key in ("y", "n", "u", "s"):
            self._on_event(KeyPressed(clip, key))


def _way(environ: Mapping[str, str], port: int) -> str:
    """The command that makes the page's address the laptop's own, where the console is used over SSH."""
    connection = environ.get("SSH_CONNECTION", "").split()
    if not connection:
        return ""
    words = ["ssh", "-L", f"{port}:127.0.0.1:{port}"]
    host = connection[2] if len(connection) == 4 else "HOST"
    if len(connection) == 4 and connection[3] != "22":
        words += ["-p", connection[3]]
    user = environ.get("USER", "")
    words.append(f"{user}@{host}" if re.fullmatch(r"[\w.-]+", user) else host)
    return f"{printable(' '.join(words))} · then open "
