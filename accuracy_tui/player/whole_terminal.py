"""The terminal taken over from the console for a while, and given back as it was, however that ends."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import threading
import tty
from types import FrameType
from typing import Any

from accuracy_tui.player import PlayerError

_LAST_WORDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_HIDDEN_CURSOR = b"\x1b[?25l"
_EMPTY = b"\x1b[0m\x1b[2J\x1b[H"
_SEEN_CURSOR = b"\x1b[?25h"


class WholeTerminal:
    """Keys one by one, no echo, an empty screen without a cursor. A context manager.

    It draws on standard error, as the console does. Ctrl-C and Ctrl-Z are keys like others here: who plays
    has something to stop before the program may.

    Args:
        clean: written as well when the screen is given back.

    Raises:
        PlayerError: there is no terminal.
    """

    def __init__(self, clean: bytes = b"") -> None:
        streams = sys.__stdin__, sys.__stderr__
        if any(stream is None or not stream.isatty() for stream in streams):
            raise PlayerError("there is no terminal")
        self._keyboard, self.screen = (stream.fileno() for stream in streams if stream is not None)
        self._clean = clean
        self._before = termios.tcgetattr(self._keyboard)
        self._previous: dict[int, Any] = {}
        self.ending = False
        """Whether the program is to end, or the terminal is gone."""
        self._stop = False

    def __enter__(self) -> WholeTerminal:
        if threading.current_thread() is threading.main_thread():
            # Those who heeded them before still do; what plays here stands in their way.
            for number in (*_LAST_WORDS, signal.SIGTSTP):
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._received)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @property
    def size(self) -> os.terminal_size:
        """Columns and rows as they are now."""
        with contextlib.suppress(OSError):
            return os.get_terminal_size(self.screen)
        return os.terminal_size((80, 24))

    def write(self, text: str) -> None:
        """On the screen; a terminal that is gone is told by ``ending``."""
        try:
            os.write(self.screen, text.encode())
        except OSError:
            self.ending = True

    def key(self, seconds: float) -> str:
        """What was typed within so many seconds; "" for nothing, Ctrl-Z for a wish to be stopped."""
        if self._stop:
            self._stop = False
            return "\x1a"
        try:
            if not select.select([self._keyboard], [], [], seconds)[0]:
                return ""
            typed = os.read(self._keyboard, 64)
        except OSError:
            typed = b""
        self.ending = self.ending or not typed
        return typed.decode(errors="replace")

    def stop(self) -> None:
        """Gives the terminal back and stops the program, as Ctrl-Z does; goes on once it is continued."""
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()

    def _take(self) -> None:
        with contextlib.suppress(termios.error):  # a terminal that is gone
            tty.setcbreak(self._keyboard, termios.TCSADRAIN)
            attributes = termios.tcgetattr(self._keyboard)
            attributes[3] &= ~termios.ISIG
            termios.tcsetattr(self._keyboard, termios.TCSADRAIN, attributes)
        self.write((_EMPTY + _HIDDEN_CURSOR).decode())

    def _give_back(self) -> None:
        self.write((self._clean + _EMPTY + _SEEN_CURSOR).decode())
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._keyboard, termios.TCSADRAIN, self._before)
            termios.tcflush(self._keyboard, termios.TCIFLUSH)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTSTP:
            self._stop = True
            return
        self.ending = True
        previous = self._previous[number]
        if callable(previous):
            previous(number, frame)
        elif previous == signal.SIG_DFL and number == signal.SIGINT:
            raise KeyboardInterrupt
