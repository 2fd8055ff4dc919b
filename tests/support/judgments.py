"""Judging sessions that get killed, each in a forked process of its own.

Run as a program, so that forking happens in a small process without threads:

- ``sessions FOLDER SEED COUNT``: so many sessions on one file, each killed at a random moment;
- ``steps FOLDER``: one session again and again, killed before its first call into the kernel, its second, …

Prints what it found as JSON.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import yaml

from accuracy_tui import folder as folder_module
from accuracy_tui import watched_file
from accuracy_tui.judgments import Judgments
from sentrysearch.types import Window


class Identity(NamedTuple):
    """A footage as far as judgments know it."""

    name: str
    fingerprint: str


CLIP = Identity("clip.mp4", "sha256:" + "1" * 64)
OTHER = Identity("other@night.mp4", "sha256:" + "2" * 64)
QUERIES = ("red car", 'a "quoted" one\nof two lines', "caf\u00e9 \U0001f600", "no")
SEED_FILE = (
    '# judged by hand\n"red car":\n  "0.0-30.0": true # sure\n\n# more below\n"no":\n  "25.0-55.0": false\n'
)

Item = tuple[str, Window]
Verdicts = dict[Item, bool | None]


def window(number: int, footage: str = CLIP.name) -> Window:
    """Windows of 30 s, the next 25 s later."""
    return Window(footage, number * 25.0, number * 25.0 + 30.0)


def verdicts_of(path: Path, *, footages: tuple[Identity, ...] = (CLIP,)) -> Verdicts:
    """What opening the file again, journal included, says."""
    with Judgments.open(path, footages, write=False) as judgments:
        return {(query, where): value for query, where, value in judgments.items()}


def plain_verdicts(path: Path) -> dict[str, dict[str, bool]]:
    """What another YAML reader sees in the file alone; fails where that is not verdicts."""
    loaded = yaml.safe_load(path.read_bytes()) or {}
    assert all(isinstance(value, bool) for entries in loaded.values() for value in (entries or {}).values())
    return {query: entries for query, entries in loaded.items() if entries}


class Session:
    """Says on a pipe what it is about to do, and what has been acknowledged."""

    def __init__(self, pipe: int, path: Path) -> None:
        self.pipe = pipe
        self._path = path
        self._judgments = Judgments.open(path, [CLIP], write=True)

    def put(self, query: int, number: int, value: bool) -> None:
        self._say("put", query, number, value)
        self._judgments.put(QUERIES[query], window(number), value)
        self._say("done")

    def undo(self) -> None:
        self._say("undo")
        undone = self._judgments.undo()
        if undone is None:
            self._say("nothing")
        else:
            query, where, value = undone
            self._say("undone", QUERIES.index(query), round(where.start / 25), value)

    def sync(self) -> None:
        self._judgments.sync()

    def reopen(self) -> None:
        self._judgments.close()
        self._judgments = Judgments.open(self._path, [CLIP], write=True)

    def close(self) -> None:
        self._judgments.close()

    def _say(self, *words: object) -> None:
        os.write(self.pipe, json.dumps(words).encode() + b"\n")


def run_killed(path: Path, act: Callable[[Session], None], seconds: float | None) -> tuple[list[list], int]:
    """Runs a session, killed after ``seconds`` from its first word if given; what it said, how it ended."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        status = 1
        try:
            act(Session(writing, path))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    if seconds is not None:
        select.select([reading], [], [], 10)
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
    said = b""
    while block := os.read(reading, 65536):
        said += block
    os.close(reading)
    _, status = os.waitpid(process, 0)
    return [json.loads(line) for line in said.splitlines() if line.startswith(b"[")], status


def check(path: Path, known: Verdicts, said: list[list]) -> tuple[Verdicts, list[str]]:
    """The verdicts after a killed session, and what is wrong with them.

    Each acknowledged one must be there; the one under way may or may not.
    """
    expected = dict(known)
    doubt: tuple | None = None
    for word, *rest in said:
        if word in ("put", "undo"):
            doubt = (word, *rest)
            continue
        if word == "done":
            assert doubt is not None
            rest = list(doubt[1:])
        if word != "nothing":
            query, number, value = rest
            expected[QUERIES[query], window(number)] = value
        doubt = None
    plain_verdicts(path)
    found = verdicts_of(path)
    different = [item for item in {*expected, *found} if expected.get(item) is not found.get(item)]
    allowed = not different
    if len(different) == 1 and doubt is not None:
        query, where = different[0]
        allowed = doubt[0] == "undo" or (QUERIES[doubt[1]], window(doubt[2]), doubt[3]) == (
            query,
            where,
            found.get((query, where)),
        )
    return dict(found), [] if allowed else [f"{doubt}: {different}"]


def random_session(chance: random.Random) -> Callable[[Session], None]:
    def act(session: Session) -> None:
        while True:
            choice = chance.random()
            if choice < 0.75:
                session.put(chance.randrange(len(QUERIES)), chance.randrange(8), chance.random() < 0.5)
            elif choice < 0.9:
                session.undo()
            elif choice < 0.97:
                session.sync()
            else:
                session.reopen()

    return act


def kill_sessions(folder: Path, seed: int, count: int) -> dict[str, object]:
    """Kills sessions at random moments; half of them also fold in the background all the time."""
    path = folder / "judgments.yaml"
    path.write_text(SEED_FILE)
    chance = random.Random(seed)
    known = verdicts_of(path)
    wrong: list[str] = []
    acknowledged = unfinished = leftovers = 0
    for number in range(count):
        folder_module.IDLE = folder_module.LATEST = 0.0 if number % 2 else 60.0
        said, status = run_killed(path, random_session(chance), chance.uniform(0, 0.03))
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            wrong.append(f"session {number} ended by itself: {status}")
        acknowledged += sum(word in ("done", "undone") for word, *_ in said)
        unfinished += bool(said) and said[-1][0] in ("put", "undo")
        leftovers += (folder / ".judgments.yaml.new").exists()
        known, faults = check(path, known, said)
        wrong += faults
    return {
        "kills": count,
        "acknowledged": acknowledged,
        "unfinished": unfinished,
        "leftovers": leftovers,
        "comments": all(line in path.read_text() for line in ("# judged by hand", "# sure", "# more below")),
        "wrong": wrong,
    }


CALLS = ("write", "fsync", "fdatasync", "replace", "rename", "unlink", "open", "ftruncate", "link", "fchmod")


def watch_calls(before: Callable[[str, tuple], None]) -> None:
    """Has ``before`` called ahead of each call into the kernel that changes files, in this process."""
    for name in CALLS:
        original = getattr(os, name)

        def watched(*args, _name=name, _original=original, **options):
            before(_name, args)
            return _original(*args, **options)

        setattr(os, name, watched)


def one_session(session: Session) -> None:
    session.put(0, 3, True)
    session.put(1, 0, False)
    session.sync()
    session.put(0, 3, False)
    session.undo()
    session.undo()
    session.put(2, 1, True)
    session.put(3, 1, True)
    session.reopen()
    session.undo()
    session.put(0, 1, True)
    session.close()


def killed_at(step: int, halfway: bool) -> Callable[[Session], None]:
    """The one session, killed before its call number ``step``, or halfway through it, a write."""

    def act(session: Session) -> None:
        count = 0
        write = os.write

        def before(name: str, args: tuple) -> None:
            nonlocal count
            if name == "write" and args[0] == session.pipe:
                return
            if count == step:
                if halfway and name == "write":
                    write(args[0], bytes(args[1])[: len(args[1]) // 2])
                write(session.pipe, json.dumps(["call", name]).encode() + b"\n")
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

        watch_calls(before)
        one_session(session)

    return act


def go_on(path: Path, known: Verdicts) -> list[str]:
    """What is wrong after one more verdict and a kill: half a line must not have spoiled the next."""

    def act(session: Session) -> None:
        session.put(3, 6, True)
        os.kill(os.getpid(), signal.SIGKILL)

    said, _ = run_killed(path, act, None)
    if said[-1:] != [["done"]]:
        return [f"could not go on: {said}"]
    return check(path, known, said)[1]


def kill_at_steps(folder: Path) -> dict[str, object]:
    """Kills one session before each of its calls; before each write also after half of it."""
    path = folder / "judgments.yaml"
    # The same calls every time: no fold by itself, and the file read again however old it is.
    folder_module.IDLE = folder_module.LATEST = 600.0
    watched_file._COARSE = 1 << 62
    wrong: list[str] = []
    names: list[str] = []
    step, halfway, ended = 0, False, False
    while not ended:
        for stray in folder.iterdir():
            stray.unlink()
        path.write_text(SEED_FILE)
        known = verdicts_of(path)
        said, status = run_killed(path, killed_at(step, halfway), None)
        ended = os.waitstatus_to_exitcode(status) == 0
        calls = [line[1] for line in said if line[0] == "call"]
        said = [line for line in said if line[0] != "call"]
        found, faults = check(path, known, said)
        faults += go_on(path, found)
        wrong += [f"step {step} {calls}: {fault}" for fault in faults]
        if not ended and not calls:
            wrong.append(f"step {step}: session failed")
            break
        names += calls
        if calls == ["write"] and not halfway:
            halfway = True
        else:
            step, halfway = step + 1, False
    return {"names": names, "wrong": wrong}


if __name__ == "__main__":
    root = Path(sys.argv[2])
    if sys.argv[1] == "sessions":
        print(json.dumps(kill_sessions(root, int(sys.argv[3]), int(sys.argv[4]))))
    else:
        print(json.dumps(kill_at_steps(root)))
