"""Every key, on one page."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from accuracy_tui.ui.grid_lines import BEST
from accuracy_tui.ui.keys import GRID, JUDGING, Key

GLYPH_LINES = (
    ("●", "$text-success", "true"),
    ("○", "$text-error", "false"),
    ("·", "bold $text-warning", "unjudged"),
    ("◐", "$text-success", "true, as it holds a true window"),
    ("◌", "$text-error", "false, as it lies in a false window"),
    ("–", "$text-muted", "no hit"),
    ("!", "bold $text-error", "failed"),
)


class HelpScreen(ModalScreen[None]):
    """Closed by any of the usual keys.

    Args:
        judging: the keys for judging come first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter,space", "dismiss", "close", show=False)
    ]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 76; max-width: 100%; height: auto; max-height: 100%;
        padding: 0 2; background: $surface; border: round $border;
    }
    HelpScreen Static { width: 1fr; }
    """

    def __init__(self, *, judging: bool = False) -> None:
        super().__init__()
        self._judging = judging

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(help_text(judging=self._judging))


def help_text(*, judging: bool = False) -> Content:
    """The table of keys."""
    parts = [("The table", GRID), ("Judging", JUDGING)]
    lines: list[Content] = []
    for title, keys in reversed(parts) if judging else parts:
        lines += [Content.styled(title, "bold"), *_lines(keys), Content("")]
    lines.append(Content.styled("Glyphs", "bold"))
    lines += [Content.assemble("  ", (glyph, style), f"  {meaning}") for glyph, style, meaning in GLYPH_LINES]
    lines.append(Content(""))
    lines.append(
        Content("0.31–0.38 is what a number is when all that is unjudged is false, and when it is true.")
    )
    lines.append(Content(f"{BEST} is the best of its row, whatever the unjudged windows turn out to be."))
    lines.append(Content("ctrl+p finds every command by name, and themes."))
    return Content("\n").join(lines)


def _lines(keys: tuple[Key, ...]) -> list[Content]:
    return [
        Content.assemble("  ", (f"{key.shown:18}", "$text-accent"), key.help) for key in keys if key.shown
    ]
