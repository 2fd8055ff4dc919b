"""The program that holds libmpv: plays what it is told over a socket, one JSON object a line.

It is a process of its own because losing a display ends a process that uses libmpv (the X client library
calls ``exit``), a stalled one blocks every call into it, and what it prints would land on the terminal.
It imports next to nothing, so that it starts in the time mpv takes.

::

    python mpv_child.py SOCKET_FD x11|wlshm
    ← {"id": 0}                                                              ready
    → {"id": 1, "do": "show", "path": …, "start": 12.0, "end": 13.0, "title": …}
    ← {"id": 1}                                                              its first picture is up
    → {"id": 2, "do": "state"}
    ← {"id": 2, "value": {"path": …, "time": 12.4, "visible": true}}
    ← {"id": 3, "error": "one line"}

It ends when the socket closes.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
from typing import Any

from accuracy_tui.player.mpv_core import make_mpv

FIRST_PICTURE_SECONDS = 10.0
"""Longest wait for a first picture: 1080p with distant key frames takes about one second."""


def main(socket_fd: int, output: str) -> None:
    """Serves requests until the socket closes.

    Args:
        socket_fd: the connection to whoever started it.
        output: mpv's video output. Those that draw by CPU are enough for a clip and work on every
            display; left to choose, mpv may pick one that shows nothing or takes over the console.
    """
    connection = socket.socket(fileno=socket_fd)
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:  # on a thread of its own: even a blocked mpv ends with its parent
        with connection.makefile("rb") as lines:
            for line in lines:
                requests.put(json.loads(line))
        os._exit(0)

    def reply(message: dict[str, Any]) -> None:
        connection.sendall(json.dumps(message).encode() + b"\n")

    threading.Thread(target=read, daemon=True).start()
    complaints: list[str] = []  # mpv's own since the last request: why a clip failed
    try:
        player = _player(output, complaints)
    except (ImportError, OSError) as error:  # python-mpv raises OSError where it finds no libmpv
        reply({"id": 0, "error": f"libmpv cannot be loaded ({error})"})
        return
    reply({"id": 0})
    while True:
        request = requests.get()
        complaints.clear()
        try:
            if request["do"] == "show":
                _show(player, request)
                reply({"id": request["id"]})
            else:
                reply({"id": request["id"], "value": _state(player)})
        except Exception as error:  # whatever mpv says is the answer; the next request may work
            reasons = [str(error) or type(error).__name__, *complaints[:1]]
            reply({"id": request["id"], "error": ": ".join(reasons)})


def _player(output: str, complaints: list[str]) -> Any:
    player = make_mpv(output, complaints)
    player.command("keybind", "CLOSE_WIN", "stop")  # closing the window puts it away until the next clip
    return player


def _show(player: Any, request: dict[str, Any]) -> None:
    import mpv

    started = False

    def ended(event: Any) -> str:
        """What became of the new file, "" until that is known; events of the one before are passed over."""
        nonlocal started
        kind = event.event_id.value
        if kind == mpv.MpvEventID.START_FILE:
            started = True
        elif kind == mpv.MpvEventID.END_FILE and started:
            code = event.data.error
            return mpv._mpv_error_string(code).decode() if code else "it ended before its first picture"
        elif kind == mpv.MpvEventID.PLAYBACK_RESTART and started:
            return "shown"
        return ""

    start, end = request["start"], request["end"]
    player["ab-loop-a"] = player["ab-loop-b"] = "no"  # the clip before this one isn't to jump
    player["pause"] = True
    player["start"] = str(start)
    player["title"] = request["title"].replace("$", "$$")  # "${…}" would be expanded
    with player.prepare_and_wait_for_event(
        "start_file", "end_file", "playback_restart", cond=ended, timeout=FIRST_PICTURE_SECONDS
    ) as outcome:
        player.command("loadfile", os.fsencode(request["path"]), "replace")
    if outcome.result() != "shown":
        raise RuntimeError(outcome.result())
    player["ab-loop-a"], player["ab-loop-b"] = str(start), str(end)
    player["pause"] = False


def _state(player: Any) -> dict[str, Any]:
    path = player.path
    return {
        "path": os.fsdecode(path) if isinstance(path, bytes) else path,
        "time": player.time_pos,
        "visible": bool(player.vo_configured),
    }


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
