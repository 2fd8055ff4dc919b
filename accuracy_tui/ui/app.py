"""The console: wires the session, the pass worker and the screens together."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from accuracy_tui.benchmark import Query
from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.console_state import ConsoleState, load_state, save_state
from accuracy_tui.live import Change, LiveSession
from accuracy_tui.ui.grid_screen import GridScreen
from accuracy_tui.ui.messages import PlayerReported, RoutesFound, WorkerReported
from accuracy_tui.worker_events import FootageFailed, FootageRead, FootageReading, NotRun, is_active
from sentrysearch.errors import BadInput, SentrySearchError
from sentrysearch.text import printable

if TYPE_CHECKING:
    from accuracy_tui.grid import Grid
    from accuracy_tui.judging_order import JudgingOrder
    from accuracy_tui.judging_round import JudgingRound
    from accuracy_tui.pass_worker import PassWorker
    from accuracy_tui.player import PlayerError
    from accuracy_tui.player.abilities import Abilities
    from accuracy_tui.ui.ending import Ending
    from accuracy_tui.ui.judging_screen import JudgingScreen
    from accuracy_tui.ui.player_desk import PlayerDesk, PlayerOpened

_POLL_SECONDS = 2.0


class ConsoleApp(App[int]):
    """One benchmark's console.

    Args:
        session: what is shown; used only on this app's thread, and closed by whoever opened it.
        worker: runs passes; its events arrive here as messages.
        options: from the command line.
        state: where the last session was left; None to read it.
        abilities: the terminal's; None where there is none.
    """

    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", "quit", show=False, priority=True),
        Binding("ctrl+q", "quit", "quit", show=False, priority=True),
    ]

    def __init__(
        self,
        session: LiveSession,
        worker: PassWorker,
        options: ConsoleOptions,
        *,
        state: ConsoleState | None = None,
        abilities: Abilities | None = None,
    ) -> None:
        super().__init__()
        self.session = session
        self.worker = worker
        self.options = options
        self.abilities = abilities
        self.ending: Ending | None = None
        """What watches for signals, in the real program."""
        self.state = load_state(session.benchmark) if state is None else state
        self._order: JudgingOrder | None = None
        self._ordered: Grid | None = None
        self._desk: PlayerDesk | None = None
        self.routes: list[str] | None = None
        """Ways to show clips here, the best first; None until they are known."""
        self.received: signal.Signals | None = None
        """The signal that ended it, if one did."""
        for text, group in self.state.added:
            with contextlib.suppress(BadInput):  # in the benchmark by now
                session.add_query(text, group)
        worker.on_event = self._worker_event

    def get_default_screen(self) -> GridScreen:
        return GridScreen()

    def on_mount(self) -> None:
        if self.state.theme in self.available_themes:
            self.theme = self.state.theme or self.theme
        if self.ending is not None:
            self.ending.tell(asyncio.get_running_loop(), self.ended_by)
        self.set_interval(_POLL_SECONDS, self._poll)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Everything that isn't needed for the first picture."""
        if self.ending is not None:
            # What was loaded lives as long as this process: looked through once, not again while keys wait.
            gc.collect()
            gc.freeze()
            gc.enable()
        self.grid_screen.catch_up()
        self.say_notes()
        self.worker.read_footage()
        threading.Thread(target=self._find_routes, name="routes", daemon=True).start()
        if self.options.start:
            self.start(self.options.start)

    @property
    def grid_screen(self) -> GridScreen:
        """The screen at the bottom of the stack."""
        return next(screen for screen in self.screen_stack if isinstance(screen, GridScreen))

    @property
    def order(self) -> JudgingOrder:
        """What decides most, kept up to date."""
        if self._order is None or self._ordered is not self.session.grid:
            from accuracy_tui.judging_order import JudgingOrder

            self._ordered = self.session.grid
            self._order = JudgingOrder(self._ordered)
        return self._order

    @property
    def desk(self) -> PlayerDesk:
        """The players of clips; made when a clip is first to be shown."""
        if self._desk is None:
            from accuracy_tui.ui.player_desk import PlayerDesk

            self._desk = PlayerDesk(self)
        return self._desk

    @property
    def player_line(self) -> str:
        """Where clips are shown, or will be."""
        if self._desk is not None:
            return self._desk.route_line
        route = self.routes[0] if self.routes else self.options.player
        return f"clips: {route}" if route else ""

    @property
    def blind_seed(self) -> str | None:
        """What shuffles the windows of a query when judging blind."""
        return self.session.benchmark.name if self.options.blind else None

    def _find_routes(self) -> None:
        """On a thread of its own: a display that doesn't answer takes a while to be found out."""
        from accuracy_tui.player.routes import routes_here

        self.post_message(RoutesFound(routes_here(os.environ, self.options.player)))

    def on_routes_found(self, message: RoutesFound) -> None:
        self.routes = message.routes
        self.grid_screen.show_title()

    # What changes

    def take(self, change: Change) -> None:
        """Something changed: brings the order up to date and draws it."""
        if self._order is not None:
            for query in {query for _, query in change.cells}:
                self._order.refresh(query)
        self.grid_screen.session_changed(change)

    def say(self, text: str) -> None:
        """One line on the grid's screen."""
        self.grid_screen.say(text)

    def say_notes(self) -> None:
        """What the session has to say."""
        notes = self.session.say_notes()
        if notes:
            self.say(" · ".join(notes[-3:]))

    def _poll(self) -> None:
        if self._exit:
            return
        change = self.session.poll()
        if change.cells:
            self.take(change)
            self._tell_judging(change)
        self.say_notes()

    # Passes

    def start(self, models: tuple[str, ...] | list[str]) -> None:
        """Starts the passes of these models, one after another."""
        change = self.session.add_models(models)
        if change.layout:
            self.take(change)
        self.worker.start(models, self.session.queries)

    def _worker_event(self, event: object) -> None:
        """On the worker's thread."""
        self.post_message(WorkerReported(event))  # type: ignore[arg-type]

    def on_worker_reported(self, message: WorkerReported) -> None:
        if self._exit:  # the screens are being taken down
            return
        with_results = {model for model in self.session.models if self.session.grid.has_results(model)}
        change = self.session.apply(message.event)
        if with_results != {model for model in self.session.models if self.session.grid.has_results(model)}:
            self._order = None
        if change.cells or change.layout:
            self.take(change)
            self._tell_judging(change)
        self.grid_screen.passes_changed()
        if isinstance(message.event, FootageReading | FootageRead | FootageFailed):
            self.grid_screen.show_title()
            self._tell_judging(Change(layout=True))  # what could not be played may be playable now
        self.say_notes()
        for screen in self.screen_stack:
            passes = getattr(screen, "passes_changed", None)
            if passes is not None and screen is not self.grid_screen:
                passes()

    # Screens

    def open_judging(self, asks: JudgingRound, model: str | None) -> None:
        """Judges what the round asks."""
        from accuracy_tui.ui.judging_screen import JudgingScreen

        self.push_screen(JudgingScreen(asks, model))

    def on_cursor_position(self) -> None:
        """The terminal has drawn what was sent before the question."""
        from accuracy_tui.ui.picture_view import PictureView

        for screen in self.screen_stack:  # it may have been sent before a dialog came in front
            for view in screen.query(PictureView):
                view.cursor_reported()

    def _tell_judging(self, change: Change) -> None:
        """Something changed that the judging screen didn't do itself."""
        for screen in self._judging_screens():
            screen.session_changed(change)

    def on_player_reported(self, message: PlayerReported) -> None:
        if self._exit or message.turn != self.desk.turn:
            return
        from accuracy_tui.player.clip_player import PlayerLost

        if isinstance(message.event, PlayerLost):
            self.player_failed(message.event.error)
            return
        for screen in self._judging_screens():
            screen.player_event(message.event)

    def on_player_opened(self, message: PlayerOpened) -> None:
        waited_for = self.desk.opened(message)
        if self._exit or not waited_for:
            return
        if message.error is not None:
            self.player_failed(message.error)
            return
        for screen in self._judging_screens():
            screen.player_opened()
        self.grid_screen.show_title()

    def player_failed(self, error: PlayerError) -> None:
        """The player in use can't go on, or could not be opened: says what is used instead."""
        line = self.desk.give_up(error)
        screens = self._judging_screens()
        for screen in screens:
            screen.player_failed(line)
        if not screens:
            self.say(line)
        self.grid_screen.show_title()

    def _judging_screens(self) -> list[JudgingScreen]:
        from accuracy_tui.ui.judging_screen import JudgingScreen

        return [screen for screen in self.screen_stack if isinstance(screen, JudgingScreen) and screen.stands]

    def open_add_query(self) -> None:
        """Asks for one more query, and searches it with the models that have a run."""
        from accuracy_tui.ui.add_query_screen import AddQueryScreen

        def added(query: Query | None) -> None:
            if query is None:
                return
            try:
                change = self.session.add_query(query.text, query.group)
            except BadInput as error:
                self.say(str(error))
                return
            self.take(change)
            cursor = self.grid_screen.grid.cursor
            if cursor is not None:
                self.grid_screen.grid.move_to(cursor[0], query.text.strip())
            models = [
                model
                for model in self.session.models
                if not isinstance(self.session.passes[model], NotRun) and model in self.session.grid.runs
            ]
            if models:
                self.worker.add_queries([Query(query.text.strip(), query.group)], models)
            self.save()

        self.push_screen(AddQueryScreen(), added)

    def open_passes(self) -> None:
        """Models, their passes, and what is to be run."""
        from accuracy_tui.ui.passes_screen import PassesScreen

        self.push_screen(PassesScreen())

    def open_export(self) -> None:
        """Writes the table and more to files."""
        from accuracy_tui.ui.export_screen import ExportScreen

        def draw(picture: Path | None) -> None:
            if picture is not None:  # once the dialog is gone
                self.call_after_refresh(self._write_picture, picture)

        self.push_screen(ExportScreen(), draw)

    def _write_picture(self, path: Path) -> None:
        from accuracy_tui.atomic import write_atomically

        svg = self.export_screenshot(title=f"accuracy-tui · {printable(self.session.benchmark.name)}")
        try:
            # Fonts are the reader's own: a picture that loads them from elsewhere tells who looks at it.
            write_atomically(path, re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))
        except SentrySearchError as error:
            self.say(str(error))

    # The end

    def save(self) -> None:
        """Keeps where the console is."""
        grid = self.grid_screen.grid
        model, query = grid.cursor or (None, None)
        save_state(
            self.session.benchmark,
            ConsoleState(
                model=model,
                query=query,
                hit=grid.hit,
                filter=self.grid_screen.filter_text,
                sort=self.grid_screen.sort_name,
                theme=self.theme,
                added=tuple((query.text, query.group) for query in self.session.added_queries),
            ),
        )

    def leave(self) -> None:
        """Quits; asks first where that stops a pass."""
        running = [model for model, state in self.session.passes.items() if is_active(state)]
        if running:
            from accuracy_tui.ui.confirm_screen import ConfirmScreen

            question = f"{', '.join(running)} still running; stop and quit?"
            self.push_screen(ConfirmScreen(question), lambda yes: self.end() if yes else None)
        else:
            self.end()

    def end(self) -> None:
        """Quits."""
        self.save()
        self.exit(0)

    async def action_quit(self) -> None:
        self.leave()

    def close_all(self) -> None:
        """Ends players and passes, within two seconds whatever they do."""
        if self._desk is not None:
            self._desk.close()
        self.worker.close()

    def ended_by(self, number: int) -> None:
        """A signal, or the terminal that is gone, ends it; the YAML is brought up to date on the way."""
        self.received = signal.Signals(number)
        self.save()
        if self.session.judgments is not None and not self.session.judgments.read_only:
            with contextlib.suppress(SentrySearchError):  # the next start makes up for it
                self.session.judgments.sync()
        self.exit(128 + number)


def run_console(
    session: LiveSession, worker: PassWorker, options: ConsoleOptions, abilities: Abilities | None = None
) -> int:
    """Shows the console until the user leaves; the exit status."""
    from accuracy_tui.ui.ending import Ending

    keyboard = sys.stdin.fileno()
    app = ConsoleApp(session, worker, options, abilities=abilities)
    with Ending(keyboard, app.close_all) as ending:
        app.ending = ending
        try:
            status = app.run(mouse=options.mouse)
        finally:
            app.close_all()
    return app.return_code or status or 0
