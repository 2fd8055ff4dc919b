"""What widgets have in common that draw lines of styled parts on Textual's line API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.scroll_view import ScrollView
from textual.strip import Strip

from accuracy_tui.ui.grid_lines import Part


class StyledLines(ScrollView, inherit_bindings=False):
    """Turns parts into strips; which key does what is up to the screen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"part--{name}"
        for name in (
            *("plain", "dim", "title", "model", "here", "row", "cell", "chosen"),
            *("running", "filled", "empty", "true", "false", "unjudged", "failed", "best"),
        )
    }
    # Colours repeat what words and glyphs say.
    DEFAULT_CSS = """
    StyledLines {
        overflow: hidden;
        & > .part--plain { color: $foreground; }
        & > .part--dim { color: $foreground 55%; }
        & > .part--title { text-style: bold; }
        & > .part--model { text-style: bold; }
        & > .part--here { color: $text-accent; text-style: bold underline; }
        & > .part--running { color: $text-accent; }
        & > .part--filled { background: $accent 30%; }
        & > .part--empty { background: $foreground 8%; }
        & > .part--true { color: $text-success; }
        & > .part--false { color: $text-error; }
        & > .part--unjudged { color: $text-warning; text-style: bold; }
        & > .part--failed { color: $text-error; }
        & > .part--best { color: $text-success; text-style: bold; }
        & > .part--row { background: $foreground 7%; }
        & > .part--cell { background: $primary 35%; text-style: bold; }
        & > .part--chosen { text-style: reverse bold; }
    }
    """

    _styles_of_parts: dict[str, Style]

    def strip_of(self, parts: Iterable[Part], width: int, *, rest: str = "") -> Strip:
        """The parts as a strip of ``width`` cells, filled up in the style ``rest``."""
        strip = Strip([Segment(text, self.style_of(names)) for text, names in parts])
        return strip.simplify().adjust_cell_length(width, self.style_of(rest))

    def style_of(self, names: str) -> Style:
        """The style of a part; a later name's colours replace those of one before it."""
        try:
            return self._styles_of_parts[names]
        except AttributeError:
            self._styles_of_parts = {}
        except KeyError:
            pass
        style = self.get_component_rich_style("part--plain")
        for name in names.split():
            style += self._own_style(f"part--{name}")
        self._styles_of_parts[names] = style
        return style

    def notify_style_update(self) -> None:
        self._styles_of_parts = {}
        super().notify_style_update()

    def _own_style(self, component: str) -> Style:
        """What a component sets itself, its colours mixed with what is below them."""
        whole, own = self.get_component_rich_style(component), self.get_component_styles(component)
        return (
            Style(
                color=whole.color if own.has_rule("color") else None,
                bgcolor=whole.bgcolor if own.has_rule("background") else None,
            )
            + own.text_style
        )
