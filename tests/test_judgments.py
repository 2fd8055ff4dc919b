"""Judgments on file: format, edits, footage, undo, implied verdicts, refusals."""

import time

import pytest
import yaml

from accuracy_tui.judgments import Judgments, JudgmentsError
from accuracy_tui.verdicts import Verdict
from accuracy_tui.window_keys import parse_window_key, window_key
from sentrysearch.errors import BadInput
from sentrysearch.types import Window
from support.judgments import CLIP, OTHER, SEED_FILE, Identity, plain_verdicts, verdicts_of, window

HEADER = f'# footage "clip.mp4" {CLIP.fingerprint}\n'


def clip(start, end, footage=CLIP.name):
    return Window(footage, start, end)


def judge(path, *verdicts, footages=(CLIP,), **options):
    """Puts (query, window, value) in a session of its own."""
    with Judgments.open(path, footages, write=True, **options) as judgments:
        for verdict in verdicts:
            judgments.put(*verdict)


def test_the_seed_format_exactly(tmp_path):
    path = tmp_path / "j.yaml"
    judge(
        path,
        ("white toyota pickup truck", clip(124, 151), True),
        ("white toyota pickup truck", clip(300, 327), False),
    )
    assert path.read_text() == HEADER + (
        '"white toyota pickup truck":\n  "124.0-151.0": true\n  "300.0-327.0": false\n'
    )


def test_one_line_a_verdict_and_all_else_as_a_person_wrote_it(tmp_path):
    path = tmp_path / "j.yaml"
    path.write_text(HEADER + SEED_FILE)
    judge(
        path,
        ("red car", clip(50, 80), False),
        ("red car", clip(25, 55), True),
        ("no", clip(25, 55), True),
        ("no", clip(0, 30), False),
    )
    assert path.read_text() == HEADER + (
        '# judged by hand\n"red car":\n  "0.0-30.0": true # sure\n  "25.0-55.0": true\n  "50.0-80.0": false\n'
        '\n# more below\n"no":\n  "0.0-30.0": false\n  "25.0-55.0": true\n'
    )
    judge(path, ("red car", clip(25, 55), None), ("no", clip(25, 55), None), ("no", clip(0, 30), None))
    assert path.read_text() == HEADER + (
        '# judged by hand\n"red car":\n  "0.0-30.0": true # sure\n  "50.0-80.0": false\n\n# more below\n'
    )


@pytest.mark.parametrize(
    "written",
    [
        "",
        "\n\n",
        "# only a comment",
        "{}",
        "~\n",
        "--- # yes\n",
        '"red car": {}\n',
        '"red car":\n',
        '"red car": {"0.0-30.0": true, "25.0-55.0": false} # note\n',
        '{"red car": {"0.0-30.0": true}, "no": {"25.0-55.0": false}}',
        '{\n# above\n"red car": {\n"0.0-30.0": true # inside\n}}\n',
        "red car:\n    0.0-30.0: true\n    '25.0-55.0': False  # no\n",
        '"red car":\n  "0.0-30.0":\n    true\n',
        '"red car":\n  ? "0.0-30.0"\n  : true\n"no":\n  "0.0-30.0": false',
        '  "red car":\n    "0.0-30.0": true\n',
        '---\n"red car":\n  "0.0-30.0": true\n...\n',
        '\ufeff"red car":\r\n  "0.0-30.0": true\r\n# end\r\n',
        '"red car":\r\n  "0.0-30.0": true',
        '"red \\x63ar":\n  "0-30": true\n',
        '? "red car"\n: "0.0-30.0": true\n  "25.0-55.0": true\n',
    ],
)
def test_files_written_in_other_ways(tmp_path, written):
    path = tmp_path / "j.yaml"
    path.write_bytes(written.encode())
    before = {query: dict(entries or {}) for query, entries in (yaml.safe_load(written) or {}).items()}
    judge(path, ("red car", clip(50, 80), True), ("new one", clip(0, 30), False))
    text = path.read_bytes().decode()
    expected = {query: dict(entries) for query, entries in before.items() if entries}
    expected.setdefault("red car", {})["50.0-80.0"] = True
    expected["new one"] = {"0.0-30.0": False}
    assert plain_verdicts(path) == expected
    for comment in ("# only a comment", "# note", "# above", "# inside", "# no", "# end"):
        assert (comment in text) == (comment in written)
    assert text.count("\r\n") == (text.count("\n") if "\r" in written else 0)
    assert text.startswith("\ufeff") == written.startswith("\ufeff")
    judge(path, ("red car", clip(0, 30), False), ("red car", clip(50, 80), None))
    assert verdicts_of(path)["red car", clip(0, 30)] is False
    assert ("red car", clip(50, 80)) not in verdicts_of(path)


@pytest.mark.parametrize(
    "query",
    ["", " ", 'a "b"', "a\nb", "back\\slash", "\U0001f697 été", "\x00\x1b[31m", "no", "1:30", "a: b # c", "~",
     "x" * 1200, "\u2028\x85\ufeff", "- [x]", "?", "<<"],
)  # fmt: skip
def test_any_query_text(tmp_path, query):
    path = tmp_path / "j.yaml"
    footages = (CLIP, Identity('n "@" \n.mp4', "sha256:3"))
    where = clip(1, 2, footages[1].name)
    judge(
        path,
        ("other", clip(0, 30), True),
        (query, where, True),
        (query, clip(0, 30), False),
        footages=footages,
    )
    assert verdicts_of(path, footages=footages) == {
        ("other", clip(0, 30)): True,
        (query, where): True,
        (query, clip(0, 30)): False,
    }
    assert plain_verdicts(path)[query] == {'n "@" \n.mp4@1.0-2.0': True, "clip.mp4@0.0-30.0": False}
    judge(path, (query, where, False), footages=footages)
    assert plain_verdicts(path)[query][f"{where.footage}@1.0-2.0"] is False


def test_text_that_no_file_can_hold(tmp_path):
    with Judgments.open(tmp_path / "j.yaml", [CLIP], write=True) as judgments:
        for query, where in [("\ud800", clip(0, 1)), ("q", clip(0, 1, "\udcff.mp4"))]:
            with pytest.raises(BadInput, match="surrogate"):
                judgments.put(query, where, True)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('"q":\n  "0.0-1.0": true\n"q":\n  "1.0-2.0": true\n', 3, '"q" stands twice, first on line 1'),
        ('"q":\n  "0.0-1.0": true\n  "0.0-1.0": false\n', 3, '"0.0-1.0" stands twice'),
        ('"q":\n  "0.0-1.0": true\n  "0-1": true\n', 3, 'window "0-1" of query "q" stands twice'),
        ('"q":\n  "0.0-1.0": true\n  "clip.mp4@0.0-1.0": true\n', 3, "stands twice"),
        (
            '"q":\n<<<<<<< HEAD\n  "0.0-1.0": true\n=======\n  "0.0-1.0": false\n>>>>>>> b\n',
            2,
            "merge-conflict",
        ),
        ('"q":\n  "0.0-1.0": yes\n', 2, "must be true or false"),
        ('"q":\n  "0.0-1.0": 1\n', 2, "must be true or false"),
        ('"q":\n  "0.0-1.0": "true"\n', 2, "must be true or false"),
        ('"q":\n  "0.0-1.0":\n', 2, "must be true or false"),
        ('"q":\n  "0.0-1.0": [true]\n', 2, "must be true or false"),
        ('"q":\n  "2.0-1.0": true\n', 2, "does not end after it starts"),
        ('"q":\n  "1.0-1.0": true\n', 2, "does not end after it starts"),
        ('"q":\n  "-1.0-1.0": true\n', 2, "is not start-end"),
        ('"q":\n  "nan-1.0": true\n', 2, "is not start-end"),
        ('"q":\n  "0.0-inf": true\n', 2, "is not start-end"),
        ('"q":\n  "0.0": true\n', 2, "is not start-end"),
        ('"q":\n  "0.05-1.0": true\n', 2, "is not start-end"),
        ('"q":\n  "0.0-1.0-2.0": true\n', 2, "is not start-end"),
        ('"q":\n  "@0.0-1.0": true\n', 2, "no footage name"),
        ('"q":\n  "٠.0-1.0": true\n', 2, "is not start-end"),
        ('"q": true\n', 1, "must be a mapping"),
        ('- "q"\n', 1, "must be a mapping"),
        ('"q":\n  "0.0-1.0": true\r  "1.0-2.0": true\n', 2, "carriage return"),
        ('# footage "a" sha256:1\n# footage "a" sha256:2\n', 2, "another fingerprint"),
    ],
)
def test_refused_with_file_line_and_reason(tmp_path, text, line, reason):
    path = tmp_path / "j.yaml"
    path.write_text(text, newline="")
    for write in (False, True):
        with pytest.raises(BadInput, match=reason) as caught:
            Judgments.open(path, [CLIP], write=write)
        assert str(caught.value).startswith(f"{path}:{line}: ")
    assert path.read_bytes() == text.encode() and list(tmp_path.iterdir()) == [path]


def test_window_keys():
    assert window_key(clip(0.04, 29.96), single=True) == "0.0-30.0"
    assert window_key(clip(124, 151, "a@b.mp4"), single=False) == "a@b.mp4@124.0-151.0"
    assert parse_window_key("a@b.mp4@124.0-151.0") == ("a@b.mp4", 124.0, 151.0)
    assert parse_window_key("1-2.5") == (None, 1.0, 2.5)
    for start, end in [(1, 1), (2, 1), (-1, 1), (0, float("nan")), (0, float("inf")), (0.01, 0.02)]:
        with pytest.raises(BadInput):
            window_key(clip(start, end), single=True)


class TestFootage:
    def test_another_clip_of_the_same_name_is_refused_unless_accepted(self, tmp_path):
        path = tmp_path / "j.yaml"
        judge(path, ("q", clip(0, 30), True))
        before = path.read_bytes()
        another = Identity(CLIP.name, "sha256:" + "9" * 64)
        with pytest.raises(BadInput, match="is not the clip that these verdicts were given on") as caught:
            Judgments.open(path, [another], write=True)
        assert str(caught.value).startswith(f"{path}:1: ") and path.read_bytes() == before
        judge(path, footages=[another], accept_footage=True)
        assert path.read_bytes() == before.replace(b"1" * 64, b"9" * 64)
        judge(path, footages=[another])

    def test_a_renamed_clip_is_known_by_its_content(self, tmp_path):
        path = tmp_path / "j.yaml"
        judge(path, ("q", clip(0, 30), True))
        renamed = Identity("new.mp4", CLIP.fingerprint)
        judge(path, ("q", clip(25, 55, "new.mp4"), False), footages=[renamed])
        assert plain_verdicts(path) == {"q": {"0.0-30.0": True, "25.0-55.0": False}}
        assert verdicts_of(path, footages=(renamed,))["q", clip(0, 30, "new.mp4")] is True

    def test_another_clip_of_another_name_does_not_inherit_bare_keys(self, tmp_path):
        path = tmp_path / "j.yaml"
        judge(path, ("q", clip(0, 30), True))
        with pytest.raises(BadInput, match="neither by name nor by content"):
            Judgments.open(path, [OTHER], write=True)

    def test_from_one_footage_to_several(self, tmp_path):
        path = tmp_path / "j.yaml"
        judge(path, ("q", clip(0, 30), True))
        judge(path, ("q", clip(0, 30, OTHER.name), False), ("q", clip(25, 55), True), footages=[OTHER, CLIP])
        assert plain_verdicts(path)["q"] == {
            "0.0-30.0": True,
            "clip.mp4@25.0-55.0": True,
            "other@night.mp4@0.0-30.0": False,
        }
        expected = {
            ("q", clip(0, 30)): True,
            ("q", clip(25, 55)): True,
            ("q", clip(0, 30, OTHER.name)): False,
        }
        assert verdicts_of(path, footages=(OTHER, CLIP)) == expected
        # And back to one: bare keys are still the first footage's, the other's keep their name.
        judge(path, ("q", clip(50, 80), True))
        assert plain_verdicts(path)["q"]["50.0-80.0"] is True
        assert verdicts_of(path) == expected | {("q", clip(50, 80)): True}

    def test_bare_keys_of_nobody(self, tmp_path):
        path = tmp_path / "j.yaml"
        path.write_text('"q":\n  "0.0-1.0": true\n')
        with pytest.raises(BadInput, match=r"j.yaml:2: .*does not say which footage"):
            Judgments.open(path, [CLIP, OTHER], write=False)

    def test_a_footage_line_alone_is_no_reason_to_write(self, tmp_path):
        path = tmp_path / "j.yaml"
        path.write_text(SEED_FILE)
        judge(path)
        assert path.read_text() == SEED_FILE


class TestUndo:
    def test_through_earlier_sessions_and_folds(self, tmp_path):
        path = tmp_path / "j.yaml"
        path.write_text(SEED_FILE)
        start = verdicts_of(path)
        judge(path, ("red car", clip(0, 30), False), ("red car", clip(25, 55), True))
        judge(path, ("red car", clip(25, 55), False))
        with Judgments.open(path, [CLIP], write=True) as judgments:
            assert judgments.undo() == ("red car", clip(25, 55), True)
        with Judgments.open(path, [CLIP], write=True) as judgments:
            assert judgments.undo() == ("red car", clip(25, 55), None)
            assert judgments.undo() == ("red car", clip(0, 30), True)
            assert judgments.undo() is None
        assert verdicts_of(path) == start

    def test_of_a_verdict_changed_outside_since_is_passed_over_with_a_notice(self, tmp_path):
        path = tmp_path / "j.yaml"
        judge(path, ("q", clip(0, 30), True), ("q", clip(25, 55), True))
        path.write_text(path.read_text().replace('"25.0-55.0": true', '"25.0-55.0": false'))
        with Judgments.open(path, [CLIP], write=True) as judgments:
            assert judgments.undo() == ("q", clip(0, 30), None)
            assert len(judgments.notices) == 1 and "25.0-55.0 is not undone" in judgments.notices[0]
            assert judgments.get("q", clip(25, 55)) is False

    def test_the_history_is_bounded_and_keeps_the_last_ones(self, tmp_path, monkeypatch):
        monkeypatch.setattr("accuracy_tui.journal.LONG", 1_000)
        monkeypatch.setattr("accuracy_tui.journal.KEPT", 50)
        path = tmp_path / "j.yaml"
        judge(path, *(("q", window(number), True) for number in range(80)))
        size = (tmp_path / ".j.yaml.journal").stat().st_size
        with Judgments.open(path, [CLIP], write=True) as judgments:
            undone = 0
            while judgments.undo() is not None:
                undone += 1
            left = len(list(judgments.items()))
        assert (undone, left) == (50, 30)
        judge(path, *(("q", window(number), False) for number in range(80)))
        assert (tmp_path / ".j.yaml.journal").stat().st_size < size * 1.1


class TestImplied:
    @pytest.fixture
    def judgments(self, tmp_path):
        with Judgments.open(tmp_path / "j.yaml", [CLIP, OTHER], write=True) as judgments:
            judgments.put("q", clip(10, 20), True)
            judgments.put("q", clip(100, 200), False)
            judgments.put("q", clip(300, 400), False)
            judgments.put("q", clip(340, 360), True)
            yield judgments

    @pytest.mark.parametrize(
        ("start", "end", "expected"),
        [
            (10, 20, Verdict(True)),  # given
            (5, 25, Verdict(True, implied=True)),  # contains the true one
            (10.1, 19.9, Verdict(True, implied=True)),  # to within 0.1 s
            (10.2, 25, Verdict(None)),
            (0, 19.8, Verdict(None)),
            (12, 18, Verdict(None)),  # inside a true one: may or may not show it
            (120, 150, Verdict(False, implied=True)),  # inside the false one
            (99.9, 200.1, Verdict(False, implied=True)),
            (99.8, 150, Verdict(None)),
            (150, 200.2, Verdict(None)),
            (50, 250, Verdict(None)),  # contains a false one: may show it elsewhere
            (0, 250, Verdict(True, implied=True)),
            (310, 330, Verdict(False, implied=True)),
            (330, 370, Verdict(None)),  # contains a true one inside a false one: contradictory
            (290, 410, Verdict(True, implied=True)),
            (345, 355, Verdict(False, implied=True)),
        ],
    )
    def test_look(self, judgments, start, end, expected):
        assert judgments.look("q", clip(start, end)) == expected

    def test_only_for_the_same_footage_and_query_and_never_on_file(self, judgments, tmp_path):
        assert judgments.look("q", clip(5, 25, OTHER.name)) == Verdict(None)
        assert judgments.look("other", clip(5, 25)) == Verdict(None)
        assert judgments.get("q", clip(5, 25)) is None
        judgments.sync()
        assert len(plain_verdicts(tmp_path / "j.yaml")["q"]) == 4

    def test_overruled_and_turned_off(self, judgments):
        judgments.put("q", clip(5, 25), False)
        assert judgments.look("q", clip(5, 25)) == Verdict(False)
        judgments.undo()
        judgments.implied = False
        assert judgments.look("q", clip(5, 25)) == Verdict(None)
        assert judgments.look("q", clip(10, 20)) == Verdict(True)


def test_the_fold_follows_a_link_and_keeps_the_mode(tmp_path):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "j.yaml", tmp_path / "link.yaml"
    real.write_text(SEED_FILE)
    real.chmod(0o640)
    link.symlink_to(real)
    judge(link, ("q", clip(0, 30), True))
    assert link.is_symlink() and plain_verdicts(real)["q"] == {"0.0-30.0": True}
    assert real.stat().st_mode & 0o777 == 0o640
    with (
        Judgments.open(real, [CLIP], write=True) as first,
        Judgments.open(link, [CLIP], write=True) as second,
    ):
        assert not first.read_only and second.read_only


def test_folds_by_itself_when_judging_pauses(tmp_path, monkeypatch):
    monkeypatch.setattr("accuracy_tui.folder.IDLE", 0.01)
    path = tmp_path / "j.yaml"
    with Judgments.open(path, [CLIP], write=True) as judgments:
        judgments.put("q", clip(0, 30), True)
        deadline = time.monotonic() + 20
        while not path.exists():
            assert time.monotonic() < deadline and judgments.problem is None
            time.sleep(0.005)
        assert plain_verdicts(path) == {"q": {"0.0-30.0": True}}


def test_items_and_reading_only(tmp_path):
    path = tmp_path / "j.yaml"
    path.write_text(SEED_FILE)
    with Judgments.open(path, [CLIP], write=False) as judgments:
        assert list(judgments.items()) == [("red car", clip(0, 30), True), ("no", clip(25, 55), False)]
        assert judgments.read_only and judgments.lock_holder is None
        with pytest.raises(JudgmentsError, match="opened for reading only"):
            judgments.put("q", clip(0, 30), True)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(BadInput, match="no such folder"):
        Judgments.open(tmp_path / "none" / "j.yaml", [CLIP], write=True)
