"""kill −9 at any moment loses no acknowledged verdict and leaves valid YAML."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from accuracy_tui.judgments import Judgments
from support.judgments import CLIP, SEED_FILE, window

PROGRAM = Path(__file__).parent / "support" / "judgments.py"


def run(*arguments: object) -> dict:
    done = subprocess.run(
        [sys.executable, PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments(tmp_path, seed):
    found = run("sessions", tmp_path, seed, 250)
    assert found["wrong"] == []
    assert found["kills"] == 250 and found["comments"]
    # The kills did hit work: verdicts were given, some under way, some folds too.
    assert found["acknowledged"] > 250 and found["unfinished"] > 10 and found["leftovers"] > 0


def test_killed_before_each_call_into_the_kernel(tmp_path):
    found = run("steps", tmp_path)
    assert found["wrong"] == []
    # Halfway through writes too; every kind of call that a fold makes was among them.
    assert len(found["names"]) > 60
    assert {"write", "fsync", "fdatasync", "replace", "open", "unlink"} <= set(found["names"])


def test_what_a_power_cut_needs(tmp_path, monkeypatch):
    """A kill can't lose what the kernel holds, a power cut can: so the order of syncs is checked.

    A file's content must be synced before its name is put in place, the folder after, before anything relies
    on it: the journal's note that a verdict is in the YAML comes only then. A put returns after its sync.
    """
    path = tmp_path / "judgments.yaml"
    path.write_text(SEED_FILE)
    calls: list[tuple[str, str]] = []

    def before(name, args):
        target = args[0]
        if isinstance(target, int):
            target = Path(f"/proc/self/fd/{target}").readlink()
        calls.append((name, Path(target).name))

    judgments = Judgments.open(path, [CLIP], write=True)
    calls.clear()
    watch(monkeypatch, before)
    folder = tmp_path.name

    judgments.put("red car", window(5), True)
    assert calls == [
        ("fsync", ".judgments.yaml.journal.new"),
        ("replace", ".judgments.yaml.journal.new"),
        ("fsync", folder),
        ("write", ".judgments.yaml.journal"),
        ("fdatasync", ".judgments.yaml.journal"),
    ]
    calls.clear()
    judgments.put("red car", window(6), True)
    assert calls == [("write", ".judgments.yaml.journal"), ("fdatasync", ".judgments.yaml.journal")]
    calls.clear()
    judgments.sync()
    assert calls == [
        ("write", ".judgments.yaml.new"),
        ("fsync", ".judgments.yaml.new"),
        ("replace", ".judgments.yaml.new"),
        ("fsync", folder),
        ("write", ".judgments.yaml.journal"),
        ("fdatasync", ".judgments.yaml.journal"),
    ]
    judgments.close()


def watch(monkeypatch, before):
    for name in ("write", "fsync", "fdatasync", "replace"):
        original = getattr(os, name)

        def watched(*args, _name=name, _original=original, **options):
            before(_name, args)
            return _original(*args, **options)

        monkeypatch.setattr(os, name, watched)
