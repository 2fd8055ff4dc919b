"""Footage by URL, against a server on loopback that breaks off, refuses, ignores ranges and lies."""

from __future__ import annotations

import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sentrysearch import download
from sentrysearch.download import fetch
from sentrysearch.errors import FootageError

CONTENT = bytes(range(256)) * 4000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT; every request takes the next fault of ``script``, if any is left."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[object] = []
        self.ranges: list[str | None] = []
        self.content = CONTENT
        self.honours_ranges = True

    def url(self, path="/clips/highway%20one.mp4?token=1"):
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server: Server = self.server
        wanted = self.headers.get("Range")
        server.ranges.append(wanted)
        fault = server.script.pop(0) if server.script else None
        if isinstance(fault, int) and fault >= 300:
            self.send_response(fault)
            if fault == 302:
                self.send_header("Location", "/moved/b.mp4")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if fault == "drop":
            self.close_connection = True
            self.connection.close()
            return
        body, start = server.content, 0
        if wanted and server.honours_ranges:
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted).group(1))
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        piece = body[start:]
        if isinstance(fault, float):  # breaks off after this share of what is left
            piece = piece[: int(len(piece) * fault)]
            self.close_connection = True
        self.wfile.write(piece)


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTRYSEARCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(download, "_PAUSE_SECONDS", 0.0)
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_file_is_fetched_once_under_its_own_name(server):
    progress: list[tuple[int, int | None]] = []
    path = fetch(server.url(), DIGEST, progress=lambda done, total: progress.append((done, total)))
    assert path.name == "highway one.mp4"
    assert path.read_bytes() == CONTENT
    assert progress[-1] == (len(CONTENT), len(CONTENT))
    assert progress == sorted(progress)
    assert fetch(server.url(), f"sha256:{DIGEST.upper()}") == path
    assert len(server.ranges) == 1


def test_a_broken_download_goes_on_where_it_stopped(server):
    server.script = [0.3, 0.5, "drop", 503]
    path = fetch(server.url(), DIGEST)
    assert path.read_bytes() == CONTENT
    third = int(len(CONTENT) * 0.3)
    assert server.ranges[:2] == [None, f"bytes={third}-"]
    assert len(server.ranges) == 5


def test_it_goes_on_after_a_restart(server):
    server.script = [0.4, *["drop"] * 4]
    with pytest.raises(FootageError, match="goes on where it stopped"):
        fetch(server.url(), DIGEST)
    server.ranges.clear()
    assert fetch(server.url(), DIGEST).read_bytes() == CONTENT
    assert server.ranges == [f"bytes={int(len(CONTENT) * 0.4)}-"]


def test_a_server_without_ranges_sends_it_all_again(server):
    server.honours_ranges = False
    server.script = [0.4]
    assert fetch(server.url(), DIGEST).read_bytes() == CONTENT


def test_a_whole_file_that_was_never_renamed_is_taken(server, tmp_path):
    partial = tmp_path / "cache" / "footage" / DIGEST / "partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT)
    assert fetch(server.url(), DIGEST).read_bytes() == CONTENT
    partial.write_bytes(CONTENT + b"more")
    (partial.parent / "highway one.mp4").unlink()
    assert fetch(server.url(), DIGEST).read_bytes() == CONTENT


def test_another_content_is_refused_and_leaves_nothing(server, tmp_path):
    server.content = CONTENT[:-1] + b"x"
    with pytest.raises(FootageError, match="sha256") as caught:
        fetch(server.url(), DIGEST)
    assert hashlib.sha256(server.content).hexdigest() in str(caught.value)
    folder = tmp_path / "cache" / "footage" / DIGEST
    assert [(path.name, path.stat().st_size) for path in folder.iterdir()] == [("partial", 0)]
    server.content = CONTENT
    assert fetch(server.url(), DIGEST).read_bytes() == CONTENT


def test_a_damaged_copy_in_the_cache_is_fetched_again(server):
    path = fetch(server.url(), DIGEST)
    path.write_bytes(b"damaged")
    assert fetch(server.url(), DIGEST).read_bytes() == CONTENT


def test_redirects_are_followed(server):
    server.script = [302]
    assert fetch(server.url(), DIGEST).name == "highway one.mp4"


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_is_told_at_once(server, status):
    server.script = [status]
    with pytest.raises(FootageError, match=f"the server answers {status}"):
        fetch(server.url(), DIGEST)
    assert len(server.ranges) == 1


def test_a_server_that_stays_away_is_told(server):
    server.script = ["drop"] * 20
    with pytest.raises(FootageError, match="download failed"):
        fetch(server.url(), DIGEST)
    assert len(server.ranges) == 5


@pytest.mark.parametrize(
    ("url", "digest"),
    [
        ("file:///etc/passwd", DIGEST),
        ("ftp://127.0.0.1/a.mp4", DIGEST),
        ("http:///a.mp4", DIGEST),
        ("http://[::1", DIGEST),
        ("a.mp4", DIGEST),
        ("http://127.0.0.1/a.mp4", "abc"),
        ("http://127.0.0.1/a.mp4", DIGEST[:-1] + "g"),
    ],
)
def test_what_is_no_url_or_checksum_is_refused(tmp_path, monkeypatch, url, digest):
    monkeypatch.setenv("SENTRYSEARCH_CACHE", str(tmp_path / "cache"))
    with pytest.raises(FootageError):
        fetch(url, digest)
    assert not (tmp_path / "cache").exists()


def test_a_name_from_outside_stays_in_its_folder(server, tmp_path):
    path = fetch(server.url("/x/..%2F..%2F.evil%0a.mp4"), DIGEST)
    assert path.parent == tmp_path / "cache" / "footage" / DIGEST
    assert "/" not in path.name
    assert "\n" not in path.name


def test_a_cache_that_cannot_be_written_is_told(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(FootageError, match="cannot be stored"):
        fetch(server.url(), DIGEST)


def test_two_downloads_of_one_file_do_not_mix(server, tmp_path):
    import fcntl

    partial = tmp_path / "cache" / "footage" / DIGEST / "partial"
    partial.parent.mkdir(parents=True)
    with partial.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(FootageError, match="another process"):
            fetch(server.url(), DIGEST)
    assert fetch(server.url(), DIGEST).read_bytes() == CONTENT
