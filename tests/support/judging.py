"""A console with one cell to judge, and a clock that says how long its clips have been seen."""

from __future__ import annotations

import pytest

from accuracy_tui.benchmark import Query
from accuracy_tui.judgments import Judgments
from accuracy_tui.ui.judging_screen import JudgingScreen
from support.console import Clock
from support.grids import open_session
from support.runs import window

VAN, ROAD = Query("white van", "fine"), Query("road [/]", "floor")


@pytest.fixture
def session(tmp_path):
    runs = {
        "a": {VAN: [window(0), window(1), window(2)], ROAD: [window(3)]},
        "b": {VAN: [window(1), window(4)], ROAD: [window(3)]},
    }
    with open_session(tmp_path, runs, [VAN, ROAD]) as opened:
        yield opened


@pytest.fixture
def clock(monkeypatch):
    """The clock that says how long a clip has been seen."""
    moved = Clock()
    original = JudgingScreen.__init__

    def with_clock(self, *arguments, **options):
        original(self, *arguments, **options, now=moved)

    monkeypatch.setattr(JudgingScreen, "__init__", with_clock)
    return moved


def verdicts(tmp_path):
    with Judgments.open(tmp_path / "judgments.yaml", (), write=False) as reader:
        return {(query, where.start): value for query, where, value in reader.items()}


def judging(act, clock):
    """A script that begins with the cell (a, white van) open, its first clip seen for a second."""

    async def script(console):
        await console.press("enter")
        assert isinstance(console.app.screen, JudgingScreen)
        clock.now += 1
        await act(console)

    return script


def asked(player, *kinds):
    return [(kind, what) for kind, what in player.asked if kind in kinds]
