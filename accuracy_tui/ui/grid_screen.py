"""The first thing seen: the grid, the cell under the cursor, who is ahead, and what the keys do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, cast

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from accuracy_tui.benchmark import Query
from accuracy_tui.judging import describe, said
from accuracy_tui.live import Change
from accuracy_tui.ui.commands import KeyCommands
from accuracy_tui.ui.detail import DetailPane
from accuracy_tui.ui.grid_view import GridView
from accuracy_tui.ui.keys import GRID, bindings
from accuracy_tui.ui.query_order import SORT_LABELS, SORTS, matching, ordered
from accuracy_tui.ui.safe_text import one_line, plain
from accuracy_tui.worker_events import Loading, is_active
from sentrysearch.errors import SentrySearchError

if TYPE_CHECKING:
    from accuracy_tui.judging_round import JudgingRound
    from accuracy_tui.ui.app import ConsoleApp

KEYS_LINE = (
    ("enter", "play"),
    ("y/n", "judge"),
    ("u", "undo"),
    ("tab", "next unjudged"),
    ("J", "decide"),
    ("/", "filter"),
    ("a", "add query"),
    ("p", "models"),
    ("e", "export"),
    ("?", "help"),
    ("q", "quit"),
)
_TICK_SECONDS = 0.5
_PAUSE_SECONDS = 0.15
"""The standings follow a verdict by so much, or as soon as keys pause for so long."""
_SAID_SECONDS = 12.0
_REPEAT_SECONDS = 0.7
"""How long a keyboard waits at most before a key that is held is sent again."""
_HELD_SECONDS = 0.15
"""How far apart it is sent from then on, at most."""
"""How long a message stays."""


class GridScreen(Screen[None]):
    """Shows the session and turns keys into verdicts."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings(GRID))
    COMMANDS = Screen.COMMANDS | {KeyCommands}
    DEFAULT_CSS = """
    GridScreen { layout: vertical; }
    GridScreen .line { height: 1; width: 1fr; padding: 0 1; }
    GridScreen #title { background: $panel; }
    GridScreen #said { color: $text-warning; }
    GridScreen #keys { color: $text-muted; }
    GridScreen GridView { height: 1fr; min-height: 6; }
    GridScreen Input { height: 1; border: none; padding: 0 1; display: none; }
    GridScreen Input.open { display: block; }
    GridScreen DetailPane { border-top: solid $panel; height: 8; }
    GridScreen.low DetailPane { height: 6; }
    """

    def __init__(self) -> None:
        super().__init__(id="grid-screen")
        self._sort = "benchmark"
        self._filter = ""
        self._said = ""
        self._said_until = 0.0
        self._verdicts_from = 0.0
        self._later: Timer | None = None

    @property
    def console(self) -> ConsoleApp:
        """The app, by its own type."""
        return cast("ConsoleApp", self.app)

    def compose(self) -> ComposeResult:
        session = self.console.session
        yield Static(id="title", classes="line")
        yield GridView(session, id="grid")
        yield Input(placeholder="words, :unjudged :failed :differ :fine :floor", id="filter", compact=True)
        yield DetailPane(session, id="detail")
        yield Static(id="standing", classes="line")
        yield Static(id="said", classes="line")
        yield Static(id="keys", classes="line")

    def on_mount(self) -> None:
        state = self.console.state
        self._sort = state.sort if state.sort in SORTS else "benchmark"
        self._filter = state.filter
        self._arrange()
        if state.model is not None and state.query is not None:
            self.grid.move_to(state.model, state.query, state.hit)
        self.grid.focus()
        # The lines around it are drawn once the size is known; who leads, once the table is on the screen.
        self.set_interval(_TICK_SECONDS, self._tick)

    @property
    def grid(self) -> GridView:
        """The grid."""
        return self.query_one(GridView)

    @property
    def filter_text(self) -> str:
        """The filter in effect."""
        return self._filter

    @property
    def sort_name(self) -> str:
        """The sort in effect, one of ``SORTS``."""
        return self._sort

    # Drawing

    def show_all(self) -> None:
        """Draws the lines around the grid again."""
        self._show_around()
        self._show_keys()
        self.catch_up()

    def show_title(self) -> None:
        """What is measured, and how much of it is judged."""
        session = self.console.session
        unjudged, pooled = session.unjudged()
        left = (
            f"{session.benchmark.name} · {_count(len(session.models), 'model')} · "
            f"{_count(len(session.queries), 'query', 'queries')} · k {session.k}"
        )
        arranged = [f"“{self._filter}”" if self._filter else "", SORT_LABELS[self._sort]]
        left = " · ".join([left, *(part for part in arranged if part)])
        judgments = session.judgments
        state = " · read only" if judgments is not None and judgments.read_only else ""
        judged = f"judged {pooled - unjudged}/{pooled}{state}"
        right = " · ".join(filter(None, (session.footage_line, judged, self.console.player_line)))
        width = max(10, self.size.width - 2)
        right = one_line(right, max(10, width // 2))
        name = "accuracy-tui  "
        text = one_line(left, max(0, width - len(name) - cell_len(right) - 2))
        gap = " " * max(1, width - len(name) - cell_len(text) - cell_len(right))
        self.query_one("#title", Static).update(
            Content.assemble((name, "bold"), text, gap, (right, "$text-muted")),
            layout=False,
        )

    def show_standing(self) -> None:
        """Who is ahead of whom, and what to judge next."""
        self.query_one("#standing", Static).update(self._standing(), layout=False)

    def session_changed(self, change: Change) -> None:
        """Draws what changed: the cells at once, what takes longer to find out once keys pause."""
        if change.layout:
            self._arrange()
        self.grid.session_changed(change)
        self.call_after_refresh(self._show_around)
        self._catch_up_soon()

    def _catch_up_soon(self) -> None:
        if self._later is not None:
            self._later.stop()
        self._later = self.set_timer(_PAUSE_SECONDS, self.catch_up)

    def _show_around(self) -> None:
        self.show_title()
        self.query_one(DetailPane).show(self.grid.cursor, self.grid.hit)

    def _show_keys(self) -> None:
        self.query_one("#keys", Static).update(_keys(self.size.width - 2), layout=False)

    def catch_up(self) -> None:
        """Draws who leads and what to do next."""
        self._later = None
        self.show_standing()
        self._show_said()

    def say(self, text: str) -> None:
        """One line that stays for a while."""
        self._said, self._said_until = text, time.monotonic() + _SAID_SECONDS
        self._show_said()

    def _show_said(self) -> None:
        text = self._said if time.monotonic() < self._said_until else self._next_step()
        self.query_one("#said", Static).update(
            plain(one_line(text, max(1, self.size.width - 2))), layout=False
        )

    def _next_step(self) -> str:
        """What there is to do, in words."""
        session = self.console.session
        judgments = session.judgments
        if judgments is not None and judgments.read_only:
            return judgments.why_read_only or "these judgments can only be read"
        if not any(session.grid.has_results(model) for model in session.models):
            if any(is_active(state) for state in session.passes.values()):
                return "the first pass is under way; its hits appear here as they come"
            return "no run yet: p chooses models to run"
        unjudged, _ = session.unjudged()
        if not unjudged:
            return "everything is judged; e writes the table"
        order = self.console.order
        suggestion = next(iter(order.suggestions()), None)
        if suggestion is None or not suggestion.weight:
            return f"{_count(unjudged, 'pool item')} unjudged; J or A judges them"
        return f"J  next to judge: “{suggestion.item.query}” {suggestion.why}"

    def _standing(self) -> Content:
        if sum(self.console.session.grid.has_results(model) for model in self.console.session.models) < 2:
            return Content("")
        return plain(one_line(self.console.order.standing().line(), max(1, self.size.width - 2)))

    def _tick(self) -> None:
        states = self.console.session.passes.values()
        if any(isinstance(state, Loading) for state in states):
            self.passes_changed()
        if self._said and time.monotonic() >= self._said_until:
            self._said = ""
            self._show_said()

    def passes_changed(self) -> None:
        """A pass made progress."""
        self.grid.passes_changed()
        cursor = self.grid.cursor
        if cursor is not None and is_active(self.console.session.passes[cursor[0]]):
            self.query_one(DetailPane).renew()

    def on_resize(self) -> None:
        self.set_class(self.size.height < 30, "low")
        self._show_around()
        self._show_keys()
        self._catch_up_soon()

    def on_grid_view_cell_highlighted(self) -> None:
        self.query_one(DetailPane).show(self.grid.cursor, self.grid.hit)

    def on_grid_view_cell_chosen(self) -> None:
        self.action_play()

    # Filter and sort

    def _arrange(self) -> None:
        session = self.console.session
        cursor = self.grid.cursor
        shown = matching(session, self._filter)
        model = cursor[0] if cursor else None
        arranged: list[Query] = ordered(session, shown, self._sort, model)
        self.grid.show_queries(arranged, grouped=self._sort == "benchmark")

    def action_filter(self) -> None:
        field = self.query_one("#filter", Input)
        field.add_class("open")
        field.value = self._filter
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._filter = event.value
        self._arrange()
        self.show_all()

    def on_input_submitted(self) -> None:
        self._close_filter()

    def _close_filter(self) -> None:
        self.query_one("#filter", Input).remove_class("open")
        self.grid.focus()

    def action_clear(self) -> None:
        self._filter = ""
        self._close_filter()
        self._arrange()
        self.show_all()

    def action_sort(self) -> None:
        self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
        self._arrange()
        self.show_all()
        self.say(f"sorted {SORT_LABELS[self._sort] or 'as in the benchmark'}")

    # Moving

    def action_move(self, rows: int, columns: int) -> None:
        self.grid.move(rows, columns)

    def action_page(self, step: int) -> None:
        self.grid.page(step)

    def action_top(self) -> None:
        self.grid.move(rows=-len(self.grid.shown))

    def action_bottom(self) -> None:
        self.grid.move(rows=len(self.grid.shown))

    def action_hit(self, step: int) -> None:
        self.grid.move_hit(step)

    def action_unjudged(self, step: int) -> None:
        if not self.grid.next_unjudged(step):
            self.say("nothing here is unjudged")

    def action_skip(self) -> None:
        self.action_unjudged(1)

    # Judging

    def judged_last(self) -> None:
        """A round of judging has ended: the key that ended it may still be held, and says nothing here."""
        self._verdicts_from = time.monotonic() + _REPEAT_SECONDS

    def _is_held_over(self) -> bool:
        now = time.monotonic()
        held = now < self._verdicts_from
        if held:
            self._verdicts_from = max(self._verdicts_from, now + _HELD_SECONDS)
        return held

    def action_verdict(self, value: bool) -> None:
        if self._is_held_over():
            return
        cursor = self.grid.cursor
        cell = self.console.session.grid.cell(*cursor) if cursor else None
        if cell is None or not cell.hits:
            self.say("there is no hit here to judge")
            return
        hit = cell.hits[self.grid.hit]
        before = self.console.session.look(cell.query.text, hit.window)
        try:
            change = self.console.session.put(cell.query.text, hit.window, value)
        except SentrySearchError as error:
            self.say(f"not recorded: {error}")
            return
        self.console.take(change)
        changed = before.value is not None and before.value is not value and not before.implied
        was = f", was {said(before.value)}" if changed else ""
        self.say(f"✓ {said(value)}{was}: {cell.query.text} · {describe(hit.window)} · u undoes")

    def action_undo(self) -> None:
        try:
            undone = self.console.session.undo()
        except SentrySearchError as error:
            self.say(f"not undone: {error}")
            return
        if undone is None:
            self.say("nothing to undo")
            return
        self.console.take(undone.change)
        found = self.console.session.found(undone.query, undone.window)
        cursor = self.grid.cursor
        if found and (
            cursor is None or (cursor[0], undone.query) not in {(m, undone.query) for m, _ in found}
        ):
            self.grid.move_to(found[0][0], undone.query, found[0][1] - 1)
        self.say(f"undone: {undone.query} · {describe(undone.window)} is {said(undone.value)} again")

    def action_play(self) -> None:
        from accuracy_tui.judging_round import cell_round

        cursor = self.grid.cursor
        session = self.console.session
        if cursor is None or not session.grid.cell(*cursor).hits:
            self.say("there is no hit here to play")
            return
        self._judge(cell_round(session, *cursor, blind=self.console.blind_seed), model=cursor[0])

    def action_decide(self) -> None:
        from accuracy_tui.judging_round import decisive_round

        self._judge(
            decisive_round(self.console.session, lambda: self.console.order, blind=self.console.blind_seed)
        )

    def action_judge_all(self) -> None:
        from accuracy_tui.judging_round import pool_round

        shown = [query.text for query in self.grid.shown]
        self._judge(pool_round(self.console.session, shown, blind=self.console.blind_seed))

    def _judge(self, asks: JudgingRound, model: str | None = None) -> None:
        if asks.current is None:
            self.say("nothing is unjudged")
            return
        self.console.open_judging(asks, model)

    # Other screens

    def action_add_query(self) -> None:
        self.console.open_add_query()

    def action_passes(self) -> None:
        self.console.open_passes()

    def action_export(self) -> None:
        self.console.open_export()

    def action_help(self) -> None:
        from accuracy_tui.ui.help_screen import HelpScreen

        self.app.push_screen(HelpScreen())

    async def action_quit(self) -> None:
        self.console.leave()

    def action_suspend_process(self) -> None:
        self.app.action_suspend_process()


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _keys(width: int) -> Content:
    """As many keys as there is room for; the help has all of them."""
    last = KEYS_LINE[-2:]
    shown: list[tuple[str, str]] = []
    room = width - sum(len(key) + len(does) + 3 for key, does in last)
    for key, does in KEYS_LINE[:-2]:
        room -= len(key) + len(does) + 3
        if room < 0:
            break
        shown.append((key, does))
    return Content("  ").join(
        Content.assemble((key, "bold $text-accent"), f" {does}") for key, does in [*shown, *last]
    )
