"""A list of which any number may be chosen, with marks that need no colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from accuracy_tui.ui.safe_text import padded


class ChoiceList(Static, can_focus=True):
    """Arrows move, space chooses.

    Args:
        choices: name and description of each.
        chosen: the names chosen at first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("space,x", "choose", "choose", show=False),
    ]

    def __init__(self, choices: Sequence[tuple[str, str]], chosen: Iterable[str] = ()) -> None:
        super().__init__()
        self._choices = list(choices)
        self._chosen = set(chosen)
        self._at = 0

    @property
    def chosen(self) -> set[str]:
        """The names chosen."""
        return set(self._chosen)

    def render(self) -> Content:
        width = max(len(name) for name, _ in self._choices)
        lines = []
        for place, (name, description) in enumerate(self._choices):
            mark = "x" if name in self._chosen else " "
            at = place == self._at and self.has_focus
            line = f"{'▸' if at else ' '} [{mark}] {padded(name, width)}  {description}"
            lines.append(Content.styled(line, "bold $text-accent") if at else Content(line))
        return Content("\n").join(lines)

    def action_move(self, step: int) -> None:
        self._at = (self._at + step) % len(self._choices)
        self.refresh()

    def action_choose(self) -> None:
        self._chosen ^= {self._choices[self._at][0]}
        self.refresh()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()
