"""Runs a command line inside the test's process, as its console script would."""

import sys
from dataclasses import dataclass

import pytest

import accuracy_tui.cli
import sentrysearch.cli
from sentrysearch import terminal


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


class CommandLine:
    def __init__(self, monkeypatch, capfd):
        self._monkeypatch = monkeypatch
        self._capfd = capfd

    def accuracy(self, *arguments):
        return self._run("accuracy-tui", accuracy_tui.cli.cli, arguments)

    def engine(self, *arguments):
        return self._run("sentrysearch", sentrysearch.cli.cli, arguments)

    def _run(self, name, command, arguments):
        self._monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        self._capfd.readouterr()
        status = terminal.run(command)
        out, err = self._capfd.readouterr()
        assert "Traceback" not in err
        return Result(status, out, err)


@pytest.fixture
def command(monkeypatch, capfd):
    return CommandLine(monkeypatch, capfd)
