"""What others do to the file while we judge: outside edits, a second process, a full disk, no access."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from accuracy_tui.judgments import Conflict, Judgments, JudgmentsError
from sentrysearch.errors import BadInput
from support.judgments import CLIP, SEED_FILE, plain_verdicts, verdicts_of, window

KNOWN = {("red car", window(0)): True, ("no", window(1)): False}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "judgments.yaml"
    path.write_text(SEED_FILE)
    return path


@pytest.fixture
def judgments(path):
    with Judgments.open(path, [CLIP], write=True) as judgments:
        yield judgments


def journal_of(path):
    return path.with_name(f".{path.name}.journal")


class TestOutsideEdit:
    @pytest.mark.parametrize("in_place", [True, False])
    def test_is_taken_in_and_merged(self, path, judgments, in_place):
        judgments.put("red car", window(2), True)
        text = SEED_FILE.replace('"0.0-30.0": true', '"0.0-30.0": false') + '"blue":\n  "0.0-30.0": true\n'
        if in_place:
            path.write_text(text)
        else:
            path.with_suffix(".edited").write_text(text)
            path.with_suffix(".edited").rename(path)
        changes = judgments.poll()
        assert set(changes.items) == {("red car", window(0)), ("blue", window(0))}
        assert changes.conflicts == () and changes.problem is None
        assert judgments.poll().items == ()
        judgments.sync()
        assert plain_verdicts(path) == {
            "red car": {"0.0-30.0": False, "50.0-80.0": True},
            "no": {"25.0-55.0": False},
            "blue": {"0.0-30.0": True},
        }
        assert all(comment in path.read_text() for comment in ("# judged by hand", "# sure", "# more below"))

    def test_unnoticed_until_the_fold_is_merged_all_the_same(self, path, judgments):
        judgments.put("red car", window(2), True)
        path.write_text(SEED_FILE + '  "100.0-130.0": true\n')
        judgments.sync()
        assert plain_verdicts(path)["no"] == {"25.0-55.0": False, "100.0-130.0": True}
        assert plain_verdicts(path)["red car"] == {"0.0-30.0": True, "50.0-80.0": True}
        assert judgments.poll().items == (("no", window(4)),)

    @pytest.mark.parametrize("decision", [True, False])
    def test_of_the_same_item_is_a_conflict_until_a_verdict_decides(self, path, judgments, decision):
        judgments.put("red car", window(0), False)
        judgments.put("red car", window(2), True)
        path.write_text(SEED_FILE.replace('  "0.0-30.0": true # sure\n', '  "50.0-80.0": false\n'))
        changes = judgments.poll()
        expected = (
            Conflict("red car", window(0), False, None),
            Conflict("red car", window(2), True, False),
        )
        assert changes.conflicts == expected and judgments.get("red car", window(2)) is True
        judgments.sync()
        assert plain_verdicts(path)["red car"] == {"50.0-80.0": False}, "theirs stays on file"
        judgments.close()
        with Judgments.open(path, [CLIP], write=True) as again:
            assert tuple(again.conflicts) == expected, "mine outlives a restart"
            again.put("red car", window(2), decision)
            again.put("red car", window(0), False)
            assert again.conflicts == []
        assert plain_verdicts(path)["red car"] == {"0.0-30.0": False, "50.0-80.0": decision}

    def test_undo_of_a_verdict_in_conflict_yields_to_the_file(self, path, judgments):
        judgments.put("red car", window(2), True)
        path.write_text(SEED_FILE.replace("# sure\n", '# sure\n  "50.0-80.0": false\n'))
        assert len(judgments.poll().conflicts) == 1
        assert judgments.undo() == ("red car", window(2), False)
        assert judgments.conflicts == []
        judgments.sync()
        assert plain_verdicts(path)["red car"]["50.0-80.0"] is False

    def test_that_agrees_is_no_conflict(self, path, judgments):
        judgments.put("red car", window(2), True)
        path.write_text(SEED_FILE.replace("# sure\n", '# sure\n  "50.0-80.0": true\n'))
        assert judgments.poll() == type(judgments.poll())()
        judgments.sync()
        assert plain_verdicts(path)["red car"] == {"0.0-30.0": True, "50.0-80.0": True}

    def test_that_is_malformed_is_waited_for(self, path, judgments):
        judgments.put("red car", window(2), True)
        broken = "<<<<<<< HEAD\n" + SEED_FILE
        path.write_text(broken)
        assert "judgments.yaml:1: merge-conflict marker" in (judgments.poll().problem or "")
        with pytest.raises(JudgmentsError, match=r"merge-conflict marker.*1 verdict is safe in .*journal"):
            judgments.sync()
        judgments.put("no", window(3), True)
        assert path.read_text() == broken
        path.write_text(SEED_FILE)
        assert judgments.poll().problem is None
        judgments.sync()
        assert verdicts_of(path) == KNOWN | {("red car", window(2)): True, ("no", window(3)): True}

    def test_malformed_on_exit_keeps_the_journal_for_the_next_start(self, path):
        judgments = Judgments.open(path, [CLIP], write=True)
        judgments.put("red car", window(2), True)
        path.write_text("[")
        with pytest.raises(JudgmentsError, match="1 verdict is safe"):
            judgments.close()
        with pytest.raises(BadInput, match="not valid YAML"):
            Judgments.open(path, [CLIP], write=True)
        assert path.read_text() == "["
        path.write_text(SEED_FILE)
        Judgments.open(path, [CLIP], write=True).close()
        assert plain_verdicts(path)["red car"] == {"0.0-30.0": True, "50.0-80.0": True}

    @pytest.mark.parametrize("remove", [lambda path: path.unlink(), lambda path: path.write_text("")])
    def test_that_takes_the_file_away_is_made_good(self, path, judgments, remove):
        judgments.put("red car", window(2), True)
        remove(path)
        assert judgments.poll().items == () and judgments.get("red car", window(0)) is True
        judgments.close()
        assert verdicts_of(path) == KNOWN | {("red car", window(2)): True}
        assert "# sure" in path.read_text()

    def test_that_makes_it_another_clips_is_waited_for(self, path, judgments):
        judgments.put("red car", window(2), True)
        text = '# footage "clip.mp4" sha256:9\n' + SEED_FILE
        path.write_text(text)
        with pytest.raises(JudgmentsError, match="is not the clip that these verdicts were given on"):
            judgments.sync()
        path.write_text(SEED_FILE)

    def test_removing_the_journal_loses_nothing(self, path, judgments):
        judgments.put("red car", window(2), True)
        journal_of(path).unlink()
        judgments.put("no", window(3), True)
        shutil.copytree(path.parent, path.parent / "after a crash")
        copy = path.parent / "after a crash" / path.name
        assert verdicts_of(copy) == KNOWN | {("red car", window(2)): True, ("no", window(3)): True}


class TestJournal:
    def crashed(self, path, *verdicts):
        """A folder as a killed session leaves it."""
        with Judgments.open(path, [CLIP], write=True) as judgments:
            for verdict in verdicts:
                judgments.put(*verdict)
            folder = path.parent / "crashed"
            shutil.copytree(path.parent, folder)
        return folder / path.name

    @pytest.mark.parametrize("tail", [b"1c291ca3 {", b"x", b"\0" * 4096, b"00000000 {}\n", b"\xff\n"])
    def test_a_torn_last_line_was_never_acknowledged(self, path, tail):
        copy = self.crashed(path, ("red car", window(2), True))
        with journal_of(copy).open("ab") as file:
            file.write(tail)
        with Judgments.open(copy, [CLIP], write=True) as judgments:
            assert judgments.get("red car", window(2)) is True and judgments.notices == []
            judgments.put("red car", window(3), True)
        assert plain_verdicts(copy)["red car"] == {"0.0-30.0": True, "50.0-80.0": True, "75.0-105.0": True}

    def test_a_damaged_line_is_reported_and_kept_and_the_others_count(self, path):
        copy = self.crashed(path, *(("red car", window(number), True) for number in (2, 3, 4)))
        lines = journal_of(copy).read_bytes().splitlines(keepends=True)
        damaged = lines[0] + lines[1].replace(b"75.0", b"76.0") + lines[2]
        journal_of(copy).write_bytes(damaged)
        with Judgments.open(copy, [CLIP], write=False) as reader:
            assert len(reader.notices) == 1 and "journal:2: damaged" in reader.notices[0]
        with Judgments.open(copy, [CLIP], write=True) as judgments:
            assert len(judgments.notices) == 1
            assert [judgments.get("red car", window(number)) for number in (2, 3, 4)] == [True, None, True]
        aside = copy.with_name(f".{copy.name}.journal.damaged")
        assert aside.read_bytes() == damaged
        with Judgments.open(copy, [CLIP], write=True) as judgments:
            assert judgments.notices == []

    def test_a_conflict_met_only_after_a_crash(self, path):
        copy = self.crashed(path, ("red car", window(0), False), ("red car", window(2), True))
        copy.write_text(SEED_FILE.replace("# sure\n", '# sure\n  "50.0-80.0": false\n'))
        with Judgments.open(copy, [CLIP], write=True) as judgments:
            assert judgments.conflicts == [Conflict("red car", window(2), True, False)]
            assert judgments.get("red car", window(0)) is False


class TestSecondProcess:
    PROGRAM = (
        "import sys, json; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from accuracy_tui.judgments import Judgments; from support.judgments import *\n"
        "judgments = Judgments.open(Path(sys.argv[1]), [CLIP], write=True)\n"
        "print(judgments.read_only, flush=True)\n"
        "for line in sys.stdin:\n"
        "    number, value = json.loads(line)\n"
        "    judgments.put('red car', window(number), value); print('done', flush=True)\n"
        "judgments.close()\n"
    )

    @pytest.fixture
    def other(self, path):
        """Another process that writes the same judgments."""
        process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, str(path), str(Path(__file__).parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "False\n"

        def put(number, value):
            process.stdin.write(json.dumps([number, value]) + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"

        process.put = put
        yield process
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def test_reads_along_and_is_told_who_writes(self, path, other):
        with Judgments.open(path, [CLIP], write=True) as judgments:
            assert judgments.read_only and judgments.lock_holder.pid == other.pid
            other.put(2, True)
            assert judgments.poll().items == (("red car", window(2)),)
            assert judgments.get("red car", window(2)) is True
            other.put(2, False)
            assert judgments.poll().items == (("red car", window(2)),)
            assert judgments.poll().items == ()
            with pytest.raises(JudgmentsError, match=f"process {other.pid} on .* is writing") as caught:
                judgments.put("no", window(5), True)
            assert "\n" not in str(caught.value) and judgments.get("no", window(5)) is None
            other.stdin.close()
            assert other.wait() == 0
            assert judgments.poll().items == () and judgments.get("red car", window(2)) is False
            judgments.put("no", window(5), True)  # the writer is gone: now this one may
            assert not judgments.read_only and judgments.lock_holder is None
        assert verdicts_of(path) == KNOWN | {("red car", window(2)): False, ("no", window(5)): True}

    def test_a_lock_whose_process_was_killed_is_recovered(self, path, other):
        other.put(2, True)
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
        assert path.with_name(f".{path.name}.lock").exists()
        with Judgments.open(path, [CLIP], write=True) as judgments:
            assert not judgments.read_only and judgments.get("red car", window(2)) is True
        assert not path.with_name(f".{path.name}.lock").exists()


class TestFullDisk:
    @pytest.fixture
    def limit(self):
        """Sets the size that files may grow to: writing beyond takes part of the bytes, then fails."""
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

        def limit(size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft if size is None else size, hard))

        yield limit
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    def test_a_verdict_without_room_is_not_acknowledged(self, path, judgments, limit):
        judgments.put("red car", window(2), True)
        size = journal_of(path).stat().st_size
        for part in (0, 1, 40):
            limit(size + part)
            with pytest.raises(
                JudgmentsError, match="verdict not recorded: File too large; make room"
            ) as caught:
                judgments.put("red car", window(3), True)
            assert "\n" not in str(caught.value)
            with pytest.raises(JudgmentsError, match="not recorded"):
                judgments.undo()
            limit(None)
            assert judgments.get("red car", window(3)) is None and judgments.get("red car", window(2)) is True
            assert journal_of(path).stat().st_size == size
        judgments.put("red car", window(4), False)
        judgments.sync()
        assert plain_verdicts(path)["red car"] == {"0.0-30.0": True, "50.0-80.0": True, "100.0-130.0": False}

    def test_a_fold_without_room_leaves_file_and_journal(self, path, judgments, limit):
        judgments.put("red car", window(2), True)
        limit(50)
        with pytest.raises(JudgmentsError, match="cannot be written: File too large; 1 verdict is safe in"):
            judgments.sync()
        limit(None)
        assert path.read_text() == SEED_FILE and judgments.get("red car", window(2)) is True
        assert {entry.name for entry in path.parent.iterdir()} == {
            *(path.name, journal_of(path).name, f".{path.name}.lock"),
        }
        judgments.sync()
        assert plain_verdicts(path)["red car"] == {"0.0-30.0": True, "50.0-80.0": True}

    def test_a_disk_that_is_full(self, tmp_path):
        """A real one, of 64 kB, where a test may mount one."""
        disk = tmp_path / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True
        )
        if mounted.returncode:
            pytest.skip("may not mount a small disk; the size limit above stands in for it")
        try:
            path = disk / "judgments.yaml"
            path.write_text(SEED_FILE)
            judgments = Judgments.open(path, [CLIP], write=True)
            acknowledged = dict(KNOWN)
            with pytest.raises(JudgmentsError, match="No space left on device"):
                for number in range(2, 10_000):
                    judgments.put("red car", window(number), True)
                    acknowledged["red car", window(number)] = True
            assert len(acknowledged) > 100
            with pytest.raises(JudgmentsError, match=r"No space left on device.* verdicts are safe in"):
                judgments.close()
            assert path.read_text() == SEED_FILE
            assert verdicts_of(path) == acknowledged
        finally:
            subprocess.run(["umount", disk], check=True)


class TestClosedFolder:
    def check(self, path, reason):
        with Judgments.open(path, [CLIP], write=True) as judgments:
            assert judgments.read_only and judgments.lock_holder is None
            assert reason in judgments.why_read_only
            assert judgments.get("red car", window(0)) is True
            with pytest.raises(JudgmentsError, match=f"read-only: cannot be written: .*{reason}") as caught:
                judgments.put("red car", window(2), True)
            assert "\n" not in str(caught.value)
            assert judgments.get("red car", window(2)) is None
        assert path.read_text() == SEED_FILE

    def test_without_permission(self, path):
        path.parent.chmod(0o555)
        try:
            if os.access(path.parent, os.W_OK):
                pytest.skip("this user may write everywhere; the read-only mount stands in for it")
            self.check(path, "Permission denied")
        finally:
            path.parent.chmod(0o755)

    def test_mounted_read_only(self, path):
        folder = path.parent
        mounted = subprocess.run(["mount", "--bind", folder, folder], capture_output=True)
        if mounted.returncode:
            pytest.skip("may not mount; the folder without permission stands in for it")
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
            self.check(path, "Read-only file system")
        finally:
            subprocess.run(["umount", folder], check=True)
