"""What a terminal can show: asked while something else is done, and the terminal left as it was."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

import pytest

from accuracy_tui.player.abilities import ANSWER_SECONDS, Abilities, Question, ask
from accuracy_tui.player.colours import NO_COLOUR, PALETTE, TRUE_COLOUR

PLAIN, WITH_SIXEL = b"\x1b[?62;22c", b"\x1b[?62;4;22c"
KITTY = b"\x1b_Gi=31;OK\x1b\\"


@pytest.fixture
def terminal():
    """Our end and the program's end of a terminal."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    for descriptor in (ours, theirs):
        with contextlib.suppress(OSError):
            os.close(descriptor)


@pytest.mark.parametrize(
    ("answer", "kitty", "sixel"),
    [
        (PLAIN, False, False),
        (WITH_SIXEL, False, True),
        (KITTY + PLAIN, True, False),
        (b"jj" + KITTY + WITH_SIXEL, True, True),  # keys typed too early
        (b"\x1b[?64c", False, False),
    ],
)
def test_an_answer_that_comes_while_something_else_is_done(terminal, answer, kitty, sixel):
    ours, theirs = terminal
    before = termios.tcgetattr(theirs)
    with Question(theirs, {"COLORTERM": "truecolor"}) as question:
        asked = os.read(ours, 1000)
        assert asked.endswith(b"\x1b[c")
        os.write(ours, answer)
        found = question.answer()
        assert termios.tcgetattr(theirs) == before
    assert (found.kitty, found.sixel, found.colours) == (kitty, sixel, TRUE_COLOUR)
    os.set_blocking(ours, False)
    with pytest.raises(BlockingIOError):
        os.read(ours, 1000)  # the answer was not echoed


def test_the_time_for_an_answer_runs_from_the_question(terminal):
    _, theirs = terminal
    before = termios.tcgetattr(theirs)
    with Question(theirs, {"TERM": "xterm-256color"}) as question:
        time.sleep(ANSWER_SECONDS)
        begin = time.monotonic()
        assert question.answer() == Abilities(PALETTE)
        assert time.monotonic() - begin < ANSWER_SECONDS / 2
    assert termios.tcgetattr(theirs) == before


def test_a_question_that_nobody_waits_for_leaves_the_terminal_as_it_was(terminal):
    _, theirs = terminal
    before = termios.tcgetattr(theirs)
    with pytest.raises(RuntimeError), Question(theirs, {}):
        assert termios.tcgetattr(theirs) != before
        raise RuntimeError
    assert termios.tcgetattr(theirs) == before
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_an_answer_that_nobody_waits_for_does_not_land_on_the_shells_line(terminal):
    ours, theirs = terminal
    with pytest.raises(RuntimeError), Question(theirs, {}):
        os.write(ours, PLAIN)
        raise RuntimeError
    assert select.select([theirs], [], [], 0)[0] == []


def test_what_is_no_terminal_is_not_read():
    reading, writing = os.pipe()
    os.write(writing, b"text")
    assert ask(reading, {"NO_COLOR": "1", "COLORTERM": "truecolor"}) == Abilities(NO_COLOUR)
    assert os.read(reading, 10) == b"text"
    os.close(reading)
    os.close(writing)


def test_a_signal_meanwhile_leaves_the_terminal_as_it_was(terminal):
    _, theirs = terminal
    before = termios.tcgetattr(theirs)
    program = (
        "import os, time\nfrom accuracy_tui.player.abilities import Question\n"
        "with Question(0, os.environ):\n    print('asked', flush=True)\n    time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdin=theirs, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"asked\n"
        assert termios.tcgetattr(theirs) != before
        process.terminate()
        assert process.wait(20) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert termios.tcgetattr(theirs) == before
