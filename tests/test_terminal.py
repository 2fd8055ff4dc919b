"""Exit statuses, one-line errors and signals of both command lines."""

import signal
import subprocess
import sys

import click
import pytest

from sentrysearch import terminal
from sentrysearch.errors import BadInput, EmbedderFailed
from sentrysearch.text import printable


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (
            BadInput("no such thing", where="a.yaml:3", hint="write it"),
            2,
            "tool: a.yaml:3: no such thing; write it\n",
        ),
        (EmbedderFailed("service down"), 1, "tool: service down\n"),
        (
            OSError(28, "No space left on device", "runs/x.json"),
            1,
            "tool: runs/x.json: No space left on device\n",
        ),
        (KeyboardInterrupt(), 130, "\nstopped\n"),
        (BadInput("query \x1b[2J\nwipes"), 2, "tool: query \\x1b[2J\\nwipes\n"),
    ],
)
def test_every_error_is_one_line_and_an_exit_status(error, status, said, capsys, monkeypatch):
    @click.command(name="tool")
    def tool():
        raise error

    monkeypatch.setattr(sys, "argv", ["tool"])
    assert terminal.run(tool) == status
    out, err = capsys.readouterr()
    assert (out, err) == ("", said)


def test_bad_usage_is_status_2_and_names_the_help(capsys, monkeypatch):
    @click.command(name="tool")
    @click.option("--count", type=int)
    def tool(count):
        pass

    monkeypatch.setattr(sys, "argv", ["tool", "--count", "many\x1b"])
    assert terminal.run(tool) == 2
    message = capsys.readouterr().err
    assert (
        message.count("\n") == 1
        and "--count" in message
        and "tool --help" in message
        and "\x1b" not in message
    )


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_unwinds_so_that_cleaning_up_happens(name):
    program = (
        "import click, sys, time\n"
        "from sentrysearch import terminal\n"
        "@click.command()\n"
        "def tool():\n"
        "    try:\n"
        "        print('ready', flush=True); time.sleep(60)\n"
        "    finally:\n"
        "        print('cleaned up', flush=True)\n"
        "sys.exit(terminal.run(tool))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    number = getattr(signal, name)
    child.send_signal(number)
    assert child.communicate(timeout=20)[0] == "cleaned up\n"
    assert child.returncode == 128 + number


def test_a_reader_that_leaves_is_no_traceback():
    program = (
        "import click, sys\n"
        "from sentrysearch import terminal\n"
        "@click.command()\n"
        "def tool():\n"
        "    for line in range(100000): click.echo(str(line))\n"
        "sys.exit(terminal.run(tool))\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "0\n"
    child.stdout.close()
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait(timeout=20) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 車", "plain ünïcode 車"),
        ("a\x1b]0;title\x07b", "a\\x1b]0;title\\x07b"),
        ("tab\there\nthere\r", "tab\\there\\nthere\\r"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\udcff.mp4", "\\xff.mp4"),
    ],
)
def test_printable_leaves_nothing_a_terminal_acts_on(text, shown):
    assert printable(text) == shown
