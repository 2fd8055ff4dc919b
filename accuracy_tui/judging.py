"""Judging on a plain terminal: the pool's unseen items one by one, a key each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from accuracy_tui.pool import PoolItem
from sentrysearch.errors import SentrySearchError
from sentrysearch.text import printable
from sentrysearch.types import Footage, Window

KEYS = "y shows it · n doesn't · s skip · u undo · p play again · q quit"


class Verdicts(Protocol):
    """What judging needs of the judgments."""

    def put(self, query: str, window: Window, value: bool) -> None: ...
    def undo(self) -> tuple[str, Window, bool | None] | None: ...


class Clips(Protocol):
    """What shows a window, where anything can."""

    def show(self, footage: Footage, window: Window) -> None: ...


class Order(Protocol):
    """Which item is asked next, where that depends on the verdicts so far."""

    def changed(self, query: str) -> None:
        """A verdict on this query was given or taken back."""

    def arrange(self, items: Sequence[PoolItem], after: str | None) -> list[PoolItem]:
        """The same items, in the order to ask; ``after`` is the query that was judged last."""
        ...

    def why(self, item: PoolItem) -> str:
        """A line on why it is asked now."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a round of judging."""

    judged: int
    left: int


def judge(
    items: Sequence[PoolItem],
    verdicts: Verdicts,
    footages: Mapping[str, Footage],
    *,
    read_key: Callable[[], str],
    say: Callable[[str], None],
    clips: Clips | None,
    command: Callable[[Footage, Window], str],
    order: Order | None = None,
) -> Outcome:
    """Asks for a verdict on each item until all are seen or the user quits.

    A verdict is acknowledged ("✓") only once it is safe on disk. End of input counts as quit.

    Args:
        items: what to judge, in the order to ask unless ``order`` says otherwise.
        verdicts: where verdicts go.
        footages: by name, for the clip's path.
        read_key: the next key, lower case, "" at the end of input.
        say: prints a line.
        clips: plays the window; None where nothing can.
        command: a shell command that plays the window by hand.
        order: arranges what is still to be asked, anew after every verdict.
    """
    items = list(items) if order is None else order.arrange(items, None)
    position = 0
    given: list[int] = []  # positions of the verdicts of this round, for undo to go back to
    while True:
        at_end = position == len(items)
        if at_end:
            say("")
            say("  that was the last · u undo · any other key ends")
        else:
            item = items[position]
            footage = footages.get(item.window.footage)
            why = None if order is None else order.why(item)
            _ask(position, len(items), item, why, footage, clips, command, say)
        key = read_key() if at_end else _key(read_key, say)
        if key == "q" or (at_end and key != "u"):
            break
        if key == "s":
            position += 1
        elif key in "yn":
            verdicts.put(item.query, item.window, key == "y")
            say(f"  ✓ {said(key == 'y')}")
            given.append(position)
            position += 1
            if order is not None:
                order.changed(item.query)
                items[position:] = order.arrange(items[position:], item.query)
        elif key == "u":
            undone = verdicts.undo()
            if undone is None:
                say("  nothing to undo")
                continue
            query, window, previous = undone
            say(f"  undone: {printable(query)} · {describe(window)} is {said(previous)} again")
            item = PoolItem(query, window)
            if given and items[given[-1]] == item:
                position = given.pop()
            elif previous is None and item not in items[position:]:  # of an earlier session: asked now
                items.insert(position, item)
            if order is not None:  # it is asked now, what follows may be another
                order.changed(query)
                items[position + 1 :] = order.arrange(items[position + 1 :], query)
    return Outcome(judged=len(given), left=len(items) - len(given))


def _key(read_key: Callable[[], str], say: Callable[[str], None]) -> str:
    while True:
        key = read_key()
        if key in ("", "\x03", "\x04"):
            return "q"
        if key in ("y", "n", "s", "u", "p", "q"):
            return key
        say(f"  {KEYS}")


def _ask(
    position: int,
    total: int,
    item: PoolItem,
    why: str | None,
    footage: Footage | None,
    clips: Clips | None,
    command: Callable[[Footage, Window], str],
    say: Callable[[str], None],
) -> None:
    say("")
    say(f"{position + 1}/{total}  Does this show “{printable(item.query)}”?")
    if why is not None:
        say(f"  {printable(why)}")
    if footage is None:
        say(f"  {describe(item.window)} (footage not found)")
    else:
        say(f"  {printable(footage.path)}  {clock(item.window.start)}–{clock(item.window.end)}")
        if clips is None:
            say(f"  {printable(command(footage, item.window))}")
        else:
            try:
                clips.show(footage, item.window)
            except SentrySearchError as error:
                say(f"  not played: {error}")
                say(f"  {printable(command(footage, item.window))}")
    say(f"  {KEYS}")


def said(value: bool | None) -> str:
    """A verdict as a word."""
    return "unjudged" if value is None else "yes" if value else "no"


def describe(window: Window) -> str:
    """A window on one line: footage, then its times as a player shows them."""
    return f"{printable(window.footage)} {clock(window.start)}–{clock(window.end)}"


def clock(seconds: float) -> str:
    """Seconds as a player shows them, to the tenth: ``1:02.5``, ``1:00:00.0``."""
    tenths = round(seconds * 10)
    minutes, tenths = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    short = f"{minutes}:{tenths / 10:04.1f}"
    return f"{hours}:{minutes:02}:{tenths / 10:04.1f}" if hours else short
