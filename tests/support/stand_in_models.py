"""Models for a pass's process that fail and dawdle as real ones do; their names say how.

``PROGRAM`` runs the process with them. They need names with a slash, which every hub id has.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from sentrysearch import embedders
from sentrysearch.types import Embedder
from support.embedders import ColourEmbedder

TESTS = Path(__file__).parent.parent
PROGRAM = (
    sys.executable,
    "-c",
    f"import sys; sys.path.insert(0, {str(TESTS)!r})\n"
    "from support.stand_in_models import install; install()\n"
    "from accuracy_tui.pass_process import main; main()",
)


class Slow(ColourEmbedder):
    """Eight windows a second, so that something can happen meanwhile."""

    def embed_windows(self, batch):
        time.sleep(0.12)
        return super().embed_windows(batch)


class Stuck(ColourEmbedder):
    """Never comes back from a window, whatever it is told."""

    def embed_windows(self, batch):
        time.sleep(600)


class Loading(ColourEmbedder):
    """Loads for ever and holds the interpreter's lock, as libraries do while they are opened."""

    def load(self):
        ctypes.PyDLL(None).sleep(600)


class Hungry(ColourEmbedder):
    def embed_windows(self, batch):
        raise MemoryError


class HungryLoad(ColourEmbedder):
    def load(self):
        raise MemoryError


class Killed(ColourEmbedder):
    def embed_windows(self, batch):
        os.kill(os.getpid(), signal.SIGKILL)


class Crashed(ColourEmbedder):
    def load(self):
        print("the driver is not amused", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)


class Quitting(ColourEmbedder):
    def load(self):
        print("no such licence", file=sys.stderr, flush=True)
        os._exit(3)


class Loud(ColourEmbedder):
    def load(self):
        os.write(1, b"\x1b[2Jon standard output")
        os.write(2, b"\x1b[2Jon standard error")


class Parent(Slow):
    """Has a process of its own, whose id it writes down."""

    def load(self):
        helper = subprocess.Popen(["sleep", "600"])
        Path(os.environ["HELPER_PID_FILE"]).write_text(str(helper.pid))


class NewRevision(ColourEmbedder):
    revision = "colour-2"


MODELS = {
    "test/colour": ColourEmbedder,
    "test/other": ColourEmbedder,
    "test/slow": Slow,
    "test/stuck": Stuck,
    "test/loading": Loading,
    "test/hungry": Hungry,
    "test/hungry-load": HungryLoad,
    "test/killed": Killed,
    "test/crashed": Crashed,
    "test/quitting": Quitting,
    "test/loud": Loud,
    "test/parent": Parent,
    "gemini": ColourEmbedder,
}


def install() -> None:
    """Puts them in the place of the real ones, for this process."""
    real = embedders.create

    def create(name: str) -> Embedder:
        if name == "test/colour" and "NEW_REVISION" in os.environ:
            return NewRevision(name)
        return MODELS[name](name) if name in MODELS else real(name)

    embedders.create = create
