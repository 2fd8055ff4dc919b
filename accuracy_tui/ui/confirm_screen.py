"""A question with yes or no."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from accuracy_tui.ui.safe_text import plain


class ConfirmScreen(ModalScreen[bool]):
    """True for yes. Enter isn't an answer: it may have been meant for what was there before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "yes", show=False),
        Binding("n,escape,q", "dismiss(False)", "no", show=False),
    ]
    DEFAULT_CSS = """
    ConfirmScreen { align: center middle; }
    ConfirmScreen > Vertical {
        width: auto; max-width: 90%; height: auto; padding: 1 2; background: $surface; border: round $border;
    }
    ConfirmScreen Static { width: auto; }
    """

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(plain(self._question))
            yield Static(
                Content.assemble(("y", "bold $text-accent"), " yes   ", ("n", "bold $text-accent"), " no")
            )
