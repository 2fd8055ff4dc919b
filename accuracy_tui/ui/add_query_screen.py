"""One more query, typed, and the group it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from accuracy_tui.benchmark import GROUPS, Query
from accuracy_tui.ui.safe_text import plain
from sentrysearch.errors import BadInput
from sentrysearch.terminal import checked_query

if TYPE_CHECKING:
    from accuracy_tui.ui.app import ConsoleApp

_MEANING = {"fine": "measures the models", "floor": "confirms that the pipeline works"}


class AddQueryScreen(ModalScreen[Query | None]):
    """The query, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", show=False),
        Binding("up,shift+tab", "group(-1)", "group", show=False, priority=True),
        Binding("down,tab", "group(1)", "group", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    AddQueryScreen { align: center middle; }
    AddQueryScreen > Vertical {
        width: 76; max-width: 100%; height: auto; padding: 1 2; background: $surface; border: round $border;
    }
    AddQueryScreen Static { width: 1fr; height: auto; }
    AddQueryScreen Input { padding: 0 1; margin: 1 0; background: $boost; }
    AddQueryScreen #problem { color: $text-error; display: none; }
    AddQueryScreen #problem.said { display: block; }
    AddQueryScreen #keys { color: $text-muted; margin-top: 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.group = GROUPS[0]

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static("Add a query; models that have a run search it at once")
            yield Input(placeholder="what to look for", compact=True)
            for group in GROUPS:
                yield _Group(group)
            yield Static(id="problem")
            yield Static("enter add   ↑ ↓ group   esc cancel", id="keys")

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._show_groups()

    def action_group(self, step: int) -> None:
        """The next group."""
        self.group = GROUPS[(GROUPS.index(self.group) + step) % len(GROUPS)]
        self._show_groups()

    def choose(self, group: str) -> None:
        """This group."""
        self.group = group
        self._show_groups()

    def on_input_changed(self) -> None:
        self._say("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        try:
            checked_query(text)
        except BadInput as error:
            self._say(error.what)
            return
        known = {query.text: query.group for query in cast("ConsoleApp", self.app).session.queries}
        if text in known:
            self._say(f"it is a {known[text]} query already")
            return
        self.dismiss(Query(text, self.group))

    def _say(self, problem: str) -> None:
        line = self.query_one("#problem", Static)
        line.update(plain(problem))
        line.set_class(bool(problem), "said")

    def _show_groups(self) -> None:
        for line in self.query(_Group):
            line.show(chosen=line.group == self.group)


class _Group(Static):
    """A line that chooses a group when it is clicked."""

    def __init__(self, group: str) -> None:
        super().__init__()
        self.group = group

    def show(self, *, chosen: bool) -> None:
        """With a mark where it is chosen."""
        name = f"{'●' if chosen else '○'} {self.group:6}"
        self.update(Content.assemble((name, "bold" if chosen else ""), (_MEANING[self.group], "$text-muted")))

    def on_click(self) -> None:
        screen = self.screen
        if isinstance(screen, AddQueryScreen):
            screen.choose(self.group)
