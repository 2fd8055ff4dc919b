"""What both command lines share: exit statuses, signals, and progress on stderr."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

import click

from sentrysearch.errors import BadInput, SentrySearchError
from sentrysearch.text import holds_surrogate, printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DONE, FAILED, BAD_INPUT = 0, 1, 2
"""Exit statuses: all done; some model or query failed; bad usage or bad input."""


def say(message: object) -> None:
    """A line for the user on stderr, so that stdout holds data alone."""
    click.echo(str(message), err=True)


def run(command: click.Command) -> int:
    """Runs a command line and returns its exit status; every error is one line on stderr.

    SIGTERM and SIGHUP unwind like Ctrl-C does, so that throwaway collections go and verdicts are folded.
    """
    _prepare_streams()
    with _unwinding_signals():
        try:
            status = command.main(standalone_mode=False)
            if sys.stdout is not None:  # None when started with it closed (`>&-`)
                sys.stdout.flush()
            return status if isinstance(status, int) else DONE
        except click.exceptions.Exit as error:
            return error.exit_code
        except click.exceptions.NoArgsIsHelpError as error:
            say(error.format_message())
            return BAD_INPUT
        except click.UsageError as error:
            name = error.ctx.command_path if error.ctx else command.name
            what = printable(error.format_message()).removesuffix(".")
            say(f"{name}: {what}; `{name} --help` lists what it takes")
            return BAD_INPUT
        except click.ClickException as error:
            say(f"{command.name}: {printable(error.format_message())}")
            return BAD_INPUT
        except SentrySearchError as error:
            say(f"{command.name}: {error}")
            return BAD_INPUT if isinstance(error, BadInput) else FAILED
        except (KeyboardInterrupt, click.Abort):
            say("stopped")
            return 128 + signal.SIGINT
        except _Signalled as error:
            return 128 + error.number
        except BrokenPipeError:
            # The reader left (`| head`): nothing more to say, and nothing for the interpreter to flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        except ModuleNotFoundError as error:
            say(f"{command.name}: needs {error.name}, not installed; pip install accuracy-tui")
            return FAILED
        except OSError as error:
            place = f"{printable(error.filename)}: " if error.filename else ""
            say(f"{command.name}: {place}{error.strerror or error}")
            return FAILED


def checked_query(text: str) -> str:
    """A query from the command line as it is.

    Raises:
        BadInput: it is empty, or holds bytes that are no text and so no file can keep.
    """
    if not text.strip():
        raise BadInput("the query is empty", where="QUERY")
    if holds_surrogate(text):
        raise BadInput(f"the query {text!r} is not UTF-8 text", where="QUERY")
    return text


def _prepare_streams() -> None:
    """Makes the standard streams safe to lean on, however the program was started.

    Where one of them was closed, the next file to be opened would take its place: the journal, say, and with
    it the warnings that a library prints. Signs that a terminal's encoding lacks are shown as escapes.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _Signalled(BaseException):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def _unwinding_signals() -> Iterator[None]:
    def unwind(number: int, _frame: FrameType | None) -> None:
        # A second one must not interrupt the cleaning up that the first one started.
        for other in heeded:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else _Signalled(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # What was started to outlive a signal (`nohup`) does.
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heeded = [number for number in signals if signal.getsignal(number) != signal.SIG_IGN]
    previous = {number: signal.signal(number, unwind) for number in heeded}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class ProgressLine:
    """One progress bar with ETA on a terminal; elsewhere one line when the work is done."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> ProgressLine:
        if sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            self._progress = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.TextColumn("{task.fields[note]}", markup=False),
                progress.TextColumn("{task.fields[left]}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(
        self,
        what: str,
        *,
        done: float = 0,
        total: float | None = None,
        note: str = "",
        eta: float | None = None,
    ) -> None:
        """Replaces what the bar shows.

        Args:
            what: the work.
            done: how much of it is done.
            total: of how much; None while unknown.
            note: counts and rate, in words.
            eta: seconds left.
        """
        if self._progress is None:
            return
        left = "" if eta is None else f"{_duration(eta)} left"
        if self._task is None:
            self._task = self._progress.add_task("", note="", left="")
        self._progress.update(
            self._task, description=printable(what), completed=done, note=printable(note), left=left
        )
        # update() takes None for "as it was"; a task whose total isn't known pulses.
        self._progress.tasks[0].total = total

    def say(self, message: object) -> None:
        """A line that stays, above the bar."""
        if self._progress is None:
            say(message)
        else:
            self._progress.console.print(str(message), markup=False, highlight=False, soft_wrap=True)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
