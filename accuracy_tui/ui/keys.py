"""Every key of the console, in one table: bindings, help and the command palette are all made from it."""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding


class Key(NamedTuple):
    """What one action is called and which keys do it."""

    keys: str
    """By Textual's names, with commas between."""
    action: str
    title: str
    """For the palette; "" keeps it out of there."""
    help: str
    shown: str
    """For the help: the keys as a person writes them."""


GRID: tuple[Key, ...] = (
    Key("up,k", "move(-1, 0)", "", "move the cursor", "↑ ↓ ← → h j k l"),
    Key("down,j", "move(1, 0)", "", "", ""),
    Key("left,h", "move(0, -1)", "", "", ""),
    Key("right,l", "move(0, 1)", "", "", ""),
    Key("pageup,ctrl+u", "page(-1)", "", "a screen up, down", "PgUp PgDn"),
    Key("pagedown,ctrl+d", "page(1)", "", "", ""),
    Key("g,home", "top", "", "first query, last query", "g G"),
    Key("G,end", "bottom", "", "", ""),
    Key("left_square_bracket", "hit(-1)", "", "previous, next hit of the cell", "[ ]"),
    Key("right_square_bracket", "hit(1)", "", "", ""),
    Key("tab", "unjudged(1)", "Next unjudged hit", "next, previous unjudged hit", "Tab Shift-Tab"),
    Key("shift+tab", "unjudged(-1)", "Previous unjudged hit", "", ""),
    Key("enter,space", "play", "Judge this cell", "play and judge the cell's unjudged hits", "Enter"),
    Key("J", "decide", "Judge what decides most", "judge first what decides between models", "J"),
    Key("A", "judge_all", "Judge everything in order", "judge all that is unjudged, query by query", "A"),
    Key("y", "verdict(True)", "Yes: the hit shows the query", "the selected hit shows the query", "y"),
    Key("n", "verdict(False)", "No: the hit doesn't show it", "it doesn't", "n"),
    Key("u", "undo", "Undo the last verdict", "undo a verdict, also of earlier sessions", "u"),
    Key("s", "skip", "Skip to the next unjudged hit", "leave it unjudged, on to the next", "s"),
    Key("slash", "filter", "Filter queries", "filter queries: words, :unjudged :failed :differ", "/"),
    Key("o", "sort", "Sort queries another way", "sort by name, P@k, unjudged, disagreement", "o"),
    Key("a", "add_query", "Add a query", "add a query and search it", "a"),
    Key("p", "passes", "Models and passes", "run, cancel, retry models", "p"),
    Key("e", "export", "Export table, TREC files, picture", "write the table and more to files", "e"),
    Key("question_mark,f1", "help", "Help", "this help", "?"),
    Key("escape", "clear", "", "clear filter", "Esc"),
    Key("ctrl+z", "suspend_process", "", "suspend; fg comes back", "Ctrl-Z"),
    Key("q,ctrl+q,ctrl+c", "quit", "Quit", "quit; everything is saved", "q"),
)

JUDGING: tuple[Key, ...] = (
    Key("y", "verdict(True)", "", "yes, the window shows the query", "y"),
    Key("n", "verdict(False)", "", "no, it doesn't", "n"),
    Key("s", "skip", "", "skip: leave it unjudged", "s"),
    Key("u", "undo", "", "undo the last verdict and come back to it", "u"),
    Key("space", "control('pause')", "", "pause, go on", "Space"),
    Key("right,l", "control('forward')", "", "one second on, back", "→ ←"),
    Key("left,h", "control('back')", "", "", ""),
    Key("right_square_bracket,down,j", "step(1)", "", "next, previous hit", "[ ] ↑ ↓"),
    Key("left_square_bracket,up,k", "step(-1)", "", "", ""),
    Key("full_stop", "control('step')", "", "one picture on, back", ". ,"),
    Key("comma", "control('step back')", "", "", ""),
    Key(
        "plus,equals_sign,greater_than_sign", "control('faster')", "", "faster, slower, normal speed", "+ - 0"
    ),
    Key("minus,less_than_sign", "control('slower')", "", "", ""),
    Key("0", "control('normal speed')", "", "", ""),
    Key("w", "control('around')", "", "5 s around the window too", "w"),
    Key("r", "control('restart')", "", "from the window's start", "r"),
    Key("f", "filmstrip", "", "a strip of stills beside the picture", "f"),
    Key("v", "next_route", "", "show clips another way", "v"),
    Key("question_mark,f1", "help", "", "this help", "?"),
    Key("ctrl+z", "suspend_process", "", "suspend; fg comes back", "Ctrl-Z"),
    Key("escape,q,ctrl+q", "leave", "", "back to the table", "q Esc"),
)


def bindings(keys: tuple[Key, ...]) -> list[Binding]:
    """As Textual wants them; none is in a footer, the screens draw their own."""
    return [
        Binding(key.keys, key.action, key.help or key.title, show=False, priority="ctrl+" in key.keys)
        for key in keys
    ]
