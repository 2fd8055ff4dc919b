"""Clips really play, loop within their window, and nothing that happens to the player reaches its user."""

import functools
import itertools
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from accuracy_tui.player import PlayerError, display, find_player, mpv_clips, play_command
from accuracy_tui.player.window import WindowPlayer
from sentrysearch.text import printable
from sentrysearch.types import Footage, Window
from tests.support.screen import needs_screen, until, virtual_screen, write_clip

HOSTILE_NAMES = [
    "plain.mkv",
    "-rf.mkv",
    "--include=evil.mkv",
    "http:__host?a=b&c#d.mkv",
    "edl:.mkv",
    "two words\tand a\nline.mkv",
    "%n 100% ${path} $$.mkv",
    'it\'s "quoted" `whoami` \\n.mkv',
    "\x1b]0;title\x07.mkv",
    "right-to-left \u202evkm.mkv",
    "playlist.m3u",
    os.fsdecode(b"undecodable \xff\xfe.mkv"),
]


@pytest.fixture(scope="module")
def screen(tmp_path_factory):
    with virtual_screen(tmp_path_factory.mktemp("screen")) as running:
        yield running


@pytest.fixture
def player(screen):
    running = WindowPlayer(screen.environ)
    yield running
    running.close()


@pytest.fixture
def clip(tmp_path):
    return write_clip(tmp_path / "clip.mkv")


def span(footage, start, end):
    return Window(footage.name, start, end)


def shows(screen, colour):
    return screen.colour() == colour


def times_until_it_looped(player, turns=2, look=lambda: None):
    """Where playing was, until it went back to the start so many times; ``look`` is called each time."""
    times = []

    def looped():
        look()
        if player.position is not None:
            times.append(player.position.seconds)
        return sum(after < before for before, after in itertools.pairwise(times)) >= turns

    until(looped)
    return times


@needs_screen
def test_a_window_loops_between_its_ends_and_shows_its_own_pictures(screen, player, clip):
    for start, end, colour in ((1.0, 2.0, "green"), (3.0, 4.0, "yellow"), (0.0, 1.0, "red")):
        player.show(clip, span(clip, start, end))
        until(functools.partial(shows, screen, colour))
        seen = set()
        times = times_until_it_looped(player, look=lambda seen=seen: seen.add(screen.colour()))
        assert all(start <= time < end for time in times)
        assert seen == {colour}


@needs_screen
def test_a_window_whose_end_is_rounded_past_the_last_picture_loops_too(player, clip):
    player.show(clip, span(clip, 3.5, 4.3))
    times = times_until_it_looped(player)
    assert all(3.5 <= time <= 4.0 for time in times)


@needs_screen
def test_times_count_from_the_first_picture_whatever_the_file_s_clock_says(screen, player, tmp_path):
    late = write_clip(tmp_path / "late.mkv", offset=500.0)
    player.show(late, span(late, 2.0, 3.0))
    until(functools.partial(shows, screen, "blue"))
    assert all(2.0 <= time < 3.0 for time in times_until_it_looped(player, turns=1))


@needs_screen
@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_every_file_name_plays(screen, player, tmp_path, name):
    footage = write_clip(tmp_path / name)
    player.show(footage, span(footage, 1.0, 2.0))
    until(functools.partial(shows, screen, "green"))


@needs_screen
def test_footage_given_by_a_relative_path_plays(screen, player, clip, monkeypatch):
    monkeypatch.chdir(clip.path.parent)
    relative = Footage("-clip", Path("clip.mkv"), clip.fingerprint, 4.0, 0.0, 320, 240, 0, "mpeg4", 10.0)
    player.show(relative, span(relative, 0.0, 1.0))
    until(functools.partial(shows, screen, "red"))


@needs_screen
def test_what_cannot_be_played_is_one_line_and_the_next_clip_plays(screen, player, clip, tmp_path):
    gone = Footage("gone", tmp_path / "gone.mkv", "", 4.0, 0.0, 320, 240, 0, "", 10.0)
    (tmp_path / "text.mkv").write_text("no video\n")
    text = Footage("text", tmp_path / "text.mkv", "", 4.0, 0.0, 320, 240, 0, "", 10.0)
    for bad in (gone, text):
        with pytest.raises(PlayerError) as caught:
            player.show(bad, span(bad, 0.0, 1.0))
        assert str(caught.value) and "\n" not in str(caught.value)
    player.show(clip, span(clip, 0.0, 1.0))
    until(functools.partial(shows, screen, "red"))


@needs_screen
def test_a_crashed_player_is_started_again_at_the_next_clip(screen, player, clip):
    player.show(clip, span(clip, 0.0, 1.0))
    first = player.process_id
    os.kill(first, signal.SIGKILL)
    player.show(clip, span(clip, 2.0, 3.0))
    assert player.process_id != first
    until(functools.partial(shows, screen, "blue"))


@needs_screen
def test_a_hung_player_is_replaced(player, clip, monkeypatch):
    monkeypatch.setattr(mpv_clips, "ANSWER_SECONDS", 3.0)
    player.show(clip, span(clip, 0.0, 1.0))
    first = player.process_id
    os.kill(first, signal.SIGSTOP)
    player.show(clip, span(clip, 2.0, 3.0))
    assert player.process_id != first
    assert not psutil.pid_exists(first)


@needs_screen
def test_a_lost_display_is_one_line_and_does_not_end_us(tmp_path, clip):
    with virtual_screen(tmp_path) as short_lived:
        player = WindowPlayer(short_lived.environ)
        player.show(clip, span(clip, 0.0, 1.0))
        short_lived.kill()
        for _ in range(2):
            with pytest.raises(PlayerError, match="does not answer"):
                player.show(clip, span(clip, 0.0, 1.0))
        player.close()
        player.close()


@needs_screen
def test_closing_takes_the_picture_and_the_process_away(screen, player, clip):
    player.show(clip, span(clip, 0.0, 1.0))
    until(functools.partial(shows, screen, "red"))
    process = player.process_id
    player.close()
    assert not psutil.pid_exists(process)
    until(functools.partial(shows, screen, None))


@needs_screen
def test_the_player_ends_with_a_killed_owner(screen, clip):
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, time; from accuracy_tui.player.window import WindowPlayer\n"
            "player = WindowPlayer(); player.start(); print(player.process_id, flush=True); time.sleep(60)",
        ],
        env=screen.environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    player_id = int(owner.stdout.readline())
    owner.kill()
    owner.wait()
    owner.stdout.close()

    def gone():
        try:
            return psutil.Process(player_id).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    until(gone)


@needs_screen
def test_options_unknown_to_this_mpv_are_left_out():
    script = (
        "from accuracy_tui.player import mpv_core\n"
        "mpv_core.OPTIONS = {'no-such-option': '1', 'another-one': 'x', **mpv_core.OPTIONS}\n"
        "player = mpv_core.make_mpv('null', []); print(player.hr_seek, player.audio, player.config)\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["True", "False", "False"]


@needs_screen
def test_the_route_names_the_display(screen):
    route = find_player(screen.environ)
    assert route.player is not None
    assert screen.environ["DISPLAY"] in route.line
    route.player.close()


@needs_screen
def test_without_libmpv_the_route_says_what_to_install(screen, tmp_path):
    (tmp_path / "mpv.py").write_text("raise OSError('Cannot find libmpv')\n")  # as python-mpv does
    route = find_player({**screen.environ, "PYTHONPATH": str(tmp_path)})
    assert route.player is None
    assert "libmpv" in route.line and "apt install libmpv2" in route.line and "\n" not in route.line


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "no display"),
        ({"DISPLAY": ""}, "no display"),
        ({"DISPLAY": "localhost:10.0"}, "another machine's"),
        ({"DISPLAY": "laptop:0"}, "another machine's"),
        ({"DISPLAY": ":4711"}, "does not answer"),
        ({"DISPLAY": "\x1b[31m"}, "another machine's"),
        ({"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": "/nowhere"}, "does not answer"),
        ({"WAYLAND_DISPLAY": "wayland-9"}, "does not answer"),
    ],
)
def test_without_a_local_display_clips_are_not_played(environ, said):
    route = find_player(environ)
    assert route.player is None
    assert said in route.line
    assert printable(route.line) == route.line


def test_a_display_that_accepts_but_never_greets_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(display, "ANSWER_SECONDS", 0.1)
    number = 100_000 + os.getpid()
    with socket.socket(socket.AF_UNIX) as stalled:
        stalled.bind(f"\0/tmp/.X11-unix/X{number}")
        stalled.listen()
        with pytest.raises(PlayerError, match="does not answer"):
            display.find_display({"DISPLAY": f":{number}"})


def test_a_wayland_display_is_preferred_to_x(tmp_path):
    with socket.socket(socket.AF_UNIX) as compositor:
        compositor.bind(str(tmp_path / "wayland-0"))
        compositor.listen()
        found = display.find_display(
            {"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": str(tmp_path), "DISPLAY": ":4711"}
        )
    assert found == display.Display("wayland", "wayland-0")


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_the_command_to_copy_is_one_line_that_names_exactly_the_file(name):
    footage = Footage(name, Path("/video") / name, "", 4.0, 0.0, 320, 240, 0, "", 10.0)
    command = play_command(footage, Window(name, 124.0, 151.5))
    assert printable(command) == command
    program, rest = command.split(" ", 1)
    assert program == "mpv"
    arguments = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {rest}"], capture_output=True, check=True
    ).stdout
    assert arguments.split(b"\0")[:-1] == [
        b"--start=124.0",
        b"--ab-loop-a=124.0",
        b"--ab-loop-b=151.5",
        b"--",
        b"/video/" + os.fsencode(name),
    ]
    if name == "plain.mkv":
        assert shlex.split(command)[-1] == "/video/plain.mkv"
