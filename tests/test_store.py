"""Collections: what is appended is found again, throwaways go, what the dead left is swept."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sentrysearch.errors import StoreError
from sentrysearch.store import Collection, CollectionIdentity, kept_collections, sweep
from sentrysearch.types import Footage, Window, WindowGrid

IDENTITY = CollectionIdentity("some/model", "1", 3, WindowGrid(2.0, 1.0), (("a.mp4", "sha256:00"),))
WINDOWS = [Window("a.mp4", 0.0, 2.0), Window("a.mp4", 1.0, 3.0)]
VECTORS = np.arange(6, dtype=np.float32).reshape(2, 3)


def footage(name, fingerprint):
    return Footage(name, Path(name), fingerprint, 4.0, 0.0, 640, 360, 0, "h264", 25.0)


def test_a_kept_collection_is_found_again_by_its_identity(tmp_path):
    with Collection.open(IDENTITY, root=tmp_path) as collection:
        collection.append(WINDOWS, VECTORS)
    with Collection.open(IDENTITY, root=tmp_path) as again:
        assert again.windows() == WINDOWS
        assert WINDOWS[0] in again and Window("a.mp4", 9.0, 11.0) not in again
        np.testing.assert_array_equal(again.vectors(), VECTORS)


@pytest.mark.parametrize(
    "other",
    [
        CollectionIdentity("some/model", "2", 3, WindowGrid(2.0, 1.0), IDENTITY.footage),
        CollectionIdentity("some/model", "1", 3, WindowGrid(2.0, 0.5), IDENTITY.footage),
        CollectionIdentity("some/model", "1", 3, WindowGrid(2.0, 1.0), (("a.mp4", "sha256:01"),)),
        CollectionIdentity("some-model", "1", 3, WindowGrid(2.0, 1.0), IDENTITY.footage),
    ],
)
def test_another_identity_is_another_collection(tmp_path, other):
    assert other.folder_name() != IDENTITY.folder_name()
    with Collection.open(IDENTITY, root=tmp_path) as collection:
        collection.append(WINDOWS, VECTORS)
    with Collection.open(other, root=tmp_path) as collection:
        assert len(collection) == 0


def test_a_throwaway_goes_when_the_block_ends_even_by_an_error(tmp_path):
    with pytest.raises(KeyboardInterrupt), Collection.throwaway(IDENTITY, root=tmp_path) as collection:
        collection.append(WINDOWS, VECTORS)
        assert collection.folder.name.startswith("_accuracy")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_throwaway_that_cannot_be_made_leaves_nothing(tmp_path, monkeypatch):
    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StoreError, match="No space left"), Collection.throwaway(IDENTITY, root=tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_throwaway_can_be_kept(tmp_path):
    with Collection.throwaway(IDENTITY, root=tmp_path) as collection:
        collection.append(WINDOWS, VECTORS)
        assert collection.keep()
    with Collection.open(IDENTITY, root=tmp_path) as kept:
        assert kept.windows() == WINDOWS


def test_sweep_takes_what_a_killed_process_left_and_not_what_is_in_use(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; sys.path.insert(0, 'tests')\n"
        "from test_store import *\n"
        "with Collection.throwaway(IDENTITY, root=Path(sys.argv[1])) as c:\n"
        "    c.append(WINDOWS, VECTORS); print('ready', flush=True); time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )
    assert child.stdout.readline() == b"ready\n"
    assert sweep(tmp_path) == 0
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert len(list(tmp_path.iterdir())) == 1
    assert sweep(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


def test_sweep_leaves_a_folder_that_is_just_being_made(tmp_path):
    young, old = tmp_path / "_accuracy-young", tmp_path / "_accuracy-old"
    young.mkdir()
    old.mkdir()
    os.utime(old, (time.time() - 3600,) * 2)
    assert sweep(tmp_path) == 1
    assert young.exists() and not old.exists()


@pytest.mark.parametrize("torn", ["vectors", "windows"])
def test_what_a_death_in_append_left_is_cut_off(tmp_path, torn):
    with Collection.open(IDENTITY, root=tmp_path) as collection:
        collection.append(WINDOWS, VECTORS)
        folder = collection.folder
    if torn == "vectors":  # died after the vectors, before the windows
        with (folder / "vectors.f32").open("ab") as file:
            file.write(b"\x01" * 17)
    else:  # died inside the windows' line
        with (folder / "vectors.f32").open("ab") as file:
            file.write(b"\x01" * 12)
        with (folder / "windows.jsonl").open("ab") as file:
            file.write(b'["a.mp4", 2.0')
    third = Window("a.mp4", 2.0, 4.0)
    with Collection.open(IDENTITY, root=tmp_path) as collection:
        assert collection.windows() == WINDOWS
        collection.append([third], np.full((1, 3), 9, np.float32))
    with Collection.open(IDENTITY, root=tmp_path) as collection:
        assert collection.windows() == [*WINDOWS, third]
        np.testing.assert_array_equal(collection.vectors()[2], [9, 9, 9])
        np.testing.assert_array_equal(collection.vectors()[:2], VECTORS)


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path):
    with Collection.open(IDENTITY, root=tmp_path) as collection:
        collection.append(WINDOWS, VECTORS)
        with pytest.raises(StoreError, match="another process is writing"):
            Collection.open(IDENTITY, root=tmp_path)
        assert Collection.read(collection.folder).windows() == WINDOWS


def test_a_changed_file_of_the_same_name_loses_its_windows(tmp_path):
    other = Window("b.mp4", 0.0, 2.0)
    with Collection.open(IDENTITY, root=tmp_path) as collection:
        collection.add_footage(footage("a.mp4", "sha256:00"))
        collection.add_footage(footage("b.mp4", "sha256:07"))
        collection.append([WINDOWS[0], other, WINDOWS[1]], np.arange(9, dtype=np.float32).reshape(3, 3))
        collection.add_footage(footage("a.mp4", "sha256:00"))
        assert len(collection) == 3
        collection.add_footage(footage("a.mp4", "sha256:01"))
        folder = collection.folder
    reread = Collection.read(folder)
    assert reread.windows() == [other]
    np.testing.assert_array_equal(reread.vectors(), [[3, 4, 5]])
    assert reread.footage["a.mp4"]["fingerprint"] == "sha256:01"


@pytest.mark.parametrize("file", ["collection.json", "windows.jsonl"])
def test_a_damaged_collection_is_one_line(tmp_path, file):
    with Collection.open(IDENTITY, root=tmp_path) as collection:
        collection.append(WINDOWS, VECTORS)
    (collection.folder / file).write_bytes(b'{"identity": 3}\n[1]\n')
    with pytest.raises(StoreError, match="damaged") as caught:
        Collection.read(collection.folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", ["a folder for a file", "no dimension"])
def test_one_collection_that_cannot_be_read_does_not_hide_the_others(tmp_path, damage):
    other = dataclasses.replace(IDENTITY, revision="r2")
    for identity in (IDENTITY, other):
        with Collection.open(identity, root=tmp_path) as collection:
            collection.append(WINDOWS, VECTORS)
    if damage == "no dimension":
        description = collection.folder / "collection.json"
        description.write_text(description.read_text().replace('"dimension": 3', '"dimension": 0'))
    else:
        (collection.folder / "windows.jsonl").unlink()
        (collection.folder / "windows.jsonl").mkdir()
    assert [kept.identity for kept in kept_collections(tmp_path)] == [IDENTITY]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write the collection"):
        Collection.open(IDENTITY, root=tmp_path / "file")
