"""The page on loopback: what it shows and takes, and who gets nothing from it."""

import contextlib
import http.client
import json
import queue
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

import pytest

from accuracy_tui.player import window_video
from accuracy_tui.player.browser import BrowserClips
from accuracy_tui.player.clip_player import Clip, Control, KeyPressed, ShowFailed, Shown
from sentrysearch.errors import Cancelled
from sentrysearch.footage import probe
from sentrysearch.types import Window
from support.screen import until, write_clip

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def events():
    return queue.SimpleQueue()


@pytest.fixture
def footage(tmp_path):
    return write_clip(tmp_path / "clip.mkv")


@pytest.fixture
def player(events):
    refused = set()
    player = BrowserClips(events.put, {}, lambda item: item.window.start not in refused)
    player.refused = refused
    yield player
    player.close()


def clip(footage, start, query="red <script>alert(1)</script> car"):
    return Clip(footage, Window(footage.name, float(start), start + 1.0), query)


def ask(player, path, method="GET", body=None, *, token=None, raw=False, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", player.port, timeout=30)
    whole = path if raw else f"/{token or player.token}/{path}"
    try:
        connection.request(method, whole, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def tell(player, **what):
    return ask(player, "event", "POST", json.dumps(what))[0]


def state(player, since=-1):
    return json.loads(ask(player, f"state?since={since}")[1])


def test_the_page_and_the_clip(player, footage, events):
    shown = clip(footage, 1)
    player.show(shown)
    status, page, headers = ask(player, "")
    assert status == 200 and b"http" not in page.replace(b"http://www.w3.org", b"")
    policy = headers["Content-Security-Policy"]
    assert (
        "default-src 'none'" in policy and "unsafe" not in policy and headers["Cache-Control"] == "no-store"
    )
    now = state(player)
    assert (now["clip"], now["query"]) == (1, "red <script>alert(1)</script> car")
    assert b"alert(1)" not in page  # it comes as data, and is shown as text
    status, video, _ = ask(player, "clip/1.mp4")
    assert status == 200 and video[4:8] == b"ftyp"
    assert ask(player, "clip/1.mp4", Range="bytes=4-7")[:2] == (206, b"ftyp")
    assert ask(player, "clip/1.mp4", Range=f"bytes={len(video)}-")[0] == 416
    assert tell(player, clip=1, playing=True) == 204
    assert tell(player, clip=1, playing=True) == 204
    assert tell(player, clip=1, key="y") == 204
    told = [events.get(timeout=5), events.get(timeout=5)]
    assert [type(event) for event in told] == [Shown, KeyPressed]
    assert told[1].key == "y" and told[1].clip is shown
    assert events.empty()


def test_the_page_follows_the_console_at_once(player, footage):
    player.show(clip(footage, 0))
    player.prefetch(following := clip(footage, 1))
    version = state(player)["version"]
    answers = queue.SimpleQueue()
    threading.Thread(target=lambda: answers.put(state(player, version)), daemon=True).start()
    time.sleep(0.1)
    assert answers.empty()
    player.show(following)
    assert answers.get(timeout=5)["clip"] == 2
    player.control(Control.PAUSE)
    now = state(player, version + 1)
    assert now["controls"] == ["pause"]
    assert state(player, -1)["controls"] == []  # a page just opened is not told what was before
    player.hide()
    assert state(player, now["version"])["clip"] == 0


def test_keys_count_for_the_clip_being_shown_only(player, footage, events):
    player.show(clip(footage, 0))
    player.show(clip(footage, 1))
    for what in (
        {"clip": 1, "key": "y"},
        {"clip": 3, "key": "y"},
        {"clip": True, "key": "y"},
        {"clip": "2", "key": "y"},
        {"clip": 2, "key": "q"},
        {"clip": 2, "key": ["y"]},
        {"clip": 2},
        {},
    ):
        assert tell(player, **what) == 204
    assert events.empty()
    assert tell(player, clip=2, key="n") == 204
    assert events.get(timeout=5).key == "n"


def test_without_the_token_there_is_nothing(player, footage):
    player.show(clip(footage, 0))
    for path in ("/", "/clip/1.mp4", f"/{player.token}", f"/{player.token[:-1]}x/", "*"):
        assert ask(player, path, raw=True)[:2] == (404, b""), path
    assert ask(player, "event", "POST", '{"clip":1,"key":"y"}', token="x" * 32)[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", ""])
def test_other_names_for_this_host_get_nothing(player, footage, host, events):
    player.show(clip(footage, 0))
    assert ask(player, "", Host=host)[:2] == (403, b"")
    assert ask(player, "event", "POST", '{"clip":1,"key":"y"}', Host=host)[0] == 403
    assert events.empty()


def test_a_page_of_another_origin_cannot_judge(player, footage, events):
    player.show(clip(footage, 0))
    body = '{"clip":1,"key":"y"}'
    assert ask(player, "event", "POST", body, Origin="http://evil.example")[0] == 403
    assert ask(player, "event", "POST", body, Origin="null")[0] == 403
    assert events.empty()
    assert ask(player, "event", "POST", body, Origin=f"http://localhost:{player.port}")[0] == 204


@pytest.mark.parametrize(
    "path",
    [
        "../../../../etc/passwd",
        "clip/../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "clip/%2e%2e%2fclip.mkv",
        "clip/1.mp4/../2.mp4",
        "clip//1.mp4",
        "clip/1.mp4?x",
        "clip/-1.mp4",
        "clip/99.mp4",
        "clip/1",
        "state",
        "state?since=x",
        "event",
        "favicon.ico",
        "\\\\x",
    ],
)
def test_nothing_else_is_served(player, footage, path):
    player.show(clip(footage, 0))
    assert ask(player, path)[:2] == (404, b"")


@pytest.mark.parametrize(
    ("method", "body", "headers", "status"),
    [
        ("POST", "no json", {}, 400),
        ("POST", "[1]", {}, 400),
        ("POST", "[" * 4000, {}, 400),
        ("POST", "x" * 5000, {}, 404),
        ("POST", None, {"Content-Length": "-5"}, 404),
        ("POST", None, {"Content-Length": "9" * 5000}, 404),
        ("POST", None, {"Content-Length": "\xb2"}, 404),
        ("PUT", "{}", {}, 501),
        ("DELETE", None, {}, 501),
        ("OPTIONS", None, {}, 501),
    ],
)
def test_requests_that_make_no_sense(player, footage, method, body, headers, status):
    player.show(clip(footage, 0))
    assert ask(player, "event", method, body, **headers)[0] == status
    assert state(player)["clip"] == 1


def test_windows_outside_the_pool_are_not_served(player, footage, events):
    player.refused.add(1.0)
    player.show(clip(footage, 1))
    assert isinstance(events.get(timeout=5), ShowFailed)
    player.prefetch(clip(footage, 1))
    assert state(player)["clip"] == 0 and ask(player, "clip/1.mp4")[0] == 404


def test_a_window_that_cannot_be_decoded(player, footage, events):
    footage.path.write_bytes(b"no video")
    player.show(clip(footage, 0))
    failed = events.get(timeout=10)
    assert isinstance(failed, ShowFailed) and "\n" not in str(failed.error)
    assert ask(player, "clip/1.mp4")[0] == 404


def test_one_that_failed_while_it_was_only_next_is_told_when_it_is_shown(player, footage, tmp_path, events):
    broken = write_clip(tmp_path / "broken.mkv")
    broken.path.write_bytes(b"no video")
    player.show(clip(footage, 0))
    player.prefetch(following := clip(broken, 1))
    assert ask(player, "clip/2.mp4")[0] == 404
    assert events.empty()
    player.show(following)
    failed = events.get(timeout=5)
    assert isinstance(failed, ShowFailed) and failed.clip is following


def test_what_nobody_waits_for_any_more_is_not_made(player, footage, monkeypatch):
    made, going = [], threading.Event()

    def slow(footage, window, *, max_side, wanted):
        going.set()
        while len(made) < 1 or not made[-1]:
            made.append(not wanted())
            time.sleep(0.01)
        made.append(window.start)
        raise Cancelled

    monkeypatch.setattr(window_video, "window_video", slow)
    player.show(clip(footage, 0))
    assert going.wait(5)
    monkeypatch.undo()
    for start in (1, 2, 3):
        player.show(clip(footage, start))
    assert ask(player, "clip/4.mp4")[0] == 200
    assert made[-1] == 0.0 and (1, False) not in player._made


def test_some_seconds_around_the_window(player, footage, tmp_path):
    player.show(clip(footage, 1))
    player.control(Control.AROUND)
    now = state(player)
    assert now["video"] == "clip/1-around.mp4" and "±5 s" in now["place"]
    assert _seconds(player, now["video"], tmp_path) == pytest.approx(4.0, abs=0.15)  # all there is
    assert tell(player, clip=1, key="w") == 204
    now = state(player)
    assert now["video"] == "clip/1.mp4"
    assert _seconds(player, now["video"], tmp_path) == pytest.approx(1.0, abs=0.15)
    assert ask(player, "clip/2-around.mp4")[0] == 404


def _seconds(player, path, folder):
    (folder / "served.mp4").write_bytes(ask(player, path)[1])
    return probe(folder / "served.mp4", "served").duration


def test_a_clip_shown_once_more_is_told_once_more(player, footage, events):
    player.show(one := clip(footage, 0))
    assert tell(player, clip=1, playing=True) == 204
    player.hide()
    player.show(one)
    assert tell(player, clip=1, playing=True) == 204
    assert [type(events.get(timeout=5)) for _ in range(2)] == [Shown, Shown]


def test_a_player_opened_again_has_the_address_it_had(player, footage):
    version = state(player)["version"]
    player.close()
    again = BrowserClips(lambda event: None, {}, lambda item: True)
    try:
        assert again.address == player.address
        again.show(clip(footage, 2))
        assert state(again, version)["clip"] == 1  # at once, for a page that was open all the while
        beside = BrowserClips(lambda event: None, {}, lambda item: True)
        assert beside.port != again.port
        beside.close()
    finally:
        again.close()


def test_only_the_last_clips_are_kept(player, footage):
    for number in range(40):
        player.show(clip(footage, number % 3, f"query {number}"))
    assert ask(player, "clip/40.mp4")[0] == 200
    assert ask(player, "clip/10.mp4")[0] == 404


def test_whoever_holds_connections_without_the_token_keeps_nobody_out(player, footage):
    player.show(clip(footage, 0))
    crowd = []
    try:
        for number in range(80):
            crowd.append(socket.create_connection(("127.0.0.1", player.port)))
            crowd[-1].send(b"GET / HTTP/1.1\r\nHost: "[: number % 20])
        for _ in range(3):
            assert ask(player, "")[0] == 200
    finally:
        for connection in crowd:
            connection.close()


def test_two_names_of_the_host_are_one_too_many(player):
    with socket.create_connection(("127.0.0.1", player.port), timeout=10) as connection:
        host = f"Host: 127.0.0.1:{player.port}\r\n".encode()
        connection.send(f"GET /{player.token}/ HTTP/1.1\r\n".encode() + host + b"Host: evil.example\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 403")


def test_a_crowd_of_silent_connections_stops_nobody_for_long(player, footage):
    player.show(clip(footage, 0))
    crowd = [socket.create_connection(("127.0.0.1", player.port)) for _ in range(60)]
    for connection in crowd[:10]:
        connection.send(b"GET / HTTP/1.1\r\nHost: " + b"x" * 70000)
    for connection in crowd:
        connection.close()
    until(lambda: _answers(player))


def _answers(player):
    try:
        return ask(player, "")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def test_closing_leaves_nothing(player, footage):
    player.show(clip(footage, 0))
    threading.Thread(target=lambda: _answers(player), daemon=True).start()
    waiting = socket.create_connection(("127.0.0.1", player.port))
    player.close()
    player.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", player.port), timeout=5).send(b"x")
        ask(player, "")
    waiting.close()


@pytest.mark.parametrize(
    ("connection", "user", "rest"),
    [
        ("10.0.0.9 5022 10.0.0.7 22", "", "10.0.0.7"),
        ("10.0.0.9 5022 10.0.0.7 22", "ann", "ann@10.0.0.7"),
        ("10.0.0.9 5022 10.0.0.7 2222", "ann; rm", "-p 2222 10.0.0.7"),
        ("?", "ann", "ann@HOST"),
    ],
)
def test_over_ssh_the_line_says_how_to_reach_it(connection, user, rest):
    environ = {"SSH_CONNECTION": connection, "USER": user}
    player = BrowserClips(lambda event: None, environ, lambda item: True)
    try:
        assert f"ssh -L {player.port}:127.0.0.1:{player.port} {rest} · then open" in player.line
        assert player.address in player.line
        assert player._server.server_address[0] == "127.0.0.1"
    finally:
        player.close()


class Page:
    """A page in a headless Chromium, told what to do over its own protocol."""

    def __init__(self, folder, address):
        from websockets.sync.client import connect

        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-port=0",
            "--mute-audio",
        ]
        options += [f"--user-data-dir={folder}", "--autoplay-policy=no-user-gesture-required", address]
        self._process = subprocess.Popen([CHROMIUM, *options], stderr=subprocess.DEVNULL)
        file = folder / "DevToolsActivePort"
        until(lambda: file.exists() and len(file.read_text().split()) == 2, 60)
        port = file.read_text().split()[0]
        until(lambda: self._target(port), 60)
        self._open = contextlib.ExitStack()
        self._socket = self._open.enter_context(
            connect(self._target(port)["webSocketDebuggerUrl"], max_size=None)
        )
        self._number = 0

    def _target(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            return next((page for page in json.load(answer) if page["type"] == "page"), None)

    def do(self, method, **parameters):
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=30))
            if answer.get("id") == self._number:
                return answer["result"]

    def value(self, expression):
        found = self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.do("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")

    def close(self):
        self._open.close()
        self._process.kill()
        self._process.wait()


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt install chromium)")
def test_in_a_real_browser(player, footage, events, tmp_path):
    pytest.importorskip("websockets")
    first, following = clip(footage, 0), clip(footage, 1, "blue bus")
    player.show(first)
    player.prefetch(following)
    page = Page(tmp_path / "chromium", player.address)
    try:
        assert events.get(timeout=60).clip is first  # it plays
        assert page.value("document.querySelector('h1').textContent") == first.query
        assert page.value("document.querySelectorAll('script').length") == 1
        page.press("y")
        pressed = events.get(timeout=20)
        assert (pressed.key, pressed.clip) == ("y", first)
        player.show(following)  # as the console does on a verdict, from wherever it came
        assert events.get(timeout=20).clip is following
        assert page.value("document.querySelector('h1').textContent") == "blue bus"
        page.press(" ")
        until(lambda: page.value("document.querySelector('video').paused"))
        player.control(Control.PAUSE)
        until(lambda: not page.value("document.querySelector('video').paused"))
        page.press("w")
        until(lambda: page.value("document.querySelector('video').duration") == 4)
        page.press("w")
        until(lambda: page.value("document.querySelector('video').duration") == 1)
        page.value("document.querySelector('[data-key=n]').click()")
        assert _key(events) == ("n", following)
        player.hide()
        until(lambda: "nothing to judge" in page.value("document.querySelector('h1').textContent"))
        page.press("y")
        time.sleep(0.2)
        assert events.empty()
    finally:
        page.close()


def _key(events):
    while True:
        event = events.get(timeout=20)
        if isinstance(event, KeyPressed):
            return event.key, event.clip
