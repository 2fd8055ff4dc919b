"""Clips in the maintainer's own browser, through ``ssh -L``: in full picture, with nothing to install there.

A server on the loopback address. Whoever else is on the machine, or whatever page is open in the browser,
gets nothing: the address holds a random token, requests must name the server's own host (against DNS
rebinding), and nothing is served but the page and the windows that the console shows.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

from accuracy_tui.judging import describe
from accuracy_tui.player import PlayerError
from accuracy_tui.player.browser_page import PAGE
from accuracy_tui.player.clip_player import Clip, Control, KeyPressed, OnEvent, ShowFailed, Shown
from accuracy_tui.pool import PoolItem
from sentrysearch.errors import SentrySearchError
from sentrysearch.text import printable

if TYPE_CHECKING:
    from accuracy_tui.player.routes import Allowed

_WAIT_SECONDS = 25.0
"""How long a page's question what is new may stay open."""

_SILENT_SECONDS = 15.0
"""A connection that sends nothing for so long is closed."""

_MOST_CONNECTIONS = 32
_MOST_BODY = 4096
_SIDE = 960
_KEPT = 4


class BrowserClips:
    """Serves one page.

    Args:
        allowed: whether an item may be served.

    Raises:
        PlayerError: no port on the loopback address can be had.
    """

    route = "browser"

    def __init__(self, on_event: OnEvent, environ: Mapping[str, str], allowed: Allowed) -> None:
        self._on_event = on_event
        self._allowed = allowed
        self.token = secrets.token_urlsafe(24)
        self._changed = threading.Condition()
        self._numbers: dict[int, int] = {}  # by clip's identity
        self._clips: dict[int, Clip] = {}
        self._encoded: dict[int, bytes | None] = {}  # None while it is being made
        self._shown = 0
        self._version = 0
        self._controls: list[tuple[int, str]] = []
        self._told: set[int] = set()
        self._closed = False
        try:
            self._server = _Server(("127.0.0.1", 0), _Handler)
        except OSError as error:
            raise PlayerError(f"no port can be had: {error.strerror}") from error
        self._server.clips = self
        self.port: int = self._server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}/{self.token}/"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        here = f"{self.address}"
        if environ.get("SSH_CONNECTION"):
            host = environ["SSH_CONNECTION"].split()[2:3] or ["HOST"]
            here = f"ssh -L {self.port}:127.0.0.1:{self.port} {printable(host[0])} · then open {self.address}"
        self.line = f"browser: {here}"

    # The console's side

    def show(self, clip: Clip) -> None:
        number = self._take(clip)
        if number is None:
            self._on_event(ShowFailed(clip, PlayerError("this window isn't in the pool any more")))
            return
        with self._changed:
            self._shown = number
            self._new_version()

    def prefetch(self, clip: Clip) -> None:
        self._take(clip)

    def control(self, control: Control) -> None:
        with self._changed:
            self._new_version()
            self._controls = [*self._controls[-20:], (self._version, control.value)]

    def hide(self) -> None:
        with self._changed:
            self._shown = 0
            self._new_version()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with self._changed:
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._server.drop()

    def _take(self, clip: Clip) -> int | None:
        """The clip's number; its video begins to be made."""
        if not self._allowed(PoolItem(clip.query, clip.window)):
            return None
        with self._changed:
            known = self._numbers.get(id(clip))
            if known is not None and self._clips.get(known) is clip:
                return known
            number = max(self._clips, default=0) + 1
            self._numbers[id(clip)] = number
            self._clips[number] = clip
            self._encoded[number] = None
            for old in [one for one in self._clips if one <= number - _KEPT and one != self._shown]:
                self._numbers.pop(id(self._clips.pop(old)), None)
                self._encoded.pop(old, None)
        threading.Thread(target=self._encode, args=(number, clip), name="clip", daemon=True).start()
        return number

    def _encode(self, number: int, clip: Clip) -> None:
        from sentrysearch.clips import encode_clip

        try:
            encoded = encode_clip(clip.footage, clip.window, max_side=_SIDE)
        except (SentrySearchError, OSError) as error:
            with self._changed:
                self._encoded.pop(number, None)
                self._changed.notify_all()
            if not self._closed:
                self._on_event(ShowFailed(clip, PlayerError(str(error))))
            return
        with self._changed:
            if number in self._clips:
                self._encoded[number] = encoded
            self._changed.notify_all()

    def _new_version(self) -> None:
        self._version += 1
        self._changed.notify_all()

    # The page's side, on the server's threads

    def state(self, since: int) -> dict[str, Any]:
        """What is shown, as soon as it is other than version ``since``, or after a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._version > since or self._closed, _WAIT_SECONDS)
            clip = self._clips.get(self._shown)
            return {
                "version": self._version,
                "clip": self._shown if clip is not None else 0,
                "query": clip.caption if clip is not None else "",
                "place": describe(clip.window) if clip is not None else "",
                # A page just opened begins where the clip begins.
                "controls": [control for version, control in self._controls if 0 <= since < version],
            }

    def video(self, number: int) -> bytes | None:
        """A clip's MP4, waited for while it is being made; None where there is none."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._encoded.get(number, b"") is not None or self._closed, _WAIT_SECONDS
            )
            return self._encoded.get(number)

    def event(self, told: dict[str, Any]) -> None:
        """The page plays a clip, or a key was pressed there; only for what is shown now."""
        with self._changed:
            number = told.get("clip")
            clip = self._clips.get(self._shown)
            if clip is None or number != self._shown or isinstance(number, bool):
                return
            first = number not in self._told
            if told.get("playing") is True:
                self._told.add(self._shown)
        key = told.get("key")
        if told.get("playing") is True and first:
            self._on_event(Shown(clip))
        elif isinstance(key, str) and key in ("y", "n", "u", "s"):
            self._on_event(KeyPressed(clip, key))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    clips: BrowserClips

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open: set[socket.socket] = set()
        self._mutex = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._mutex:
            crowded = len(self._open) >= _MOST_CONNECTIONS
            if not crowded:
                self._open.add(request)
        if crowded:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._mutex:
            self._open.discard(request)
        super().shutdown_request(request)

    def drop(self) -> None:
        """Ends the connections that are still open."""
        with self._mutex:
            open_ones, self._open = self._open, set()
        for connection in open_ones:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that goes away in the middle is no news, and nothing may be printed over the console."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SILENT_SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "accuracy-tui"
    sys_version = ""
    _NO_STORE: ClassVar[dict[str, str]] = {
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
    }

    def do_GET(self) -> None:
        path = self._path()
        if path is None:
            return
        clips = self.server.clips
        if path == "":
            self._page()
        elif path.startswith("state?since=") and re.fullmatch(r"-?\d{1,9}", path[12:]):
            state = json.dumps(clips.state(int(path[12:]))).encode()
            self._answer(200, state, {"Content-Type": "application/json"})
        elif match := re.fullmatch(r"clip/(\d{1,9})\.mp4", path):
            self._video(clips.video(int(match[1])))
        else:
            self._refuse(404)

    def do_POST(self) -> None:
        path = self._path()
        if path is None:
            return
        length = self.headers.get("Content-Length", "")
        origin = self.headers.get("Origin")
        if path != "event" or not length.isdigit() or int(length) > _MOST_BODY:
            self._refuse(404)
        elif origin is not None and origin not in {f"http://{host}" for host in self._hosts()}:
            self._refuse(403)
        else:
            try:
                told = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError):
                told = None
            if not isinstance(told, dict):
                self._refuse(400)
                return
            self.server.clips.event(told)
            self._answer(204, b"", {})

    def _path(self) -> str | None:
        """What follows the token; None where the request was refused."""
        if self.headers.get("Host") not in self._hosts() or len(self.headers.get_all("Host", [])) != 1:
            self._refuse(403)
            return None
        prefix = f"/{self.server.clips.token}/"
        token = self.path[: len(prefix)]
        if not secrets.compare_digest(token.encode("utf-8", "replace"), prefix.encode()):
            self._refuse(404)
            return None
        return self.path[len(prefix) :]

    def _hosts(self) -> set[str]:
        port = self.server.clips.port
        return {f"127.0.0.1:{port}", f"localhost:{port}"}

    def _page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; media-src 'self'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        page = PAGE.replace("NONCE", nonce).encode()
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
        self._answer(200, page, headers)

    def _video(self, video: bytes | None) -> None:
        if video is None:
            self._refuse(404)
            return
        headers = {"Content-Type": "video/mp4", "Accept-Ranges": "bytes"}
        match = re.fullmatch(r"bytes=(\d{1,12})-(\d{0,12})", self.headers.get("Range", ""))
        if match is None:
            self._answer(200, video, headers)
            return
        start = int(match[1])
        end = min(int(match[2]) if match[2] else len(video) - 1, len(video) - 1)
        if start > end:
            self._answer(416, b"", {"Content-Range": f"bytes */{len(video)}"})
            return
        headers["Content-Range"] = f"bytes {start}-{end}/{len(video)}"
        self._answer(206, video[start : end + 1], headers)

    def _refuse(self, status: int) -> None:
        self.close_connection = True
        self._answer(status, b"", {"Connection": "close"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**self._NO_STORE, **headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is the console's, and the address holds the token."""
