"""Text from outside on the screen: queries, file names, model names and errors are never markup.

Everything of the kind goes through here, so that no ``[/foo]`` breaks a widget and no escape sequence reaches
the terminal.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from sentrysearch.text import printable


def plain(text: object) -> Content:
    """As it is, with control characters made visible."""
    return Content(printable(str(text)))


def one_line(text: object, width: int) -> str:
    """In at most ``width`` cells, the end cut off with an ellipsis."""
    line = printable(str(text))
    if cell_len(line) <= width:
        return line
    return set_cell_size(line, max(0, width - 1)).rstrip() + "…" if width > 0 else ""


def padded(text: object, width: int) -> str:
    """In exactly ``width`` cells."""
    return set_cell_size(one_line(text, width), width)


def right(text: object, width: int) -> str:
    """In exactly ``width`` cells, at their right end."""
    line = one_line(text, width)
    return " " * (width - cell_len(line)) + line
