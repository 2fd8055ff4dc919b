"""A terminal that is slow to draw: pictures wait for it, keys don't wait for pictures."""

import itertools
import time

import numpy as np
import pytest
from test_console_process import bench as bench  # a fixture
from test_console_process import verdicts
from textual.events import CursorPosition

from accuracy_tui.benchmark import Query
from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.player import pacing
from accuracy_tui.player.clip_player import Picture
from accuracy_tui.player.pacing import MOST_UNANSWERED
from accuracy_tui.ui.judging_screen import JudgingScreen
from accuracy_tui.ui.picture_view import PictureView
from support.console import drive_console
from support.console import players as players  # a fixture
from support.grids import open_session
from support.pseudo_terminal import PseudoTerminal, console_command
from support.runs import window
from support.screen import until

VAN = Query("white van", "fine")
PICTURES = 6
SHADES = itertools.count()


@pytest.fixture
def session(tmp_path):
    with open_session(tmp_path, {"a": {VAN: [window(0), window(1)]}}, [VAN]) as opened:
        yield opened


async def pictures_come(console, players, count=PICTURES):
    """The player has so many new pictures, one after another, each unlike the one before."""
    for _ in range(count):
        picture = Picture(np.full((40, 60, 3), next(SHADES) * 50 % 256, np.uint8), 1.0)
        players.last.picture = lambda picture=picture: picture
        players.last.shown()
        await console.settle()


async def the_terminal_answers(console):
    """It has come to the end of one more picture; before and after each it is asked."""
    for _ in range(2):
        console.app.post_message(CursorPosition(0, 0))
    await console.settle()


def drawn_by(console):
    return console.app.screen.query_one(PictureView).pictures_drawn


def test_at_most_two_pictures_are_on_the_way(session, players, monkeypatch):
    monkeypatch.setattr(pacing, "SILENT_SECONDS", 1e6)
    monkeypatch.setattr(pacing, "SLOW_SECONDS", 1e6)

    async def act(console):
        await console.press("enter")
        await pictures_come(console, players)
        assert drawn_by(console) == MOST_UNANSWERED == 2
        for answers in range(1, 4):
            await the_terminal_answers(console)
            await console.until(lambda answers=answers: drawn_by(console) == MOST_UNANSWERED + answers)
            await pictures_come(console, players)
            assert drawn_by(console) == MOST_UNANSWERED + answers

    drive_console(session, act, options=ConsoleOptions(fps=1000.0))


def test_a_terminal_that_answers_gets_every_picture(session, players, monkeypatch):
    monkeypatch.setattr(pacing, "SILENT_SECONDS", 1e6)
    monkeypatch.setattr(pacing, "SLOW_SECONDS", 1e6)
    monkeypatch.setattr(pacing, "BYTES_PER_SECOND", 1e12)

    async def act(console):
        await console.press("enter")
        before = drawn_by(console)
        for _ in range(PICTURES):
            await the_terminal_answers(console)
            await pictures_come(console, players, 1)
        assert drawn_by(console) >= before + PICTURES

    drive_console(session, act, options=ConsoleOptions(fps=1000.0))


def test_a_terminal_that_never_answers_still_gets_pictures(session, players, monkeypatch):
    monkeypatch.setattr(pacing, "SILENT_SECONDS", 0.05)

    async def act(console):
        await console.press("enter")
        await pictures_come(console, players, 3)
        before = drawn_by(console)
        await pictures_come(console, players, 1)
        await console.until(lambda: drawn_by(console) > before)

    drive_console(session, act, options=ConsoleOptions(fps=1000.0))


def test_verdicts_are_taken_while_the_terminal_owes_answers(session, players, monkeypatch):
    monkeypatch.setattr(pacing, "SILENT_SECONDS", 1e6)
    monkeypatch.setattr(pacing, "SLOW_SECONDS", 1e6)

    async def act(console):
        await console.press("enter")
        await pictures_come(console, players)
        drawn = drawn_by(console)
        first = console.app.screen.clip
        screen = console.app.screen
        await console.until(lambda: screen._now() - screen._seen_at > 0.3)
        await console.press("y")
        assert isinstance(console.app.screen, JudgingScreen) and console.app.screen.clip is not first
        await pictures_come(console, players)
        assert drawn_by(console) == drawn  # the next clip's pictures wait as well
        await the_terminal_answers(console)
        await console.until(lambda: drawn_by(console) == drawn + 1)

    drive_console(session, act, options=ConsoleOptions(fps=1000.0))


def test_a_verdict_is_durable_while_the_line_stands_still(bench, tmp_path):
    """The real program, with nothing of what it writes being read."""
    console = PseudoTerminal(
        console_command("-b", str(bench), "--player", "inline", "--fps", "25"),
        environ={"SENTRYSEARCH_DATA": str(tmp_path / "data"), "PATH": "/usr/bin:/bin", "DISPLAY": ""},
    )
    try:
        console.wait_for("? help")
        console.type("\r")
        until(lambda: b"\x1b[6n" in console.written)  # a picture was drawn
        console.type("w")  # with what lies around the window, so that the picture changes
        console.wait_for("±5 s")
        console.stall()

        def judged():
            console.type("y")
            time.sleep(0.4)  # a key that is held counts for nothing
            return verdicts(bench).get(("red thing", 0.0)) is True

        until(judged)
        console.resume()
        console.type("q")
        console.wait_for("enter play")
        console.type("q")
        assert console.process.wait(20) == 0
        assert verdicts(bench)[("red thing", 0.0)] is True
    finally:
        console.close()
