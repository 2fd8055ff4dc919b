"""Exit statuses, one-line errors and signals of both command lines."""

import os
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
        (ModuleNotFoundError(name="av"), 1, "tool: needs av, not installed; pip install accuracy-tui\n"),
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


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_second_signal_does_not_interrupt_the_cleaning_up(name):
    program = (
        "import click, signal, sys\n"
        "from sentrysearch import terminal\n"
        "@click.command()\n"
        "def tool():\n"
        "    try:\n"
        f"        signal.raise_signal(signal.{name})\n"
        "    finally:\n"
        "        signal.raise_signal(signal.SIGINT); signal.raise_signal(signal.SIGTERM)\n"
        "        print('cleaned up')\n"
        "sys.exit(terminal.run(tool))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (128 + getattr(signal, name), "cleaned up\n")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_that_the_starter_ignores_stays_ignored(name):
    program = (
        "import click, signal, sys\n"
        "from sentrysearch import terminal\n"
        "@click.command()\n"
        "def tool():\n"
        f"    signal.raise_signal(signal.{name}); print('still here')\n"
        f"signal.signal(signal.{name}, signal.SIG_IGN)\n"
        "sys.exit(terminal.run(tool))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "still here\n")


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


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_narrow_encoding_shows_escapes_and_no_traceback(encoding):
    shown = {"utf-8": "● 0–1"}.get(encoding, r"\u25cf 0\u20131")
    program = (
        "import click, sys\nfrom sentrysearch import terminal\n"
        "@click.command()\ndef tool():\n    click.echo('\\u25cf 0\\u20131')\n"
        "sys.exit(terminal.run(tool))\n"
    )
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    if encoding != "ascii":  # click itself writes UTF-8 there
        assert done.stdout.decode(encoding).strip() == shown


def test_no_file_takes_the_place_of_a_closed_standard_stream(tmp_path):
    program = (
        "import click, os, sys\nfrom sentrysearch import terminal\n"
        "@click.command()\n@click.argument('path')\ndef tool(path):\n"
        "    with open(path, 'wb') as file:\n"
        "        os.write(1, b'a library prints'); os.write(2, b'and warns'); file.write(b'data')\n"
        "sys.exit(terminal.run(tool))\n"
    )
    file = tmp_path / "file"
    subprocess.run(["bash", "-c", '"$@" <&- >&- 2>&-', "", sys.executable, "-c", program, file], check=True)
    assert file.read_bytes() == b"data"
