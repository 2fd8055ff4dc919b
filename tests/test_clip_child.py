"""What is asked for while something earlier is still on its way: only the latest counts."""

import ctypes.util
import os
import queue
import threading
import time

import pytest

from accuracy_tui.player import av_deck
from accuracy_tui.player.clip_child import Pictures, Shot
from accuracy_tui.player.clip_process import ClipProcess
from support.screen import write_clip


def shot(number, path, start):
    return Shot(number, str(path), start, start + 1.0, 5.0, "", "", 32, 24)


@pytest.mark.skipif(ctypes.util.find_library("mpv") is None, reason="needs libmpv")
def test_a_clip_does_not_fail_by_the_one_before_it(tmp_path):
    good = write_clip(tmp_path / "good.mkv").path
    bad = tmp_path / "bad.mkv"
    bad.write_bytes(b"no video")
    heard = queue.SimpleQueue()
    process = ClipProcess(["null"], heard.put, environ=os.environ)
    try:
        for number in range(0, 200, 2):
            for one in (shot(number, bad, 1.0), shot(number + 1, good, 2.0)):
                process.send(do="show", **one._asdict())
            while True:
                message = heard.get(timeout=20)
                if message.get("clip") == number + 1:
                    assert message["event"] in ("shown", "position")
                    if message["event"] == "shown":
                        break
    finally:
        process.close()


class Told:
    """What a deck says to the child that it belongs to."""

    def __init__(self):
        self.work = queue.SimpleQueue()
        self.decks = []

    def send(self, **event):
        pass


def test_a_clip_asked_for_while_a_picture_of_another_is_decoded_is_ready(tmp_path, monkeypatch):
    path = write_clip(tmp_path / "clip.mkv").path
    earlier, later = shot(1, path, 1.0), shot(2, path, 2.0)
    decoded, asked = threading.Event(), threading.Event()
    pictures = av_deck._pictures

    def slowly(video, start):
        for picture in pictures(video, start):
            decoded.set()
            asked.wait(20)
            yield picture

    monkeypatch.setattr(av_deck, "_pictures", slowly)
    told = Told()
    with (tmp_path / "memory").open("w+b") as memory:
        memory.truncate(32 * 24 * 4 * 2)
        deck = av_deck.AvDeck(told, Pictures(memory.fileno(), 32 * 24 * 4, 2, 20.0))
    try:
        deck.load(earlier, paused=False)
        assert decoded.wait(20)
        deck.load(later, paused=False)
        asked.set()
        deadline = time.monotonic() + 20
        while ("ready", deck, later) != told.work.get(timeout=max(0.01, deadline - time.monotonic())):
            pass
        assert deck.ready
    finally:
        deck.close()
