"""Every model with its pass: what runs, what can be run, and what keeps the others from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from accuracy_tui.model_choices import ModelChoice, model_choice, model_choices
from accuracy_tui.ui.pass_text import pass_sentence, pass_style, pass_text
from accuracy_tui.ui.safe_text import one_line, padded, plain
from accuracy_tui.worker_events import Loading, NotRun, PassState, is_active

if TYPE_CHECKING:
    from accuracy_tui.ui.app import ConsoleApp

_NAME, _STATE = 22, 20
"""Cells of a model's name and of its state in the list."""
_TICK_SECONDS = 0.5
_STYLES = {
    "dim": "$text-muted",
    "true": "$text-success",
    "download": "$text-warning",
    "failed": "$text-error",
    "running": "$text-accent",
}
"""Colours, which only repeat what the words say."""


class PassesScreen(ModalScreen[None]):
    """Starts, cancels and retries passes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,p", "close", "close", show=False),
        Binding("s,r", "start", "run", show=False),
        Binding("c,x,delete", "cancel", "cancel", show=False),
        Binding("A", "start_all", "run all", show=False),
        Binding("C", "cancel_all", "cancel all", show=False),
        Binding("n,slash", "type_name", "name a model", show=False),
        Binding("j", "move('down')", "down", show=False),
        Binding("k", "move('up')", "up", show=False),
    ]
    DEFAULT_CSS = """
    PassesScreen { align: center middle; }
    PassesScreen > Vertical {
        width: 110; max-width: 100%; height: auto; max-height: 100%;
        padding: 0 1; background: $surface; border: round $border;
    }
    PassesScreen Static { width: 1fr; height: auto; }
    PassesScreen #title { text-style: bold; }
    PassesScreen OptionList { height: auto; max-height: 1fr; padding: 0; margin: 1 0; }
    PassesScreen Input { padding: 0 1; background: $boost; display: none; }
    PassesScreen Input.open { display: block; }
    PassesScreen #about { height: 3; }
    PassesScreen #said { color: $text-warning; height: 1; }
    PassesScreen #keys { color: $text-muted; height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._choices: dict[str, ModelChoice] = {}
        self._shown: dict[str, Content] = {}
        self._stopping: str | None = None

    @property
    def console(self) -> ConsoleApp:
        """The app, by its own type."""
        return cast("ConsoleApp", self.app)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static("Models and passes", id="title")
            yield OptionList(markup=False, compact=True)
            yield Static(id="about")
            yield Static(id="said")
            yield Input(placeholder="a hub id (Organisation/Name), a folder or a listed model", compact=True)
            yield Static(
                "enter run   c cancel   A run all missing   C cancel all   n other model   esc close",
                id="keys",
            )

    def on_mount(self) -> None:
        self._list()
        self.query_one(OptionList).focus()
        self.set_interval(_TICK_SECONDS, self._tick)

    # What is shown

    def passes_changed(self) -> None:
        """A pass made progress."""
        if not self.is_mounted:
            return
        if self._stopping is not None and not is_active(self._state(self._stopping)):
            self._stopping = None
            self._say("")
        if self._choices.keys() >= set(self.console.session.models):
            self._refresh()
        else:
            self._list()

    def on_resize(self) -> None:
        self._refresh()

    def on_option_list_option_highlighted(self) -> None:
        self._show_about()

    def _list(self) -> None:
        """The list anew, for other models or what has been installed meanwhile."""
        options = self.query_one(OptionList)
        chosen = self._chosen
        self._choices = {choice.name: choice for choice in model_choices(self.console.session.models)}
        self._shown = {name: self._line(choice) for name, choice in self._choices.items()}
        options.set_options([Option(line) for line in self._shown.values()])
        self._highlight(chosen or next(iter(self._choices)))

    def _refresh(self) -> None:
        """Draws the lines that changed."""
        options = self.query_one(OptionList)
        for index, (name, choice) in enumerate(self._choices.items()):
            line = self._line(choice)
            if line != self._shown[name]:
                self._shown[name] = line
                options.replace_option_prompt_at_index(index, line)
        self._show_about()

    def _tick(self) -> None:
        """Seconds of loading go on without events."""
        if any(isinstance(state, Loading) for state in self.console.session.passes.values()):
            self._refresh()

    def _line(self, choice: ModelChoice) -> Content:
        state = self._state(choice.name)
        room = max(0, self.query_one(Vertical).content_size.width - 2 - _NAME - _STATE - 4)
        if choice.obstacle is not None:
            note, style = choice.obstacle.what, _STYLES["failed"]
        elif choice.download is not None and isinstance(state, NotRun):
            note, style = choice.download.what, _STYLES["download"]
        else:
            note, style = choice.summary, _STYLES["dim"]
        return Content.assemble(
            (padded(choice.name, _NAME), "bold" if choice.can_run else _STYLES["dim"]),
            "  ",
            (padded(pass_text(state, _STATE), _STATE), _STYLES[pass_style(state)]),
            "  ",
            (one_line(note, room), style),
        )

    def _show_about(self) -> None:
        """Everything about the model under the cursor."""
        name = self._chosen
        if name is None:
            return
        choice = self._choices[name]
        lines = [f"{name}: {pass_sentence(self._state(name))}"]
        if choice.obstacle is not None:
            lines.append(f"can't run here: {choice.obstacle}")
        elif choice.download is not None:
            lines.append(str(choice.download))
        lines.append(choice.summary)
        self.query_one("#about", Static).update(Content("\n").join(plain(line) for line in lines))

    def _state(self, model: str) -> PassState:
        return self.console.session.passes.get(model, NotRun())

    @property
    def _chosen(self) -> str | None:
        highlighted = self.query_one(OptionList).highlighted
        names = list(self._choices)
        return names[highlighted] if highlighted is not None and highlighted < len(names) else None

    def _highlight(self, name: str) -> None:
        names = list(self._choices)
        self.query_one(OptionList).highlighted = names.index(name) if name in names else 0

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(plain(text))

    # What keys do

    def on_option_list_option_selected(self) -> None:
        self.action_start()

    def action_start(self) -> None:
        """Runs the model under the cursor, again where it has a run."""
        if self._chosen is not None:
            self._start(self._chosen)

    def action_start_all(self) -> None:
        """Runs the grid's models that have no run and can run here."""
        session = self.console.session
        wanted = [
            model
            for model in session.models
            if model not in session.grid.runs
            and not is_active(session.passes[model])
            and model_choice(model).can_run
        ]
        if wanted:
            self._say("")
            self.console.start(wanted)
        else:
            self._say("every model of the table that can run here has a run, or is running")

    def action_cancel(self) -> None:
        """Stops the pass under the cursor."""
        name = self._chosen
        if name is None:
            return
        if is_active(self._state(name)):
            self._stopping = name
            self._say(f"stopping {name} …")
            self.console.worker.cancel(name)
        else:
            self._say(f"{name} is not running")

    def action_cancel_all(self) -> None:
        """Stops every pass."""
        self.console.worker.cancel_all()

    def action_type_name(self) -> None:
        """Opens the line that takes any model's name."""
        line = self.query_one(Input)
        line.add_class("open")
        line.focus()

    def action_move(self, way: str) -> None:
        """Up or down the list."""
        options = self.query_one(OptionList)
        if way == "down":
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_close(self) -> None:
        """Closes the line for a name, then the screen."""
        line = self.query_one(Input)
        if line.has_class("open"):
            self._close_line()
        else:
            self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        name = event.value.strip()
        if not name or self._start(name):
            self._close_line()

    def _close_line(self) -> None:
        line = self.query_one(Input)
        line.value = ""
        line.remove_class("open")
        self.query_one(OptionList).focus()

    def _start(self, name: str) -> bool:
        """Whether it was started; else it is said why not."""
        if is_active(self._state(name)):
            self._say(f"{name} is running already; c stops it")
            return False
        choice = model_choice(name)  # looked up anew: what was missing may have been installed
        if choice.obstacle is not None:
            self._say(str(choice.obstacle))
            return False
        self._say("" if choice.download is None else f"{name} downloads its weights first")
        self.console.start([name])
        if name not in self._choices:
            self._list()
        self._highlight(name)
        self._refresh()
        return True
