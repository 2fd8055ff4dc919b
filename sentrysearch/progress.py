"""What a pass's events look like on the progress line."""

from __future__ import annotations

from sentrysearch import terminal
from sentrysearch.passes import Damaged, Embedding, Finished, Loading, PassEvent, Searched
from sentrysearch.text import printable


def show(line: terminal.ProgressLine, model: str, event: PassEvent) -> None:
    """Shows one event: progress replaces what the bar says, damage and failed queries stay as lines."""
    name = printable(model)
    if isinstance(event, Loading):
        line.show(f"{name} loading")
    elif isinstance(event, Embedding):
        line.show(
            f"{name} embedding",
            done=event.done,
            total=event.total,
            note=f"{event.done}/{event.total} windows, {event.windows_per_second:.1f}/s",
            eta=event.eta_seconds,
        )
    elif isinstance(event, Damaged):
        damage = event.damage
        place = f"{printable(damage.footage)} {damage.start:.1f}–{damage.end:.1f} s"
        line.say(f"{name}: {place} not decoded: {printable(damage.reason)}")
    elif isinstance(event, Searched):
        if event.error is not None:
            line.say(f"{name}: query “{printable(event.query)}” failed: {printable(event.error)}")
        line.show(f"{name} searching")
    elif isinstance(event, Finished):
        timings = event.timings
        line.say(f"{name}: loaded in {timings.load:.1f} s, embedded in {timings.embed:.1f} s")
