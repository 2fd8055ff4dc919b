"""The real program on a terminal: signals, lost terminals, kills, suspending; the terminal is left sane."""

import os
import shutil
import signal
import subprocess
import time

import pytest
import yaml

from accuracy_tui.benchmark import load_benchmark
from accuracy_tui.judgments import Judgments
from accuracy_tui.runs import save_run
from sentrysearch.types import WindowGrid
from support.pseudo_terminal import PseudoTerminal, console_command
from support.runs import make_run
from support.screen import until, write_clip

CLEAN_END = (b"\x1b[?1049l", b"\x1b[?25h")


@pytest.fixture
def bench(tmp_path):
    """A benchmark with two saved runs over a real clip."""
    import dataclasses

    from accuracy_tui.session import as_run_footage, read_footage
    from sentrysearch.windows import cut

    write_clip(tmp_path / "clip.mkv")
    file = tmp_path / "benchmark.yaml"
    file.write_text(
        "footage: clip.mkv\nwindow: {length: 1, overlap: 0}\nk: 3\nmodels: [a, b]\n"
        "queries: {fine: [red thing, blue thing], floor: [colour]}\n"
    )
    benchmark = load_benchmark(file)
    footage = read_footage(benchmark)
    windows = list(cut(footage[0], benchmark.window))
    for model, places in (("a", (0, 1, 2)), ("b", (1, 3, 0))):
        found = {query: [windows[place] for place in places] for query in benchmark.queries}
        run = make_run(model, found, k=3)
        run = dataclasses.replace(run, footage=as_run_footage(footage), window=WindowGrid(1.0, 0.0))
        save_run(run, benchmark.runs)
    return file


@pytest.fixture
def terminal(bench):
    opened = []

    def open_terminal(*arguments, **options):
        environ = {**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""}
        environ.pop("NO_COLOR", None)
        opened.append(
            PseudoTerminal(console_command("-b", str(bench), *arguments), environ=environ, **options)
        )
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


def verdicts(bench):
    with Judgments.open(bench.parent / "accuracy_judgments.yaml", (), write=False) as reader:
        return {(query, where.start): value for query, where, value in reader.items()}


def started(terminal, *arguments):
    """A console that has drawn its grid."""
    console = terminal(*arguments)
    console.wait_for("red thing")
    console.wait_for("? help")
    return console


def judge_one(console):
    console.type("y")
    console.wait_for("✓ yes")


def test_a_verdict_then_q(terminal, bench):
    console = started(terminal)
    judge_one(console)
    console.type("q")
    assert console.process.wait(20) == 0
    assert console.attributes() == console.before
    assert all(end in console.written for end in CLEAN_END)
    until(lambda: "8 of 9 pool items are left to judge" in console.text or "left to judge" in console.text)
    loaded = yaml.safe_load((bench.parent / "accuracy_judgments.yaml").read_text())
    assert loaded == {"red thing": {"0.0-1.0": True}}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(terminal, bench, number):
    console = started(terminal)
    judge_one(console)
    console.process.send_signal(number)
    assert console.process.wait(20) == 128 + number
    assert console.attributes() == console.before
    assert all(end in console.written for end in CLEAN_END)
    assert verdicts(bench) == {("red thing", 0.0): True}
    assert "Traceback" not in console.text


def test_a_terminal_that_is_closed_ends_it_with_every_verdict(terminal, bench):
    console = started(terminal)
    judge_one(console)
    console.hang_up()
    assert console.process.wait(20) != 0
    assert verdicts(bench) == {("red thing", 0.0): True}
    again = started(terminal)  # the lock is free
    again.type("n")
    again.wait_for("✓ no")
    assert verdicts(bench) == {("red thing", 0.0): False}


def test_killed_while_judging_the_next_start_carries_on(terminal, bench):
    console = started(terminal)
    judge_one(console)
    console.process.kill()
    console.process.wait()
    assert verdicts(bench) == {("red thing", 0.0): True}
    again = started(terminal)
    again.wait_for("judged 1/12")
    again.type("u")
    again.wait_for("undone")
    assert verdicts(bench) == {}


def test_suspended_and_resumed(terminal):
    console = started(terminal)
    console.type("\x1a")
    _, status = os.waitpid(console.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert console.attributes() == console.before
    console.forget()
    console.process.send_signal(signal.SIGCONT)
    console.wait_for("red thing")
    judge_one(console)
    console.type("q")
    assert console.process.wait(20) == 0
    assert console.attributes() == console.before


def test_a_second_console_is_told_who_writes(terminal):
    first = started(terminal)
    second = started(terminal)
    second.wait_for(f"process {first.process.pid}")
    second.wait_for("read only")
    judge_one(first)
    second.wait_for("judged 1/12")


def test_judging_with_pictures_on_a_real_terminal(terminal, bench):
    console = started(terminal, "--player", "inline")
    console.type("\r")
    until(lambda: b"\x1b[6n" in console.written)  # a picture was drawn
    console.wait_for("hit 1 of 3 for a")
    until(lambda: _judged_on(console))
    console.type("q")
    console.wait_for("? help")
    console.type("q")
    assert console.process.wait(20) == 0
    assert verdicts(bench) == {("red thing", 0.0): True}


def _judged_on(console):
    """Pressed again and again, as a person does: a key that is held counts for nothing."""
    console.type("y")
    time.sleep(0.4)
    return "✓ yes" in console.text


def test_the_whole_terminal_for_the_clip_and_back(terminal, bench):
    console = started(terminal, "--player", "terminal")
    console.type("\r")
    console.wait_for("v other player")
    console.type("q")
    console.forget()
    console.wait_for("? help")
    console.type("q")
    assert console.process.wait(20) == 0
    assert console.attributes() == console.before


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_in_tmux_with_another_size(bench, tmp_path):
    def tmux(*arguments):
        command = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    program = " ".join(console_command("-b", str(bench)))
    tmux("new-session", "-d", "-x", "100", "-y", "30", program)
    try:
        until(lambda: "red thing" in tmux("capture-pane", "-p"), 30)
        tmux("resize-window", "-x", "80", "-y", "24")
        until(lambda: len(tmux("capture-pane", "-p").rstrip("\n").split("\n")) == 24)
        until(lambda: "q quit" in tmux("capture-pane", "-p"))
        tmux("send-keys", "y")
        until(lambda: "✓ yes" in tmux("capture-pane", "-p"))
    finally:
        tmux("kill-server")
    until(lambda: not _writing(bench))
    assert verdicts(bench) == {("red thing", 0.0): True}


def _writing(bench):
    """Whether some console still holds the judgments."""
    with Judgments.open(bench.parent / "accuracy_judgments.yaml", (), write=True) as judgments:
        return judgments.read_only
