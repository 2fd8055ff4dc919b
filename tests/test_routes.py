"""Where clips can be shown: what is tried first, and what a route that can't be had says."""

import os
import socket
import threading

import pytest

from accuracy_tui.player import PlayerError
from accuracy_tui.player.routes import ROUTES, open_player, routes_here

SSH = {"SSH_CONNECTION": "10.0.0.9 5022 10.0.0.7 22"}


@pytest.fixture
def wayland(tmp_path):
    """The environment of a local display that answers."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "w"))
        server.listen()
        yield {"WAYLAND_DISPLAY": "w", "XDG_RUNTIME_DIR": str(tmp_path)}


@pytest.fixture
def x11():
    """The environment of an X display that answers."""
    with socket.socket(socket.AF_UNIX) as server:
        number = next(number for number in range(900, 999) if _bound(server, f"\0/tmp/.X11-unix/X{number}"))
        server.listen()

        def greet():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(100)
                    connection.send(b"\x01")

        threading.Thread(target=greet, daemon=True).start()
        yield {"DISPLAY": f":{number}"}
        server.shutdown(socket.SHUT_RDWR)


def _bound(server, address):
    try:
        server.bind(address)
    except OSError:
        return False
    return True


def test_a_local_display_comes_first(wayland, x11):
    assert routes_here(wayland) == list(ROUTES)
    assert routes_here(x11) == list(ROUTES)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"DISPLAY": ":987654"},
        {"DISPLAY": "elsewhere:0"},
        {"WAYLAND_DISPLAY": "none", "XDG_RUNTIME_DIR": "/nowhere"},
        SSH,
        {**SSH, "DISPLAY": "localhost:10.0"},
    ],
    ids=str,
)
def test_without_one_pictures_come_in_the_console(environ):
    assert routes_here(environ) == ["inline", "terminal", "browser"]


def test_over_ssh_a_display_of_the_machine_is_not_the_maintainer_s(x11):
    assert routes_here({**SSH, **x11})[0] == "inline"


@pytest.mark.parametrize(
    "multiplexer", [{"TMUX": "/tmp/tmux-0/default,1,0"}, {"STY": "1.pts-0.host"}], ids=str
)
def test_in_tmux_who_is_attached_may_sit_elsewhere(x11, multiplexer):
    assert routes_here({**x11, **multiplexer}) == ["inline", "window", "terminal", "browser"]
    assert routes_here(multiplexer) == ["inline", "terminal", "browser"]


@pytest.mark.parametrize("wanted", ROUTES)
def test_what_is_wanted_comes_before_all(x11, wanted):
    for environ in ({}, SSH, x11):
        routes = routes_here(environ, wanted)
        assert routes[0] == wanted and len(set(routes)) == len(routes) >= 3


def open_here(route, **environ):
    environ = {"PATH": os.environ["PATH"], **environ}
    return open_player(route, lambda event: None, environ=environ, allowed=lambda item: True)


def test_a_window_without_a_display_says_what_to_do():
    with pytest.raises(PlayerError, match="no display here") as caught:
        open_here("window")
    assert caught.value.hint


def test_the_whole_terminal_without_libmpv_says_what_to_do():
    with pytest.raises(PlayerError, match="apt install libmpv2"):
        open_here("terminal", ACCURACY_TUI_NO_MPV="1")


@pytest.mark.parametrize("route", ["inline", "browser"])
def test_what_needs_neither_opens(route):
    player = open_here(route, ACCURACY_TUI_NO_MPV="1")
    try:
        assert player.route == route and player.line
    finally:
        player.close()
        player.close()


def test_a_route_that_does_not_exist():
    with pytest.raises(PlayerError, match="there are window, inline, terminal, browser"):
        open_here("pigeon")
