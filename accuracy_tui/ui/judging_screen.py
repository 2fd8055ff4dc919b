"""One window at a time: the query in large, the clip, where it stands, and one key for the verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from accuracy_tui.judging import describe, said
from accuracy_tui.judging_round import Asked, JudgingRound
from accuracy_tui.live import Change
from accuracy_tui.player import PlayerError, play_command
from accuracy_tui.player.clip_player import (
    Clip,
    Control,
    FilmstripReady,
    KeyPressed,
    PictureReady,
    PlayerEvent,
    PlayerLost,
    Position,
    ShowFailed,
    Shown,
)
from accuracy_tui.pool import PoolItem
from accuracy_tui.ui import judging_lines as lines
from accuracy_tui.ui.filmstrip import Filmstrip
from accuracy_tui.ui.keys import JUDGING, bindings
from accuracy_tui.ui.picture_view import PictureView
from accuracy_tui.ui.safe_text import one_line, plain
from sentrysearch.errors import SentrySearchError
from sentrysearch.text import printable

if TYPE_CHECKING:
    from accuracy_tui.ui.app import ConsoleApp

GUARD_SECONDS = 0.25
"""How long a clip must have been seen before a key can judge it, and how far apart two answers must be."""

_UNDO_SECONDS = 0.15
"""A key that is held comes more often than this; one that is pressed again, hardly."""

_STILLS = 6


class JudgingScreen(Screen[None]):
    """Shows what a round asks and records the answers.

    Args:
        asks: what is judged.
        model: whose hit it is looked at as; None where no model is meant.
        now: the clock, in seconds.
    """

    BINDINGS: ClassVar[list[BindingType]] = list(bindings(JUDGING))
    DEFAULT_CSS = """
    JudgingScreen { layout: vertical; }
    JudgingScreen .line { height: 1; width: 1fr; padding: 0 1; }
    JudgingScreen #query {
        height: 3; width: 1fr; content-align: center middle; text-style: bold; background: $panel;
    }
    JudgingScreen.low #query { height: 1; }
    JudgingScreen #middle { height: 1fr; }
    JudgingScreen PictureView { width: 1fr; height: 1fr; }
    JudgingScreen Filmstrip { display: none; }
    JudgingScreen Filmstrip.open { display: block; }
    JudgingScreen #said { color: $text-warning; }
    JudgingScreen #why, JudgingScreen #standing, JudgingScreen #keys { color: $text-muted; }
    """

    def __init__(
        self, asks: JudgingRound, model: str | None = None, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(id="judging-screen")
        self.asks = asks
        self._model = model
        self._now = now
        self._clip: Clip | None = None
        self._next: Clip | None = None
        self._seen_at: float | None = None
        self._answered_at = 0.0
        self._position: Position | None = None
        self._undone_at = 0.0
        self._leaving = False

    @property
    def console(self) -> ConsoleApp:
        """The app, by its own type."""
        return cast("ConsoleApp", self.app)

    @property
    def clip(self) -> Clip | None:
        """What is being shown; None where its footage isn't known."""
        return self._clip

    def compose(self) -> ComposeResult:
        yield Static(id="query")
        with Horizontal(id="middle"):
            yield PictureView(
                pictures=self.console.options.pictures,
                fps=self.console.options.fps,
                abilities=self.console.abilities,
            )
            yield Filmstrip(self.console.abilities)
        yield Static(id="place", classes="line")
        yield Static(id="loop", classes="line")
        yield Static(id="why", classes="line")
        yield Static(id="standing", classes="line")
        yield Static(id="said", classes="line")
        yield Static(id="keys", classes="line")

    def on_mount(self) -> None:
        self._take_pictures()  # of a player that an earlier round has opened
        self._show_current()

    def on_unmount(self) -> None:
        self.console.desk.hide()

    # What is shown

    def _show_current(self) -> None:
        ask = self.asks.current
        if ask is None:
            self._finish()
            return
        ready, self._next = self._next, None
        self._seen_at, self._position = None, None
        self._clip = (
            ready
            if ready is not None and PoolItem(ready.query, ready.window) == ask.item
            else self._make(ask)
        )
        self._draw()
        self.query_one(Filmstrip).clear()
        self._show_clip()

    def _show_clip(self) -> None:
        """Has the clip shown, or says why it can't be."""
        desk, clip, ask = self.console.desk, self._clip, self.asks.current
        if clip is None:
            desk.hide()  # what was shown before it isn't this
            why = "" if ask is None else self.console.session.why_not_played(ask.item.window.footage)
            self._cannot_show(f"not played: {why}")
        elif desk.why_not is not None:
            self._cannot_show(desk.why_not)
        else:
            self._seen_at = None
            desk.show(clip)
            self._picture_text(desk.route_line)
            self._take_terminal()

    def _make(self, ask: Asked) -> Clip | None:
        session, name = self.console.session, ask.item.window.footage
        if session.why_not_played(name) is not None:
            return None
        return Clip(session.footages[name], ask.item.window, ask.item.query)

    def _prefetch(self) -> None:
        upcoming = self.asks.upcoming
        if upcoming is None:
            return
        self._next = self._make(upcoming)
        if self._next is not None:
            self.console.desk.prefetch(self._next)

    def _cannot_show(self, why: str) -> None:
        """Judging goes on without the picture; why, and what plays it by hand, stands in its place."""
        self._seen_at = self._now()
        clip = self._clip
        by_hand = "" if clip is None else f" · by hand: {play_command(clip.footage, clip.window)}"
        self._picture_text(printable(why + by_hand))

    def _picture_text(self, text: str) -> None:
        self.query_one(PictureView).show_text(text)

    def _finish(self) -> None:
        judged = self.asks.judged
        self.action_leave()
        self.console.grid_screen.judged_last()
        self.console.say(
            f"{judged} judged, nothing more is asked here" if judged else "nothing more is asked"
        )

    @property
    def _width(self) -> int:
        """Of a line, in cells."""
        return max(10, self.size.width - 2)

    def _line(self, name: str, text: str | Content) -> None:
        content = text if isinstance(text, Content) else plain(one_line(text, self._width))
        self.query_one(f"#{name}", Static).update(content, layout=False)

    def _draw(self) -> None:
        ask = self.asks.current
        if ask is None:
            return
        session, blind = self.console.session, self.console.options.blind
        self._line("query", ask.item.query)
        self._line("place", lines.place(session, ask, self._model, width=self._width, blind=blind))
        left = f"{self.asks.judged} judged, {self.asks.left} left"
        standing = ""
        if blind:
            self._line("why", f"{left} · blind: models, ranks and their standing are hidden")
        elif ask.why:
            self._line("why", f"{left} · {ask.why}")
            standing = self.console.order.standing().line()
        else:
            self._line("why", left)
        self._line("standing", standing)
        self.query_one("#standing").display = bool(standing)
        self._line("keys", lines.keys(self._width))
        self._draw_loop()

    def _draw_loop(self) -> None:
        position, clip = self._position, self._clip
        if position is None or clip is None:
            self._line("loop", self.console.desk.route_line)
        else:
            self._line("loop", lines.loop(clip.window, position, self._width))

    def _say(self, text: str) -> None:
        self._line("said", text)

    def on_resize(self) -> None:
        self.set_class(self.size.height < 30, "low")
        self._draw()

    # What players say

    def player_event(self, event: PlayerEvent) -> None:
        """Takes in what the player reports; news of clips that are gone by now is passed over."""
        if isinstance(event, PlayerLost) or event.clip is not self._clip:  # of a loss the app tells
            return
        if isinstance(event, Shown):
            self._seen_at = self._now()
            self._picture_text("" if self.console.desk.route == "inline" else self.console.desk.route_line)
            self._prefetch()
        elif isinstance(event, Position):
            self._position = event
            # While it plays another one follows soon: a slow line is spared, so that keys are not behind it.
            if event.paused or not self.query_one(PictureView).behind:
                self._draw_loop()
        elif isinstance(event, PictureReady):
            self.query_one(PictureView).picture_ready()
        elif isinstance(event, FilmstripReady):
            self.query_one(Filmstrip).show(event.pictures)
        elif isinstance(event, ShowFailed):
            self._cannot_show(f"not played: {event.error}")
            self._prefetch()
        elif isinstance(event, KeyPressed):
            self._player_key(event.key)

    @property
    def stands(self) -> bool:
        """Whether its widgets are there: not yet, or no longer, while it comes and goes."""
        return not self._leaving and bool(self.query("#loop"))

    def player_opened(self) -> None:
        """There is a player now."""
        if self._clip is not None and self._seen_at is None:
            self._picture_text(self.console.desk.route_line)  # a browser's address in full
        self._take_terminal()
        self._take_pictures()
        self._draw_loop()

    def player_failed(self, line: str) -> None:
        """There is none any more, or another is being opened."""
        self._say(line)
        self._show_anew()

    def _show_anew(self) -> None:
        """Has the clip shown by another player: from its start, and some never say where they are."""
        self._position = None
        self._draw_loop()
        self._take_pictures()
        self._show_clip()

    def _take_pictures(self) -> None:
        """Where the console draws the clips, draws those of the player there is."""
        desk = self.console.desk
        source = desk.player if desk.route == "inline" else None
        self.query_one(PictureView).attach(source)  # type: ignore[arg-type]

    def _take_terminal(self) -> None:
        """Where clips take the whole terminal, plays this one there, once what was drawn is on the screen."""
        if self.console.desk.route == "terminal" and self.console.desk.player is not None:
            self.call_later(self._play_there, self._clip)

    def _play_there(self, clip: Clip | None) -> None:
        from accuracy_tui.player.terminal import TerminalClips

        player = self.console.desk.player
        if clip is None or clip is not self._clip or not isinstance(player, TerminalClips):
            return
        failure: PlayerError | None = None
        key = ""
        try:
            with self.app.suspend():
                try:
                    key = player.play(clip)
                except PlayerError as error:
                    failure = error
        except SuspendNotSupported:
            failure = PlayerError("this console can't be suspended")
        self.refresh(layout=True)
        if failure is not None:
            self.console.player_failed(failure)
        elif key == "v":
            self._seen_at = self._now()  # should there be no other way
            self.action_next_route()
        elif key:  # without one the clip can't be played, which is told as with every player
            self._seen_at = self._now() - GUARD_SECONDS  # seen long enough, there
            self._answered_at = 0.0
            self._player_key(key)

    def _player_key(self, key: str) -> None:
        actions: dict[str, Callable[[], None]] = {
            "y": lambda: self.action_verdict(True),
            "n": lambda: self.action_verdict(False),
            "u": self.action_undo,
            "s": self.action_skip,
            "q": self.action_leave,
        }
        actions[key]()

    def session_changed(self, change: Change) -> None:
        """Verdicts came from elsewhere, or hits of a pass."""
        if change.cells or change.layout:
            self.asks.renew()
            if self._clip is None and self.asks.current is not None:
                self._show_current()
            self._draw()

    # Answers

    def _may_answer(self) -> bool:
        """Whether the clip was seen long enough, and the key isn't the last answer's, held."""
        now = self._now()
        held = now - self._answered_at < GUARD_SECONDS
        self._answered_at = now
        if self._seen_at is None and not held:
            self._say("not counted: the clip isn't shown yet")
        return not held and self._seen_at is not None and now - self._seen_at >= GUARD_SECONDS

    def action_verdict(self, value: bool) -> None:
        ask = self.asks.current
        if ask is None or not self._may_answer():
            return
        try:
            change = self.console.session.put(ask.item.query, ask.item.window, value)
        except SentrySearchError as error:
            self._say(f"not recorded: {error}")
            return
        # The grid behind is drawn before the next clip, which was made ready already.
        self.console.take(change)
        self._say(f"✓ {said(value)}, u undoes: {ask.item.query} · {describe(ask.item.window)}")
        self.asks.answer()
        self._show_current()

    def action_skip(self) -> None:
        self.asks.skip()
        self._show_current()

    def action_step(self, step: int) -> None:
        before = self.asks.current
        self.asks.step(step)
        if self.asks.current is not before:
            self._show_current()

    def action_undo(self) -> None:
        now = self._now()
        held, self._undone_at = now - self._undone_at < _UNDO_SECONDS, now
        if held:
            return
        try:
            undone = self.console.session.undo()
        except SentrySearchError as error:
            self._say(f"not undone: {error}")
            return
        if undone is None:
            self._say("nothing to undo")
            return
        self.console.take(undone.change)
        self.asks.undone(PoolItem(undone.query, undone.window))
        self._say(f"undone: {undone.query} · {describe(undone.window)} is {said(undone.value)} again")
        self._show_current()

    # The clip

    def action_control(self, name: str) -> None:
        self.console.desk.control(Control(name))

    def action_filmstrip(self) -> None:
        strip = self.query_one(Filmstrip)
        player = self.console.desk.player
        if self.console.desk.route != "inline" or self._clip is None or player is None:
            self._say("stills are shown beside clips drawn in the terminal; v changes to that")
            return
        if strip.has_class("open"):
            strip.remove_class("open")
            return
        strip.add_class("open")
        self.call_after_refresh(strip.ask, player, self._clip, _STILLS)  # once it has its size

    def action_next_route(self) -> None:
        route = self.console.desk.next_route()
        if route is None:
            self._say("there is no other way to show clips here")
            return
        self._say(f"clips by way of {route}")
        self._show_anew()

    def action_help(self) -> None:
        from accuracy_tui.ui.help_screen import HelpScreen

        self.app.push_screen(HelpScreen(judging=True))

    def action_leave(self) -> None:
        if self._leaving:
            return
        self._leaving = True
        while self.app.screen is not self:  # by a key in the player's window, with the help open here
            self.app.pop_screen()
        self.dismiss()

    def action_suspend_process(self) -> None:
        self.app.action_suspend_process()
