"""The lines below the clip: where it stands, where the loop is, and which keys there are."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from accuracy_tui.judging import clock, said
from accuracy_tui.judging_round import Asked, place_line
from accuracy_tui.live import LiveSession
from accuracy_tui.player.clip_player import AROUND_SECONDS, Position
from accuracy_tui.ui.grid_lines import middle_cut
from sentrysearch.types import Window

_NAME_WIDTH = 12
_KEYS = (
    ("y", "yes"),
    ("n", "no"),
    ("s", "skip"),
    ("u", "undo"),
    ("space", "pause"),
    ("←→", "1 s"),
    (". ,", "picture"),
    ("+ -", "speed"),
    ("w", "±5 s"),
    ("f", "stills"),
    ("v", "other player"),
    ("?", "help"),
    ("q", "back"),
)


def place(session: LiveSession, ask: Asked, model: str | None, *, width: int, blind: bool) -> str:
    """Which window it is, how it was judged before, and who returned it where.

    Args:
        model: whose hit it is looked at as; None where no model is meant.
        width: of the line, in cells.
        blind: models and ranks are left out.
    """
    verdict = session.look(ask.item.query, ask.item.window)
    state = ""
    if verdict.value is not None:
        state = f" · judged {said(verdict.value)}{' by implication' if verdict.implied else ''}"
    window = ask.item.window
    where = f" {clock(window.start)}–{clock(window.end)}{state}"
    if not blind:
        where += f" · {place_line(session, ask.item, model)}"
    # The times and ranks have to fit.
    return middle_cut(window.footage, max(_NAME_WIDTH, width - cell_len(where))) + where


def loop(window: Window, position: Position, width: int) -> Content:
    """How far the loop is."""
    margin = AROUND_SECONDS if position.around else 0.0
    start, end = max(0.0, window.start - margin), window.end + margin
    marks = f" {'⏸' if position.paused else '▶'} {clock(position.seconds)}"
    if position.speed != 1.0:
        marks += f"  {position.speed:g}×"
    if position.around:
        marks += f"  ±{AROUND_SECONDS:g} s"
    room = max(4, width - len(marks) - 2)
    share = (position.seconds - start) / max(0.1, end - start)
    filled = round(min(1.0, max(0.0, share)) * room)
    return Content.assemble(("━" * filled, "$text-accent"), ("─" * (room - filled), "$text-muted"), marks)


def keys(width: int) -> Content:
    """As many keys as there is room for; the way out and the help, which has all of them, stay."""
    shown = list(_KEYS)
    while len(shown) > 4 and sum(len(key) + len(does) + 3 for key, does in shown) > width:
        shown.pop(-3)
    return Content("  ").join(Content.assemble((key, "bold $text-accent"), f" {does}") for key, does in shown)
