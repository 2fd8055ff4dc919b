"""What to write, and where."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from accuracy_tui.export import DESCRIPTIONS, FORMS, export, file_stem
from accuracy_tui.ui.choice_list import ChoiceList
from accuracy_tui.ui.safe_text import plain
from sentrysearch.errors import SentrySearchError

if TYPE_CHECKING:
    from accuracy_tui.ui.app import ConsoleApp

PICTURE = "picture"


class ExportScreen(ModalScreen["Path | None"]):
    """Chooses forms and a folder. Its result is where a picture of the table is wanted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "close", show=False),
        Binding("enter", "write", "write", show=False, priority=True),
        Binding("tab", "app.focus_next", "next", show=False),
    ]
    DEFAULT_CSS = """
    ExportScreen { align: center middle; }
    ExportScreen > Vertical {
        width: 72; max-width: 100%; height: auto; max-height: 100%;
        padding: 0 2; background: $surface; border: round $border;
    }
    ExportScreen ChoiceList { margin: 1 0; }
    ExportScreen Input { border: none; height: 1; padding: 0; background: $panel; }
    ExportScreen #problem { color: $text-error; }
    ExportScreen Static { height: auto; }
    """

    @property
    def console(self) -> ConsoleApp:
        """The app, by its own type."""
        return cast("ConsoleApp", self.app)

    def compose(self) -> ComposeResult:
        described = {**DESCRIPTIONS, PICTURE: "the table's screen as SVG"}
        with Vertical():
            yield Static(Content.styled("Export", "bold"))
            yield ChoiceList([(form, described[form]) for form in (*FORMS, PICTURE)], ["markdown"])
            yield Static(Content("into the folder"))
            yield Input(value=str(self.console.session.benchmark.path.parent / "export"), compact=True)
            yield Static(id="problem")
            yield Static(
                Content.assemble(
                    ("space", "bold $text-accent"),
                    " choose  ",
                    ("tab", "bold $text-accent"),
                    " folder  ",
                    ("enter", "bold $text-accent"),
                    " write  ",
                    ("esc", "bold $text-accent"),
                    " close",
                )
            )

    def action_write(self) -> None:
        forms = self.query_one(ChoiceList).chosen
        folder = Path(self.query_one(Input).value).expanduser()
        problem = self.query_one("#problem", Static)
        if not forms:
            problem.update(plain("nothing is chosen"))
            return
        if not self.query_one(Input).value.strip():
            problem.update(plain("name a folder"))
            return
        try:
            written = export(self.console.session, folder, forms - {PICTURE})
        except (SentrySearchError, OSError, RuntimeError) as error:
            problem.update(plain(str(error)))
            return
        names = [path.name for path in written]
        picture = None
        if PICTURE in forms:
            picture = folder / f"{file_stem(self.console.session.benchmark.name)}.svg"
            names.append(picture.name)
        self.dismiss(picture)
        more = " …" if len(names) > 4 else ""
        self.console.say(f"written to {folder}: {', '.join(names[:4])}{more}")
