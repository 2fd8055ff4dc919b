"""A clip on the whole terminal: drawn by a real mpv, answered by keys, and the terminal as it was after."""

import ctypes.util
import fcntl
import os
import re
import signal
import struct
import sys
import termios
import time

import pytest

from support.pseudo_terminal import PseudoTerminal
from support.screen import COLOURS, until, write_clip

pytestmark = pytest.mark.skipif(ctypes.util.find_library("mpv") is None, reason="needs libmpv")

PROGRAM = """
import os, signal, sys
from pathlib import Path
from accuracy_tui.player.abilities import Abilities
from accuracy_tui.player.clip_player import Clip
from accuracy_tui.player.terminal import TerminalClips
from sentrysearch.types import Footage, Window
path, query, kitty = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "kitty"
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append("told to end"))
footage = Footage(path.name, path, "sha256:" + "0" * 64, 4.0, 0.0, 320, 240, 0, "mpeg4", 10.0)
player = TerminalClips(lambda event: print("event", event.error), os.environ, Abilities(kitty=kitty))
answer = player.play(Clip(footage, Window(footage.name, 1.0, 2.0), query))
print(f"answered {answer!r} by {player.line}", *told)
"""


@pytest.fixture
def playing(tmp_path):
    opened = []

    def start(query="a query", output="tct", path=None, size=(80, 24)):
        path = path or write_clip(tmp_path / "--clip [x].mkv").path
        command = [sys.executable, "-c", PROGRAM, str(path), query, output]
        opened.append(PseudoTerminal(command, environ=dict(os.environ), size=size))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def drawn(terminal):
    """The colours of the pictures drawn so far, by name."""
    found = set(re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)m", terminal.written))
    return {
        name
        for name, wanted in COLOURS.items()
        if any(max(abs(int(a) - b) for a, b in zip(one, wanted, strict=True)) < 40 for one in found)
    }


def seen(terminal):
    """Waits until a clip was on show for long enough to be judged."""
    until(lambda: drawn(terminal))
    time.sleep(0.4)


def answer(terminal, key):
    """Types a key again and again, as a person does: one that comes too early counts for nothing."""

    def answered():
        terminal.type(key)
        time.sleep(0.4)
        return f"answered {key!r}" in terminal.text

    until(answered)


def as_before(terminal):
    return terminal.attributes() == terminal.before and terminal.written.rfind(
        b"\x1b[?25h"
    ) > terminal.written.rfind(b"\x1b[?25l")


@pytest.mark.parametrize("key", list("ynusvq"))
def test_a_key_answers(playing, key):
    terminal = playing()
    seen(terminal)
    assert drawn(terminal) == {"green"}  # the window's second, and no other
    answer(terminal, key)
    terminal.wait_for(f"answered {key!r} by mpv on the whole terminal (tct)")
    assert terminal.process.wait(10) == 0
    until(lambda: as_before(terminal))


def test_a_verdict_before_the_picture_or_held_counts_for_nothing(playing):
    terminal = playing()
    terminal.wait_for("y yes")
    terminal.type("y" * 30)  # as a key that is held repeats, however late it is read
    until(lambda: drawn(terminal))
    assert "answered" not in terminal.text
    time.sleep(0.4)
    answer(terminal, "y")


def test_controls_and_keys_that_mean_nothing(playing):
    terminal = playing()
    seen(terminal)
    for keys in ("x", "\x1b[A", "\x1b[<0;1;1M", "1"):
        terminal.type(keys)
        time.sleep(0.05)
    terminal.type("w")
    until(lambda: drawn(terminal) >= {"red", "green", "blue"})
    terminal.type(" ")
    time.sleep(0.5)
    terminal.forget()
    time.sleep(0.5)
    assert not drawn(terminal)
    terminal.type("\x03")
    terminal.wait_for("answered 'q'")
    until(lambda: as_before(terminal))


def test_stopped_by_ctrl_z_nothing_plays_on(playing):
    terminal = playing()
    seen(terminal)
    terminal.type("\x1a")
    _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    until(lambda: as_before(terminal))
    time.sleep(0.2)
    terminal.forget()
    time.sleep(0.5)
    assert terminal.written == b""
    terminal.process.send_signal(signal.SIGCONT)
    seen(terminal)
    answer(terminal, "n")
    until(lambda: as_before(terminal))


def test_told_to_end(playing):
    terminal = playing()
    seen(terminal)
    terminal.process.send_signal(signal.SIGTERM)
    terminal.wait_for("answered 'q'")
    terminal.wait_for("told to end")
    until(lambda: as_before(terminal))


def test_a_terminal_that_is_gone(playing):
    terminal = playing()
    seen(terminal)
    terminal.hang_up()
    terminal.process.wait(10)


def test_another_size(playing):
    terminal = playing()
    seen(terminal)
    terminal.forget()
    fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 40, 0, 0))
    until(lambda: b"\x1b[12;1H" in terminal.written)
    seen(terminal)
    terminal.forget()
    until(lambda: b"y yes" in terminal.written)
    rows = {int(row) for row in re.findall(rb"\x1b\[(\d+);\d+H", terminal.written)}
    assert rows and max(rows) == 12


def test_a_query_that_would_command_the_terminal(playing):
    terminal = playing("evil \x1b]0;title\x07 \x9b2J " + "車" * 60)
    seen(terminal)
    assert b"\x1b]0" not in terminal.written and "\x9b".encode() not in terminal.written
    lines = re.split(r"\x1b\[\d+;1H", terminal.written.decode(errors="replace"))
    line = next(line for line in lines if "evil" in line)
    assert line.count("車") < 40  # two cells each
    terminal.type("q")
    terminal.wait_for("answered 'q'")


def test_a_clip_that_cannot_be_played(playing, tmp_path):
    (tmp_path / "broken.mkv").write_bytes(b"no video")
    terminal = playing(path=tmp_path / "broken.mkv")
    terminal.wait_for("answered ''")
    assert "event broken.mkv: " in terminal.text
    until(lambda: as_before(terminal))


def test_an_mpv_without_the_terminal_s_own_pictures(playing):
    """Before 0.36 mpv has no output for kitty; whichever it has, there is a picture and an answer."""
    terminal = playing(output="kitty")
    until(lambda: drawn(terminal) or b"\x1b_G" in terminal.written)
    time.sleep(0.5)
    answer(terminal, "n")
    assert ("(kitty)" in terminal.text) != ("(tct)" in terminal.text)
    until(lambda: as_before(terminal))
