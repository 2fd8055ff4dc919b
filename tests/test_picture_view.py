"""The view that clips are drawn in, on a real terminal: what is there after anything else was."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from rich.ansi import AnsiDecoder
from rich.console import Console as RichConsole

from accuracy_tui.player.abilities import Abilities
from accuracy_tui.ui.picture_view import PictureView
from support.picture_app import GREEN, NARROW, RED, WIDE
from support.pseudo_terminal import PseudoTerminal
from support.screen import until

TESTS = Path(__file__).parent
PROGRAM = [sys.executable, "-m", "support.picture_app"]
ENVIRON = {**os.environ, "COLORTERM": "truecolor", "PYTHONPATH": f"{TESTS}:{TESTS.parent}"}

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux (apt install tmux)")


@pytest.fixture
def tmux(tmp_path):
    """The program in tmux: what it shows, and keys for it."""

    def run(*arguments):
        return subprocess.run(
            ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null", *arguments],
            env=ENVIRON,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    # Its own terminal has 256 colours, what programs write to it is kept as it came.
    run("new-session", "-d", "-x", "80", "-y", "24", *PROGRAM)
    yield run
    run("kill-server")


def colours(tmux):
    """How many cells have which background."""
    console = RichConsole(width=200)
    counts = Counter()
    for line in AnsiDecoder().decode(tmux("capture-pane", "-e", "-p", "-N")):
        for segment in line.render(console):
            if segment.style is not None and segment.style.bgcolor is not None and segment.text != "\n":
                counts[tuple(segment.style.bgcolor.get_truecolor())] += len(segment.text)
    return counts


def cells(size):
    return size[0] // 2 * (size[1] // 2)


@needs_tmux
def test_pictures_stay_whole_whatever_else_is_drawn(tmux):
    def shows(colour, size):
        until(lambda: colours(tmux)[colour] == cells(size))

    until(lambda: (tmux("send-keys", "w"), colours(tmux)[RED])[1])
    shows(RED, WIDE)
    tmux("send-keys", "d")  # a dialog comes in front of it
    until(lambda: "a dialog" in tmux("capture-pane", "-p"))
    until(lambda: not colours(tmux)[RED])
    tmux("send-keys", "n")  # and meanwhile another one is there
    tmux("send-keys", "Escape")
    shows(GREEN, NARROW)
    assert not colours(tmux)[RED]
    tmux("send-keys", "w")  # of another shape, at once: nothing of the one before is left
    shows(RED, WIDE)
    assert not colours(tmux)[GREEN]
    tmux("send-keys", "d")
    until(lambda: "a dialog" in tmux("capture-pane", "-p"))
    tmux("send-keys", "Escape")  # the same one, which has not changed
    shows(RED, WIDE)
    tmux("send-keys", "t")
    until(lambda: "no picture" in tmux("capture-pane", "-p"))
    assert not colours(tmux)[RED]
    tmux("send-keys", "n")
    shows(GREEN, NARROW)
    assert "no picture" not in tmux("capture-pane", "-p")
    tmux("resize-window", "-x", "60", "-y", "30")
    until(lambda: colours(tmux)[GREEN] == cells(NARROW) and _rows(tmux) == 30)


def _rows(tmux):
    return int(tmux("display-message", "-p", "#{pane_height}"))


def test_answers_on_their_way_do_not_land_on_the_shells_line():
    """Suspended while pictures move, with a terminal that is a tenth of a second away."""
    terminal = PseudoTerminal(
        [
            "bash",
            "--norc",
            "-i",
            "-c",
            f"{' '.join(PROGRAM)}; read -r -n 4 -t 1.5 typed; printf 'got<%q>' \"$typed\"",
        ],
        environ=ENVIRON,
        answer_seconds=0.1,
    )
    try:
        until(lambda: b"\x1b[?1049h" in terminal.written)
        until(lambda: (terminal.type("m"), time.sleep(0.2), b"\x1b[6n" in terminal.written)[2])
        time.sleep(1)
        terminal.type("\x11")  # Ctrl-Q ends it
        terminal.wait_for("got<")
        assert "got<''>" in terminal.text
    finally:
        terminal.close()


@pytest.mark.parametrize(
    ("pictures", "cell", "shape"),
    [
        ("quadrants", (8, 16), 0.5),
        ("halves", (8, 16), 1.0),
        ("quadrants", (9, 15), 0.6),
        ("kitty", (9, 15), 1.0),
    ],
)
def test_the_source_hears_what_shape_pixels_have(pictures, cell, shape):
    import asyncio

    from textual.app import App

    asked = []

    class Source:
        def picture(self):
            return None

        def resize(self, width, height, pixel_shape=1.0):
            asked.append((width, height, pixel_shape))

    class Host(App):
        def compose(self):
            yield PictureView(pictures=pictures, abilities=Abilities(cell=cell))

    async def main():
        app = Host()
        async with app.run_test(size=(40, 10)) as pilot:
            app.query_one(PictureView).attach(Source())
            await pilot.pause()

    asyncio.run(main())
    width, height, pixel_shape = asked[-1]
    assert pixel_shape == pytest.approx(shape)
    # So large that a picture of the view's own shape fills it.
    assert width * pixel_shape / height == pytest.approx(40 * cell[0] / (10 * cell[1]), rel=0.02)


def test_kitty_pictures_make_room_for_dialogs():
    terminal = PseudoTerminal([*PROGRAM, "kitty"], environ=ENVIRON)
    shown, gone = re.compile(rb"\x1b_Ga=T,"), b"\x1b_Ga=d,"
    try:
        until(lambda: (terminal.type("w"), time.sleep(0.1), shown.search(terminal.written))[2])
        terminal.forget()
        terminal.type("d")
        until(lambda: gone in terminal.written)
        terminal.forget()
        terminal.type("\x1b")
        until(lambda: shown.search(terminal.written))
        terminal.forget()
        terminal.type("t")
        until(lambda: gone in terminal.written)
    finally:
        terminal.close()
