"""A program on a terminal of its own, which answers what programs ask a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence

from support.screen import until

_CURSOR, _DEVICE = b"\x1b[6n", b"\x1b[c"


class PseudoTerminal:
    """Runs a command; ``written`` is all that it has written so far.

    Args:
        answer_seconds: how long answers take, as they do from far away.
        rate: bytes a second that are read; None for all that there are.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (100, 30),
        environ: Mapping[str, str],
        answer_seconds: float = 0.0,
        rate: int | None = None,
    ) -> None:
        self._answer_seconds = answer_seconds
        self._rate = rate
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={"TERM": "xterm-256color", "COLORTERM": "truecolor", **environ},
        )
        self.slave = slave
        self.written = b""
        self._flows = threading.Event()
        self._flows.set()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while self._flows.wait() and (data := os.read(self.master, self._piece)):
                self.written += data
                if self._rate is not None:
                    time.sleep(len(data) / self._rate)
                for question, answer in ((_CURSOR, b"\x1b[1;1R"), (_DEVICE, b"\x1b[?62;22c")):
                    answers = answer * data.count(question)
                    if answers and self._answer_seconds:
                        threading.Timer(self._answer_seconds, self._answer, [answers]).start()
                    elif answers:
                        self._answer(answers)

    @property
    def _piece(self) -> int:
        """Bytes to read at once: what comes in a hundredth of a second."""
        return 65536 if self._rate is None else max(1, self._rate // 100)

    def _answer(self, answers: bytes) -> None:
        with contextlib.suppress(OSError):  # closed by now
            os.write(self.master, answers)

    @property
    def text(self) -> str:
        """What was written, without control sequences: good for finding words."""
        plain = re.sub(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|_.*?\x1b\\|P.*?\x1b\\)", b"", self.written)
        return plain.decode(errors="replace")

    def wait_for(self, words: str, seconds: float = 30.0) -> None:
        until(lambda: words in self.text, seconds)

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def forget(self) -> None:
        """What was written up to now is of no interest any more."""
        self.written = b""

    def stall(self) -> None:
        """Nothing is read any more, as on a line that stands still."""
        self._flows.clear()

    def resume(self) -> None:
        """The line goes on."""
        self._flows.set()

    def hang_up(self) -> None:
        """The terminal is closed, as when a connection drops."""
        os.close(self.slave)
        os.close(self.master)

    def attributes(self) -> list:
        return termios.tcgetattr(self.slave)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for descriptor in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(descriptor)


def console_command(*arguments: str) -> list[str]:
    """The real program."""
    return [sys.executable, "-m", "accuracy_tui", *arguments]
